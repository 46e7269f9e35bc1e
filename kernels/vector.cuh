// The kernel for a few rows of A, or of B, by CUDA cores: D[m x n] = A[m x k] * B[n x k]^T as in
// hgemm.cuh, where one operand has 1 to 16 rows, the vectors, and the other one is read once and as
// fast as memory gives it.
//
// Nothing here needs alignment. Rows of the large operand are read in the units of 16 bytes that
// lie wholly in them; all rows of a CTA have as many elements before their first one (VectorGrid),
// so that units of the vectors in shared memory begin there too. What is left, up to seven elements
// at either end, is read element by element, outside of the loop: no load leaves the matrix. Sums
// are fp32, in the same order whatever the launch.
//
// Read top to bottom: loads, loose ends, vectors, kernel.
#pragma once

#include "config.h"
#include "pack.cuh"
#include "params.h"
#include "ptx.cuh"
#include "rules.h"
#include "schedule.h"

namespace hgemm {

/// The operands by their roles. Leading dimensions and strides in elements.
struct VectorRoles {
  const unsigned short* large;
  int rows;  ///< of it
  const unsigned short* vectors;
  unsigned short* d;
  long long large_leading, vector_leading;
  int count;  ///< vectors
  int k;
  long long d_row;     ///< in D, from one row of the large operand to the next
  long long d_vector;  ///< from one vector to the next
};
template <KernelConfig kConfig>
__device__ __forceinline__ VectorRoles vector_roles(const KernelParams& params, bool flipped) {
  const auto* const a = static_cast<const unsigned short*>(params.a_pointer);
  const auto* const b = static_cast<const unsigned short*>(params.b_pointer);
  auto* const d = static_cast<unsigned short*>(params.d_pointer);
  const long long lda = leading_a<kConfig>(params);
  const long long ldb = leading_b<kConfig>(params);
  const long long ldd = leading_d<kConfig>(params);
  const int m = extent_m<kConfig>(params);
  const int n = extent_n<kConfig>(params);
  const int k = extent_k<kConfig>(params);
  if (flipped) return {a, m, b, d, lda, ldb, n, k, ldd, 1};
  return {b, n, a, d, ldb, lda, m, k, 1, ldd};
}

/// The eight elements of a unit.
template <Dtype kDtype>
__device__ __forceinline__ void widen(const uint4& unit, float* values) {
  const u32 words[4] = {unit.x, unit.y, unit.z, unit.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) ptx::unpack<kDtype>(words[i], values[2 * i], values[2 * i + 1]);
}

/// How the elements of each of a CTA's rows divide: `head` before the first unit, `units`, and the
/// rest after the last one.
struct RowUnits {
  int head, units, loose;  ///< loose: elements in no unit

  __device__ __forceinline__ RowUnits(u64 row_address, int k)
      : head(min(k, static_cast<int>((16 - row_address % 16) % 16) / kElementBytes)),
        units((k - head) / kUnitElements),
        loose(k - units * kUnitElements) {}
};

/// What a warp has on its way: kSteps units for each lane of each of its rows.
template <KernelConfig kConfig>
struct VectorLoads {
  static constexpr int kRows = vector_rows(kConfig);
  static constexpr int kSteps = kConfig.bk / kVectorStep;
  uint4 units[kRows][kSteps];

  /// Units first, first + 32, ... of each row, up to `end`. `rows` are at their first units.
  __device__ __forceinline__ void load(const uint4* const (&rows)[kRows], int first, int end) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        units[row][step] = {0, 0, 0, 0};
        const int unit = first + step * 32;
        if (unit < end) units[row][step] = ptx::load_once(rows[row] + unit);
      }
    }
  }
};

template <Dtype kDtype>
__device__ __forceinline__ float widen_one(unsigned short bits) {
  float value;
  float none;
  ptx::unpack<kDtype>(bits, value, none);
  return value;
}

/// The elements that are in no unit, one for each lane: of a warp's rows and of the vectors.
template <KernelConfig kConfig>
struct LooseEnds {
  static constexpr int kRows = vector_rows(kConfig);
  unsigned short large[kRows] = {};
  unsigned short vectors[kConfig.bm] = {};

  __device__ __forceinline__ void load(const uint4* const (&rows)[kRows], const VectorRoles& roles,
                                       const RowUnits& row_units, int lane) {
    if (lane >= row_units.loose) return;
    const int k = lane < row_units.head ? lane : lane + row_units.units * kUnitElements;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      large[row] = reinterpret_cast<const unsigned short*>(rows[row])[k - row_units.head];
    }
#pragma unroll
    for (int v = 0; v < kConfig.bm; ++v) {
      if (v < roles.count) vectors[v] = roles.vectors[v * roles.vector_leading + k];
    }
  }
  __device__ __forceinline__ void add_to(float (&sums)[kRows][kConfig.bm]) const {
#pragma unroll
    for (int v = 0; v < kConfig.bm; ++v) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        sums[row][v] = fmaf(widen_one<kConfig.dtype>(large[row]),
                            widen_one<kConfig.dtype>(vectors[v]), sums[row][v]);
      }
    }
  }
};

