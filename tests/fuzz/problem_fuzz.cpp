// The text of one problem, and lists of them on the command line: parse_problem() and to_string()
// are inverse, JSON included.
#include <nlohmann/json.hpp>

#include "gemm/codec.h"
#include "gemm/problem_list.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  const std::string text(fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const GemmProblem problem = parse_problem(text);
    const std::string key = to_string(problem);
    fuzz::require(parse_problem(key).same_problem(problem), "parse_problem(to_string(p)) is p");
    fuzz::require(to_string(parse_problem(key)) == key, "a key is written as it was read");
    const GemmProblem from_json = nlohmann::json(problem).get<GemmProblem>();
    fuzz::require(from_json.same_problem(problem), "JSON keeps the problem");
    if (why_unsupported(problem) == nullptr) {
      fuzz::require(problem.flops() > 0 && problem.bytes() > 0 && problem.tolerance() > 0,
                    "a problem that can be computed takes work and has a tolerance");
    }
  });
  // What begins like a list is never the name of a file.
  if (text.find('/') == std::string::npos && text.find_first_of("0123456789") == 0 &&
      text.find(',') != std::string::npos && !text.ends_with(".yaml") && !text.ends_with(".yml")) {
    fuzz::accepts([&] {
      fuzz::require(!load_problems(text, "").empty(), "a list that is accepted has problems");
    });
  }
  return 0;
}
