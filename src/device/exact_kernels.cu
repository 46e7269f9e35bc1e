#include "device/cuda.h"
#include "device/data_kernels.h"
#include "device/elements.cuh"
#include "device/exact_kernels.h"

namespace hgemm {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1024;

__device__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t all_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// An operand as rows of M (A) or N (B) by columns of K: elements from one of them to the next.
struct Strides {
  std::int64_t row, k;
};
Strides strides_of(Major major, std::int64_t leading) {
  return major == Major::kK ? Strides{leading, 1} : Strides{1, leading};
}

/// `raw`: random values, rows of K of them.
template <typename T>
__global__ void shape_kernel(T* data, const float* raw, Strides strides, std::int64_t rows,
                             std::int64_t k, OperandShape shape) {
  const std::int64_t half = k / 2;
  const std::int64_t blocks = (k + shape.block - 1) / shape.block;
  for (std::int64_t i = global_thread(); i < rows * k; i += all_threads()) {
    const std::int64_t row = i / k;
    const std::int64_t depth = i - row * k;
    const bool is_second = shape.repeats && depth >= half && depth < 2 * half;
    const bool is_pair = is_second && depth - half < half - shape.unpaired;
    float value = raw[is_pair ? i - half : i];
    if (shape.one_sign) value = fabsf(value);
    if (is_second && shape.negated) value = -value;
    const float factor = exp2f(static_cast<float>(shape.exponent(depth / shape.block, blocks)));
    data[row * strides.row + depth * strides.k] = rounded<T>(value * factor);
  }
}

/// Where the scale of an element lies, with scales of any kind; 1 without any.
struct Factors {
  const float* data = nullptr;
  std::int64_t rows = 1;  ///< that share one
  std::int64_t row_step = 0, k_step = 0;

  __device__ double of(std::int64_t row, std::int64_t depth) const {
    return data == nullptr
               ? 1.0
               : static_cast<double>(data[row / rows * row_step + depth / kScaleBlock * k_step]);
  }
};
Factors factors_of(Scaling scaling, const float* data, std::int64_t rows, std::int64_t k,
                   bool is_b) {
  switch (scaling) {
    case Scaling::kNone:
      return {};
    case Scaling::kTensor:
      return {data, 1, 0, 0};
    case Scaling::kRows:
      return {data, 1, 1, 0};
    case Scaling::kBlocks:
    case Scaling::kPackedBlocks:
      if (is_b) return {data, kScaleBlock, scales_of_b(scaling, rows, k).leading, 1};
      [[fallthrough]];
    case Scaling::kRowBlocks:
      return {data, 1, 1, scales_of_rows(rows, k).leading};
  }
  return {};
}

// A block computes 64 x 64 outputs, a thread 4 x 4; 16 elements of K at a time go through shared
// memory.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kPerThread = 4;
constexpr std::int64_t kMostGridBlocks = 0x7fffffff;  // in x (CUDA C++ Programming Guide)

template <typename T>
struct ExactOperand {
  const T* data;
  Strides strides;
  Factors factors;
  std::int64_t rows;
};

/// Rows from row_0 on, elements of K from k_0 on of `k`, with zeros outside.
template <typename T>
__device__ void fetch(double (&tile)[kDepth][kTile + 1], const ExactOperand<T>& operand,
                      std::int64_t row_0, std::int64_t k_0, std::int64_t k) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
    const bool is_k_major = operand.strides.k == 1;
    const std::int64_t row = row_0 + (is_k_major ? i / kDepth : i % kTile);
    const std::int64_t depth = k_0 + (is_k_major ? i % kDepth : i / kTile);
    double value = 0;
    if (row < operand.rows && depth < k) {
      const T stored = operand.data[row * operand.strides.row + depth * operand.strides.k];
      // Times its scale it has at most 32 bits. The fma rounds sums only, each by 2^-53 at most.
      value = static_cast<double>(widened(stored)) * operand.factors.of(row, depth);
    }
    tile[depth - k_0][row - row_0] = value;
  }
}

