// Stores accumulators to D, by each store path. All of it works warp by warp: a warp owns 16 rows
// of each 64-row block (PTX ISA, wgmma "D fragment": lane l holds columns 8j + 2 (l % 4) + {0, 1}
// of rows l / 4 and l / 4 + 8), so no warp waits for another one.
#pragma once

#include "common/epilogue.cuh"
#include "common/output_8_bit.cuh"
#include "common/params.h"
#include "common/ptx.cuh"
#include "common/store.cuh"
#include "common/tma.cuh"
#include "tiled/output_scales.cuh"
#include "tiled/pipeline.cuh"
#include "tiled/probe.cuh"
#include "tiled/registers.h"

namespace hgemm {

template <TiledKernel kKernel>
using Accumulators = float[mma_blocks(kKernel)][consumer_cols(kKernel) / 2];

/// The element of D that lies so many rows and columns of the tile, as wgmma computes it, behind
/// the beginning of a warp's part.
template <TiledKernel kKernel>
__device__ __forceinline__ TileOrigin<kKernel> in_tile(TileOrigin<kKernel> begin, int of_rows,
                                                       int of_cols) {
  return begin.at(begin.m + (kKernel.swap ? of_cols : of_rows),
                  begin.n + (kKernel.swap ? of_rows : of_cols));
}

/// An output that has a tile's product: of all products, or by pointers of this one.
template <TiledKernel kKernel, Output kOutput>
__device__ __forceinline__ void* output_of(const KernelParams& params, TileOrigin<kKernel> at) {
  if constexpr (kKernel.gemm.by_pointers) return reinterpret_cast<void*>(at.product);
  return pointer_of<kOutput>(params);
}
/// Elements from its beginning to that of the product.
template <TiledKernel kKernel>
__device__ __forceinline__ u64 begin_of_product(const KernelParams& params,
                                                TileOrigin<kKernel> at) {
  if constexpr (!kKernel.gemm.batched || kKernel.gemm.by_pointers) {
    return 0;
  } else {
    return static_cast<u64>(at.product) *
           static_cast<u64>(static_cast<const BatchedParams&>(params).d_stride);
  }
}
/// The matrix of D's map that is the tile's product.
template <TiledKernel kKernel>
__device__ __forceinline__ auto matrix_of(TileOrigin<kKernel> at) {
  if constexpr (kKernel.gemm.by_pointers) {
    return MatrixAt::address(at.product);
  } else if constexpr (kKernel.gemm.batched) {
    return Plane{at.product};
  } else {
    return OnlyMatrix{};
  }
}

/// Outputs of kGroups groups of 8 columns from group `first` of a block of D on: activates their
/// gates and multiplies them by their ups (gate_run). (Gating a whole tile before it is stored made
/// ptxas 13.0 spill up to 3.8 KB.)
template <TiledKernel kKernel, int kGroups>
__device__ __forceinline__ void gate_columns(const Accumulators<kKernel>& sums, int block,
                                             int first, float* outputs) {
  constexpr Activation kActivation = kKernel.gemm.epilogue.activation;
  // A constant: computed in the loop, it left the accumulators in a stack frame.
  constexpr int kRun = gate_run(kKernel) / gate_unit(kKernel);
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const int of_unit = kKernel.swap ? block : first + group;
    const int gate = gate_unit_of(of_unit, kRun);
    const int up = gate + kRun;
    const float* const gates =
        kKernel.swap ? &sums[gate][(first + group) * 4] : &sums[block][gate * 4];
    const float* const ups = kKernel.swap ? &sums[up][(first + group) * 4] : &sums[block][up * 4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      outputs[group * 4 + i] = activate<kActivation>(gates[i]) * ups[i];
    }
    __syncwarp();  // otherwise ptxas 13.0 works on many groups at once, and spills
  }
}

