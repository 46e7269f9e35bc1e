#include "device/epilogue_kernels.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "device/cuda.h"
#include "device/data_kernels.h"
#include "device/elements.cuh"
#include "families/launch_parts.h"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/quantise_factor.cuh"

namespace hgemm {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 20;

/// Those of CUDA's math library, or the kernels' own. With the former a launch took 72 us for SiLU
/// and 43 us for ReLU with the same traffic (4096 x 11008, results/h200/training-aux.db).
enum class Functions { kPrecise, kFast };

template <Activation kActivation, Functions kFunctions>
__device__ float activated(float x) {
  if constexpr (kFunctions == Functions::kFast) return activate<kActivation>(x);
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
  float alpha, beta;  ///< factors of the sums and of C

  /// Adds them to kWidth neighbours of a row. Rows of C lie ldc elements apart.
  template <typename Products, int kWidth>
  __device__ void add_to(const Products& product, std::int64_t row, std::int64_t column,
                         std::int64_t ldc, float (&sums)[kWidth]) const;
};

template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) Neighbours {
  T values[kWidth];
};

template <typename T>
template <typename Products, int kWidth>
__device__ void Added<T>::add_to(const Products& product, std::int64_t row, std::int64_t column,
                                 std::int64_t ldc, float (&sums)[kWidth]) const {
  using Vector = Neighbours<T, kWidth>;
  Vector of_c{};
  Vector of_bias{};
  if (c) of_c = *reinterpret_cast<const Vector*>(c + row * ldc + column);
  if (bias && !along_m) of_bias = *reinterpret_cast<const Vector*>(bias + column);
  const float of_row = bias && along_m ? widened(bias[row]) : 0.0f;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    float sum = alpha * widened(product.values[j]);
    if (c) sum += beta * widened(of_c.values[j]);
    if (bias) sum += along_m ? of_row : widened(of_bias.values[j]);
    sums[j] = sum;
  }
}

/// The row of number `i` of `all`. (A division of 64-bit numbers takes a hundred instructions.)
__device__ std::int64_t row_of(std::int64_t i, std::int64_t all, std::int64_t per_row) {
  return all <= 0xffffffff ? static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(per_row)
                           : i / per_row;
}

/// What a launch reads and writes; the product may be either output. `aux`: null, or where the sums
/// go that the activation is applied to. `scale`: null, or the factor of D.
template <typename Product, typename Result>
struct Finished {
  const Product* product;
  Result* d;
  Product* aux;
  /// Elements from one row to the next, of the product and of the outputs.
  std::int64_t product_leading, leading;
  const float* scale;
};

/// Rows of C lie ldc elements apart. Each thread computes kWidth neighbours of a row.
template <typename Product, typename Result, typename T, Activation kActivation,
          Functions kFunctions, int kWidth>
__global__ void __launch_bounds__(kThreads)
    finish_kernel(Finished<Product, Result> data, Added<T> added, std::int64_t m, std::int64_t n,
                  std::int64_t ldc) {
  using Products = Neighbours<Product, kWidth>;
  using Results = Neighbours<Result, kWidth>;
  const float scale = data.scale ? *data.scale : 1.0f;
  const std::int64_t per_row = n / kWidth;
  const std::int64_t all = m * per_row;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += step) {
    const std::int64_t row = row_of(i, all, per_row);
    const std::int64_t column = (i - row * per_row) * kWidth;
    const std::int64_t at = row * data.leading + column;
    const Products product =
        *reinterpret_cast<const Products*>(data.product + row * data.product_leading + column);
    float all_sums[kWidth];
    added.add_to(product, row, column, ldc, all_sums);
    Products sums;
    Results results;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const float sum = all_sums[j];
      sums.values[j] = rounded<Product>(sum);
      results.values[j] = rounded<Result>(scale * activated<kActivation, kFunctions>(sum));
    }
    if (data.aux) *reinterpret_cast<Products*>(data.aux + at) = sums;
    *reinterpret_cast<Results*>(data.d + at) = results;
  }
}

/// Where the gates and ups of a product lie: the up of column j of D is `up` elements from its
/// gate, and gates lie `step` apart.
struct Pairs {
  std::int64_t step, up;
};

