// The GEMV kernel, for a few rows of A or of B, computed by CUDA cores: D[m x n] = A[m x k] * B[n x
// k]^T. One operand has 1 to 16 rows, the vectors; the other one is read once, as fast as memory
// delivers it.
//
// The kernel needs no alignment. Rows of the large operand are read in the 16-byte units that lie
// completely in them. All rows of a CTA have the same number of elements before their first unit
// (GemvGrid), so units of the vectors in shared memory begin there too. The remaining elements, up
// to seven at either end of a row, are read one by one outside the loop, so no load leaves the
// matrix. Sums are fp32, in an order that does not depend on the launch.
//
// Read top to bottom: loads, loose elements, vectors, kernel.
#pragma once

#include "common/epilogue.cuh"
#include "common/params.h"
#include "common/ptx.cuh"
#include "common/units.cuh"
#include "gemv/rules.h"

namespace hgemm {

/// The operands by their roles. Leading dimensions and strides are in elements.
struct VectorRoles {
  const unsigned short* large;
  int rows;  ///< rows of the large operand
  const unsigned short* vectors;
  void* d;
  long long large_leading, vector_leading;
  int count;  ///< vectors
  int k;
  long long d_row;     ///< stride in D from one row of the large operand to the next
  long long d_vector;  ///< stride in D from one vector to the next
};
template <GemvKernel kKernel>
__device__ __forceinline__ VectorRoles vector_roles(const KernelParams& params, bool flipped) {
  const auto* const a = static_cast<const unsigned short*>(params.a_pointer);
  const auto* const b = static_cast<const unsigned short*>(params.b_pointer);
  void* const d = params.d_pointer;
  const long long lda = leading_a<kKernel>(params);
  const long long ldb = leading_b<kKernel>(params);
  const long long ldd = leading_d<kKernel>(params);
  const int m = extent_m<kKernel>(params);
  const int n = extent_n<kKernel>(params);
  const int k = extent_k<kKernel>(params);
  if (flipped) return {a, m, b, d, lda, ldb, n, k, ldd, 1};
  return {b, n, a, d, ldb, lda, m, k, 1, ldd};
}

/// The eight elements of a unit.
template <DataType kType>
__device__ __forceinline__ void widen(const uint4& unit, float* values) {
  const u32 words[4] = {unit.x, unit.y, unit.z, unit.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) ptx::unpack<kType>(words[i], values[2 * i], values[2 * i + 1]);
}

/// How the elements of each row of a CTA are divided: `head` before the first unit, `units`, and
/// the rest after the last unit.
struct RowUnits {
  int head, units, loose;  ///< loose: elements in no unit

  __device__ __forceinline__ RowUnits(u64 row_address, int k)
      : head(min(k, static_cast<int>((16 - row_address % 16) % 16) / kInputBytes)),
        units((k - head) / kElementsPerUnit),
        loose(k - units * kElementsPerUnit) {}
};

/// The loads of a warp in flight: kSteps units for each lane of each of its rows.
template <GemvKernel kKernel>
struct VectorLoads {
  static constexpr int kRows = warp_rows(kKernel);
  static constexpr int kSteps = kKernel.step / kVectorStep;
  uint4 units[kRows][kSteps];

  /// Loads units first, first + 32, ... of each row, up to `end`. `rows` point to their first
  /// units.
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

template <DataType kType>
__device__ __forceinline__ float widen_one(unsigned short bits) {
  float value;
  float none;
  ptx::unpack<kType>(bits, value, none);
  return value;
}

/// The elements that are in no unit, one per lane, for a warp's rows and for the vectors.
template <GemvKernel kKernel>
struct LooseEnds {
  static constexpr int kRows = warp_rows(kKernel);
  unsigned short large[kRows] = {};
  unsigned short vectors[kKernel.vectors] = {};