/// Two neighbouring elements of D, packed as in memory.
template <DataType kType>
struct OutputPair {
  using Bits = u32;
  using Element = unsigned short;
  static __device__ __forceinline__ Bits of(float low, float high) {
    return ptx::pack<kType>(low, high);
  }
  static __device__ __forceinline__ Element first(Bits pair) { return static_cast<Element>(pair); }
  static __device__ __forceinline__ Element second(Bits pair) {
    return static_cast<Element>(pair >> 16);
  }
};
template <>
struct OutputPair<DataType::kFp32> {
  using Bits = float2;
  using Element = float;
  static __device__ __forceinline__ Bits of(float low, float high) { return {low, high}; }
  static __device__ __forceinline__ Element first(Bits pair) { return pair.x; }
  static __device__ __forceinline__ Element second(Bits pair) { return pair.y; }
};

/// 8-bit ones.
template <DataType kType>
struct BytePair {
  using Bits = unsigned short;
  using Element = unsigned char;
  static __device__ __forceinline__ Bits of(float low, float high) {
    return static_cast<Bits>(ptx::pack<kType>(low, high));
  }
  static __device__ __forceinline__ Element first(Bits pair) { return static_cast<Element>(pair); }
  static __device__ __forceinline__ Element second(Bits pair) {
    return static_cast<Element>(pair >> 8);
  }
};
template <>
struct OutputPair<DataType::kE4m3> : BytePair<DataType::kE4m3> {};
template <>
struct OutputPair<DataType::kE5m2> : BytePair<DataType::kE5m2> {};

/// Two values in the output type, times the given scale of an 8-bit D.
template <TiledKernel kKernel>
__device__ __forceinline__ auto output_pair(float low, float high) {
  using Pair = OutputPair<kKernel.gemm.output>;
  if constexpr (kHasOutputScale<kKernel>) {
    const float scale = output_scale<kKernel>();
    return Pair::of(scale * low, scale * high);
  } else {
    return Pair::of(low, high);
  }
}

/// Groups of 8 columns whose epilogue is computed at once, as registers allow.
template <TiledKernel kKernel>
inline constexpr int kFinishedAtOnce = groups_at_once<kKernel>(usable_registers(kKernel) -
                                                               accumulators_per_thread(kKernel) -
                                                               waiting_registers(kKernel));

/// The epilogue on kGroups groups of 8 columns, as many at once as registers allow. They begin at
/// (of_rows, of_cols) of the warp's part, as wgmma computes it, which begins at `begin` in D.
template <TiledKernel kKernel, int kGroups>
__device__ __forceinline__ void finish_columns(float* sums, const KernelParams& params,
                                               TileOrigin<kKernel> begin, int of_rows, int of_cols,
                                               int lane) {
  constexpr int kMost = kFinishedAtOnce<kKernel>;
  constexpr int kNow = kGroups < kMost ? kGroups : kMost;
  if constexpr (loads_addends(kKernel)) {
    const TileOrigin<kKernel> at = in_tile<kKernel>(begin, of_rows, of_cols);
    finish_groups<kKernel, kKernel.swap, kNow>(sums, params, at.m, at.n, lane);
  } else {
    activate_groups<kKernel, kNow, first_activation(kKernel.gemm), scales_when_stored(kKernel)>(
        sums, params);
  }
  if constexpr (kGroups > kNow) {
    finish_columns<kKernel, kGroups - kNow>(sums + kNow * 4, params, begin, of_rows,
                                            of_cols + kNow * 8, lane);
  }
}

/// D of kGroups groups that have been stored as the second output, in place.
template <TiledKernel kKernel, int kGroups>
__device__ __forceinline__ void activate_stored(float* sums, const KernelParams& params) {
  constexpr int kMost = kFinishedAtOnce<kKernel>;
  constexpr int kNow = kGroups < kMost ? kGroups : kMost;
  activate_groups<kKernel, kNow, kKernel.gemm.epilogue.activation, false>(sums, params);
  if constexpr (kGroups > kNow) {
    activate_stored<kKernel, kGroups - kNow>(sums + kNow * 4, params);
  }
}