/// The vectors' elements that belong to units [begin, end) of the large operand's rows, the first
/// of which begins at element `head`. Several at a time: each comes from memory.
template <KernelConfig kConfig>
__device__ __forceinline__ void stage_vectors(const VectorRoles& roles, u32 smem, int head,
                                              int begin, int end) {
  constexpr int kChunkUnits = vector_chunk(kConfig) / kUnitElements;
  constexpr int kBatch = 4;
  constexpr int kStride = threads_per_cta(kConfig);
  const int units = end - begin;
  const MatrixBounds bounds(roles.vectors, roles.count, roles.k, roles.vector_leading);
  const int valid = units * roles.count;  // of units; what follows them are no vectors
  const int all = units * kConfig.bm;
  const auto vector_of = [&](int index) { return kConfig.bm == 1 ? 0 : index / units; };
  const auto source_of = [&](int index) {
    const int vector = vector_of(index);
    const int unit = begin + index - vector * units;
    return roles.vectors + vector * roles.vector_leading + head + unit * kUnitElements;
  };
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < all; first += kBatch * kStride) {
    uint4 low[kBatch];
    uint4 high[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int index = first + i * kStride;
      low[i] = {0, 0, 0, 0};
      high[i] = low[i];
      if (index >= valid) continue;
      const UnitWindow window(source_of(index));
      if (bounds.holds(window)) {
        low[i] = ptx::load_once(window.low());
        if (window.shift != 0) high[i] = ptx::load_once(window.low() + 1);
      } else {
        low[i] = load_elements(source_of(index), kUnitElements);
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int index = first + i * kStride;
      if (index >= all) continue;
      const UnitWindow window(source_of(index));
      const int vector = vector_of(index);
      ptx::store_shared_unit(
          smem + static_cast<u32>((vector * kChunkUnits + index - vector * units) * 16),
          shifted_unit(low[i], high[i], bounds.holds(window) ? window.shift : 0));
    }
  }
}

__device__ constexpr int power_of_two_up_to(int limit) {
  int power = 1;
  while (power * 2 <= limit) power *= 2;
  return power;
}

/// The sum of one (row, vector) that this lane has, `mine`, with those of all that have other parts
/// of the row: warps of this CTA and of the others of its cluster, always in the same order.
/// Complete in the lanes that have sums of the first of these warps, in the first CTA.
///
/// CTAs have arrived at the cluster's barrier once before: they are all there. Each leaves its sums
/// in the first one's shared memory, and may go.
template <KernelConfig kConfig>
__device__ __forceinline__ float add_vector_parts(float mine, u32 smem, int warp, int lane) {
  constexpr int kSharers = vector_sharers(kConfig);
  constexpr int kSums = vector_sums(kConfig);
  constexpr int kSlots = kSharers * kConfig.splits;  // of one sum
  if constexpr (kSlots == 1) return mine;
  const u32 slots =
      smem + static_cast<u32>(smem_layout(kConfig).sums + warp / kSharers * kSlots * kSums * 4);
  if constexpr (kConfig.splits > 1) {
    const u32 part = ptx::cluster_rank();
    const int slot = static_cast<int>(part) * kSharers + warp % kSharers;
    ptx::cluster_wait();
    if (lane < kSums) {
      ptx::store_to_rank(slots + static_cast<u32>((slot * kSums + lane) * 4), 0, mine);
    }
    ptx::cluster_arrive();
    if (part != 0) return 0;
    ptx::cluster_wait();
  } else {
    if (lane < kSums) {
      ptx::store_shared(slots + static_cast<u32>((warp % kSharers * kSums + lane) * 4), mine);
    }
    __syncthreads();
  }
  if (warp % kSharers != 0) return 0;
  // Lanes that have no sum help those that have: as many to each as there are, or slots.
  constexpr int kHelpers = power_of_two_up_to(kSlots < 32 / kSums ? kSlots : 32 / kSums);
  float sum = 0;
  for (int slot = lane / kSums; slot < kSlots; slot += kHelpers) {
    if (lane >= kHelpers * kSums) break;
    sum += __uint_as_float(
        ptx::load_shared(slots + static_cast<u32>((slot * kSums + lane % kSums) * 4)));
  }
#pragma unroll
  for (int distance = kHelpers / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(~0u, sum, static_cast<unsigned>(distance * kSums));
  }
  return sum;
}

