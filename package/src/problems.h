// The problems of the C interface as the kernels' extents and types, and back.
#pragma once

#include <cstdint>

#include "families/kernel.h"
#include "families/operands.h"
#include "hgemm_tuned_types.h"

namespace hgemm_tuned_problems {

using namespace hgemm;

inline DataType type_of(std::int32_t dtype) {
  switch (dtype) {
    case HGEMM_TUNED_E4M3:
      return DataType::kE4m3;
    case HGEMM_TUNED_E5M2:
      return DataType::kE5m2;
    case HGEMM_TUNED_FP16:
      return DataType::kFp16;
    default:
      return DataType::kBf16;
  }
}
inline std::int32_t dtype_of(DataType type) {
  switch (type) {
    case DataType::kE4m3:
      return HGEMM_TUNED_E4M3;
    case DataType::kE5m2:
      return HGEMM_TUNED_E5M2;
    case DataType::kFp16:
      return HGEMM_TUNED_FP16;
    default:
      return HGEMM_TUNED_BF16;
  }
}
inline DataType output_type_of(std::int32_t output, DataType input) {
  switch (output) {
    case HGEMM_TUNED_OUTPUT_FP32:
      return DataType::kFp32;
    case HGEMM_TUNED_OUTPUT_BF16:
      return DataType::kBf16;
    case HGEMM_TUNED_OUTPUT_FP16:
      return DataType::kFp16;
    case HGEMM_TUNED_OUTPUT_E4M3:
      return DataType::kE4m3;
    case HGEMM_TUNED_OUTPUT_E5M2:
      return DataType::kE5m2;
    default:
      return default_output(input);
  }
}
inline std::int32_t output_of(DataType output, DataType input) {
  if (output == default_output(input)) return HGEMM_TUNED_OUTPUT_SAME;
  if (output == DataType::kFp32) return HGEMM_TUNED_OUTPUT_FP32;
  if (output == DataType::kE4m3) return HGEMM_TUNED_OUTPUT_E4M3;
  if (output == DataType::kE5m2) return HGEMM_TUNED_OUTPUT_E5M2;
  return output == DataType::kFp16 ? HGEMM_TUNED_OUTPUT_FP16 : HGEMM_TUNED_OUTPUT_BF16;
}

inline hgemm_tuned_status check(const hgemm_tuned_problem* problem) {
  if (problem == nullptr) return HGEMM_TUNED_NULL_POINTER;
  const auto is_within = [](std::int32_t value, std::int32_t last) {
    return value >= 0 && value <= last;
  };
  if (!is_within(problem->dtype, HGEMM_TUNED_E5M2) ||
      !is_within(problem->output, HGEMM_TUNED_OUTPUT_E5M2)) {
    return HGEMM_TUNED_BAD_DTYPE;
  }
  if (!is_within(problem->b_is_other, 1) || !is_within(problem->fast_sums, 1) ||
      !is_within(problem->scaling, HGEMM_TUNED_SCALING_PACKED_BLOCKS) ||
      !is_within(problem->output_scaling, HGEMM_TUNED_OUTPUT_SCALES_BLOCKS)) {
    return HGEMM_TUNED_BAD_PROBLEM;
  }
  const bool needs_8_bits = problem->b_is_other != 0 || problem->fast_sums != 0 ||
                            problem->scaling != HGEMM_TUNED_NO_SCALING;
  const DataType input = type_of(problem->dtype);
  const DataType output = output_type_of(problem->output, input);
  if (problem->output_scaling != HGEMM_TUNED_OUTPUT_SCALE_GIVEN && !is_8_bit(output)) {
    return HGEMM_TUNED_BAD_DTYPE;
  }
  if (!is_8_bit(input)) {
    if (needs_8_bits || (output != input && output != DataType::kFp32)) {
      return HGEMM_TUNED_BAD_DTYPE;
    }
  }
  if (!is_within(problem->layout, HGEMM_TUNED_TT) ||
      !is_within(problem->bias, HGEMM_TUNED_BIAS_ALONG_M) ||
      !is_within(problem->activation, HGEMM_TUNED_SILU) || !is_within(problem->adds_c, 1) ||
      !is_within(problem->gate, HGEMM_TUNED_GATE_INTERLEAVED) || !is_within(problem->scaled, 1) ||
      !is_within(problem->aux, 1) || !is_within(problem->by_pointers, 1)) {
    return HGEMM_TUNED_BAD_PROBLEM;
  }
  // D has no such stride: each product has its own.
  if (problem->batch < 0 || problem->stride_a < HGEMM_TUNED_SHARED ||
      problem->stride_b < HGEMM_TUNED_SHARED || problem->stride_d < 0) {
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

/// In terms of Batch, where 0 is what HGEMM_TUNED_SHARED is here.
inline long long stride_of(std::int64_t stride, long long without_gap) {
  if (stride == HGEMM_TUNED_SHARED) return 0;
  return stride == 0 ? without_gap : stride;
}

/// If why_unsupported() has nothing against it: all products. Otherwise it may be without batch.
inline ProblemExtents extents_of(const hgemm_tuned_problem& p) {
  ProblemExtents extents{p.m,           p.n,           p.k,
                         p.lda,         p.ldb,         p.ldd,
                         a_major_of(p), b_major_of(p), p.gate != HGEMM_TUNED_NO_GATE};
  if (extents.lda == 0) extents.lda = stored_a(extents).cols;
  if (extents.ldb == 0) extents.ldb = stored_b(extents).cols;
  if (extents.ldd == 0) extents.ldd = d_columns(extents);
  // Strides of extents that no kernel supports may not fit 64 bits.
  if (why_unsupported(extents) != nullptr) return extents;
  extents.batch.by_pointers = p.by_pointers != 0;
  if (p.batch <= 1) return extents;
  const Batch in_turn = batch_without_gaps(extents, p.batch);
  extents.batch = {in_turn.count, stride_of(p.stride_a, in_turn.stride_a),
                   stride_of(p.stride_b, in_turn.stride_b), stride_of(p.stride_d, in_turn.stride_d),
                   in_turn.by_pointers};
  return extents;
}

// The numbers of the C interface are those of the kernels' enumerations.
static_assert(static_cast<int>(Bias::kAlongN) == HGEMM_TUNED_BIAS_ALONG_N);
static_assert(static_cast<int>(Bias::kAlongM) == HGEMM_TUNED_BIAS_ALONG_M);
static_assert(static_cast<int>(Activation::kRelu) == HGEMM_TUNED_RELU);
static_assert(static_cast<int>(Activation::kGelu) == HGEMM_TUNED_GELU);
static_assert(static_cast<int>(Activation::kGeluErf) == HGEMM_TUNED_GELU_ERF);
static_assert(static_cast<int>(Activation::kSilu) == HGEMM_TUNED_SILU);
static_assert(static_cast<int>(Gate::kHalves) == HGEMM_TUNED_GATE_HALVES);
static_assert(static_cast<int>(Gate::kInterleaved) == HGEMM_TUNED_GATE_INTERLEAVED);
static_assert(static_cast<int>(Scaling::kTensor) == HGEMM_TUNED_SCALING_TENSOR);
static_assert(static_cast<int>(Scaling::kRows) == HGEMM_TUNED_SCALING_ROWS);
static_assert(static_cast<int>(Scaling::kBlocks) == HGEMM_TUNED_SCALING_BLOCKS);
static_assert(static_cast<int>(Scaling::kRowBlocks) == HGEMM_TUNED_SCALING_ROW_BLOCKS);
static_assert(static_cast<int>(Scaling::kPackedBlocks) == HGEMM_TUNED_SCALING_PACKED_BLOCKS);
static_assert(static_cast<int>(OutputScaling::kBlocks) == HGEMM_TUNED_OUTPUT_SCALES_BLOCKS);
inline Bias bias_of(std::int32_t number) { return static_cast<Bias>(number); }
inline Activation activation_of(std::int32_t number) { return static_cast<Activation>(number); }
inline Gate gate_of(std::int32_t number) { return static_cast<Gate>(number); }

inline GemmKind kind_of(const hgemm_tuned_problem& p) {
  const DataType input = type_of(p.dtype);
  const Epilogue epilogue{bias_of(p.bias), activation_of(p.activation), gate_of(p.gate),
                          p.scaled != 0, p.aux != 0};
  return {.input = input,
          .output = output_type_of(p.output, input),
          .a_major = a_major_of(p),
          .b_major = b_major_of(p),
          .epilogue = epilogue,
          .adds_c = p.adds_c != 0,
          .batched = p.batch > 1,
          .by_pointers = p.batch > 1 && p.by_pointers != 0,
          .b_is_other = p.b_is_other != 0,
          .fast_sums = p.fast_sums != 0,
          .scaling = static_cast<Scaling>(p.scaling),
          .output_scaling = static_cast<OutputScaling>(p.output_scaling)};
}

/// The inverse of both, with every stride and leading dimension in full.
inline hgemm_tuned_problem problem_of(const ProblemExtents& p, const GemmKind& kind) {
  const auto shared_or = [&p](long long stride) -> std::int64_t {
    constexpr std::int64_t kShared = HGEMM_TUNED_SHARED;
    if (p.batch.by_pointers) return 0;
    return p.batch.count > 1 && stride == 0 ? kShared : stride;
  };
  return {p.m,
          p.n,
          p.k,
          dtype_of(kind.input),
          p.lda,
          p.ldb,
          p.ldd,
          output_of(kind.output, kind.input),
          layout_of(p),
          static_cast<std::int32_t>(kind.epilogue.bias),
          static_cast<std::int32_t>(kind.epilogue.activation),
          kind.adds_c ? 1 : 0,
          static_cast<std::int32_t>(kind.epilogue.gate),
          p.batch.count,
          shared_or(p.batch.stride_a),
          shared_or(p.batch.stride_b),
          p.batch.by_pointers ? 0 : p.batch.stride_d,
          kind.epilogue.scaled ? 1 : 0,
          kind.epilogue.aux ? 1 : 0,
          kind.by_pointers ? 1 : 0,
          kind.b_is_other ? 1 : 0,
          kind.fast_sums ? 1 : 0,
          static_cast<std::int32_t>(kind.scaling),
          static_cast<std::int32_t>(kind.output_scaling)};
}

/// Whether they have the same types, sums, scales and epilogue, and are both for batches, found in
/// the same way, or for single products. (The extents decide about the rest.)
inline bool compute_alike(const GemmKind& a, const GemmKind& b) {
  return a.input == b.input && a.output == b.output && a.epilogue == b.epilogue &&
         a.adds_c == b.adds_c && a.batched == b.batched && a.by_pointers == b.by_pointers &&
         a.b_is_other == b.b_is_other && a.fast_sums == b.fast_sums && a.scaling == b.scaling &&
         a.output_scaling == b.output_scaling;
}

inline bool has_all(const Operands& operands, const GemmKind& kind) {
  return operands.a != nullptr && operands.b != nullptr && operands.d != nullptr &&
         (operands.c != nullptr || !kind.adds_c) &&
         (operands.bias != nullptr || kind.epilogue.bias == Bias::kNone) &&
         (operands.aux != nullptr || !kind.epilogue.aux) &&
         (kind.scaling == Scaling::kNone ||
          (operands.scale_a != nullptr && operands.scale_b != nullptr)) &&
         (operands.scale_d != nullptr || !has_given_output_scale(kind)) &&
         (operands.scales_d != nullptr || !finds_output_scales(kind));
}
/// With factors of 1 if the problem has none.
inline Operands operands_of(const hgemm_tuned_operands* operands, const GemmKind& kind) {
  if (operands == nullptr) return {};
  Operands all{.a = operands->a,
               .b = operands->b,
               .d = operands->d,
               .c = operands->c,
               .bias = operands->bias,
               .aux = operands->aux,
               .scale_a = operands->scale_a,
               .scale_b = operands->scale_b,
               .scale_d = operands->scale_d,
               .scales_d = operands->scales_d};
  if (kind.epilogue.scaled) {
    all.alpha = operands->alpha;
    all.beta = operands->beta;
  }
  return all;
}

}  // namespace hgemm_tuned_problems