/// Stores two neighbouring elements of a row of an output. With the staged store path D may begin
/// and end anywhere; otherwise N is even (why_unsupported), and a pair is inside or outside as a
/// whole.
template <TiledKernel kKernel, Output kOutput>
__device__ __forceinline__ void store_pair(typename OutputPair<kKernel.gemm.output>::Bits pair,
                                           const KernelParams& params, TileOrigin<kKernel> at) {
  using Pair = OutputPair<kKernel.gemm.output>;
  if (at.m >= extent_m<kKernel>(params) || at.n >= columns_of_d<kKernel>(params)) return;
  void* const output = output_of<kKernel, kOutput>(params, at);
  const u64 element = begin_of_product<kKernel>(params, at) +
                      static_cast<u64>(at.m) * static_cast<u64>(leading_d<kKernel>(params)) +
                      static_cast<u64>(at.n);
  if constexpr (kKernel.store != StorePath::kStaged) {
    static_cast<typename Pair::Bits*>(output)[element / 2] = pair;
  } else {
    auto* const d = static_cast<typename Pair::Element*>(output) + element;
    d[0] = Pair::first(pair);
    if (at.n + 1 < columns_of_d<kKernel>(params)) d[1] = Pair::second(pair);
  }
}

/// Stores a group, 16 rows by 8 columns of the tile as wgmma computes it, from a warp's registers.
/// `begin`: of the group in D.
template <TiledKernel kKernel, Output kOutput = Output::kD>
__device__ __forceinline__ void store_group(const float* values, const KernelParams& params,
                                            TileOrigin<kKernel> begin, int lane) {
  constexpr DataType kType = kKernel.gemm.output;
  using Pair = OutputPair<kType>;
  if constexpr (kKernel.swap && kType == DataType::kFp32) {
    auto* const d = static_cast<float*>(output_of<kKernel, kOutput>(params, begin)) +
                    begin_of_product<kKernel>(params, begin);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = begin.m + 2 * (lane % 4) + i % 2;
      const int c = begin.n + i / 2 * 8 + lane / 4;
      if (r >= extent_m<kKernel>(params) || c >= columns_of_d<kKernel>(params)) continue;
      d[static_cast<u64>(r) * static_cast<u64>(leading_d<kKernel>(params)) + static_cast<u64>(c)] =
          values[i];
    }
  } else if constexpr (kKernel.swap && kStores8Bit<kKernel>) {
    const u32 bytes = transposed_group(packed_group<kKernel>(values, output_scale<kKernel>()));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      store_pair<kKernel, kOutput>(
          static_cast<typename Pair::Bits>(bytes >> (16 * half)), params,
          begin.at(begin.m + lane / 4, begin.n + half * 8 + 2 * (lane % 4)));
    }
  } else {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      auto pair = output_pair<kKernel>(values[2 * half], values[2 * half + 1]);
      if constexpr (kKernel.swap) pair = ptx::transposed(pair);
      const int along = half * 8;
      store_pair<kKernel, kOutput>(pair, params,
                                   begin.at(begin.m + (kKernel.swap ? 0 : along) + lane / 4,
                                            begin.n + (kKernel.swap ? along : 0) + 2 * (lane % 4)));
    }
  }
}

/// The gated outputs of a block, directly to memory. `begin`: of the block in D.
template <TiledKernel kKernel>
__device__ __forceinline__ void store_gated(const Accumulators<kKernel>& accumulators,
                                            const KernelParams& params, int block,
                                            TileOrigin<kKernel> begin, int lane) {
  // Groups of which all outputs are needed at once.
  constexpr int kNow = finds_output_scales(kKernel.gemm) ? kScaleBlock / 8 : 1;
#pragma unroll
  for (int group = 0; group < output_cols(kKernel) / 8; group += kNow) {
    float outputs[kNow * 4];
    gate_columns<kKernel, kNow>(accumulators, block, group, outputs);
    scale_columns<kKernel, kNow * 8>(outputs, params, begin, 0, group * 8, lane);
#pragma unroll
    for (int i = 0; i < kNow; ++i) {
      store_group<kKernel>(outputs + i * 4, params, begin.at(begin.m, begin.n + (group + i) * 8),
                           lane);
    }
  }
}

