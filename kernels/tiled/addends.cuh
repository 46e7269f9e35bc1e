// C and the bias through the ring: after the last k block of a tile the producer copies them into
// the next stages, and the consumers add them to their sums.
//
// So they are fetched while the tile is multiplied, and consumers load nothing from memory.
// (Consumers that do are kept by ptxas 13.0 at the registers of kernel entry: kernel-notes.md,
// "Loads of an epilogue keep ptxas at the registers of entry".) It costs no shared memory.
//
// The bias has a stage of its own. C is copied as a K-major A would be, in strips: all rows of the
// tile by as many columns as a row of a swizzled box has. What lies outside D arrives as zeros.
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"
#include "common/tma.cuh"
#include "tiled/pipeline.cuh"
#include "tiled/store.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm {

/// Whether a piece of work, which ends at `end` of `all` k blocks or elements of K, has a tile's
/// last k block: the CTA that has it adds C and the bias.
template <TiledKernel kKernel>
__device__ __forceinline__ bool adds_addends(int first, int end, int all) {
  if constexpr (!copies_addends(kKernel)) return false;
  return !cuts_k(kKernel) || (first < end && end >= all);
}

/// Where the bias lies in a stage: it has one element for each row of A (B), so A's (B's) part of
/// the stage is large enough.
template <TiledKernel kKernel>
__device__ __forceinline__ u32 bias_in_stage(const TiledPipeline<kKernel>& pipeline, int stage) {
  return kKernel.gemm.epilogue.bias == Bias::kAlongM ? pipeline.a_stage(stage)
                                                     : pipeline.b_stage(stage);
}
template <TiledKernel kKernel>
__device__ __forceinline__ u32 strip_in_stage(const TiledPipeline<kKernel>& pipeline, int stage,
                                              int strip) {
  return pipeline.a_stage(stage) +
         static_cast<u32>(strip % strips_per_stage(kKernel) * strip_bytes(kKernel));
}

// ---- The producer ----

/// For one lane: copies C and the bias of a tile into the next stages.
template <TiledKernel kKernel>
__device__ __forceinline__ void load_addends(const KernelParams& params,
                                             const TiledPipeline<kKernel>& pipeline,
                                             typename TiledPipeline<kKernel>::State& state,
                                             TileOrigin<kKernel> origin) {
  const auto& operands = static_cast<const EpilogueParams&>(params);
  constexpr Bias kBias = kKernel.gemm.epilogue.bias;
  const auto await_empty = [&] {
    if (state.round > 0) ptx::mbarrier_wait(pipeline.empty(state.stage), state.parity() ^ 1);
  };
  if constexpr (kKernel.gemm.adds_c) {
    constexpr int kBoxRows = box_rows(kKernel.bm);
#pragma unroll 1
    for (int first = 0; first < c_strips(kKernel); first += strips_per_stage(kKernel)) {
      const int strips = min(strips_per_stage(kKernel), c_strips(kKernel) - first);
      await_empty();
      const u32 full = pipeline.full(state.stage);
      ptx::mbarrier_arrive_expect_tx(full, static_cast<u32>(strips * strip_bytes(kKernel)));
      for (int strip = first; strip < first + strips; ++strip) {
        for (int row = 0; row < kKernel.bm; row += kBoxRows) {
          ptx::tma_load(strip_in_stage(pipeline, state.stage, strip) +
                            static_cast<u32>(row * strip_row_bytes(kKernel)),
                        operands.c_map, full, origin.n + strip * strip_cols(kKernel),
                        origin.m + row);
        }
      }
      state.advance();
    }
  }
  if constexpr (kBias != Bias::kNone) {
    constexpr int kBoxBytes = kBiasBoxElements * element_bytes(addend_type(kKernel.gemm.output));
    const int first = kBias == Bias::kAlongM ? origin.m : origin.n;
    await_empty();
    const u32 full = pipeline.full(state.stage);
    ptx::mbarrier_arrive_expect_tx(full, bias_boxes(kKernel) * kBoxBytes);
#pragma unroll
    for (int box = 0; box < bias_boxes(kKernel); ++box) {
      ptx::tma_load(bias_in_stage(pipeline, state.stage) + static_cast<u32>(box * kBoxBytes),
                    operands.bias_map, full, first + box * kBiasBoxElements, 0);
    }
    state.advance();
  }
}

// ---- The consumers ----

/// Adds the bias and C to the sums of one consumer warp.
template <TiledKernel kKernel>
struct Addends {
  static constexpr DataType kType = addend_type(kKernel.gemm.output);
  static constexpr int kBytes = element_bytes(kType);
  static constexpr bool kIsFp32 = kType == DataType::kFp32;
  static constexpr int kBlocks = mma_blocks(kKernel);
  static constexpr int kGroups = consumer_cols(kKernel) / 8;  ///< of 8 columns
  static constexpr int kStripCols = strip_cols(kKernel);

