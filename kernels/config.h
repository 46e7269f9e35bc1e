// The configuration of the HGEMM kernels: one point of the search space, and the register and
// shared-memory arithmetic that follows from it. rules.h says which are valid.
//
// Compiled by the host compiler and by NVRTC, so it includes nothing.
#pragma once

#ifdef __CUDACC__
#define HGEMM_HOST_DEVICE __host__ __device__
#else
#define HGEMM_HOST_DEVICE
#endif

namespace hgemm {

enum class Dtype : unsigned char { kBf16, kFp16, kFp32 };
HGEMM_HOST_DEVICE constexpr int element_bytes(Dtype dtype) { return dtype == Dtype::kFp32 ? 4 : 2; }

/// How the consumers of a CTA share its work: the rows of each tile, its columns, or whole tiles in
/// turn (ping-pong: one multiplies while the other writes its tile).
///
/// kSwapped is another kernel, for few rows of A (stream.cuh): B takes the place of wgmma's 64-row
/// operand, so that a tile may have as few as 8 rows, and each consumer has 64 columns of it.
/// kVector is a third, for up to 16 rows of A or of B at any address (vector.cuh): CUDA cores
/// multiply the rows of the other operand, as ordinary loads bring them, by those few.
enum class Schedule : unsigned char { kRows, kColumns, kPingPong, kSwapped, kVector };
/// Grouped orders go through bands of `group` tiles: bands of rows, swept along N, or of columns,
/// swept along M. A snake sweeps every other band backwards.
enum class TileOrder : unsigned char {
  kLinear,
  kGroupedRows,
  kGroupedColumns,
  kSnakeRows,
  kSnakeColumns,
  kHilbert,
};
/// How a tile is written: straight to memory; through shared memory by the copy engine (kTma), or
/// by ordinary stores, which take any D (kStaged): the copy engine's begin and end at multiples of
/// 16 bytes, whatever their tensor map says (measured on H200: coordinates between them are an
/// illegal instruction, and a row's last piece is stored whole). kLate: by the copy engine so, but
/// packed into registers first and stored while the next tile is multiplied (kLate).
enum class Epilogue : unsigned char { kDirect, kTma, kStaged, kLate };
/// Which work a CTA does. The n CTAs that are resident at once take every n-th tile (kPersistent),
/// or every n-th part of a tile, each cut along K into `splits` parts (kSplitK). kStreamK: as
/// kPersistent, but tiles that would fill the last wave only in part are shared evenly, cut at any
/// k block. kDynamic: as kPersistent, but who is ready for a tile takes the next one of all.
/// kSingle: a CTA for each tile. kClusterSplit: a CTA for each of `splits` parts of a tile along K;
/// those of a tile are a cluster, and add up in shared memory.
enum class Walk : unsigned char {
  kPersistent,
  kSingle,
  kSplitK,
  kStreamK,
  kClusterSplit,
  kDynamic,
};
/// What L2 is told of an operand's lines: nothing, that they will not be needed again, or that they
/// will (PTX ISA, "cache eviction priority").
enum class CacheHint : unsigned char { kNone, kEvictFirst, kEvictLast };

/// One point of the space. All extents are per CTA, in elements. (Of vector.cuh: bm are the rows of
/// the small operand, bn of the large one, a warp's in turn; bk what a warp takes of a row at a
/// time, stages how many of these are on their way.)
struct KernelConfig {
  int bm = 128;       ///< rows of the output tile
  int bn = 128;       ///< columns of the output tile
  int bk = 64;        ///< depth of one pipeline stage
  int stages = 4;     ///< QSIZE: pipeline stages in shared memory
  int cluster_m = 1;  ///< CTAs of a cluster along M; they share (multicast) the B tile
  int cluster_n = 1;  ///< CTAs of a cluster along N; they share (multicast) the A tile
  Schedule schedule = Schedule::kRows;
  int consumers = 2;  ///< consumer warpgroups
  int mma_depth = 1;  ///< wgmma groups left in flight while the next stage is issued: 0 or 1
  TileOrder order = TileOrder::kLinear;
  int group = 0;  ///< cluster tiles per band of a grouped or snake order, else 0
  Epilogue epilogue = Epilogue::kTma;
  Walk walk = Walk::kPersistent;
  int splits = 1;  ///< parts of K, for Walk::kSplitK and kClusterSplit, else 1
  Dtype dtype = Dtype::kBf16;
  CacheHint a_hint = CacheHint::kNone;
  CacheHint b_hint = CacheHint::kNone;
  CacheHint d_hint = CacheHint::kNone;  ///< of the copy engine's stores
  /// Bytes that L2 fetches at least where a copy misses: 64, 128 or 256. (It and b_hint are of the
  /// copy engine: the first stage of B with Schedule::kSwapped has 128 and no hint.)
  int promotion = 256;
  int ctas_per_sm = 1;  ///< 1 or 2
  /// Launched while the kernel before it in the stream drains (programmatic dependent launch), and
  /// lets the next one do so. Until that kernel is done it reads neither A nor B, but asks L2 for
  /// them: they must be mapped by then. With Schedule::kSwapped it does read B, which therefore
  /// must not be written by any kernel before it, back to the last one that was launched without:
  /// that kernel, waiting itself, may let this one come while its own predecessor still runs.
  bool pdl = false;
  /// A and B whose rows do not begin at multiples of 16 bytes, where the copy engine cannot fetch
  /// them, are first copied to where they do (pack.cuh), in a launch of its own.
  bool pack = false;
  /// Rows of A, rows of B and depth of the only problem that it computes, compiled in; 0: it is
  /// given any problem's at launch.
  int m = 0, n = 0, k = 0;
  bool probe = false;  ///< with cycle stamps (probe.cuh), to be studied; never timed in a race

