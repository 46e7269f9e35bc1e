#include "device/data_kernels.h"

#include <type_traits>

#include "device/cuda.h"
#include "device/elements.cuh"
#include "device/rounded_from.h"

namespace hgemm {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1024;

__device__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t all_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// Philox4x32-10: four random words for each counter (J. Salmon et al., "Parallel Random Numbers:
/// As Easy as 1, 2, 3", SC 2011: multipliers and Weyl constants of its table 2).
__device__ uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high_0 = __umulhi(0xD2511F53u, counter.x);
    const std::uint32_t low_0 = 0xD2511F53u * counter.x;
    const std::uint32_t high_1 = __umulhi(0xCD9E8D57u, counter.z);
    const std::uint32_t low_1 = 0xCD9E8D57u * counter.z;
    counter = make_uint4(high_1 ^ counter.y ^ key.x, low_1, high_0 ^ counter.w ^ key.y, low_0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

/// Two independent N(0, 1) values (Box and Muller 1958).
__device__ float2 normal_pair(std::uint32_t word_0, std::uint32_t word_1) {
  const float uniform = (static_cast<float>(word_0) + 0.5f) * 0x1p-32f;
  const float radius = sqrtf(-2.0f * logf(fminf(uniform, 0x1.fffffep-1f)));
  float sine = 0;
  float cosine = 0;
  sincospif(static_cast<float>(word_1) * 0x1p-31f, &sine, &cosine);
  return make_float2(radius * cosine, radius * sine);
}

/// Four values of the distribution with sigma 1, which depend on the counter and the key alone.
__device__ float4 random_values(Distribution distribution, uint4 counter, uint2 key) {
  const uint4 words = philox(counter, key);
  const auto uniform = [](std::uint32_t word) {
    constexpr float kSqrt3 = 1.7320508f;
    return ((static_cast<float>(word) + 0.5f) * 0x1p-31f - 1.0f) * kSqrt3;
  };
  const auto integer = [](std::uint32_t word) {
    return static_cast<float>(static_cast<int>(__umulhi(word, 9)) - 4);
  };
  switch (distribution) {
    case Distribution::kUniform:
      return make_float4(uniform(words.x), uniform(words.y), uniform(words.z), uniform(words.w));
    case Distribution::kIntegers:
      return make_float4(integer(words.x), integer(words.y), integer(words.z), integer(words.w));
    default:
      break;
  }
  const float2 first = normal_pair(words.x, words.y);
  const float2 second = normal_pair(words.z, words.w);
  if (distribution == Distribution::kNormal) {
    return make_float4(first.x, first.y, second.x, second.y);
  }
  counter.w = 1;  // other words than those that made the values
  const uint4 kept = philox(counter, key);
  return make_float4(kept.x >> 31 ? first.x : 0, kept.y >> 31 ? first.y : 0,
                     kept.z >> 31 ? second.x : 0, kept.w >> 31 ? second.y : 0);
}

/// The finaliser of MurmurHash3 (A. Appleby), a bijection of 64-bit words.
__device__ std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ (word >> 33)) * 0xff51afd7ed558ccdULL;
  word = (word ^ (word >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return word ^ (word >> 33);
}

__global__ void fingerprint_kernel(unsigned long long* sum, const std::uint16_t* words,
                                   std::int64_t count) {
  std::uint64_t own = 0;
  for (std::int64_t i = global_thread(); i < count; i += all_threads()) {
    own += mixed(static_cast<std::uint64_t>(i) << 16 | words[i]);
  }
  atomicAdd(sum, static_cast<unsigned long long>(own));
}

template <typename T>
__global__ void fill_random_kernel(T* data, std::int64_t count, Distribution distribution,
                                   float sigma, std::uint64_t seed, std::uint32_t stream_id) {
  const uint2 key =
      make_uint2(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  const std::int64_t groups = (count + 3) / 4;
  for (std::int64_t group = global_thread(); group < groups; group += all_threads()) {
    const float4 four =
        random_values(distribution,
                      make_uint4(static_cast<std::uint32_t>(group),
                                 static_cast<std::uint32_t>(group >> 32), stream_id, 0),
                      key);
    const float values[4] = {four.x, four.y, four.z, four.w};
    for (int i = 0; i < 4 && group * 4 + i < count; ++i) {
      data[group * 4 + i] = rounded<T>(sigma * values[i]);
    }
  }
}

template <typename T>
__global__ void scale_kernel(T* data, std::int64_t count, float factor) {
  constexpr int kPerVector = 16 / static_cast<int>(sizeof(T));
  const std::int64_t vectors = count / kPerVector;
  for (std::int64_t i = global_thread(); i < vectors; i += all_threads()) {
    int4 vector = reinterpret_cast<int4*>(data)[i];
    T values[kPerVector];
    memcpy(values, &vector, sizeof vector);
    for (T& value : values) value = rounded<T>(widened(value) * factor);
    memcpy(&vector, values, sizeof vector);
    reinterpret_cast<int4*>(data)[i] = vector;
  }
  const std::int64_t rest = vectors * kPerVector + global_thread();
  if (rest < count) data[rest] = rounded<T>(widened(data[rest]) * factor);
}

__global__ void fill_scales_kernel(float* data, std::int64_t count, std::uint64_t seed,
                                   std::uint32_t stream_id) {
  const uint2 key =
      make_uint2(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  for (std::int64_t i = global_thread(); i < count; i += all_threads()) {
    const uint4 words = philox(make_uint4(static_cast<std::uint32_t>(i),
                                          static_cast<std::uint32_t>(i >> 32), stream_id, 0),
                               key);
    // 24 bits, so that no number is rounded up to 1.
    data[i] = 0.75f * exp2f(static_cast<float>(words.x >> 8) * 0x1p-24f);
  }
}

__global__ void scale_sums_kernel(float* sums, std::int64_t rows, std::int64_t cols, bool by_row,
                                  const float* scale_a, const float* scale_b) {
  for (std::int64_t i = global_thread(); i < rows * cols; i += all_threads()) {
    const std::int64_t row = by_row ? i / cols : 0;
    const std::int64_t col = by_row ? i % cols : 0;
    sums[i] *= scale_a[row] * scale_b[col];
  }
}

/// An element that belongs to several matrices takes one value, by its place.
template <typename T>
__global__ void repeat_values_kernel(T* data, StoredMatrices all, const float* values,
                                     std::int64_t count, float scale) {
  const bool by_row = are_one_matrix(all);
  const std::int64_t filled = values_to_fill(all);
  for (std::int64_t i = global_thread(); i < filled; i += all_threads()) {
    const std::int64_t place = by_row ? i / all.cols * all.leading + i % all.cols : i;
    data[place] = rounded<T>(scale * values[i % count]);
  }
}

// The reference kernel: a block computes 64 x 64 outputs, a thread 4 x 4; 16 elements of K at a
// time go through shared memory.
constexpr int kRefTile = 64;
constexpr int kRefK = 16;
constexpr int kRefPerThread = 4;
constexpr std::int64_t kMostGridBlocks = 0x7fffffff;  // in x (CUDA C++ Programming Guide)

/// An operand as rows of M (A) or N (B) by columns of K: elements from one of them to the next.
struct Strides {
  std::int64_t row, k;
};
Strides strides_of(Major major, std::int64_t leading) {
  return major == Major::kK ? Strides{leading, 1} : Strides{1, leading};
}

/// Rows from row_0 on of `rows`, elements of K from k_0 on of `k`, with zeros outside. Neighbouring
/// threads read neighbours in memory.
template <typename T>
__device__ void fetch_reference_tile(float (&tile)[kRefK][kRefTile + 1], const T* data,
                                     Strides strides, std::int64_t row_0, std::int64_t rows,
                                     std::int64_t k_0, std::int64_t k) {
  for (int i = static_cast<int>(threadIdx.x); i < kRefTile * kRefK; i += kThreads) {
    const int row = strides.k == 1 ? i / kRefK : i % kRefTile;
    const int depth = strides.k == 1 ? i % kRefK : i / kRefTile;
    const bool inside = k_0 + depth < k && row_0 + row < rows;
    tile[depth][row] =
        inside ? widened(data[(row_0 + row) * strides.row + (k_0 + depth) * strides.k]) : 0.0f;
  }
}

/// Where the scale of a row and a block of K lies, with scales of blocks (is_of_blocks()).
struct BlockScales {
  const float* data = nullptr;
  std::int64_t rows = 1;  ///< that share one
  std::int64_t row_step = 0, k_step = 0;

  __device__ float of(std::int64_t row, std::int64_t k_block) const {
    return data[row / rows * row_step + k_block * k_step];
  }
};
BlockScales block_scales_of_a(const float* data, std::int64_t m, std::int64_t k) {
  return {data, 1, 1, scales_of_rows(m, k).leading};
}
BlockScales block_scales_of_b(Scaling scaling, const float* data, std::int64_t n, std::int64_t k) {
  const std::int64_t leading = scales_of_b(scaling, n, k).leading;
  if (has_row_blocks_of_b(scaling)) return {data, kScaleBlock, leading, 1};
  return {data, 1, 1, leading};
}

/// Blocks that compute the reference of one product.
__host__ __device__ std::int64_t reference_tiles(const ProblemExtents& extents) {
  return (extents.m + kRefTile - 1) / kRefTile * ((extents.n + kRefTile - 1) / kRefTile);
}

/// A thread's outputs: rows and columns 16 apart, from its first ones on.
using ReferenceSums = float[kRefPerThread][kRefPerThread];

/// Adds the sums of a block of K, each times its two scales, and begins them anew.
__device__ void add_scaled(ReferenceSums& sums, ReferenceSums& of_block,
                           const ProblemExtents& extents, const BlockScales& of_a,
                           const BlockScales& of_b, std::int64_t row_0, std::int64_t col_0,
                           std::int64_t k_block) {
#pragma unroll
  for (int i = 0; i < kRefPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kRefPerThread; ++j) {
      const std::int64_t row = row_0 + 16 * i;
      const std::int64_t col = col_0 + 16 * j;
      if (row < extents.m && col < extents.n) {
        const float scale = of_a.of(row, k_block) * of_b.of(col, k_block);
        sums[i][j] = fmaf(scale, of_block[i][j], sums[i][j]);
      }
      of_block[i][j] = 0;
    }
  }
}

template <bool kScalesBlocks, typename A, typename B>
__global__ void __launch_bounds__(kThreads)
    reference_kernel(float* reference, const A* a, const B* b, ProblemExtents extents, Strides of_a,
                     Strides of_b, BlockScales scales_a, BlockScales scales_b) {
  const std::int64_t m = extents.m;
  const std::int64_t n = extents.n;
  const std::int64_t k = extents.k;
  __shared__ float a_tile[kRefK][kRefTile + 1];
  __shared__ float b_tile[kRefK][kRefTile + 1];
  // Only the first grid dimension is used: the others end at 65,535 blocks, which M or N may
  // exceed.
  const std::int64_t col_tiles = (n + kRefTile - 1) / kRefTile;
  const std::int64_t tiles = reference_tiles(extents);  // of one product
  const std::int64_t product = blockIdx.x / tiles;
  const std::int64_t tile = blockIdx.x - product * tiles;
  const std::int64_t row_0 = tile / col_tiles * kRefTile;
  const std::int64_t col_0 = tile % col_tiles * kRefTile;
  const Places places = places_of(extents.batch, product);
  a += places.a * extents.batch.stride_a;
  b += places.b * extents.batch.stride_b;
  reference += places.d * m * n;
  const int thread_row = static_cast<int>(threadIdx.x) / 16;
  const int thread_col = static_cast<int>(threadIdx.x) % 16;

  ReferenceSums sums = {};
  [[maybe_unused]] ReferenceSums scaled = {};
  for (std::int64_t k_0 = 0; k_0 < k; k_0 += kRefK) {
    fetch_reference_tile(a_tile, a, of_a, row_0, m, k_0, k);
    fetch_reference_tile(b_tile, b, of_b, col_0, n, k_0, k);
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kRefK; ++depth) {
#pragma unroll
      for (int i = 0; i < kRefPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kRefPerThread; ++j) {
          sums[i][j] = fmaf(a_tile[depth][thread_row + 16 * i], b_tile[depth][thread_col + 16 * j],
                            sums[i][j]);
        }
      }
    }
    __syncthreads();
    if constexpr (kScalesBlocks) {
      static_assert(kScaleBlock % kRefK == 0);
      const std::int64_t end = k_0 + kRefK;
      if (end % kScaleBlock == 0 || end >= k) {
        add_scaled(scaled, sums, extents, scales_a, scales_b, row_0 + thread_row,
                   col_0 + thread_col, k_0 / kScaleBlock);
      }
    }
  }
  for (int i = 0; i < kRefPerThread; ++i) {
    for (int j = 0; j < kRefPerThread; ++j) {
      const std::int64_t row = row_0 + thread_row + 16 * i;
      const std::int64_t col = col_0 + thread_col + 16 * j;
      if (row < m && col < n) reference[row * n + col] = kScalesBlocks ? scaled[i][j] : sums[i][j];
    }
  }
}

/// The distance of an output from what it should be; of 8-bit ones without that of the rounding.
template <typename T>
__device__ float distance(T value, float expected) {
  return fabsf(widened(value) - expected);
}
__device__ float distance(__nv_fp8_e4m3 value, float expected) {
  return distance_to_rounded_from(DataType::kE4m3, value.__x, expected);
}
__device__ float distance(__nv_fp8_e5m2 value, float expected) {
  return distance_to_rounded_from(DataType::kE5m2, value.__x, expected);
}

template <typename T>
__global__ void compare_kernel(OutputComparison* result, const T* d, const float* reference,
                               ProblemExtents extents, float scale, float tolerance,
                               FoundScales found) {
  float max_error = 0;
  unsigned long long bad = 0;
  unsigned long long first_bad = ~0ull;
  const StoredMatrices all = all_of_d(extents);
  const std::int64_t count = all.count * all.rows * all.cols;
  const bool in_one_piece = are_one_piece(all);
  for (std::int64_t i = global_thread(); i < count; i += all_threads()) {
    float expected = reference[i];
    float unit = scale;
    if (found.numbers) {  // of a single product
      const float of_block =
          found.numbers[i % all.cols / kScaleBlock * found.leading + i / all.cols];
      expected /= of_block;
      unit /= of_block;
    }
    const std::int64_t at = in_one_piece ? i : place_of(all, i);
    const float error = distance(d[at], expected) / (fabsf(expected) + unit);
    if (!is_within(error, tolerance)) {
      ++bad;
      first_bad = min(first_bad, static_cast<unsigned long long>(i));
    }
    max_error = fmaxf(max_error, error);  // ignores NaN, which `bad` counts
  }
  // Non-negative floats have the same order as their bit patterns.
  atomicMax(reinterpret_cast<int*>(&result->max_error), __float_as_int(max_error));
  if (bad > 0) {
    atomicAdd(&result->bad, bad);
    atomicMin(&result->first_bad, first_bad);
  }
}

/// `Word` is the unsigned integer of an element's size. The poison has all bits set.
template <typename Word>
__global__ void guard_kernel(OutputComparison* result, const Word* before, const Word* after,
                             std::int64_t guard) {
  static_assert(kPoisonByte == 0xff);
  constexpr auto kPoison = static_cast<Word>(~Word{0});
  std::uint32_t writes = 0;
  for (std::int64_t i = global_thread(); i < guard; i += all_threads()) {
    writes += before[i] != kPoison;
    writes += after[i] != kPoison;
  }
  if (writes > 0) atomicAdd(&result->guard_writes, writes);
}

/// Calls `visit` with every place of the span that belongs to no matrix, once over all threads.
template <typename Visit>
__device__ void for_each_outside(const StoredMatrices& all, const Visit& visit) {
  if (are_one_matrix(all)) {
    const std::int64_t gap = all.leading - all.cols;
    const std::int64_t padding = all.count * all.rows * gap;
    for (std::int64_t i = global_thread(); i < padding; i += all_threads()) {
      visit(i / gap * all.leading + all.cols + i % gap);
    }
    return;
  }
  const Arrangement arrangement = arrangement_of(all);
  const std::int64_t span = spanned_elements(all);
  for (std::int64_t i = global_thread(); i < span; i += all_threads()) {
    if (!is_in_matrix(all, arrangement, i)) visit(i);
  }
}

template <typename Word>
__global__ void padding_kernel(OutputComparison* result, const Word* d, StoredMatrices all) {
  constexpr auto kPoison = static_cast<Word>(~Word{0});
  std::uint32_t writes = 0;
  for_each_outside(all, [&](std::int64_t place) { writes += d[place] != kPoison; });
  if (writes > 0) atomicAdd(&result->guard_writes, writes);
}

template <typename Word>
__global__ void poison_padding_kernel(Word* data, StoredMatrices all) {
  for_each_outside(all, [&](std::int64_t place) { data[place] = static_cast<Word>(~Word{0}); });
}

/// The unsigned integer of an element's size.
template <typename T>
using WordOf = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>>;

}  // namespace