/// Stores block number `block` of the warp's part, which begins at `begin`, directly to memory, two
/// elements per store.
template <TiledKernel kKernel, Output kOutput>
__device__ __forceinline__ void store_block(const float* sums, const KernelParams& params,
                                            int block, TileOrigin<kKernel> begin, int lane) {
  using Pair = OutputPair<kKernel.gemm.output>;
  auto* const d = static_cast<typename Pair::Bits*>(output_of<kKernel, kOutput>(params, begin)) +
                  begin_of_product<kKernel>(params, begin) / 2;
  const u64 row_pairs = static_cast<u64>(leading_d<kKernel>(params)) / 2;
  const int lane_column = begin.n + 2 * (lane % 4);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = begin.m + block * kMmaM + half * 8 + lane / 4;
    if (row >= extent_m<kKernel>(params)) continue;
    auto* const d_row = d + static_cast<u64>(row) * row_pairs;
#pragma unroll
    for (int group = 0; group < output_cols(kKernel) / 8; ++group) {
      // N is even (why_unsupported): a pair is inside or outside as a whole.
      if (lane_column + group * 8 >= columns_of_d<kKernel>(params)) break;
      const float* const pair = &sums[group * 4 + half * 2];
      d_row[(lane_column + group * 8) / 2] = output_pair<kKernel>(pair[0], pair[1]);
    }
  }
}

/// Stores directly to memory. It needs no shared memory, which leaves room for one more stage,
/// unless output is staged in the ring anyway.
template <TiledKernel kKernel>
__device__ __forceinline__ void store_direct(Accumulators<kKernel>& accumulators,
                                             const KernelParams& params, TileOrigin<kKernel> begin,
                                             int lane) {
  constexpr int kGroups = output_cols(kKernel) / 8;
#pragma unroll
  for (int block = 0; block < output_blocks(kKernel); ++block) {
    if constexpr (is_gated(kKernel.gemm)) {
      store_gated<kKernel>(accumulators, params, block, begin.at(begin.m + block * kMmaM, begin.n),
                           lane);
      continue;
    } else if constexpr (has_epilogue(kKernel.gemm)) {
      finish_columns<kKernel, kGroups>(accumulators[block], params, begin, block * kMmaM, 0, lane);
    }
    if constexpr (kKernel.gemm.epilogue.aux) {
      store_block<kKernel, Output::kAux>(accumulators[block], params, block, begin, lane);
      activate_stored<kKernel, kGroups>(accumulators[block], params);
    }
    scale_columns<kKernel, kGroups * 8>(accumulators[block], params, begin, block * kMmaM, 0, lane);
    store_block<kKernel, Output::kD>(accumulators[block], params, block, begin, lane);
  }
}

/// How a warp's part of a tile is divided into boxes of kStoreRows rows for the copy engine: boxes
/// of store_cols(kKernel) columns, and a narrower one for the rest. (As wgmma computes the tile.)
template <TiledKernel kKernel>
struct StoreBoxes {
  static constexpr int kPerBlock = boxes_per_block(kKernel);
  static constexpr int kCount = store_boxes(kKernel);
  HGEMM_HOST_DEVICE static constexpr int block(int box) { return box / kPerBlock; }
  HGEMM_HOST_DEVICE static constexpr int column(int box) {
    return box % kPerBlock * store_cols(kKernel);
  }
  HGEMM_HOST_DEVICE static constexpr int cols(int box) {
    const int left = output_cols(kKernel) - column(box);
    return left < store_cols(kKernel) ? left : store_cols(kKernel);
  }
};