/// kWidth neighbours of a D with a gate, which has so many columns; `product` has twice as many.
template <Activation kActivation, Functions kFunctions, typename T, int kWidth>
__device__ void gate_product(const T* product, const Pairs& pairs, std::int64_t row,
                             std::int64_t columns, std::int64_t column, float (&results)[kWidth]) {
  using Vector = Neighbours<T, kWidth>;
  const bool is_interleaved = pairs.step == 2;
  // A vector of gates and one of ups, or two neighbours that have both in turn.
  const T* const first = product + row * 2 * columns + column * pairs.step;
  const T* const second = first + (is_interleaved ? kWidth : pairs.up);
  const Vector low = *reinterpret_cast<const Vector*>(first);
  const Vector high = *reinterpret_cast<const Vector*>(second);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    const auto of_both = [&](int index) {
      return index < kWidth ? low.values[index] : high.values[index - kWidth];
    };
    const float gate = widened(is_interleaved ? of_both(2 * j) : low.values[j]);
    const float up = widened(is_interleaved ? of_both(2 * j + 1) : high.values[j]);
    results[j] = activated<kActivation, kFunctions>(gate) * up;
  }
}

/// For D with a gate, as many columns as D has; `product` has twice as many. Each thread computes
/// kWidth neighbours of a row. `factor`: null, or that of D.
template <typename Result, typename T, Activation kActivation, Functions kFunctions, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gate_kernel(Result* d, const T* product, Pairs pairs, std::int64_t m, std::int64_t columns,
                std::int64_t leading, const float* factor) {
  using Results = Neighbours<Result, kWidth>;
  const std::int64_t per_row = columns / kWidth;
  const std::int64_t all = m * per_row;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const float scale = factor ? *factor : 1.0f;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += threads) {
    const std::int64_t row = row_of(i, all, per_row);
    const std::int64_t column = (i - row * per_row) * kWidth;
    float values[kWidth];
    gate_product<kActivation, kFunctions>(product, pairs, row, columns, column, values);
    Results results;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) results.values[j] = rounded<Result>(scale * values[j]);
    *reinterpret_cast<Results*>(d + row * leading + column) = results;
  }
}

/// Threads that share a scale of kScaleBlock columns, and the values of each.
constexpr int kThreadsOfScale = 16;
constexpr int kValuesOfThread = kScaleBlock / kThreadsOfScale;

/// A D of 8 bits with its scales, from a product: each thread computes kValuesOfThread columns of a
/// row, kWidth neighbours at a time. `pairs.step`: 0 without a gate. `scales`: `block_leading`
/// numbers from one block of columns to the next.
template <typename Result, DataType kResult, typename T, Activation kActivation, int kWidth>
__global__ void __launch_bounds__(kThreads)
    scale_blocks_kernel(Finished<T, Result> data, Added<T> added, Pairs pairs, float* scales,
                        std::int64_t block_leading, std::int64_t m, std::int64_t n,
                        std::int64_t ldc) {
  using Products = Neighbours<T, kWidth>;
  using Results = Neighbours<Result, kWidth>;
  const std::int64_t per_row = scale_blocks(n) * kThreadsOfScale;
  const std::int64_t all = m * per_row;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  // Threads of a block leave the loop together: `all` and `step` are multiples of their number.
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += step) {
    const std::int64_t row = row_of(i, all, per_row);
    const std::int64_t block = (i - row * per_row) / kThreadsOfScale;
    const std::int64_t first = block * kScaleBlock + (i - row * per_row) % kThreadsOfScale * kWidth;
    float values[kValuesOfThread / kWidth][kWidth] = {};
    float largest = 0;
#pragma unroll
    for (int part = 0; part < kValuesOfThread / kWidth; ++part) {
      const std::int64_t column = first + part * kThreadsOfScale * kWidth;
      if (column >= n) continue;
      if (pairs.step != 0) {
        gate_product<kActivation, Functions::kFast>(data.product, pairs, row, n, column,
                                                    values[part]);
      } else {
        const Products product =
            *reinterpret_cast<const Products*>(data.product + row * data.product_leading + column);
        added.add_to(product, row, column, ldc, values[part]);
#pragma unroll
        for (float& value : values[part]) value = activated<kActivation, Functions::kFast>(value);
      }
#pragma unroll
      for (const float value : values[part]) largest = fmaxf(largest, fabsf(value));
    }
    const unsigned mates = 0xffffu << (threadIdx.x % 32 / kThreadsOfScale * kThreadsOfScale);
#pragma unroll
    for (int mask = 1; mask < kThreadsOfScale; mask *= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(mates, largest, mask));
    }
    const QuantiseFactor both = factor_for<kResult>(largest);
    if (first % kScaleBlock == 0) scales[block * block_leading + row] = both.scale;