  constexpr bool operator==(const KernelConfig&) const = default;
};

HGEMM_HOST_DEVICE constexpr KernelConfig with_probe(KernelConfig c) {
  c.probe = true;
  return c;
}

/// What the rules need to know of a device. Defaults: sm_90 (H100, H200).
struct DeviceLimits {
  int smem_bytes_per_cta = 232448;     ///< cudaDevAttrMaxSharedMemoryPerBlockOptin, H200
  int registers_per_partition = 512;   ///< per lane: 64 K registers / 4 partitions / 32 lanes
  int max_registers_per_thread = 255;  ///< PTX ISA, sm_90
};

// ---- Arithmetic that the kernel, the launcher and the rules share ----

inline constexpr int kElementBytes = 2;  ///< of A, B and D: rule kDtype
/// Of the copy engine: addresses and strides are multiples of 16 bytes (cuTensorMapEncodeTiled).
inline constexpr int kUnitElements = 8;
inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kMmaM = 64;  ///< rows of one wgmma, PTX ISA "wgmma.mma_async"
inline constexpr int kMmaK = 16;  ///< depth of one wgmma for 16-bit types
inline constexpr int kMaxStages = 16;
inline constexpr int kMaxSplits = 16;
inline constexpr int kMaxClusterSplits = 8;  ///< a portable cluster (CUDA programming guide)
/// A share of stream-K smaller than this costs more to add up than it saves.
inline constexpr int kMinStreamBlocks = 4;

/// A TMA box row with 128-byte swizzle holds 64 elements; deeper stages are several such slabs.
inline constexpr int kSlabK = 64;
/// Output is staged per warp in boxes of 16 rows x 64 columns (one 128-byte swizzle atom wide), so
/// that a warp never waits for another one. Two boxes per warp: one fills while one is stored.
inline constexpr int kStoreRows = 16;
inline constexpr int kStoreCols = 64;
inline constexpr int kStoreBuffers = 2;
/// Swapped, in boxes of 8 rows.
inline constexpr int kGroupRows = 8;
/// TMA limit on every box extent (cuTensorMapEncodeTiled: boxDim[i] <= 256).
inline constexpr int kMaxBoxRows = 256;

HGEMM_HOST_DEVICE constexpr bool is_swapped(const KernelConfig& c) {
  return c.schedule == Schedule::kSwapped;
}
HGEMM_HOST_DEVICE constexpr bool is_vector(const KernelConfig& c) {
  return c.schedule == Schedule::kVector;
}
/// Whether a tile may be several CTAs' work, each of which has a part of K. Their sums meet in a
/// workspace in memory, or in the shared memory of their cluster.
HGEMM_HOST_DEVICE constexpr bool adds_in_workspace(const KernelConfig& c) {
  return c.walk == Walk::kSplitK || c.walk == Walk::kStreamK;
}
HGEMM_HOST_DEVICE constexpr bool adds_in_cluster(const KernelConfig& c) {
  return c.walk == Walk::kClusterSplit;
}
HGEMM_HOST_DEVICE constexpr bool cuts_k(const KernelConfig& c) {
  return adds_in_workspace(c) || adds_in_cluster(c);
}
HGEMM_HOST_DEVICE constexpr bool is_dynamic(const KernelConfig& c) {
  return c.walk == Walk::kDynamic;
}
/// The copy engine stores D.
HGEMM_HOST_DEVICE constexpr bool stores_by_tma(const KernelConfig& c) {
  return c.epilogue == Epilogue::kTma || c.epilogue == Epilogue::kLate;
}
/// Made for one problem.
HGEMM_HOST_DEVICE constexpr bool is_fixed(const KernelConfig& c) {
  return c.m != 0 || c.n != 0 || c.k != 0;
}
/// CTAs that share what they fetch.
HGEMM_HOST_DEVICE constexpr int multicast_size(const KernelConfig& c) {
  return c.cluster_m * c.cluster_n;
}
HGEMM_HOST_DEVICE constexpr int cluster_size(const KernelConfig& c) {
  return multicast_size(c) * (adds_in_cluster(c) ? c.splits : 1);
}
/// The producer is a warpgroup, since setmaxnreg acts on whole ones, or a warp where registers stay
/// as they are.
HGEMM_HOST_DEVICE constexpr int threads_per_cta(const KernelConfig& c) {
  if (is_vector(c)) return kWarpgroupThreads * c.consumers;
  return kWarpgroupThreads * c.consumers + (is_swapped(c) ? 32 : kWarpgroupThreads);
}
HGEMM_HOST_DEVICE constexpr bool has_bands(TileOrder order) {
  return order != TileOrder::kLinear && order != TileOrder::kHilbert;
}

/// The part of a tile that one consumer accumulates.
HGEMM_HOST_DEVICE constexpr int consumer_rows(const KernelConfig& c) {
  return c.schedule == Schedule::kRows ? c.bm / c.consumers : c.bm;
}
HGEMM_HOST_DEVICE constexpr int consumer_cols(const KernelConfig& c) {
  return c.schedule == Schedule::kColumns || is_swapped(c) ? c.bn / c.consumers : c.bn;
}
/// Consumers that read each stage.
HGEMM_HOST_DEVICE constexpr int readers(const KernelConfig& c) {
  return c.schedule == Schedule::kPingPong ? 1 : c.consumers;
}
/// 64-row blocks that one consumer accumulates.
HGEMM_HOST_DEVICE constexpr int mma_blocks(const KernelConfig& c) {
  return consumer_rows(c) / kMmaM;
}
HGEMM_HOST_DEVICE constexpr int accumulators_per_thread(const KernelConfig& c) {
  return consumer_rows(c) * consumer_cols(c) / kWarpgroupThreads;
}
/// Width of one wgmma.
HGEMM_HOST_DEVICE constexpr int mma_n(const KernelConfig& c) {
  return is_swapped(c) ? consumer_rows(c) : consumer_cols(c);
}
/// fp32 sums that a CTA leaves for another one to add: bytes in the workspace.
HGEMM_HOST_DEVICE constexpr int partial_bytes(const KernelConfig& c) {
  return readers(c) * kWarpgroupThreads * accumulators_per_thread(c) * 4;
}

/// Rows of one box.
HGEMM_HOST_DEVICE constexpr int store_rows(const KernelConfig& c) {
  return is_swapped(c) ? kGroupRows : kStoreRows;
}

/// Registers of a packed tile that waits to be stored.
HGEMM_HOST_DEVICE constexpr int packed_registers(const KernelConfig& c) {
  return c.epilogue == Epilogue::kLate ? accumulators_per_thread(c) / 2 : 0;
}

/// Registers that a consumer needs beside its accumulators and packed values. Measured with ptxas
/// 13.0: a step of bn more spills. The copy engine's addresses take more than direct stores', and
/// so do a cluster's.
HGEMM_HOST_DEVICE constexpr int accumulator_reserve(const KernelConfig& c) {
  if (adds_in_cluster(c) && !is_swapped(c)) return 72;
  if (c.epilogue == Epilogue::kStaged) return c.schedule == Schedule::kPingPong ? 56 : 48;
  return c.epilogue == Epilogue::kDirect ? 32 : 40;
}

/// Registers per thread at kernel entry: the register file is handed out in units of 8 per thread.
/// Measured with ptxas 13.0, one CTA per SM: 256 threads -> 255, 384 -> 168, 512 -> 128.
HGEMM_HOST_DEVICE constexpr int entry_registers(const KernelConfig& c,
                                                const DeviceLimits& limits = {}) {
  const int warps_per_partition = (threads_per_cta(c) / 32 + 3) / 4 * c.ctas_per_sm;
  const int registers = limits.registers_per_partition / warps_per_partition / 8 * 8;
  return registers < limits.max_registers_per_thread ? registers : limits.max_registers_per_thread;
}
/// setmaxnreg targets. They share what the CTA was launched with (entry registers x warpgroups):
/// one register more, and setmaxnreg.inc waits for ever. 40 + 2 * 232 = 24 + 2 * 240 = 3 * 168; 32
/// + 3 * 160 = 4 * 128. With one consumer the entry count is already the most a thread can have,
/// unless two CTAs share the SM: 24 + 232 = 2 * 128, and for two consumers 24 + 2 * 104 < 3 * 80.
///
/// Two consumers take 240 only for tiles that need it: with 24 registers some producers spill.
HGEMM_HOST_DEVICE constexpr bool moves_registers(const KernelConfig& c) {
  return (c.consumers > 1 || c.ctas_per_sm > 1) && !is_swapped(c) && !is_vector(c);
}
HGEMM_HOST_DEVICE constexpr int consumer_registers(const KernelConfig& c) {
  if (is_swapped(c)) return entry_registers(c);
  if (c.ctas_per_sm > 1) return c.consumers == 1 ? 232 : 104;
  if (c.consumers == 1) return 255;
  if (c.consumers == 3) return 160;
  // Finding its work takes the producer more than 24 registers.
  if (cuts_k(c) || is_dynamic(c)) return 232;
  const int values = accumulators_per_thread(c) + packed_registers(c);
  return values > 232 - accumulator_reserve(c) ? 240 : 232;
}
HGEMM_HOST_DEVICE constexpr int producer_registers(const KernelConfig& c) {
  if (c.ctas_per_sm > 1) return 24;
  if (c.consumers == 3) return 32;
  return consumer_registers(c) == 240 ? 24 : 40;
}

HGEMM_HOST_DEVICE constexpr int a_stage_bytes(const KernelConfig& c) {
  return c.bm * c.bk * kElementBytes;
}
HGEMM_HOST_DEVICE constexpr int b_stage_bytes(const KernelConfig& c) {
  return c.bn * c.bk * kElementBytes;
}
HGEMM_HOST_DEVICE constexpr int store_buffer_bytes() {
  return kStoreRows * kStoreCols * kElementBytes;
}
HGEMM_HOST_DEVICE constexpr int store_staging_bytes(const KernelConfig& c) {
  const bool staged = c.epilogue != Epilogue::kDirect && !is_swapped(c);
  return staged ? c.consumers * 4 * kStoreBuffers * store_buffer_bytes() : 0;
}

/// Boxes in which a consumer's part of a tile is stored, which are runs of each thread's values:
/// swapped, 8 rows by its 64 columns of B; else 16 rows for each warp by up to 64 columns of each
/// 64-row block.
HGEMM_HOST_DEVICE constexpr int boxes_per_block(const KernelConfig& c) {
  return (consumer_cols(c) + kStoreCols - 1) / kStoreCols;
}
HGEMM_HOST_DEVICE constexpr int store_boxes(const KernelConfig& c) {
  return is_swapped(c) ? c.bm / kGroupRows : mma_blocks(c) * boxes_per_block(c);
}
/// Values of a box; the last one of a block may have fewer.
HGEMM_HOST_DEVICE constexpr int box_values(const KernelConfig& c) {
  const int columns = consumer_cols(c) < kStoreCols ? consumer_cols(c) : kStoreCols;
  return is_swapped(c) ? 4 : columns / 2;
}
/// A box's first value; that of the box after the last one is the number of values.
HGEMM_HOST_DEVICE constexpr int box_value(const KernelConfig& c, int box) {
  if (is_swapped(c)) return box * box_values(c);
  const int block = box / boxes_per_block(c);
  return (block * consumer_cols(c) + (box - block * boxes_per_block(c)) * kStoreCols) / 2;
}
/// Walk::kClusterSplit: each box is added up and stored by one CTA of the tile's cluster. Boxes
/// [first_box(rank), first_box(rank + 1)) are those of a rank; there may be none.
HGEMM_HOST_DEVICE constexpr int first_box(const KernelConfig& c, int rank) {
  return store_boxes(c) * rank / c.splits;
}
HGEMM_HOST_DEVICE constexpr int box_owner(const KernelConfig& c, int box) {
  return ((box + 1) * c.splits - 1) / store_boxes(c);
}
HGEMM_HOST_DEVICE constexpr int most_boxes(const KernelConfig& c) {
  return (store_boxes(c) + c.splits - 1) / c.splits;
}
/// A value of all threads of a consumer, as accumulated.
inline constexpr int kValueSumBytes = kWarpgroupThreads * 4;
/// What one peer's consumer sends at most.
HGEMM_HOST_DEVICE constexpr int sent_bytes(const KernelConfig& c) {
  return most_boxes(c) * box_values(c) * kValueSumBytes;
}
/// What peers send to a CTA, past its main loop at the start of shared memory.
HGEMM_HOST_DEVICE constexpr int received_bytes(const KernelConfig& c) {
  return adds_in_cluster(c) ? (c.splits - 1) * c.consumers * sent_bytes(c) : 0;
}
/// Swapped: the output of the CTA follows it.
inline constexpr int kGroupStoreBytes = kGroupRows * kStoreCols * kElementBytes;
HGEMM_HOST_DEVICE constexpr int swapped_epilogue_bytes(const KernelConfig& c) {
  return received_bytes(c) + c.consumers * most_boxes(c) * kGroupStoreBytes;
}

// Of vector.cuh.
inline constexpr int kMaxVectors = 16;
/// Elements that a warp loads of a row at once: a unit of 16 bytes for each lane.
inline constexpr int kVectorStep = 32 * kUnitElements;
HGEMM_HOST_DEVICE constexpr int vector_warps(const KernelConfig& c) {
  return c.consumers * kWarpgroupThreads / 32;
}
/// Rows of the large operand that a warp multiplies at the same time, and warps that share a row.
HGEMM_HOST_DEVICE constexpr int vector_rows(const KernelConfig& c) {
  return c.bn < vector_warps(c) ? 1 : c.bn / vector_warps(c);
}
HGEMM_HOST_DEVICE constexpr int vector_sharers(const KernelConfig& c) {
  return c.bn < vector_warps(c) ? vector_warps(c) / c.bn : 1;
}
/// Sums of a warp: one for each lane in the end, at most.
HGEMM_HOST_DEVICE constexpr int vector_sums(const KernelConfig& c) { return vector_rows(c) * c.bm; }
/// Registers of a thread: what is on its way, sums, the elements of a unit as fp32, and the rest
/// (measured with ptxas 13.0).
HGEMM_HOST_DEVICE constexpr int vector_registers(const KernelConfig& c) {
  const int rows = vector_rows(c);
  const int units = rows * (c.bk / kVectorStep);
  return units * 4 * c.stages + rows * c.bm + (rows + 1) * kUnitElements + 20 + c.bm * 3 / 2;
}
/// Elements of each small row that shared memory holds at a time.
HGEMM_HOST_DEVICE constexpr int vector_chunk(const KernelConfig& c) { return 16384 / c.bm; }

/// Byte offsets in dynamic shared memory. Order: A stages, B stages, output staging, then for each
/// stage its full barrier, its empty barrier and (not swapped) the origin of the tile that it
/// belongs to, and where a cluster adds up, a barrier for each consumer: its peers' sums are there.
/// Where a cluster takes tiles from the queue, the next one, and its full and empty barriers.
///
/// Of vector.cuh: the vectors, then the sums of all warps and CTAs that share rows.
struct SmemLayout {
  int b, staging, full, empty, origin, sums, next, total_bytes;
};
HGEMM_HOST_DEVICE constexpr SmemLayout smem_layout(const KernelConfig& c) {
  SmemLayout layout{};
  if (is_vector(c)) {
    layout.sums = c.bm * vector_chunk(c) * kElementBytes;
    const bool in_parts = vector_sharers(c) * c.splits > 1;
    layout.total_bytes =
        layout.sums + (in_parts ? c.splits * vector_warps(c) * vector_sums(c) * 4 : 0);
    return layout;
  }
  layout.b = c.stages * a_stage_bytes(c);
  // A 128-byte swizzle atom repeats every 1024 bytes; B stages of bk = 32 end on 512.
  layout.staging = (layout.b + c.stages * b_stage_bytes(c) + 1023) / 1024 * 1024;
  if (layout.staging < received_bytes(c)) layout.staging = received_bytes(c);
  layout.full = layout.staging + store_staging_bytes(c);
  if (is_swapped(c) && layout.full < swapped_epilogue_bytes(c)) {
    layout.full = swapped_epilogue_bytes(c);
  }
  layout.empty = layout.full + c.stages * 8;
  layout.origin = layout.empty + c.stages * 8;
  layout.sums = layout.origin + (is_swapped(c) ? 0 : c.stages * 8);
  layout.next = layout.sums + (adds_in_cluster(c) ? c.consumers * 8 : 0);
  layout.total_bytes = layout.next + (is_dynamic(c) && multicast_size(c) > 1 ? 3 * 8 : 0);
  return layout;
}

/// Rows of A (B) that one CTA fetches: its share when the tile is multicast to a cluster, in whole
/// swizzle atoms. Where these do not come out even, the last slice begins early enough to end with
/// the tile: 8 rows then arrive twice, alike.
HGEMM_HOST_DEVICE constexpr int slice_rows(int rows, int ctas) {
  return (rows / 8 + ctas - 1) / ctas * 8;
}
HGEMM_HOST_DEVICE constexpr int a_slice_rows(const KernelConfig& c) {
  return slice_rows(c.bm, c.cluster_n);
}
HGEMM_HOST_DEVICE constexpr int b_slice_rows(const KernelConfig& c) {
  return slice_rows(c.bn, c.cluster_m);
}
/// Bytes that arrive in one CTA's stage.
HGEMM_HOST_DEVICE constexpr int arriving_bytes(const KernelConfig& c) {
  return (a_slice_rows(c) * c.cluster_n + b_slice_rows(c) * c.cluster_m) * c.bk * kElementBytes;
}
/// Rows of one TMA box: the slice, halved where it is taller than a box may be.
HGEMM_HOST_DEVICE constexpr int box_rows(int slice_rows) {
  return slice_rows <= kMaxBoxRows ? slice_rows : slice_rows / 2;
}
HGEMM_HOST_DEVICE constexpr int box_cols(const KernelConfig& c) {
  return c.bk < kSlabK ? c.bk : kSlabK;
}

/// Each CTA on an SM reserves 1 KB beside what it asks for
/// (cudaDevAttrReservedSharedMemoryPerBlock), one alone included: two have half of the SM's less
/// that.
HGEMM_HOST_DEVICE constexpr int smem_limit(const KernelConfig& c, const DeviceLimits& limits) {
  return c.ctas_per_sm == 1 ? limits.smem_bytes_per_cta
                            : (limits.smem_bytes_per_cta + 1024) / c.ctas_per_sm - 1024;
}

}  // namespace hgemm