/// Registers for a thread's values of this many columns (four values for every eight columns) in
/// the output type.
template <TiledKernel kKernel>
HGEMM_HOST_DEVICE constexpr int output_words(int cols) {
  return cols / 2 * element_bytes(kKernel.gemm.output) / 4;
}

/// A thread's values of kCols columns in the output type: 8-bit ones as packed_group() has them.
/// (fp32 values are copied; otherwise, if a tile may be left to another CTA, ptxas 13.0 serialises
/// the wgmmas, C7520.)
template <TiledKernel kKernel, int kCols>
__device__ __forceinline__ void convert_box(const float* d, u32* words) {
  [[maybe_unused]] float scale = 1;
  if constexpr (kHasOutputScale<kKernel>) scale = output_scale<kKernel>();
#pragma unroll
  for (int i = 0; i < output_words<kKernel>(kCols); ++i) {
    if constexpr (kStores8Bit<kKernel>) {
      words[i] = packed_group<kKernel>(d + 4 * i, scale);
    } else if constexpr (kKernel.gemm.output == DataType::kFp32) {
      words[i] = ptx::copy_bits(d[i]);
    } else {
      words[i] = ptx::pack<kKernel.gemm.output>(d[2 * i], d[2 * i + 1]);
    }
  }
}

/// Writes one warp's box of kStoreRows x kCols to shared memory. Whole boxes are swizzled as in
/// their tensor map; a narrower box has plain rows.
///
/// 16-bit elements are written by stmatrix: lane l addresses row l % 16, 16-byte chunk l / 16 of
/// each pair of groups of 8 columns. Others are written in pairs, as each lane holds them.
template <TiledKernel kKernel, int kCols>
__device__ __forceinline__ void stage_box(const u32* words, u32 target, int lane) {
  constexpr int kBytes = element_bytes(kKernel.gemm.output);
  constexpr bool kSwizzled = kCols * kBytes == kSwizzleBytes;
  constexpr int kGroups = kCols / 8;
  if constexpr (kBytes == 4) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = half * 8 + lane / 4;
      const u32 row_address = target + static_cast<u32>(row * kCols * kBytes);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const int chunk = group * 2 + lane % 4 / 2;
        const int placed = kSwizzled ? swizzled_chunk(chunk, row) : chunk;
        const u32* const pair = words + group * 4 + half * 2;
        ptx::store_shared_v2(row_address + static_cast<u32>(placed * 16 + lane % 2 * 8), pair[0],
                             pair[1]);
      }
    }
  } else if constexpr (kBytes == 1) {
    // A lane has one address, from which the others follow by constants, without registers of their
    // own. Rows 8 apart have the same swizzle.
    const int row = lane / 4;
    const u32 first = target + static_cast<u32>(row * kCols + lane % 4 * 2) +
                      (kSwizzled ? static_cast<u32>(row * 16) : 0);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const u32 chunk = static_cast<u32>(group / 2 * 16);
      const u32 address = (kSwizzled ? first ^ chunk : first + chunk) + group % 2 * 8;
      ptx::store_shared_u16(address, words[group]);
      ptx::store_shared_u16(address + 8 * kCols, words[group] >> 16);
    }
  } else {
    const int row = lane % 16;
    const u32 row_address = target + static_cast<u32>(row * kCols * kBytes);
#pragma unroll
    for (int group = 0; group < kGroups; group += 2) {
      const int chunk = group + lane / 16;
      const int placed = kSwizzled ? swizzled_chunk(chunk, row) : chunk;
      const u32 address = row_address + static_cast<u32>(placed * 16);
      const u32* const r = words + group * 2;
      if (group + 1 < kGroups) {
        ptx::stmatrix_x4(address, r[0], r[1], r[2], r[3]);
      } else {  // an odd last group: lanes 16..31 address nothing
        ptx::stmatrix_x2(address, r[0], r[1]);
      }
    }
  }
}