void fill_random(void* data, std::int64_t count, DataType type, Distribution distribution,
                 float sigma, std::uint64_t seed, std::uint32_t stream_id, cudaStream_t stream) {
  with_element(type, [&]<typename T>(T*) {
    fill_random_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), count, distribution,
                                                         sigma, seed, stream_id);
  });
  check(cudaGetLastError(), "filling inputs");
}

void scale_in_place(void* data, std::int64_t count, DataType type, float factor,
                    cudaStream_t stream) {
  with_element(type, [&]<typename T>(T*) {
    scale_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), count, factor);
  });
  check(cudaGetLastError(), "scaling a matrix");
}

void fill_normal(void* data, std::int64_t count, DataType type, float sigma, std::uint64_t seed,
                 std::uint32_t stream_id, cudaStream_t stream) {
  fill_random(data, count, type, Distribution::kNormal, sigma, seed, stream_id, stream);
}

void repeat_values(void* data, const StoredMatrices& all, DataType type, const float* values,
                   std::int64_t count, float scale, cudaStream_t stream) {
  with_element(type, [&]<typename T>(T*) {
    repeat_values_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), all, values,
                                                           count, scale);
  });
  check(cudaGetLastError(), "filling inputs with values of a file");
}

void poison_padding(void* data, const StoredMatrices& all, DataType type, cudaStream_t stream) {
  static_assert(kPoisonByte == 0xff);
  if (are_one_piece(all)) return;
  with_element(type, [&]<typename T>(T*) {
    poison_padding_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<WordOf<T>*>(data), all);
  });
  check(cudaGetLastError(), "poisoning what lies between rows");
}