template <typename A, typename B>
__global__ void __launch_bounds__(kThreads)
    exact_kernel(double* exact, ExactOperand<A> a, ExactOperand<B> b, std::int64_t k) {
  __shared__ double a_tile[kDepth][kTile + 1];
  __shared__ double b_tile[kDepth][kTile + 1];
  const std::int64_t col_tiles = (b.rows + kTile - 1) / kTile;
  const std::int64_t row_0 = blockIdx.x / col_tiles * kTile;
  const std::int64_t col_0 = blockIdx.x % col_tiles * kTile;
  const int thread_row = static_cast<int>(threadIdx.x) / 16;
  const int thread_col = static_cast<int>(threadIdx.x) % 16;
  double sums[kPerThread][kPerThread] = {};
  for (std::int64_t k_0 = 0; k_0 < k; k_0 += kDepth) {
    fetch(a_tile, a, row_0, k_0, k);
    fetch(b_tile, b, col_0, k_0, k);
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kPerThread; ++j) {
          sums[i][j] = fma(a_tile[depth][thread_row + 16 * i], b_tile[depth][thread_col + 16 * j],
                           sums[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kPerThread; ++i) {
    for (int j = 0; j < kPerThread; ++j) {
      const std::int64_t row = row_0 + thread_row + 16 * i;
      const std::int64_t col = col_0 + thread_col + 16 * j;
      if (row < a.rows && col < b.rows) exact[row * b.rows + col] = sums[i][j];
    }
  }
}

__device__ double warp_sum(double value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(~0u, value, distance);
  }
  return value;
}
__device__ double warp_largest(double value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmax(value, __shfl_down_sync(~0u, value, distance));
  }
  return value;
}
/// Non-negative numbers have the same order as their bits.
__device__ void keep_largest(double* largest, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(largest),
            static_cast<unsigned long long>(__double_as_longlong(value)));
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    error_kernel(ErrorSums* sums, const T* d, std::int64_t leading, const double* exact,
                 std::int64_t rows, std::int64_t cols) {
  ErrorSums own;
  for (std::int64_t i = global_thread(); i < rows * cols; i += all_threads()) {
    const double expected = exact[i];
    const auto computed = static_cast<double>(widened(d[i / cols * leading + i % cols]));
    if (!isfinite(computed)) {
      ++own.not_finite;
      continue;
    }
    const double error = computed - expected;
    own.exact_squares += expected * expected;
    own.squares += error * error;
    own.away_from_zero += copysign(error, error * expected);
    own.worst = fmax(own.worst, fabs(error));
    own.worst_relative = fmax(own.worst_relative, fabs(error) / (fabs(expected) + 1));
  }
  const double exact_squares = warp_sum(own.exact_squares);
  const double squares = warp_sum(own.squares);
  const double away = warp_sum(own.away_from_zero);
  const double worst = warp_largest(own.worst);
  const double worst_relative = warp_largest(own.worst_relative);
  if (own.not_finite > 0) atomicAdd(&sums->not_finite, own.not_finite);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums->exact_squares, exact_squares);
  atomicAdd(&sums->squares, squares);
  atomicAdd(&sums->away_from_zero, away);
  keep_largest(&sums->worst, worst);
  keep_largest(&sums->worst_relative, worst_relative);
}

}  // namespace

void fill_shaped(void* data, DataType type, Major major, std::int64_t leading, std::int64_t rows,
                 std::int64_t k, const OperandShape& shape, float sigma, std::uint64_t seed,
                 std::uint32_t stream_id, cudaStream_t stream) {
  const DeviceMemory raw(static_cast<std::size_t>(rows * k) * sizeof(float));
  fill_normal(raw.data(), rows * k, DataType::kFp32, sigma, seed, stream_id, stream);
  with_element(type, [&]<typename T>(T*) {
    shape_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), raw.as<float>(),
                                                   strides_of(major, leading), rows, k, shape);
  });
  check(cudaGetLastError(), "shaping an operand");
  check(cudaStreamSynchronize(stream), "shaping an operand");  // before its source is freed
}

void multiply_exactly(double* exact, const GemmProblem& problem, const Operands& operands,
                      cudaStream_t stream) {
  const std::int64_t tiles = (problem.m + kTile - 1) / kTile * ((problem.n + kTile - 1) / kTile);
  if (tiles > kMostGridBlocks) {
    throw InputError("the exact product has too many tiles for one launch; leave the problem out");
  }
  const Factors of_a = factors_of(problem.scaling, operands.scale_a, problem.m, problem.k, false);
  const Factors of_b = factors_of(problem.scaling, operands.scale_b, problem.n, problem.k, true);
  with_operand_elements(problem.a_type, problem.b_type, [&]<typename A, typename B>(A*, B*) {
    const ExactOperand<A> a{static_cast<const A*>(operands.a),
                            strides_of(problem.a_major(), problem.leading_a()), of_a, problem.m};
    const ExactOperand<B> b{static_cast<const B*>(operands.b),
                            strides_of(problem.b_major(), problem.leading_b()), of_b, problem.n};
    exact_kernel<<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>(exact, a, b, problem.k);
  });
  check(cudaGetLastError(), "computing the exact product");
}

void compare_exactly(ErrorSums* sums, const void* d, const double* exact,
                     const GemmProblem& problem, cudaStream_t stream) {
  check(cudaMemsetAsync(sums, 0, sizeof(ErrorSums), stream), "preparing the comparison");
  with_element(problem.d_type, [&]<typename T>(T*) {
    error_kernel<<<kBlocks, kThreads, 0, stream>>>(
        sums, static_cast<const T*>(d), problem.leading_d(), exact, problem.m, problem.n);
  });
  check(cudaGetLastError(), "comparing with the exact product");
}

}  // namespace hgemm