#pragma unroll
    for (int part = 0; part < kValuesOfThread / kWidth; ++part) {
      const std::int64_t column = first + part * kThreadsOfScale * kWidth;
      if (column >= n) continue;
      Results results;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        results.values[j] = rounded<Result>(both.factor * values[part][j]);
      }
      *reinterpret_cast<Results*>(data.d + row * data.leading + column) = results;
    }
  }
}

/// A thread for each scale.
__global__ void find_scales_kernel(float* scales, const float* reference, std::int64_t rows,
                                   std::int64_t columns, float largest_of_type) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows * scale_blocks(columns)) return;
  const std::int64_t row = i % rows;
  const std::int64_t first = i / rows * kScaleBlock;
  const std::int64_t end = first + kScaleBlock < columns ? first + kScaleBlock : columns;
  float largest = kLeastMagnitude;
  for (std::int64_t column = first; column < end; ++column) {
    largest = fmaxf(largest, fabsf(reference[row * columns + column]));
  }
  scales[i] = largest / largest_of_type;
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
Added<T> added_to(const GemmProblem& problem, const Operands& operands, float alpha) {
  const Bias bias = problem.epilogue.bias;
  return {problem.c_type ? static_cast<const T*>(operands.c) : nullptr,
          bias != Bias::kNone ? static_cast<const T*>(operands.bias) : nullptr,
          bias == Bias::kAlongM, alpha, operands.beta};
}

unsigned blocks_for(std::int64_t elements, int width) {
  const std::int64_t threads = elements / width;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks));
}

Pairs pairs_of(const GemmProblem& problem) {
  return problem.epilogue.gate == Gate::kInterleaved ? Pairs{2, 1} : Pairs{1, problem.n / 2};
}

/// Whether rows of D, of a product, of C and the bias are whole units of 16 bytes.
bool is_wide(const GemmProblem& problem, const void* product, const Operands& operands) {
  return output_is_aligned(problem.extents(), problem.d_type) &&
         problem.leading_d() % unit_elements(problem.d_type) == 0 &&
         is_multiple_of(product, kUnitBytes) && is_multiple_of(operands.d, kUnitBytes) &&
         is_multiple_of(operands.c, kUnitBytes) && is_multiple_of(operands.bias, kUnitBytes) &&
         is_multiple_of(operands.aux, kUnitBytes);
}

/// finish_product() for a D of 8 bits whose scales are found.
void finish_in_blocks(const GemmProblem& problem, const void* product, const Operands& operands,
                      cudaStream_t stream) {
  using Element = __nv_bfloat16;  // GemmProblem::product()
  const std::int64_t columns = problem.d_columns();
  const auto run = [&]<typename Result, DataType kResult, Activation kActivation, int kWidth>() {
    const Finished<Element, Result> data{static_cast<const Element*>(product),
                                         static_cast<Result*>(operands.d),
                                         nullptr,
                                         problem.product().leading_d(),
                                         problem.leading_d(),
                                         nullptr};
    const unsigned blocks = blocks_for(problem.m * scale_blocks(columns) * kThreadsOfScale, 1);
    scale_blocks_kernel<Result, kResult, Element, kActivation, kWidth>
        <<<blocks, kThreads, 0, stream>>>(data, added_to<Element>(problem, operands, 1),
                                          problem.is_gated() ? pairs_of(problem) : Pairs{0, 0},
                                          operands.scales_d, scale_leading(problem.m), problem.m,
                                          columns, problem.leading_d());
  };
  with_activation(problem.epilogue.activation, [&]<Activation kActivation>() {
    const auto with_result = [&]<typename Result, DataType kResult>() {
      if (is_wide(problem, product, operands)) {
        run.template operator()<Result, kResult, kActivation, kValuesOfThread>();
      } else {
        run.template operator()<Result, kResult, kActivation, 1>();
      }
    };
    if (problem.d_type == DataType::kE4m3) {
      with_result.template operator()<__nv_fp8_e4m3, DataType::kE4m3>();
    } else {
      with_result.template operator()<__nv_fp8_e5m2, DataType::kE5m2>();
    }
  });
  check(cudaGetLastError(), "launching an epilogue with scales");
}

}  // namespace

