#include "device/epilogue_kernels.h"

#include <algorithm>
#include <cstdint>

#include "device/cuda.h"
#include "device/elements.cuh"
#include "families/launch_parts.h"

namespace hgemm {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 20;

template <Activation kActivation>
__device__ float activated(float x) {
  if constexpr (kActivation == Activation::kRelu) return x < 0.0f ? 0.0f : x;
  if constexpr (kActivation == Activation::kSilu) return x / (1.0f + expf(-x));
  if constexpr (kActivation == Activation::kGelu) {
    return 0.5f * x * (1.0f + tanhf(kGeluScale * (x + kGeluCube * x * x * x)));
  }
  if constexpr (kActivation == Activation::kGeluErf) {
    return 0.5f * x * (1.0f + erff(x * kHalfSqrt2));
  }
  return x;
}

/// C and the bias, or null. An element of the bias belongs to a column, or to a row.
template <typename T>
struct Added {
  const T* c;
  const T* bias;
  bool along_m;
};

/// `Result` is the type of `data`, whose rows lie `leading` elements apart; those of C lie ldc
/// apart. Each thread computes kWidth neighbours of a row.
template <typename Result, typename T, Activation kActivation, int kWidth>
__global__ void __launch_bounds__(kThreads)
    finish_kernel(Result* data, Added<T> added, std::int64_t m, std::int64_t n,
                  std::int64_t leading, std::int64_t ldc) {
  struct alignas(sizeof(T) * kWidth) Vector {
    T values[kWidth];
  };
  struct alignas(sizeof(Result) * kWidth) Results {
    Result values[kWidth];
  };
  const std::int64_t per_row = n / kWidth;
  const std::int64_t all = m * per_row;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += step) {
    // (A division of 64-bit numbers takes a hundred instructions.)
    const std::int64_t row =
        all <= 0xffffffff ? static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(per_row)
                          : i / per_row;
    const std::int64_t column = (i - row * per_row) * kWidth;
    auto& results = *reinterpret_cast<Results*>(data + row * leading + column);
    Results own = results;
    Vector c{};
    Vector bias{};
    if (added.c) c = *reinterpret_cast<const Vector*>(added.c + row * ldc + column);
    if (added.bias && !added.along_m) bias = *reinterpret_cast<const Vector*>(added.bias + column);
    const float of_row = added.bias && added.along_m ? widened(added.bias[row]) : 0.0f;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      float sum = widened(own.values[j]);
      if (added.c) sum += widened(c.values[j]);
      if (added.bias) sum += added.along_m ? of_row : widened(bias.values[j]);
      own.values[j] = rounded<Result>(activated<kActivation>(sum));
    }
    results = own;
  }
}

template <typename Run>
void with_activation(Activation activation, const Run& run) {
  switch (activation) {
    case Activation::kNone:
      return run.template operator()<Activation::kNone>();
    case Activation::kRelu:
      return run.template operator()<Activation::kRelu>();
    case Activation::kGelu:
      return run.template operator()<Activation::kGelu>();
    case Activation::kGeluErf:
      return run.template operator()<Activation::kGeluErf>();
    case Activation::kSilu:
      return run.template operator()<Activation::kSilu>();
  }
}
template <typename T>
Added<T> added_to(const GemmProblem& problem, const Operands& operands) {
  const Bias bias = problem.epilogue.bias;
  return {problem.c_type ? static_cast<const T*>(operands.c) : nullptr,
          bias != Bias::kNone ? static_cast<const T*>(operands.bias) : nullptr,
          bias == Bias::kAlongM};
}

unsigned blocks_for(std::int64_t elements, int width) {
  const std::int64_t threads = elements / width;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks));
}

}  // namespace

void finish_in_place(const GemmProblem& problem, const Operands& operands, cudaStream_t stream) {
  if (!has_epilogue(problem.kind())) return;
  const bool is_wide = output_is_aligned(problem.extents(), problem.d_type) &&
                       problem.leading_d() % unit_elements(problem.d_type) == 0 &&
                       is_multiple_of(operands.d, kUnitBytes) &&
                       is_multiple_of(operands.c, kUnitBytes) &&
                       is_multiple_of(operands.bias, kUnitBytes);
  with_element(problem.d_type, [&]<typename T>(T*) {
    with_activation(problem.epilogue.activation, [&]<Activation kActivation>() {
      constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
      const auto run = [&](auto kernel, int width) {
        kernel<<<blocks_for(problem.m * problem.n, width), kThreads, 0, stream>>>(
            static_cast<T*>(operands.d), added_to<T>(problem, operands), problem.m, problem.n,
            problem.leading_d(), problem.leading_d());
      };
      if (is_wide) {
        run(finish_kernel<T, T, kActivation, kWidth>, kWidth);
      } else {
        run(finish_kernel<T, T, kActivation, 1>, 1);
      }
    });
  });
  check(cudaGetLastError(), "launching an epilogue");
}

void finish_reference(float* reference, const GemmProblem& problem, const Operands& operands,
                      cudaStream_t stream) {
  if (!has_epilogue(problem.kind())) return;
  with_element(problem.d_type, [&]<typename T>(T*) {
    with_activation(problem.epilogue.activation, [&]<Activation kActivation>() {
      finish_kernel<float, T, kActivation, 1>
          <<<blocks_for(problem.m * problem.n, 1), kThreads, 0, stream>>>(
              reference, added_to<T>(problem, operands), problem.m, problem.n, problem.n,
              problem.leading_d());
    });
  });
  check(cudaGetLastError(), "finishing the reference");
}

}  // namespace hgemm
