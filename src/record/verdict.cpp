#include "record/verdict.h"

#include <fmt/format.h>

#include <limits>

#include "gemm/problem.h"
#include "record/trial.h"

namespace hgemm {

Verdict judge(const OutputComparison& found, const GemmProblem& problem, int roundings) {
  Verdict verdict;
  verdict.tolerance = problem.tolerance(roundings);
  verdict.error = static_cast<double>(found.max_error);
  const bool within = is_within(found.max_error, static_cast<float>(verdict.tolerance));
  if (found.bad > 0) {
    const auto index = static_cast<std::int64_t>(found.first_bad);
    const std::int64_t columns = problem.d_columns();
    const std::int64_t of_product = problem.m * columns;
    const std::string product =
        problem.by_pointers ? fmt::format("the D at place {}, ", index / of_product)
        : problem.batch > 1 ? fmt::format("product {}, ", index / of_product)
                            : "";
    verdict.message = fmt::format("{} of {} elements are wrong, the first at {}row {}, column {}",
                                  found.bad, problem.batch * of_product, product,
                                  index % of_product / columns, index % columns);
    if (within) {
      verdict.error = std::numeric_limits<double>::quiet_NaN();
      verdict.message += " (NaN, or never written)";
    }
  } else if (found.guard_writes > 0) {
    verdict.message =
        fmt::format("{} elements outside the output were written", found.guard_writes);
  } else if (!within) {
    verdict.message =
        fmt::format("an error of {} is over the tolerance of {}", verdict.error, verdict.tolerance);
  }
  verdict.correct = verdict.message.empty();
  return verdict;
}

}  // namespace hgemm
