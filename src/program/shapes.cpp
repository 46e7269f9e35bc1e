#include "program/shapes.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/resources.h"
#include "gemm/codec.h"
#include "gemm/problem_list.h"

namespace hgemm::cli {
namespace {

constexpr double kAbsurdBytes = 1e12;  // several times the memory of any Hopper GPU

}  // namespace

std::vector<GemmProblem> chosen_problems(const std::string& argument) {
  std::vector<GemmProblem> problems =
      load_problems(argument, (resource_dir() / "configs").string());
  for (const GemmProblem& problem : problems) {
    if (problem.bytes() <= kAbsurdBytes) continue;
    throw InputError(fmt::format(
        "shape {}: an absurd size: its matrices have {:.3g} TB, more than 1 TB; correct it",
        to_string(problem), problem.bytes() / 1e12));
  }
  return problems;
}

}  // namespace hgemm::cli