/// Body of the kernel: launched with threads_per_cta(kConfig) threads, smem_layout(kConfig)
/// .total_bytes of dynamic shared memory, and a cluster of cluster_size(kConfig) for each of
/// VectorGrid::blocks().
template <KernelConfig kConfig>
__device__ __forceinline__ void vector(const KernelParams& params) {
  static_assert(why_invalid(kConfig) == Rule::kValid && is_vector(kConfig));
  using Loads = VectorLoads<kConfig>;
  constexpr int kRows = Loads::kRows;
  constexpr int kVectors = kConfig.bm;
  constexpr int kChunkUnits = vector_chunk(kConfig) / kUnitElements;
  constexpr int kStepUnits = 32 * Loads::kSteps;
  constexpr bool kAhead = kConfig.stages > 1;
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const u32 smem = ptx::smem_address(smem_bytes);
  const VectorGrid grid = vector_grid(kConfig, extent_m<kConfig>(params), extent_n<kConfig>(params),
                                      leading_a<kConfig>(params), leading_b<kConfig>(params));
  const VectorRoles roles = vector_roles<kConfig>(params, grid.flipped);
  if constexpr (kConfig.splits > 1) ptx::cluster_arrive_relaxed();  // see add_vector_parts()
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int kSharers = vector_sharers(kConfig);
  const int cluster = static_cast<int>(blockIdx.x) / kConfig.splits;
  const int row_class = cluster % grid.used;
  const int block = cluster / grid.used;
  const int first_row = row_class + (block * kConfig.bn + warp / kSharers * kRows) * grid.classes;

  // Past the last row the last one is read again, and not stored.
  const int last_row =
      (grid.rows - 1 - row_class) / grid.classes * grid.classes + row_class;  // of the class
  const RowUnits row_units(reinterpret_cast<u64>(roles.large + row_class * roles.large_leading),
                           roles.k);
  const uint4* rows[kRows];  // their first units
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int index = min(first_row + row * grid.classes, last_row);
    rows[row] =
        reinterpret_cast<const uint4*>(roles.large + index * roles.large_leading + row_units.head);
  }
  const int part_index = static_cast<int>(blockIdx.x) % kConfig.splits;
  const KRange part = part_of_k(row_units.units, part_index, kConfig.splits);
  const bool adds_up = warp % kSharers == 0 && part_index == 0;  // of those that share rows

  if constexpr (kConfig.pdl) {
    // As hgemm.cuh's prefetch: L2 may have what is not to be read yet.
    ptx::griddepcontrol_launch_dependents();
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int unit = part.first + lane * 8;
      if (unit < part.end) ptx::prefetch_l2(rows[row] + unit);
    }
    ptx::griddepcontrol_wait();
  }

  float sums[kRows][kVectors] = {};
  LooseEnds<kConfig> loose;
  if (adds_up) loose.load(rows, roles, row_units, lane);
  Loads loads;
  int begin = part.first;
#pragma unroll 1
  do {  // once, even where there are no units
    const int end = min(part.end, begin + kChunkUnits);
    const int first_step = begin + warp % kSharers * kStepUnits + lane;
    if (begin > part.first) __syncthreads();  // until all have read the chunk before
    if constexpr (kAhead) loads.load(rows, first_step, end);
    stage_vectors<kConfig>(roles, smem, row_units.head, begin, end);
    // Here, where the vectors have been waited for anyway.
    if (begin == part.first) loose.add_to(sums);
    __syncthreads();
#pragma unroll 1
    for (int first = first_step; first - lane < end; first += kStepUnits * kSharers) {
      if constexpr (!kAhead) loads.load(rows, first, end);
      Loads current = loads;
      if constexpr (kAhead) loads.load(rows, first + kStepUnits * kSharers, end);
#pragma unroll
      for (int step = 0; step < Loads::kSteps; ++step) {
        const int unit = first + step * 32;
        if (unit >= end) continue;
        float large[kRows][kUnitElements];
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
          widen<kConfig.dtype>(current.units[row][step], large[row]);
        }
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          float vector[kUnitElements];
          widen<kConfig.dtype>(
              ptx::load_shared_unit(smem + static_cast<u32>((v * kChunkUnits + unit - begin) * 16)),
              vector);
#pragma unroll
          for (int row = 0; row < kRows; ++row) {
#pragma unroll
            for (int i = 0; i < kUnitElements; ++i) {
              sums[row][v] = fmaf(large[row][i], vector[i], sums[row][v]);
            }
          }
        }
      }
    }
    begin = end;
  } while (begin < part.end);

  float mine = 0;  // of row lane / kVectors and vector lane % kVectors
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float sum = sums[row][v];
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
      }
      if (lane == row * kVectors + v) mine = sum;
    }
  }
  mine = add_vector_parts<kConfig>(mine, smem, warp, lane);
  const int row = first_row + lane / kVectors * grid.classes;
  const int v = lane % kVectors;
  if (adds_up && lane < kRows * kVectors && row < grid.rows && v < roles.count) {
    roles.d[row * roles.d_row + v * roles.d_vector] =
        static_cast<unsigned short>(ptx::pack<kConfig.dtype>(mine, mine));
  }
}

}  // namespace hgemm