void finish_product(const GemmProblem& problem, const void* product, const Operands& operands,
                    cudaStream_t stream) {
  if (!problem.exceeds_product()) return;
  if (problem.finds_scales_of_d()) return finish_in_blocks(problem, product, operands, stream);
  const std::int64_t columns = problem.d_columns();
  const float* const scale = has_given_output_scale(problem.kind()) ? operands.scale_d : nullptr;
  with_output_elements(problem.d_type, [&]<typename Result, typename T>(Result*, T*) {
    with_activation(problem.epilogue.activation, [&]<Activation kActivation>() {
      const auto run = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
        const unsigned blocks = blocks_for(problem.m * columns, kWidth);
        auto* const d = static_cast<Result*>(operands.d);
        if (problem.is_gated()) {
          gate_kernel<Result, T, kActivation, Functions::kFast, kWidth>
              <<<blocks, kThreads, 0, stream>>>(d, static_cast<const T*>(product),
                                                pairs_of(problem), problem.m, columns,
                                                problem.leading_d(), scale);
        } else {
          const bool writes_aux = problem.epilogue.aux && reads_operands(problem.kind());
          const Finished<T, Result> data{static_cast<const T*>(product),
                                         d,
                                         writes_aux ? static_cast<T*>(operands.aux) : nullptr,
                                         problem.product().leading_d(),
                                         problem.leading_d(),
                                         scale};
          finish_kernel<T, Result, T, kActivation, Functions::kFast, kWidth>
              <<<blocks, kThreads, 0, stream>>>(data, added_to<T>(problem, operands, 1), problem.m,
                                                columns, problem.leading_d());
        }
      };
      if (is_wide(problem, product, operands)) {
        run(std::integral_constant<int, 16 / static_cast<int>(sizeof(T))>());
      } else {
        run(std::integral_constant<int, 1>());
      }
    });
  });
  check(cudaGetLastError(), "launching an epilogue");
}

void finish_reference(float* reference, float* aux_reference, float* product,
                      const GemmProblem& problem, const Operands& operands, cudaStream_t stream) {
  scale_sums(product, problem.batch * problem.m, problem.n, problem.scaling, operands.scale_a,
             operands.scale_b, stream);
  if (!has_epilogue(problem.kind()) && !problem.has_8_bit_output()) return;
  const std::int64_t columns = problem.d_columns();
  const std::int64_t rows = problem.batch * problem.m;  // without a C or a bias if there are many
  const unsigned blocks = blocks_for(rows * columns, 1);
  const float* const scale = has_given_output_scale(problem.kind()) ? operands.scale_d : nullptr;
  with_added_element(problem.added_type(), [&]<typename T>(T*) {
    with_activation(problem.epilogue.activation, [&]<Activation kActivation>() {
      if (problem.is_gated()) {
        gate_kernel<float, float, kActivation, Functions::kPrecise, 1>
            <<<blocks, kThreads, 0, stream>>>(reference, product, pairs_of(problem), problem.m,
                                              columns, columns, scale);
      } else {
        finish_kernel<float, float, T, kActivation, Functions::kPrecise, 1>
            <<<blocks, kThreads, 0, stream>>>(
                Finished<float, float>{product, reference, aux_reference, columns, columns, scale},
                added_to<T>(problem, operands, operands.alpha), rows, columns, problem.leading_d());
      }
    });
  });
  check(cudaGetLastError(), "finishing the reference");
}

void find_scales(float* scales, const float* reference, const GemmProblem& problem,
                 cudaStream_t stream) {
  const std::int64_t columns = problem.d_columns();
  const std::int64_t all = problem.m * scale_blocks(columns);
  find_scales_kernel<<<static_cast<unsigned>((all + kThreads - 1) / kThreads), kThreads, 0,
                       stream>>>(scales, reference, problem.m, columns,
                                 largest_value(problem.d_type));
  check(cudaGetLastError(), "finding scales");
}

}  // namespace hgemm