  __device__ __forceinline__ void load(const uint4* const (&rows)[kRows], const VectorRoles& roles,
                                       const RowUnits& row_units, int lane) {
    if (lane >= row_units.loose) return;
    const int k = lane < row_units.head ? lane : lane + row_units.units * kElementsPerUnit;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      large[row] = reinterpret_cast<const unsigned short*>(rows[row])[k - row_units.head];
    }
#pragma unroll
    for (int v = 0; v < kKernel.vectors; ++v) {
      if (v < roles.count) vectors[v] = roles.vectors[v * roles.vector_leading + k];
    }
  }
  __device__ __forceinline__ void add_to(float (&sums)[kRows][kKernel.vectors]) const {
#pragma unroll
    for (int v = 0; v < kKernel.vectors; ++v) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        sums[row][v] = fmaf(widen_one<kKernel.gemm.input>(large[row]),
                            widen_one<kKernel.gemm.input>(vectors[v]), sums[row][v]);
      }
    }
  }
};

/// Loads the vectors' elements that belong to units [begin, end) of the large operand's rows; the
/// first unit begins at element `head`. Several at a time, because each comes from memory.
template <GemvKernel kKernel>
__device__ __forceinline__ void stage_vectors(const VectorRoles& roles, u32 smem, int head,
                                              int begin, int end) {
  constexpr int kChunkUnits = vector_chunk(kKernel) / kElementsPerUnit;
  constexpr int kBatch = 4;
  constexpr int kStride = threads_per_cta(kKernel);
  const int units = end - begin;
  const MatrixBounds bounds(roles.vectors, roles.count, roles.k, roles.vector_leading);
  // Units of vectors that exist: the problem may have fewer vectors than the config.
  const int valid = units * roles.count;
  const int all = units * kKernel.vectors;
  const auto vector_of = [&](int index) { return kKernel.vectors == 1 ? 0 : index / units; };
  const auto source_of = [&](int index) {
    const int vector = vector_of(index);
    const int unit = begin + index - vector * units;
    return roles.vectors + vector * roles.vector_leading + head + unit * kElementsPerUnit;
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
        low[i] = load_elements(source_of(index), kElementsPerUnit);
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

/// Adds this lane's sum of one (row, vector), `mine`, to those of all lanes with other parts of the
/// row: warps of this CTA and of the other CTAs of its cluster, always in the same order. The
/// result is complete in the lanes with sums of the first of these warps, in the first CTA.
///
/// CTAs have arrived once at the cluster's barrier before, so all of them have started. Each writes
/// its sums to the first CTA's shared memory, and may then end.
template <GemvKernel kKernel>
__device__ __forceinline__ float add_vector_parts(float mine, u32 smem, int warp, int lane) {
  constexpr int kSharers = row_sharers(kKernel);
  constexpr int kSums = warp_sums(kKernel);
  constexpr int kSlots = kSharers * kKernel.splits;  // for each sum
  if constexpr (kSlots == 1) return mine;
  const u32 slots =
      smem + static_cast<u32>(smem_layout(kKernel).sums + warp / kSharers * kSlots * kSums * 4);
  if constexpr (kKernel.splits > 1) {
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
  // Lanes without a sum help those with one: as many for each as there are, at most one per slot.
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

/// One CTA's block of rows of the large operand, and one warp's share of it.
template <GemvKernel kKernel>
struct GemvBlock {
  using Loads = VectorLoads<kKernel>;
  static constexpr int kRows = Loads::kRows;
  static constexpr int kVectors = kKernel.vectors;
  static constexpr int kSharers = row_sharers(kKernel);
  static constexpr int kChunkUnits = vector_chunk(kKernel) / kElementsPerUnit;
  static constexpr int kStepUnits = 32 * Loads::kSteps;
  static constexpr bool kAhead = kKernel.depth > 1;
  using Sums = float[kRows][kVectors];

  u32 smem;
  int lane, warp;
  GemvGrid grid;
  VectorRoles roles;
  int first_row;  ///< of this warp
  RowUnits row_units;
  KRange part;               ///< this CTA's units of each row
  bool adds_up;              ///< whether this warp adds up for the warps that share its rows
  const uint4* rows[kRows];  ///< first units of the rows

  __device__ __forceinline__ GemvBlock(u32 shared, const GemvGrid& gemv_grid,
                                       const VectorRoles& gemv_roles)
      : smem(shared),
        lane(static_cast<int>(threadIdx.x) % 32),
        warp(static_cast<int>(threadIdx.x) / 32),
        grid(gemv_grid),
        roles(gemv_roles),
        first_row(row_class() + (block() * kKernel.rows + warp / kSharers * kRows) * grid.classes),
        row_units(reinterpret_cast<u64>(roles.large + row_class() * roles.large_leading), roles.k),
        part(part_of_k(row_units.units, part_index(), kKernel.splits)),
        adds_up(warp % kSharers == 0 && part_index() == 0) {
    // Beyond the last row, the last one is read again, and not stored.
    const int last_row = (grid.rows - 1 - row_class()) / grid.classes * grid.classes + row_class();
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int index = stored_row(min(first_row + row * grid.classes, last_row));
      rows[row] = reinterpret_cast<const uint4*>(roles.large + index * roles.large_leading +
                                                 row_units.head);
    }
  }
  /// Rows are counted with gates and ups in turn, so that a warp has both of a column of D.
  __device__ __forceinline__ int stored_row(int row) const {
    if constexpr (kKernel.gemm.epilogue.gate != Gate::kHalves) return row;
    return row % 2 * (grid.rows / 2) + row / 2;
  }
  static __device__ __forceinline__ int cluster() {
    return static_cast<int>(blockIdx.x) / kKernel.splits;
  }
  static __device__ __forceinline__ int part_index() {
    return static_cast<int>(blockIdx.x) % kKernel.splits;
  }
  __device__ __forceinline__ int row_class() const { return cluster() % grid.used; }
  __device__ __forceinline__ int block() const { return cluster() / grid.used; }

  /// Before the earlier kernels, which may be writing an operand, have completed: prefetches into
  /// L2 data that MUST NOT be read yet. Then waits for these kernels.
  __device__ __forceinline__ void prefetch_and_wait() const {
    ptx::griddepcontrol_launch_dependents();
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int unit = part.first + lane * 8;
      if (unit < part.end) ptx::prefetch_l2(rows[row] + unit);
    }
    ptx::griddepcontrol_wait();
  }

  /// Adds the products of one step's units, from `first` on, to the sums.
  __device__ __forceinline__ void multiply(const Loads& loads, int first, int begin, int end,
                                           Sums& sums) const {
#pragma unroll
    for (int step = 0; step < Loads::kSteps; ++step) {
      const int unit = first + step * 32;
      if (unit >= end) continue;
      float large[kRows][kElementsPerUnit];
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        widen<kKernel.gemm.input>(loads.units[row][step], large[row]);
      }
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        float vector[kElementsPerUnit];
        widen<kKernel.gemm.input>(
            ptx::load_shared_unit(smem + static_cast<u32>((v * kChunkUnits + unit - begin) * 16)),
            vector);
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
#pragma unroll
          for (int i = 0; i < kElementsPerUnit; ++i) {
            sums[row][v] = fmaf(large[row][i], vector[i], sums[row][v]);
          }
        }
      }
    }
  }

  /// Computes all of this CTA's part of K, a chunk of the vectors at a time.
  __device__ __forceinline__ void accumulate(Sums& sums) const {
    LooseEnds<kKernel> loose;
    if (adds_up) loose.load(rows, roles, row_units, lane);
    Loads loads;
    int begin = part.first;
#pragma unroll 1
    do {  // once, even if there are no units
      const int end = min(part.end, begin + kChunkUnits);
      const int first_step = begin + warp % kSharers * kStepUnits + lane;
      if (begin > part.first) __syncthreads();  // until all warps have read the previous chunk
      if constexpr (kAhead) loads.load(rows, first_step, end);
      stage_vectors<kKernel>(roles, smem, row_units.head, begin, end);
      // Placed here, where the vectors have been waited for anyway.
      if (begin == part.first) loose.add_to(sums);
      __syncthreads();
#pragma unroll 1
      for (int first = first_step; first - lane < end; first += kStepUnits * kSharers) {
        if constexpr (!kAhead) loads.load(rows, first, end);
        const Loads current = loads;
        if constexpr (kAhead) loads.load(rows, first + kStepUnits * kSharers, end);
        multiply(current, first, begin, end, sums);
      }
      begin = end;
    } while (begin < part.end);
  }

  /// The sum of row lane / kVectors and vector lane % kVectors over the lanes of the warp.
  __device__ __forceinline__ float sum_of_lane(const Sums& sums) const {
    float mine = 0;
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
    return mine;
  }

  __device__ __forceinline__ void store(float sum, const KernelParams& params) const {
    int row = first_row + lane / kVectors * grid.classes;
    const int v = lane % kVectors;
    [[maybe_unused]] const float up =
        is_gated(kKernel.gemm) ? __shfl_down_sync(~0u, sum, kVectors) : 0;
    if (!adds_up || lane >= kRows * kVectors || row >= grid.rows || v >= roles.count) return;
    if constexpr (is_gated(kKernel.gemm)) {
      if (row % 2 != 0) return;
      sum = activate<kKernel.gemm.epilogue.activation>(sum) * up;
      row /= 2;  // a column of D
    } else if constexpr (has_epilogue(kKernel.gemm)) {
      sum = finished<kKernel>(sum, params, grid.flipped ? row : v, grid.flipped ? v : row);
    }
    const long long element = row * roles.d_row + v * roles.d_vector;
    if constexpr (kKernel.gemm.epilogue.aux) {
      store_one(pointer_of<Output::kAux>(params), element, sum);
      sum = activate<kKernel.gemm.epilogue.activation>(sum);
    }
    store_one(roles.d, element, sum);
  }
  static __device__ __forceinline__ void store_one(void* output, long long element, float value) {
    if constexpr (kKernel.gemm.output == DataType::kFp32) {
      static_cast<float*>(output)[element] = value;
    } else {
      static_cast<unsigned short*>(output)[element] =
          static_cast<unsigned short>(ptx::pack<kKernel.gemm.output>(value, value));
    }
  }
};