/// Writes one warp's box transposed to shared memory: a row of the box, of kStoreRows elements, for
/// each of kCols columns, without swizzle.
///
/// 16-bit elements are written by stmatrix: lane l addresses row l % 8 of the first (l < 16) or
/// second group of 8 columns, and in it the first or second 8 elements. fp32 elements are written
/// one by one, as each lane holds them, and 8-bit ones in pairs, transposed among the lanes.
template <TiledKernel kKernel, int kCols>
__device__ __forceinline__ void stage_box_transposed(const u32* words, u32 target, int lane) {
  constexpr int kBytes = element_bytes(kKernel.gemm.output);
  constexpr int kRowBytes = kStoreRows * kBytes;
#pragma unroll
  for (int group = 0; group < kCols / 8; group += kBytes == 2 ? 2 : 1) {
    if constexpr (kBytes == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = group * 8 + 2 * (lane % 4) + i % 2;
        ptx::store_shared(target + static_cast<u32>(row * kRowBytes + (i / 2 * 8 + lane / 4) * 4),
                          __uint_as_float(words[group * 4 + i]));
      }
    } else if constexpr (kBytes == 1) {
      const u32 bytes = transposed_group(words[group]);
      const u32 address =
          target + static_cast<u32>((group * 8 + lane / 4) * kRowBytes + lane % 4 * 2);
      ptx::store_shared_u16(address, bytes);
      ptx::store_shared_u16(address + 8, bytes >> 16);
    } else {
      const int row = (group + lane / 16) * 8 + lane % 8;
      const u32 address = target + static_cast<u32>(row * kRowBytes + lane / 8 % 2 * 16);
      const u32* const r = words + group * 2;
      if (group + 1 < kCols / 8) {
        ptx::stmatrix_x4_transposed(address, r[0], r[1], r[2], r[3]);
      } else {  // an odd last group: lanes 16..31 address nothing
        ptx::stmatrix_x2_transposed(address, r[0], r[1]);
      }
    }
  }
}

/// The staging of one warp: store_buffers(kKernel) buffers, used in turn. One is filled while the
/// copy engine stores the others.
struct Staging {
  u32 base;
  int buffer = 0;  ///< the next to fill
};
template <TiledKernel kKernel>
__device__ __forceinline__ void take_next_buffer(Staging& staging) {
  constexpr int kLast = store_buffers(kKernel) - 1;
  staging.buffer = staging.buffer == kLast ? 0 : staging.buffer + 1;
}

/// Stores box kBox of a warp's part, which begins at `begin` in D. With `swap` the rows of the box
/// are columns of D.
template <TiledKernel kKernel, int kBox, Output kOutput = Output::kD, class... Probe>
__device__ __forceinline__ void store_box(const u32* words, const KernelParams& params,
                                          Staging& staging, TileOrigin<kKernel> begin, int lane,
                                          Probe&... probe) {
  using Boxes = StoreBoxes<kKernel>;
  constexpr int kCols = Boxes::cols(kBox);
  const TensorMap& map =
      kCols == store_cols(kKernel) ? map_of<kOutput>(params) : tail_map_of<kOutput>(params);
  const TileOrigin<kKernel> box =
      in_tile<kKernel>(begin, Boxes::block(kBox) * kMmaM, Boxes::column(kBox));
  const u32 target = staging.base + static_cast<u32>(staging.buffer * kStoreBufferBytes);
  // The copy that last read this buffer must be complete. Only the thread that issued it can wait
  // for it; the others wait for that thread.
  if (stores_by_tma(kKernel) && ptx::elect_one()) {
    ptx::bulk_wait_group_read<store_buffers(kKernel) - 1>();
  }
  __syncwarp();
  (probe.begin_staging(), ...);
  if constexpr (kKernel.swap) {
    stage_box_transposed<kKernel, kCols>(words, target, lane);
  } else {
    stage_box<kKernel, kCols>(words, target, lane);
  }
  if constexpr (!stores_by_tma(kKernel)) {
    __syncwarp();
    (probe.end_staging(), ...);
    constexpr int kBoxRows = kKernel.swap ? kCols : kStoreRows;
    constexpr int kBoxCols = kKernel.swap ? kStoreRows : kCols;
    const auto output = [&] { return output_of<kKernel, kOutput>(params, box); };
    store_rows_of_box<kKernel, kBoxRows, kBoxCols>(params, output, target, box.m, box.n, lane,
                                                   begin_of_product<kKernel>(params, box));
    take_next_buffer<kKernel>(staging);
    return;
  }
  ptx::fence_proxy_async();
  __syncwarp();
  (probe.end_staging(), ...);
  if (ptx::elect_one()) {
    // The copy engine clips boxes at the edges of D; a box completely outside is skipped.
    if (box.m < extent_m<kKernel>(params) && box.n < columns_of_d<kKernel>(params)) {
      ptx::tma_store<kKernel.d_hint>(map, target, box.n, box.m, matrix_of<kKernel>(box));
    }
    ptx::bulk_commit_group();
  }
  take_next_buffer<kKernel>(staging);
}