  Accumulators<kKernel>& sums;
  const KernelParams& params;
  int consumer;
  /// The warp's first row within the tile, and its first column, as wgmma computes it.
  int row, column;
  int lane;
  u32 read = 0;  ///< the words read of this stage, XORed (Pipeline::release_read)

  /// `bias`: the address of its first element for the tile.
  __device__ __forceinline__ void add_bias(u32 bias) {
    constexpr bool kOfColumns = (kKernel.gemm.epilogue.bias == Bias::kAlongN) != kKernel.swap;
    if constexpr (kOfColumns) {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        float pair[2];
        load_pair(pair, bias + static_cast<u32>((column + group * 8 + lane % 4 * 2) * kBytes));
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[block][group * 4 + i] += pair[i % 2];
        }
        __syncwarp();
      }
    } else {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int at = row + block * kMmaM + half * 8 + lane / 4;
          const float value = load_one(bias + static_cast<u32>(at * kBytes));
#pragma unroll
          for (int group = 0; group < kGroups; ++group) {
            sums[block][group * 4 + half * 2] += value;
            sums[block][group * 4 + half * 2 + 1] += value;
          }
          __syncwarp();
        }
      }
    }
  }

  /// `address`: where the strip begins. `strip` must be known at compile time.
  __device__ __forceinline__ void add_strip(int strip, u32 address) {
    if constexpr (kKernel.swap) {
      add_columns_of_d(strip, address);
    } else {
      constexpr int kStripsOfConsumer = ceil_div(consumer_cols(kKernel), kStripCols);
      if (kKernel.schedule == Schedule::kColumns && strip / kStripsOfConsumer != consumer) return;
      add_rows_of_d(strip % kStripsOfConsumer * (kStripCols / 8), address);
    }
  }

 private:
  /// Fp32 values that were loaded: notes their bits.
  __device__ __forceinline__ float noted(float value) {
    read ^= __float_as_uint(value);
    return value;
  }
  /// Likewise, a word with two 16-bit values.
  __device__ __forceinline__ void unpack(u32 word, float& low, float& high) {
    read ^= word;
    ptx::unpack<kType>(word, low, high);
  }
  __device__ __forceinline__ void load_pair(float (&pair)[2], u32 address) {
    if constexpr (kIsFp32) {
      ptx::load_shared_v2(pair, address);
      pair[0] = noted(pair[0]);
      pair[1] = noted(pair[1]);
    } else {
      unpack(ptx::load_shared(address), pair[0], pair[1]);
    }
  }
  __device__ __forceinline__ float load_one(u32 address) {
    if constexpr (kIsFp32) {
      return noted(__uint_as_float(ptx::load_shared(address)));
    } else {
      float value;
      float none;
      unpack(ptx::load_shared_u16(address), value, none);
      return value;
    }
  }
  // Addresses in a strip, whose chunks of 16 bytes are swizzled as those of a K-major A (PTX ISA,
  // "Swizzling modes"): the position of a chunk in its row is XORed with swizzle(row). A lane has
  // one address, from which the others follow by an XOR of a constant and an offset, without
  // registers of their own.

  static constexpr int kRowBytes = strip_row_bytes(kKernel);
  /// It repeats every 8 rows.
  static __device__ __forceinline__ int swizzle(int strip_row) {
    return kRowBytes == kSwizzleBytes ? strip_row % 8 : strip_row / 2 % 4;
  }
  static __device__ __forceinline__ u32 bytes(int count) { return static_cast<u32>(count); }

  /// Adds packed pairs, as ldmatrix loads them, to the groups from `first` on: of each group first
  /// rows l / 4 of lane l, then rows l / 4 + 8.
  template <int kPairs>
  __device__ __forceinline__ void add_pairs(const u32 (&pairs)[kPairs], float* first, int groups) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (i / 2 >= groups) break;
      float pair[2];
      unpack(pairs[i], pair[0], pair[1]);
      first[i * 2] += scaled_c<kKernel>(pair[0], params);
      first[i * 2 + 1] += scaled_c<kKernel>(pair[1], params);
    }
  }

  /// A strip of columns of wgmma's tile, of which the first is group `first` of the consumer.
  __device__ __forceinline__ void add_rows_of_d(int first, u32 strip) {
    constexpr int kStripGroups = kStripCols / 8;
    const int groups = min(kStripGroups, kGroups - first);
    const int of_rows = kIsFp32 ? lane / 4 : lane % 16;
    const int chunk = kIsFp32 ? lane % 4 / 2 : lane / 16;
    const u32 address =
        strip + bytes((row + of_rows) * kRowBytes + (chunk ^ swizzle(of_rows)) * 16 +
                      (kIsFp32 ? lane % 2 * 8 : 0));
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const u32 block_offset = bytes(block * kMmaM * kRowBytes);
      float* const block_sums = sums[block] + first * 4;
      if constexpr (kIsFp32) {
#pragma unroll
        for (int i = 0; i < kStripGroups * 2; ++i) {  // 8 rows of a group
          if (i / 2 >= groups) break;
          float pair[2];
          load_pair(pair,
                    (address ^ bytes(i / 2 * 32)) + block_offset + bytes(i % 2 * 8 * kRowBytes));
          block_sums[i * 2] += scaled_c<kKernel>(pair[0], params);
          block_sums[i * 2 + 1] += scaled_c<kKernel>(pair[1], params);
        }
      } else {
#pragma unroll
        for (int group = 0; group < kStripGroups; group += 2) {
          if (group >= groups) break;
          u32 pairs[4];
          ptx::ldmatrix_x4(pairs, (address ^ bytes(group * 16)) + block_offset);
          add_pairs(pairs, block_sums + group * 4, groups - group);
        }
      }
      __syncwarp();
    }
  }

  /// A strip of rows of wgmma's tile, which are columns of D. The 16 of a warp's block lie in one
  /// strip.
  __device__ __forceinline__ void add_columns_of_d(int number, u32 strip) {
    const int of_columns = kIsFp32 ? lane % 4 * 2 : lane / 16 * 8 + lane % 8;
    const int chunk = kIsFp32 ? lane / 16 : lane / 8 % 2;
    const u32 address =
        strip + bytes((column + of_columns) * kRowBytes + (kIsFp32 ? lane / 4 % 4 * 4 : 0));
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const int first = row + block * kMmaM;
      if (first / kStripCols != number) continue;
      const int first_chunk = first % kStripCols * kBytes / 16;
      const u32 block_address = address + bytes(((first_chunk + chunk) ^ swizzle(of_columns)) * 16);
      if constexpr (kIsFp32) {
        constexpr int kNextRow = kRowBytes == kSwizzleBytes ? 16 : 0;
#pragma unroll
        for (int i = 0; i < kGroups * 4; ++i) {
          const u32 exchanged = bytes(i % 4 / 2 * 32 + i % 2 * kNextRow);
          sums[block][i] += scaled_c<kKernel>(
              load_one((block_address ^ exchanged) + bytes((i / 4 * 8 + i % 2) * kRowBytes)),
              params);
        }
      } else {
#pragma unroll
        for (int group = 0; group < kGroups; group += 2) {
          const u32 group_address = block_address + bytes(group * 8 * kRowBytes);
          if (group + 1 < kGroups) {
            u32 pairs[4];
            ptx::ldmatrix_x4_transposed(pairs, group_address);
            add_pairs(pairs, sums[block] + group * 4, 2);
          } else {  // an odd last group: the addresses of lanes 16..31 are not read
            u32 pairs[2];
            ptx::ldmatrix_x2_transposed(pairs, group_address);
            add_pairs(pairs, sums[block] + group * 4, 1);
          }
        }
      }
    }
  }
};

