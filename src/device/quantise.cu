#include "device/quantise.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "device/cuda.h"
#include "device/elements.cuh"
#include "device/quantise.cuh"

namespace hgemm {
namespace {

constexpr std::int64_t kMostBlocks = 1 << 20;

template <DataType kSource, DataType kTarget, Scaling kScaling>
__global__ void __launch_bounds__(kQuantiseThreads) units_kernel(QuantiseParams params) {
  quantise_units<kSource, kTarget, kScaling>(params);
}
template <DataType kSource, DataType kTarget>
__global__ void __launch_bounds__(kQuantiseThreads) rows_kernel(QuantiseParams params) {
  quantise_rows<kSource, kTarget>(params);
}

/// A thread has the elements of one scale: `group` columns of a row, or without a scale of its own
/// any number of them.
template <typename Source, typename Target>
__global__ void plain_kernel(QuantiseParams params, int group, bool finds_scale, bool has_scale,
                             float largest_value) {
  const long long groups = (params.cols + group - 1) / group;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= params.rows * groups) return;
  const long long row = i / groups;
  const long long first = i % groups * group;
  const long long end = min(first + group, static_cast<long long>(params.cols));
  const auto* const source =
      static_cast<const Source*>(params.source) + row * params.source_leading;
  auto* const target = reinterpret_cast<Target*>(params.target) + row * params.target_leading;
  float factor = 1;
  if (finds_scale) {
    float largest = kLeastMagnitude;
    for (long long col = first; col < end; ++col) {
      largest = fmaxf(largest, fabsf(widened(source[col])));
    }
    factor = largest_value / largest;
    params.scales[i % groups * params.block_leading + row] = largest / largest_value;
  } else if (has_scale) {
    factor = 1.0f / *params.scales;
  }
  for (long long col = first; col < end; ++col) {
    target[col] = rounded<Target>(factor * widened(source[col]));
  }
}

QuantiseParams params_of(const GemmProblem& problem, const Quantised& matrix) {
  if (problem.batch > 1 || !problem.has_8_bit_operands()) {
    throw std::invalid_argument("quantising is for single products with 8-bit operands");
  }
  return {.source = matrix.source,
          .target = static_cast<unsigned char*>(matrix.a),
          .scales = matrix.scale_a,
          .source_leading = matrix.source_leading,
          .target_leading = problem.leading_a(),
          .block_leading = scale_leading(problem.m),
          .rows = problem.m,
          .cols = static_cast<int>(problem.k)};
}

/// Calls `run` with the types of the activations and of A as template arguments.
template <typename Run>
void with_types(DataType source, DataType target, const Run& run) {
  const auto to = [&]<DataType kSource>() {
    if (target == DataType::kE4m3) return run.template operator()<kSource, DataType::kE4m3>();
    run.template operator()<kSource, DataType::kE5m2>();
  };
  if (source == DataType::kBf16) return to.template operator()<DataType::kBf16>();
  if (source == DataType::kFp16) return to.template operator()<DataType::kFp16>();
  throw std::invalid_argument("activations are bf16 or fp16");
}

}  // namespace

void quantise(const GemmProblem& problem, const Quantised& matrix, cudaStream_t stream) {
  const QuantiseParams params = params_of(problem, matrix);
  const std::int64_t units = problem.k / kQuantiseUnit;
  const std::int64_t per_row =
      is_of_blocks(problem.scaling) ? scale_blocks(problem.k) * kThreadsOfBlock : units;
  const auto ctas = static_cast<unsigned>(std::clamp<std::int64_t>(
      (problem.m * per_row + kQuantiseThreads - 1) / kQuantiseThreads, 1, kMostBlocks));
  with_types(matrix.source_type, problem.a_type, [&]<DataType kSource, DataType kTarget>() {
    switch (problem.scaling) {
      case Scaling::kNone:
        units_kernel<kSource, kTarget, Scaling::kNone>
            <<<ctas, kQuantiseThreads, 0, stream>>>(params);
        break;
      case Scaling::kTensor:
        units_kernel<kSource, kTarget, Scaling::kTensor>
            <<<ctas, kQuantiseThreads, 0, stream>>>(params);
        break;
      case Scaling::kRows: {
        // As few threads as take the same number of turns.
        const std::int64_t turns = (units + kQuantiseThreads - 1) / kQuantiseThreads;
        const std::int64_t threads = (units + turns - 1) / turns;
        rows_kernel<kSource, kTarget>
            <<<static_cast<unsigned>(std::min(problem.m, kMostBlocks)),
               static_cast<unsigned>((threads + 31) / 32 * 32), 0, stream>>>(params);
        break;
      }
      case Scaling::kBlocks:
      case Scaling::kRowBlocks:
      case Scaling::kPackedBlocks:
        units_kernel<kSource, kTarget, Scaling::kBlocks>
            <<<ctas, kQuantiseThreads, 0, stream>>>(params);
        break;
    }
  });
  check(cudaGetLastError(), "quantising");
}

void quantise_plainly(const GemmProblem& problem, const Quantised& matrix, cudaStream_t stream) {
  const QuantiseParams params = params_of(problem, matrix);
  const bool of_blocks = is_of_blocks(problem.scaling);
  const bool finds_scale = of_blocks || problem.scaling == Scaling::kRows;
  const int group = of_blocks ? kScaleBlock : static_cast<int>(problem.k);
  const std::int64_t threads = problem.m * ((problem.k + group - 1) / group);
  const auto blocks = static_cast<unsigned>((threads + kQuantiseThreads - 1) / kQuantiseThreads);
  with_added_element(matrix.source_type, [&]<typename Source>(Source*) {
    with_element(problem.a_type, [&]<typename Target>(Target*) {
      if constexpr (sizeof(Target) == 1) {
        plain_kernel<Source, Target><<<blocks, kQuantiseThreads, 0, stream>>>(
            params, group, finds_scale, problem.scaling == Scaling::kTensor,
            largest_value(problem.a_type));
      }
    });
  });
  check(cudaGetLastError(), "quantising plainly");
}

}  // namespace hgemm