/// Computes the outputs of box kBox of a warp's part from its sums, and stores them through shared
/// memory.
template <TiledKernel kKernel, int kBox, class... Probe>
__device__ __forceinline__ void finish_and_store_box(Accumulators<kKernel>& accumulators,
                                                     const KernelParams& params, Staging& staging,
                                                     TileOrigin<kKernel> begin, int lane,
                                                     Probe&... probe) {
  using Boxes = StoreBoxes<kKernel>;
  constexpr int kCols = Boxes::cols(kBox);
  u32 words[output_words<kKernel>(kCols)];
  if constexpr (is_gated(kKernel.gemm)) {
    float outputs[kCols / 2];
    gate_columns<kKernel, kCols / 8>(accumulators, Boxes::block(kBox), Boxes::column(kBox) / 8,
                                     outputs);
    scale_columns<kKernel, kCols>(outputs, params, begin, Boxes::block(kBox) * kMmaM,
                                  Boxes::column(kBox), lane);
    convert_box<kKernel, kCols>(outputs, words);
  } else {
    float* const sums = &accumulators[Boxes::block(kBox)][Boxes::column(kBox) / 2];
    if constexpr (has_epilogue(kKernel.gemm)) {
      finish_columns<kKernel, kCols / 8>(sums, params, begin, Boxes::block(kBox) * kMmaM,
                                         Boxes::column(kBox), lane);
    }
    if constexpr (kKernel.gemm.epilogue.aux) {
      convert_box<kKernel, kCols>(sums, words);
      store_box<kKernel, kBox, Output::kAux>(words, params, staging, begin, lane);
      activate_stored<kKernel, kCols / 8>(sums, params);
    }
    scale_columns<kKernel, kCols>(sums, params, begin, Boxes::block(kBox) * kMmaM,
                                  Boxes::column(kBox), lane);
    convert_box<kKernel, kCols>(sums, words);
  }
  store_box<kKernel, kBox>(words, params, staging, begin, lane, probe...);
}

/// Stores a warp's part through shared memory, box after box from kBox on. For a tile that a
/// cluster has cut, it stores the boxes that CTA number `part` has added up.
template <TiledKernel kKernel, int kBox = 0, class... Probe>
__device__ __forceinline__ void store_staged(Accumulators<kKernel>& accumulators,
                                             const KernelParams& params, Staging& staging,
                                             TileOrigin<kKernel> begin, int part, int lane,
                                             Probe&... probe) {
  if constexpr (kBox < StoreBoxes<kKernel>::kCount) {
    if (!adds_in_cluster(kKernel) || box_owner(kKernel, kBox) == part) {
      finish_and_store_box<kKernel, kBox>(accumulators, params, staging, begin, lane, probe...);
    }
    store_staged<kKernel, kBox + 1>(accumulators, params, staging, begin, part, lane, probe...);
  }
}

}  // namespace hgemm
