// YAML files of problems.
#include <cmath>

#include "gemm/problem_list.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  static const fuzz::Scratch scratch("shapes");
  const std::string path = scratch.write("input.yaml", fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const auto problems = load_problems(path, scratch.folder());
    fuzz::require(!problems.empty(), "a file that is accepted has problems");
    for (const GemmProblem& problem : problems) {
      fuzz::require(problem.m > 0 && problem.n > 0 && problem.k > 0, "extents are above 0");
      fuzz::require(std::isfinite(problem.weight) && problem.weight > 0, "weights are above 0");
    }
  });
  return 0;
}
