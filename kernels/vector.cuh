// The kernel for a few rows of A, or of B, by CUDA cores: D[m x n] = A[m x k] * B[n x k]^T as in
// hgemm.cuh, where one operand has 1 to 16 rows, the vectors, and the other one is read once and as
// fast as memory gives it.
//
// Nothing here needs alignment. Rows of the large operand are read in units of 16 bytes as they lie
// in memory, so that the first element of a row is somewhere in its first unit; all rows of a CTA
// are shifted alike (VectorGrid), and the vectors lie in shared memory with the same shift. Sums
// are fp32, in the same order whatever the launch.
//
// Read top to bottom: loads, vectors, kernel.
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

__device__ __forceinline__ u32 pair_mask(int first, int length) {
  return (first >= 0 && first < length ? 0xffffu : 0) |
         (first + 1 >= 0 && first + 1 < length ? 0xffff0000u : 0);
}
/// Zeros the elements of the unit that begins at element `first` of a row of `length`, which may be
/// negative, where they are outside of the row: another row's, or NaN.
__device__ __forceinline__ void clip_unit(uint4& unit, int first, int length) {
  unit.x &= pair_mask(first, length);
  unit.y &= pair_mask(first + 2, length);
  unit.z &= pair_mask(first + 4, length);
  unit.w &= pair_mask(first + 6, length);
}

/// The eight elements of a unit.
template <Dtype kDtype>
__device__ __forceinline__ void widen(const uint4& unit, float* values) {
  const u32 words[4] = {unit.x, unit.y, unit.z, unit.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) ptx::unpack<kDtype>(words[i], values[2 * i], values[2 * i + 1]);
}

/// A warp's rows of the large operand.
template <int kRows>
struct VectorRows {
  const uint4* first[kRows];  ///< the unit that holds the row's first element
  int shift;                  ///< which element of it that is
  int units;                  ///< of each row
  bool at_edge;               ///< one of them has the matrix's first or last unit
};

/// What a warp has on its way: kSteps units for each lane of each of its rows.
template <KernelConfig kConfig>
struct VectorLoads {
  static constexpr int kRows = vector_rows(kConfig);
  static constexpr int kSteps = kConfig.bk / kVectorStep;
  uint4 units[kRows][kSteps];

  /// Units first, first + 32, ... of each row, up to `end`.
  __device__ __forceinline__ void load(const VectorRows<kRows>& rows, const MatrixBounds& bounds,
                                       int first, int end) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int unit = first + step * 32;
      const bool at_edge = rows.at_edge && (unit == 0 || unit == rows.units - 1);
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        units[row][step] = {0, 0, 0, 0};
        if (unit >= end) continue;
        units[row][step] = at_edge ? load_inside(rows.first[row] + unit, bounds)
                                   : ptx::load_once(rows.first[row] + unit);
      }
    }
  }
};

/// Where one unit of one vector comes from and goes to.
struct VectorUnit {
  const unsigned short* source;  ///< its first element, which may be outside of the vector
  int k;                         ///< that element
  u32 target;                    ///< in shared memory
};