/// For a consumer warp, after the main loop of a tile: adds C and the bias as they arrive. (The
/// bias comes last: before C it made ptxas 13.0 spill 112 bytes at 168 accumulators, now none.)
///
/// A ping-pong consumer passes its turn on when the last of these stages is full, not when it has
/// issued its wgmmas. The other one waits for later uses of the same barriers, and a parity tells a
/// use from the next one only: until then it could take an earlier one for its own. (That was
/// measured: launches that never ended, where C filled the ring.)
template <TiledKernel kKernel, class Turn>
__device__ __forceinline__ void add_addends(Addends<kKernel> addends,
                                            const TiledPipeline<kKernel>& pipeline,
                                            typename TiledPipeline<kKernel>::State& state,
                                            u32 sender, const Turn& turn) {
  constexpr bool kHasBias = kKernel.gemm.epilogue.bias != Bias::kNone;
  const auto await_full = [&](bool is_last) {
    ptx::mbarrier_wait(pipeline.full(state.stage), state.parity());
    if (is_last) turn.pass();
  };
  const auto release = [&] {
    pipeline.release_read(state.stage, addends.lane, sender, addends.read);
    addends.read = 0;
    state.advance();
  };
  constexpr int kStrips = c_strips(kKernel);
  constexpr int kPerStage = strips_per_stage(kKernel);
#pragma unroll
  for (int strip = 0; strip < kStrips; ++strip) {
    if (strip % kPerStage == 0) await_full(!kHasBias && strip + kPerStage >= kStrips);
    addends.add_strip(strip, strip_in_stage(pipeline, state.stage, strip));
    if (strip % kPerStage == kPerStage - 1 || strip + 1 == kStrips) release();
  }
  if constexpr (kHasBias) {
    await_full(true);
    addends.add_bias(bias_in_stage(pipeline, state.stage));
    release();
  }
}

}  // namespace hgemm
