// Copies rows that the copy engine cannot fetch to aligned rows.
//
// cp.async.bulk.tensor takes addresses, strides and innermost coordinates only in whole units of 16
// bytes (other coordinates are an illegal instruction on H200, although the tensor map's extents
// are counted in elements). So a matrix with an odd leading dimension is read and written once
// more: it is read as it is, and written with rows of whole units.
#pragma once

#include "common/params.h"
#include "common/units.cuh"

namespace hgemm {

/// Units of a row that a thread has in flight at once.
inline constexpr int kPackUnits = 4;

/// Loads units first, first + 32, ... of a row that begins at element `shift` of `words`, of which
/// `shifted_units` may be read. For all lanes of a warp.
__device__ __forceinline__ void load_run(const uint4* words, int shift, int first,
                                         int shifted_units, int lane, uint4 (&values)[kPackUnits]) {
  uint4 low[kPackUnits];
#pragma unroll
  for (int j = 0; j < kPackUnits; ++j) {
    low[j] = {0, 0, 0, 0};
    if (first + j * 32 < shifted_units) low[j] = ptx::load_once(words + first + j * 32);
  }
  uint4 past = {0, 0, 0, 0};
  const int last = first + (kPackUnits - 1) * 32 + 1;
  if (lane == 31 && last < shifted_units) past = ptx::load_once(words + last);
#pragma unroll
  for (int j = 0; j < kPackUnits; ++j) {
    // The neighbour of the last lane is the first lane, one step later.
    const uint4 next = j + 1 < kPackUnits ? low[j + 1] : past;
    const uint4 mine = lane == 0 ? next : low[j];
    uint4 high = {
        __shfl_sync(~0u, mine.x, (lane + 1) % 32), __shfl_sync(~0u, mine.y, (lane + 1) % 32),
        __shfl_sync(~0u, mine.z, (lane + 1) % 32), __shfl_sync(~0u, mine.w, (lane + 1) % 32)};
    if (lane == 31 && j + 1 == kPackUnits) high = past;
    values[j] = shifted_unit(low[j], high, shift);
  }
}

/// Body of the kernel, for any grid of CTAs with kPackThreads threads. A warp takes runs of 32 *
/// kPackUnits units of a row.
template <bool kPdl>
__device__ __forceinline__ void pack(const PackParams& params) {
  if constexpr (kPdl) {
    // The source may be the output of the kernel before this one, which may also still be reading
    // the target.
    ptx::griddepcontrol_launch_dependents();
    ptx::griddepcontrol_wait();
  }
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const long long warps = static_cast<long long>(gridDim.x) * (kPackThreads / 32);
  const long long warp =
      static_cast<long long>(blockIdx.x) * (kPackThreads / 32) + static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int index = 0; index < 2; ++index) {
    const PackedMatrix& matrix = params.matrices[index];
    if (matrix.rows == 0) continue;
    const MatrixBounds bounds(matrix.source, matrix.rows, matrix.cols, matrix.source_leading);
    const int units = (matrix.cols + kElementsPerUnit - 1) / kElementsPerUnit;
    const int runs = (units + 32 * kPackUnits - 1) / (32 * kPackUnits);
    for (long long i = warp; i < static_cast<long long>(matrix.rows) * runs; i += warps) {
      const long long row = i / runs;
      const int run = static_cast<int>(i - row * runs) * 32 * kPackUnits;
      const int first = run + lane;
      const unsigned short* const source =
          static_cast<const unsigned short*>(matrix.source) + row * matrix.source_leading;
      uint4* const target = static_cast<uint4*>(matrix.target) + row * units;
      const UnitWindow begin(source);
      // The units of the row at its shift: the second unit of a lane is the first unit of its
      // neighbour.
      const int shifted_units =
          (begin.shift + matrix.cols + kElementsPerUnit - 1) / kElementsPerUnit;
      const int run_end = min(shifted_units, run + 32 * kPackUnits + 1);
      uint4 values[kPackUnits];
      if (begin.address + run * 16ull >= bounds.begin &&
          begin.address + run_end * 16ull <= bounds.end) {
        load_run(begin.low(), begin.shift, first, run_end, lane, values);
      } else {
#pragma unroll
        for (int j = 0; j < kPackUnits; ++j) {
          const int col = (first + j * 32) * kElementsPerUnit;
          values[j] = load_elements(source + col, matrix.cols - col);
        }
      }
#pragma unroll
      for (int j = 0; j < kPackUnits; ++j) {
        if (first + j * 32 < units) target[first + j * 32] = values[j];
      }
    }
  }
}

}  // namespace hgemm