/// A unit at an end of a vector, of `length`: zeros where it has no elements.
__device__ __forceinline__ uint4 partial_unit(const VectorUnit& unit, int length) {
  u32 words[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < kUnitElements; ++i) {
    if (unit.k + i >= 0 && unit.k + i < length) {
      words[i / 2] |= static_cast<u32>(unit.source[i]) << (i % 2 * 16);
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

/// The vectors' elements that belong to units [begin, end) of the large operand's rows, in the
/// units that they belong to. Several at a time: each comes from memory.
template <KernelConfig kConfig>
__device__ __forceinline__ void stage_vectors(const VectorRoles& roles, u32 smem, int shift,
                                              int begin, int end) {
  constexpr int kChunkUnits = vector_chunk(kConfig) / kUnitElements;
  constexpr int kBatch = 4;
  const int units = end - begin;
  const auto unit_at = [&](int index) {
    const int vector = kConfig.bm == 1 ? 0 : index / units;
    const int unit = index - vector * units;
    const int k = (begin + unit) * kUnitElements - shift;
    return VectorUnit{roles.vectors + vector * roles.vector_leading + k, k,
                      smem + static_cast<u32>((vector * kChunkUnits + unit) * 16)};
  };
  const auto is_whole = [&](const VectorUnit& unit) {
    return unit.k >= 0 && unit.k + kUnitElements <= roles.k;
  };
  const MatrixBounds bounds(roles.vectors, roles.count, roles.k, roles.vector_leading);
  const int valid = units * roles.count;  // of units; what follows them are no vectors
  const int all = units * kConfig.bm;
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < all;
       first += kBatch * threads_per_cta(kConfig)) {
    uint4 low[kBatch];
    uint4 high[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int index = first + i * threads_per_cta(kConfig);
      const VectorUnit unit = unit_at(index);
      low[i] = {0, 0, 0, 0};
      high[i] = low[i];
      if (index < valid && is_whole(unit)) {
        const u64 address = reinterpret_cast<u64>(unit.source);
        const uint4* const aligned = reinterpret_cast<const uint4*>(address - address % 16);
        low[i] = load_inside(aligned, bounds);
        if (address % 16 != 0) high[i] = load_inside(aligned + 1, bounds);
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int index = first + i * threads_per_cta(kConfig);
      if (index >= all) continue;
      const VectorUnit unit = unit_at(index);
      const u64 address = reinterpret_cast<u64>(unit.source);
      uint4 elements =
          shifted_unit(low[i], high[i], static_cast<int>(address % 16) / kElementBytes);
      if (index < valid && !is_whole(unit)) elements = partial_unit(unit, roles.k);
      ptx::store_shared_unit(unit.target, elements);
    }
  }
}

/// The sums of one (row, vector) that this lane has, `mine`, with those of all that have other
/// parts of the row: warps of this CTA, then the CTAs of its cluster, always in the same order.
/// Complete in the first of these warps, of the first CTA.
template <KernelConfig kConfig>
__device__ __forceinline__ float add_vector_parts(float mine, u32 smem, int warp, int lane) {
  constexpr int kSharers = vector_sharers(kConfig);
  constexpr int kParts = kConfig.splits;
  if constexpr (kSharers * kParts == 1) return mine;
  const u32 slots = smem + static_cast<u32>(smem_layout(kConfig).sums);
  ptx::store_shared(slots + static_cast<u32>((warp * 32 + lane) * 4), mine);
  if constexpr (kParts > 1) {
    ptx::cluster_sync();
  } else {
    __syncthreads();
  }
  float sum = 0;
  if (warp % kSharers == 0 && (kParts == 1 || ptx::cluster_rank() == 0)) {
#pragma unroll 1
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int sharer = 0; sharer < kSharers; ++sharer) {
        const u32 slot = slots + static_cast<u32>(((warp + sharer) * 32 + lane) * 4);
        sum += ptx::load_of_rank(slot, static_cast<u32>(part));
      }
    }
  }
  // Shared memory must outlive its readers: the other CTAs wait until the first one's threads are
  // gone, for whom a cluster's barrier does not wait.
  if (kParts > 1 && ptx::cluster_rank() != 0) ptx::cluster_sync();
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
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int kSharers = vector_sharers(kConfig);
  const int cluster = static_cast<int>(blockIdx.x) / kConfig.splits;
  const int row_class = cluster % grid.used;
  const int block = cluster / grid.used;
  const int first_row = row_class + (block * kConfig.bn + warp / kSharers * kRows) * grid.classes;

  // Past the last row the last one is read again, and not stored.
  const MatrixBounds bounds(roles.large, roles.rows, roles.k, roles.large_leading);
  const int last_row =
      (grid.rows - 1 - row_class) / grid.classes * grid.classes + row_class;  // of the class
  VectorRows<kRows> rows;
  rows.at_edge = false;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int index = min(first_row + row * grid.classes, last_row);
    const u64 address = reinterpret_cast<u64>(roles.large + index * roles.large_leading);
    rows.shift = static_cast<int>(address % 16) / kElementBytes;
    rows.first[row] = reinterpret_cast<const uint4*>(address - address % 16);
    // Rows of less than a unit share the first or the last one.
    rows.at_edge = rows.at_edge || index * roles.large_leading < kUnitElements ||
                   (grid.rows - 1 - index) * roles.large_leading < kUnitElements;
  }
  const int shift = rows.shift;
  const int units = (shift + roles.k + kUnitElements - 1) / kUnitElements;
  rows.units = units;
  const KRange part =
      part_of_k(units, static_cast<int>(blockIdx.x) % kConfig.splits, kConfig.splits);

  if constexpr (kConfig.pdl) {
    // As hgemm.cuh's prefetch: L2 may have what is not to be read yet.
    ptx::griddepcontrol_launch_dependents();
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (part.first + lane * 8 < part.end)
        ptx::prefetch_l2(rows.first[row] + part.first + lane * 8);
    }
    ptx::griddepcontrol_wait();
  }

  float sums[kRows][kVectors] = {};
  Loads loads;
#pragma unroll 1
  for (int begin = part.first; begin < part.end; begin += kChunkUnits) {
    const int end = min(part.end, begin + kChunkUnits);
    const int first_step = begin + warp % kSharers * kStepUnits + lane;
    if (begin > part.first) __syncthreads();  // until all have read the chunk before
    if constexpr (kAhead) loads.load(rows, bounds, first_step, end);
    stage_vectors<kConfig>(roles, smem, shift, begin, end);
    __syncthreads();
#pragma unroll 1
    for (int first = first_step; first - lane < end; first += kStepUnits * kSharers) {
      if constexpr (!kAhead) loads.load(rows, bounds, first, end);
      Loads current = loads;
      if constexpr (kAhead) loads.load(rows, bounds, first + kStepUnits * kSharers, end);
#pragma unroll
      for (int step = 0; step < Loads::kSteps; ++step) {
        const int unit = first + step * 32;
        if (unit >= end) continue;
        if (unit == 0 || unit == units - 1) {
#pragma unroll
          for (int row = 0; row < kRows; ++row) {
            clip_unit(current.units[row][step], unit * kUnitElements - shift, roles.k);
          }
        }
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
  }

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
  const bool adds = warp % kSharers == 0 && static_cast<int>(blockIdx.x) % kConfig.splits == 0;
  if (adds && lane < kRows * kVectors && row < grid.rows && v < roles.count) {
    roles.d[row * roles.d_row + v * roles.d_vector] =
        static_cast<unsigned short>(ptx::pack<kConfig.dtype>(mine, mine));
  }
}

}  // namespace hgemm
