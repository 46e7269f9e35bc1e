#include "misses.h"

#include <fmt/format.h>

#include "gemm/codec.h"

namespace hgemm_runtime {

using namespace hgemm;

GemmProblem gemm_problem(const ProblemExtents& p, const GemmKind& kind) {
  GemmProblem problem{.m = p.m,
                      .n = p.n,
                      .k = p.k,
                      .a_type = input_a(kind),
                      .b_type = input_b(kind),
                      .d_type = kind.output,
                      .accumulator = kind.fast_sums ? Accumulator::kFast : Accumulator::kFp32,
                      .lda = p.lda,
                      .ldb = p.ldb,
                      .ldd = p.ldd,
                      .batch = p.batch.count,
                      .by_pointers = kind.by_pointers,
                      .scaling = kind.scaling,
                      .output_scaling = kind.output_scaling,
                      .epilogue = kind.epilogue,
                      .tag = ""};
  if (kind.adds_c) problem.c_type = addend_type(kind.output);
  if (p.a_major == Major::kK) {
    problem.layout = p.b_major == Major::kK ? Layout::kTN : Layout::kTT;
  } else {
    problem.layout = p.b_major == Major::kK ? Layout::kNN : Layout::kNT;
  }
  if (p.batch.count > 1 && !kind.by_pointers) {
    problem.stride_a = p.batch.stride_a;
    problem.stride_b = p.batch.stride_b;
    problem.stride_d = p.batch.stride_d;
  }
  return problem;
}

Misses::Counter& Misses::counter_of(const GemmProblem& problem) {
  const std::lock_guard lock(mutex_);
  Miss& miss = misses_[to_string(problem)];
  miss.problem = problem;
  return miss.count;
}

std::string Misses::yaml(const std::string& bundle) const {
  const std::lock_guard lock(mutex_);
  std::string shapes;
  for (const auto& [key, miss] : misses_) {
    const long long count = miss.count.load(std::memory_order_relaxed);
    if (count == 0) continue;
    std::string fields;
    for (const ProblemField& field : problem_fields()) {
      if (field.is_default(miss.problem)) continue;
      fields += fmt::format("{}: {}, ", field.name, field.print(miss.problem));
    }
    shapes += fmt::format("  - {{{}weight: {}}}\n", fields, count);
  }
  return fmt::format(
      "# Misses of {}: problems for which it has no kernel; a weight is the number of calls.\n"
      "shapes:{}",
      bundle, shapes.empty() ? " []\n" : "\n" + shapes);
}

}  // namespace hgemm_runtime
