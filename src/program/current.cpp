#include "program/current.h"

#include <memory>

#include "compile/compiler.h"
#include "results/current.h"

namespace hgemm::cli {

IsCurrent current_among(const std::vector<BuildFacts>& builds) {
  const auto kernels = std::make_shared<CurrentKernels>(source_keys(), builds);
  return [kernels](const Trial& trial, const GemmProblem& problem) {
    return kernels->is_current(trial, problem);
  };
}

}  // namespace hgemm::cli