/// Body of the kernel. Launch it with threads_per_cta(kKernel) threads,
/// smem_layout(kKernel).total_bytes of dynamic shared memory, and a cluster of
/// cluster_size(kKernel) CTAs for each of GemvGrid::blocks().
template <GemvKernel kKernel>
__device__ __forceinline__ void gemv(const KernelParams& params) {
  static_assert(why_invalid(kKernel) == GemvRule::kValid, "rules.h rejects this config");
  static_assert(kKernel.fixed == (kKernel.gemm.m != 0), "extents are constants if `fixed` says so");
  using Block = GemvBlock<kKernel>;
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const GemvGrid grid = gemv_grid(kKernel, extent_m<kKernel>(params), extent_n<kKernel>(params),
                                  leading_a<kKernel>(params), leading_b<kKernel>(params));
  const VectorRoles roles = vector_roles<kKernel>(params, grid.flipped);
  if constexpr (kKernel.splits > 1) ptx::cluster_arrive_relaxed();  // see add_vector_parts()
  const Block block(ptx::smem_address(smem_bytes), grid, roles);
  if constexpr (kKernel.pdl) block.prefetch_and_wait();
  typename Block::Sums sums = {};
  block.accumulate(sums);
  const float sum = block.sum_of_lane(sums);
  block.store(add_vector_parts<kKernel>(sum, block.smem, block.warp, block.lane), params);
}

}  // namespace hgemm
