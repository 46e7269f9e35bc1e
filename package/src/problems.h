// The problems of the C interface as the kernels' extents and types, and back.
#pragma once

#include "families/kernel.h"
#include "hgemm_tuned.h"

namespace hgemm_tuned_problems {

using namespace hgemm;

inline hgemm_tuned_status check(const hgemm_tuned_problem* problem) {
  if (problem == nullptr) return HGEMM_TUNED_NULL_POINTER;
  if (problem->dtype != HGEMM_TUNED_BF16 && problem->dtype != HGEMM_TUNED_FP16) {
    return HGEMM_TUNED_BAD_DTYPE;
  }
  if (problem->output != HGEMM_TUNED_OUTPUT_SAME && problem->output != HGEMM_TUNED_OUTPUT_FP32) {
    return HGEMM_TUNED_BAD_DTYPE;
  }
  if (problem->layout < HGEMM_TUNED_TN || problem->layout > HGEMM_TUNED_TT) {
    return HGEMM_TUNED_BAD_PROBLEM;
  }
  return HGEMM_TUNED_OK;
}

inline Major a_major_of(const hgemm_tuned_problem& p) {
  return p.layout == HGEMM_TUNED_TN || p.layout == HGEMM_TUNED_TT ? Major::kK : Major::kMn;
}
inline Major b_major_of(const hgemm_tuned_problem& p) {
  return p.layout == HGEMM_TUNED_TN || p.layout == HGEMM_TUNED_NN ? Major::kK : Major::kMn;
}
inline hgemm_tuned_layout layout_of(const ProblemExtents& p) {
  if (p.a_major == Major::kK) return p.b_major == Major::kK ? HGEMM_TUNED_TN : HGEMM_TUNED_TT;
  return p.b_major == Major::kK ? HGEMM_TUNED_NN : HGEMM_TUNED_NT;
}

inline ProblemExtents extents_of(const hgemm_tuned_problem& p) {
  ProblemExtents extents{p.m, p.n, p.k, p.lda, p.ldb, p.ldd, a_major_of(p), b_major_of(p)};
  if (extents.lda == 0) extents.lda = stored_a(extents).cols;
  if (extents.ldb == 0) extents.ldb = stored_b(extents).cols;
  if (extents.ldd == 0) extents.ldd = p.n;
  return extents;
}

inline GemmKind kind_of(const hgemm_tuned_problem& p) {
  const DataType input = p.dtype == HGEMM_TUNED_FP16 ? DataType::kFp16 : DataType::kBf16;
  return {.input = input,
          .output = p.output == HGEMM_TUNED_OUTPUT_FP32 ? DataType::kFp32 : input,
          .a_major = a_major_of(p),
          .b_major = b_major_of(p)};
}

inline bool has_types(const GemmKind& kind, DataType input, DataType output) {
  return kind.input == input && kind.output == output;
}

}  // namespace hgemm_tuned_problems