void add_fingerprint(std::uint64_t* sum, const void* data, std::size_t bytes, cudaStream_t stream) {
  const auto words = static_cast<std::int64_t>(bytes / sizeof(std::uint16_t));
  fingerprint_kernel<<<kBlocks, kThreads, 0, stream>>>(
      reinterpret_cast<unsigned long long*>(sum), static_cast<const std::uint16_t*>(data), words);
  check(cudaGetLastError(), "fingerprinting inputs");
}

void fill_scales(float* data, std::int64_t count, std::uint64_t seed, std::uint32_t stream_id,
                 cudaStream_t stream) {
  fill_scales_kernel<<<kBlocks, kThreads, 0, stream>>>(data, count, seed, stream_id);
  check(cudaGetLastError(), "filling scales");
}

void scale_sums(float* sums, std::int64_t rows, std::int64_t cols, Scaling scaling,
                const float* scale_a, const float* scale_b, cudaStream_t stream) {
  if (scaling == Scaling::kNone || is_of_blocks(scaling)) return;
  scale_sums_kernel<<<kBlocks, kThreads, 0, stream>>>(sums, rows, cols, scaling == Scaling::kRows,
                                                      scale_a, scale_b);
  check(cudaGetLastError(), "scaling the reference");
}

void multiply_reference(float* reference, const GemmProblem& problem, const Operands& operands,
                        cudaStream_t stream) {
  const ProblemExtents extents = problem.extents();
  const std::int64_t tiles = extents.batch.count * reference_tiles(extents);
  if (tiles > kMostGridBlocks) {
    throw InputError("the reference has too many tiles for one launch; leave the problem out");
  }
  const auto grid = static_cast<unsigned>(tiles);
  const BlockScales of_a = block_scales_of_a(operands.scale_a, problem.m, problem.k);
  const BlockScales of_b =
      block_scales_of_b(problem.scaling, operands.scale_b, problem.n, problem.k);
  with_operand_elements(problem.a_type, problem.b_type, [&]<typename A, typename B>(A*, B*) {
    const auto run = [&]<bool kScalesBlocks>() {
      reference_kernel<kScalesBlocks><<<grid, kThreads, 0, stream>>>(
          reference, static_cast<const A*>(operands.a), static_cast<const B*>(operands.b), extents,
          strides_of(extents.a_major, extents.lda), strides_of(extents.b_major, extents.ldb), of_a,
          of_b);
    };
    if constexpr (sizeof(A) == 1) {
      if (is_of_blocks(problem.scaling)) return run.template operator()<true>();
    }
    run.template operator()<false>();
  });
  check(cudaGetLastError(), "computing the reference");
}

void compare(OutputComparison* result, const void* d, const float* reference,
             const ProblemExtents& extents, std::int64_t guard, DataType output, float scale,
             float tolerance, const FoundScales& found, cudaStream_t stream) {
  const StoredMatrices all = all_of_d(extents);
  const OutputComparison nothing_yet{0, 0, 0, ~0ull};
  check(cudaMemcpyAsync(result, &nothing_yet, sizeof nothing_yet, cudaMemcpyHostToDevice, stream),
        "preparing the comparison");
  with_element(output, [&]<typename T>(T*) {
    static_assert(sizeof(T) == sizeof(WordOf<T>));
    compare_kernel<<<kBlocks, kThreads, 0, stream>>>(result, static_cast<const T*>(d), reference,
                                                     extents, scale, tolerance, found);
    const auto* words = static_cast<const WordOf<T>*>(d);
    guard_kernel<<<kBlocks, kThreads, 0, stream>>>(result, words - guard,
                                                   words + spanned_elements(all), guard);
    if (!are_one_piece(all)) {
      padding_kernel<<<kBlocks, kThreads, 0, stream>>>(result, words, all);
    }
  });
  check(cudaGetLastError(), "comparing with the reference");
}

}  // namespace hgemm
