// The tiled family's config: one point of its space, and its shared-memory arithmetic. registers.h
// has that of registers; rules.h says which configs are valid.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/cluster_split.h"
#include "common/scales.h"
#include "common/tiles.h"
#include "common/types.h"

namespace hgemm {

/// How the consumers of a CTA share work: each has rows of every tile (as wgmma computes it), or
/// columns of it, or they take whole tiles in turn (ping-pong: one multiplies while the other
/// stores its tile).
enum class Schedule : unsigned char { kRows, kColumns, kPingPong };

/// The order of tiles. Grouped orders go through bands of `group` tiles: bands of rows, swept along
/// N, or bands of columns, swept along M. A snake sweeps every second band backwards.
enum class TileOrder : unsigned char {
  kLinear,
  kGroupedRows,
  kGroupedColumns,
  kSnakeRows,
  kSnakeColumns,
  kHilbert,
};
HGEMM_HOST_DEVICE constexpr bool has_bands(TileOrder order) {
  return order != TileOrder::kLinear && order != TileOrder::kHilbert;
}

/// How work is assigned to CTAs.
enum class TileScheduler : unsigned char {
  kPersistent,  ///< the n CTAs that are resident at once take every n-th tile
  kSingle,      ///< a CTA for each tile
  /// As kPersistent, in units of one of `splits` parts of a tile along K. Every part leaves its
  /// sums in memory, and adds up and stores a share of the tile.
  kSplitK,
  /// As kPersistent, but tiles that would fill the last wave only partly are shared evenly among
  /// CTAs, cut at any k block.
  kStreamK,
  /// A CTA for each of `splits` parts of a tile along K; the CTAs of a tile form a cluster and add
  /// up in shared memory.
  kClusterSplitK,
  /// As kPersistent, but a cluster takes the next tile of a common queue when it is ready.
  kDynamic,
};

/// Values of TiledConfig::sms that are not a number of SMs.
inline constexpr int kAllSms = 0;
inline constexpr int kFewestSms = -1;
inline constexpr int kMaxSms = 1024;

/// One point of the tiled space. All extents are per CTA, in elements.
struct TiledConfig {
  int bm = 128;       ///< rows of the output tile
  int bn = 128;       ///< columns of the output tile
  int bk = 64;        ///< depth of one pipeline stage
  int stages = 4;     ///< QSIZE: pipeline stages in shared memory
  int cluster_m = 1;  ///< CTAs of a cluster along M; they share (multicast) the B tile
  int cluster_n = 1;  ///< CTAs of a cluster along N; they share (multicast) the A tile
  /// wgmma's 64-row operand is B instead of A, so bm has steps of 8 and bn of 64: for numbers of
  /// rows of A of which steps of 64 would leave much empty. Tiles are transposed when stored.
  bool swap = false;
  Schedule schedule = Schedule::kRows;
  int consumers = 2;  ///< consumer warpgroups
  int mma_depth = 1;  ///< wgmma groups left in flight while the next stage is issued: 0 or 1
  /// 8-bit operands: after so many elements of K a consumer adds the tensor cores' sums, which have
  /// about 14 bits, to sums of its own in fp32 registers. 0: never.
  int promote = 0;
  TileOrder order = TileOrder::kLinear;
  int group = 0;  ///< cluster tiles per band of a grouped or snake order; otherwise 0
  StorePath store = StorePath::kTma;
  TileScheduler scheduler = TileScheduler::kPersistent;
  int splits = 1;  ///< parts of K, for kSplitK and kClusterSplitK; otherwise 1
  CacheHint a_hint = CacheHint::kNone;
  CacheHint b_hint = CacheHint::kNone;
  CacheHint d_hint = CacheHint::kNone;  ///< for stores by the copy engine
  /// Least number of bytes that L2 fetches on a miss of a copy: 64, 128 or 256.
  int promotion = 256;
  int ctas_per_sm = 1;  ///< 1 or 2
  /// SMs that a launch uses: all; the fewest with which the tiles need no more waves than with all;
  /// or at most this number, which leaves the others to concurrent kernels (communication).
  int sms = kAllSms;
  /// Programmatic dependent launch: the kernel starts while the kernel before it in the stream
  /// drains, and lets the next one start in the same way (but see `hold`). Before all earlier
  /// kernels have completed (griddepcontrol.wait), it MUST NOT read A, B, C or the bias, write D,
  /// or use the workspace; it only prefetches A and B into L2. The caller MUST have mapped their
  /// memory by then, and may let any earlier kernel write it:
  ///
  ///   P, without PDL  |=====|                may write A and B
  ///   Q, with PDL       |..wait|=====|       may write A and B
  ///   R, this kernel      |L2...wait|=====|  prefetches from its start, reads after its wait
  bool pdl = false;
  /// With `pdl`: holds the next kernel back until this one has issued its last copies. Otherwise it
  /// may start as soon as all CTAs of this one have begun.
  bool hold = false;
  /// Clusters are numbered by the GPC on which the hardware starts them, so that those of a GPC
  /// have neighbouring pieces of work and share reads of L2 (NumberedParams).
  bool gpc = false;
  /// If rows of A or B do not begin at multiples of 16 bytes, the copy engine cannot fetch them.
  /// Then a launch of its own first copies them to aligned rows (common/pack.cuh).
  bool pack = false;
  bool fixed = false;  ///< the problem's extents are constants in the kernel
  bool probe = false;  ///< with cycle stamps (probe.cuh), for studies; never timed in a race

  constexpr bool operator==(const TiledConfig&) const = default;
};

/// A config made for a kind of problem: the kernel that is compiled.
struct TiledKernel : TiledConfig {
  using Config = TiledConfig;
  GemmKind gemm;

  constexpr bool operator==(const TiledKernel&) const = default;
};

HGEMM_HOST_DEVICE constexpr TiledKernel with_probe(TiledKernel k) {
  k.probe = true;
  return k;
}

inline constexpr int kMaxSplits = 32;
/// Most CTAs of a cluster on any device (CUDA programming guide: portable cluster size).
inline constexpr int kMaxClusterCtas = 8;
/// Least k blocks of a stream-K share: a smaller one costs more to add up than it saves.
inline constexpr int kMinStreamBlocks = 4;

/// Output is staged per warp in boxes of 16 rows, one 128-byte swizzle atom wide, so that no warp
/// waits for another one. Each warp has buffers for two boxes at least: one is filled while the
/// other is stored. With `swap` a box is transposed: it has 16 columns of D.
inline constexpr int kStoreRows = 16;
inline constexpr int kFewestStoreBuffers = 2;

// ---- Properties of the scheduler ----

/// Whether parts of a tile from several CTAs are added in a workspace in memory, rather than in the
/// shared memory of their cluster: by each of them a share (kSplitK), or all by one (kStreamK).
HGEMM_HOST_DEVICE constexpr bool shares_sums(const TiledConfig& c) {
  return c.scheduler == TileScheduler::kSplitK;
}
HGEMM_HOST_DEVICE constexpr bool adds_in_workspace(const TiledConfig& c) {
  return shares_sums(c) || c.scheduler == TileScheduler::kStreamK;
}
HGEMM_HOST_DEVICE constexpr bool adds_in_cluster(const TiledConfig& c) {
  return c.scheduler == TileScheduler::kClusterSplitK;
}
HGEMM_HOST_DEVICE constexpr bool cuts_k(const TiledConfig& c) {
  return adds_in_workspace(c) || adds_in_cluster(c);
}
HGEMM_HOST_DEVICE constexpr bool is_dynamic(const TiledConfig& c) {
  return c.scheduler == TileScheduler::kDynamic;
}
/// Whether a launch has at most as many CTAs as are resident at once.
HGEMM_HOST_DEVICE constexpr bool is_persistent(const TiledConfig& c) {
  return c.scheduler != TileScheduler::kSingle && !adds_in_cluster(c);
}
/// Whether the copy engine stores D.
HGEMM_HOST_DEVICE constexpr bool stores_by_tma(const TiledConfig& c) {
  return c.store == StorePath::kTma || c.store == StorePath::kOverlapped;
}
/// CTAs that share fetched data.
HGEMM_HOST_DEVICE constexpr int multicast_size(const TiledConfig& c) {
  return c.cluster_m * c.cluster_n;
}
/// CTAs whose copies reach a CTA: those beside it along M or N, and itself.
HGEMM_HOST_DEVICE constexpr int senders(const TiledConfig& c) {
  return c.cluster_m + c.cluster_n - 1;
}
HGEMM_HOST_DEVICE constexpr int cluster_size(const TiledConfig& c) {
  return multicast_size(c) * (adds_in_cluster(c) ? c.splits : 1);
}
HGEMM_HOST_DEVICE constexpr int consumer_count(const TiledConfig& c) { return c.consumers; }
HGEMM_HOST_DEVICE constexpr bool packs(const TiledConfig& c) { return c.pack; }
/// The producer is a whole warpgroup, because setmaxnreg acts on whole warpgroups.
HGEMM_HOST_DEVICE constexpr int threads_per_cta(const TiledConfig& c) {
  return kWarpgroupThreads * (c.consumers + 1);
}

// ---- A consumer's part of a tile ----

/// The tile as wgmma computes it: rows of its 64-row operand by rows of the other one. With `swap`
/// it is the transposed tile of D.
HGEMM_HOST_DEVICE constexpr int mma_rows(const TiledConfig& c) { return c.swap ? c.bn : c.bm; }
HGEMM_HOST_DEVICE constexpr int mma_cols(const TiledConfig& c) { return c.swap ? c.bm : c.bn; }

HGEMM_HOST_DEVICE constexpr int consumer_rows(const TiledConfig& c) {
  return c.schedule == Schedule::kRows ? mma_rows(c) / c.consumers : mma_rows(c);
}
HGEMM_HOST_DEVICE constexpr int consumer_cols(const TiledConfig& c) {
  return c.schedule == Schedule::kColumns ? mma_cols(c) / c.consumers : mma_cols(c);
}
/// Consumers that read each stage.
HGEMM_HOST_DEVICE constexpr int readers(const TiledConfig& c) {
  return c.schedule == Schedule::kPingPong ? 1 : c.consumers;
}
/// 64-row blocks that one consumer accumulates.
HGEMM_HOST_DEVICE constexpr int mma_blocks(const TiledConfig& c) {
  return consumer_rows(c) / kMmaM;
}
HGEMM_HOST_DEVICE constexpr int accumulators_per_thread(const TiledConfig& c) {
  return consumer_rows(c) * consumer_cols(c) / kWarpgroupThreads;
}
/// Bytes of fp32 sums in the workspace that a CTA leaves for another one to add.
HGEMM_HOST_DEVICE constexpr int partial_bytes(const TiledConfig& c) {
  return readers(c) * kWarpgroupThreads * accumulators_per_thread(c) * 4;
}

// ---- A consumer's part of D ----

/// D's part of a tile as a consumer holds it: as many 64-row blocks and columns as it accumulates,
/// or with a gate half of them, because gates and ups become one. (With `swap` wgmma's rows are
/// those of B, so blocks of gates and of ups do.)
HGEMM_HOST_DEVICE constexpr int output_blocks(const TiledKernel& k) {
  return is_gated(k.gemm) && k.swap ? mma_blocks(k) / 2 : mma_blocks(k);
}
HGEMM_HOST_DEVICE constexpr int output_cols(const TiledKernel& k) {
  return is_gated(k.gemm) && !k.swap ? consumer_cols(k) / 2 : consumer_cols(k);
}
HGEMM_HOST_DEVICE constexpr int outputs_per_thread(const TiledKernel& k) {
  return output_blocks(k) * output_cols(k) / 2;
}

/// With the overlapped store, whether a tile waits in the sums themselves: where each stage is
/// promoted before the next one is multiplied, nothing is added to them during its wgmmas.
HGEMM_HOST_DEVICE constexpr bool waits_in_sums(const TiledKernel& k) {
  return k.store == StorePath::kOverlapped && k.promote != 0 && k.promote == k.bk &&
         k.mma_depth == 0 && output_blocks(k) == mma_blocks(k);
}

// ---- Operands of the epilogue ----

/// Whether C and the bias come through the ring; otherwise the consumers' threads load them.
///
/// - The copy engine fetches rows that begin at multiples of 16 bytes; with the staged store path
///   they begin anywhere.
/// - In a cluster along both sides a CTA shares data with those beside it along M and along N, but
///   not with the one across. A stage of A and B waits for the CTAs that share it, and so for those
///   that these wait for. A stage of C waits for none: its CTA could release it to a neighbour
///   before the one across has released the use before, and that neighbour would count it in place
///   of the other.
HGEMM_HOST_DEVICE constexpr bool copies_addends(const TiledKernel& k) {
  const bool along_both = k.cluster_m > 1 && k.cluster_n > 1;
  return reads_operands(k.gemm) && k.store != StorePath::kStaged && !along_both;
}
HGEMM_HOST_DEVICE constexpr bool loads_addends(const TiledKernel& k) {
  return reads_operands(k.gemm) && !copies_addends(k);
}
/// Whether alpha scales complete sums, when they are stored. Otherwise it scales those of each part
/// of K, before C and the bias are added to one of them.
HGEMM_HOST_DEVICE constexpr bool scales_when_stored(const TiledKernel& k) {
  return k.gemm.epilogue.scaled && !copies_addends(k);
}

// ---- Operand tiles ----

HGEMM_HOST_DEVICE constexpr int a_stage_bytes(const TiledKernel& k) {
  return staged_extent(k.bm, k.gemm.a_major) * k.bk * element_bytes(k.gemm.input);
}
HGEMM_HOST_DEVICE constexpr int b_stage_bytes(const TiledKernel& k) {
  return staged_extent(k.bn, k.gemm.b_major) * k.bk * element_bytes(k.gemm.input);
}
/// Of wgmma's 64-row operand, and of the other one.
HGEMM_HOST_DEVICE constexpr Major rows_major(const TiledKernel& k) {
  return k.swap ? k.gemm.b_major : k.gemm.a_major;
}
HGEMM_HOST_DEVICE constexpr Major cols_major(const TiledKernel& k) {
  return k.swap ? k.gemm.a_major : k.gemm.b_major;
}
/// Rows of A (B) that one CTA fetches: its share if the tile is multicast to a cluster, in whole
/// swizzle atoms. If these do not divide the tile evenly, the last slice begins early enough to end
/// with the tile; 8 rows then arrive twice, with equal content.
HGEMM_HOST_DEVICE constexpr int slice_rows(int rows, int ctas) {
  return (rows / kSwizzleRows + ctas - 1) / ctas * kSwizzleRows;
}
HGEMM_HOST_DEVICE constexpr int a_slice_rows(const TiledConfig& c) {
  return slice_rows(c.bm, c.cluster_n);
}
HGEMM_HOST_DEVICE constexpr int b_slice_rows(const TiledConfig& c) {
  return slice_rows(c.bn, c.cluster_m);
}
/// Elements of K that one CTA fetches of an MN-major A (B): its share of every chunk. The rules see
/// to it that it has whole swizzle atoms (8 elements), so all shares are equal, whatever the number
/// of chunks.
HGEMM_HOST_DEVICE constexpr int a_slice_k(const TiledConfig& c) { return c.bk / c.cluster_n; }
HGEMM_HOST_DEVICE constexpr int b_slice_k(const TiledConfig& c) { return c.bk / c.cluster_m; }
/// What one CTA fetches of A (B): rows of a K-major operand, elements of K of an MN-major one.
HGEMM_HOST_DEVICE constexpr int a_slice(const TiledKernel& k) {
  return k.gemm.a_major == Major::kK ? a_slice_rows(k) : a_slice_k(k);
}
HGEMM_HOST_DEVICE constexpr int b_slice(const TiledKernel& k) {
  return k.gemm.b_major == Major::kK ? b_slice_rows(k) : b_slice_k(k);
}
/// Bytes that arrive in one stage of a CTA.
HGEMM_HOST_DEVICE constexpr int arriving_bytes(const TiledKernel& k) {
  const int a = k.gemm.a_major == Major::kK
                    ? a_slice_rows(k) * k.cluster_n * k.bk * element_bytes(k.gemm.input)
                    : a_stage_bytes(k);
  const int b = k.gemm.b_major == Major::kK
                    ? b_slice_rows(k) * k.cluster_m * k.bk * element_bytes(k.gemm.input)
                    : b_stage_bytes(k);
  return a + b + arriving_scales_of_a(k.gemm.scaling, k.bm) +
         arriving_scales_of_b(k.gemm.scaling, k.bn);
}
HGEMM_HOST_DEVICE constexpr int box_cols(const TiledKernel& k) {
  return k.bk < slab_k(k.gemm.input) ? k.bk : slab_k(k.gemm.input);
}

// ---- Gates and ups ----

/// With a gate, the rows of a stage's B tile are runs of so many gates, each followed by the ups of
/// the same columns of D. So a thread has both in its accumulators, and a CTA's slice and a
/// consumer's part each have whole pairs of runs: they are as long as these allow.
HGEMM_HOST_DEVICE constexpr int gate_run(const TiledKernel& k) {
  int pair = b_slice_rows(k);
  int rest = k.swap ? consumer_rows(k) : consumer_cols(k);
  while (rest != 0) {  // Euclid's algorithm
    const int next = pair % rest;
    pair = rest;
    rest = next;
  }
  return pair / 2;
}
/// Gates and ups lie in different blocks of 64 rows, or in different groups of 8 columns.
HGEMM_HOST_DEVICE constexpr int gate_unit(const TiledConfig& c) { return c.swap ? kMmaM : 8; }
/// With runs of `run` units, the unit of a consumer's accumulators that has the gates of its output
/// unit number `output`. The ups are `run` units further.
HGEMM_HOST_DEVICE constexpr int gate_unit_of(int output, int run) {
  return output / run * 2 * run + output % run;
}
/// Whether the tile has whole pairs of runs.
HGEMM_HOST_DEVICE constexpr bool gates_are_whole(const TiledKernel& k) {
  const int run = gate_run(k);
  return run >= gate_unit(k) && run % gate_unit(k) == 0 && b_slice_rows(k) * k.cluster_m == k.bn;
}

// ---- C and the bias in the ring (tiled/addends.cuh) ----

/// The bias is copied in boxes of this many elements: they begin at multiples of 128 bytes.
inline constexpr int kBiasBoxElements = 64;
HGEMM_HOST_DEVICE constexpr int bias_boxes(const TiledKernel& k) {
  return ceil_div(k.gemm.epilogue.bias == Bias::kAlongM ? k.bm : k.bn, kBiasBoxElements);
}
/// A strip of C: all rows of the tile by the columns of a row of a swizzled box. It is as large as
/// a slab of a K-major A.
HGEMM_HOST_DEVICE constexpr int strip_row_bytes(const TiledKernel& k) {
  return box_cols(k) * element_bytes(k.gemm.input);
}
HGEMM_HOST_DEVICE constexpr int strip_cols(const TiledKernel& k) {
  return strip_row_bytes(k) / element_bytes(addend_type(k.gemm.output));
}
HGEMM_HOST_DEVICE constexpr int strip_bytes(const TiledKernel& k) {
  return k.bm * strip_row_bytes(k);
}
HGEMM_HOST_DEVICE constexpr int c_strips(const TiledKernel& k) {
  return k.gemm.adds_c ? ceil_div(k.bn, strip_cols(k)) : 0;
}
HGEMM_HOST_DEVICE constexpr int strips_per_stage(const TiledKernel& k) {
  return k.bk / box_cols(k);
}
/// Stages of the ring that C and the bias of a tile take.
HGEMM_HOST_DEVICE constexpr int addend_stages(const TiledKernel& k) {
  if (!copies_addends(k)) return 0;
  return (k.gemm.epilogue.bias != Bias::kNone ? 1 : 0) + ceil_div(c_strips(k), strips_per_stage(k));
}

// ---- Boxes of D ----

/// Columns of a whole box, as wgmma computes the tile.
HGEMM_HOST_DEVICE constexpr int store_cols(const TiledKernel& k) {
  return kSwizzleBytes / element_bytes(k.gemm.output);
}
inline constexpr int kStoreBufferBytes = kStoreRows * kSwizzleBytes;
HGEMM_HOST_DEVICE constexpr bool stages_output(const TiledConfig& c) {
  return c.store != StorePath::kDirect && !shares_sums(c);
}
/// For one buffer of each warp.
HGEMM_HOST_DEVICE constexpr int store_buffers_bytes(const TiledConfig& c) {
  return stages_output(c) ? c.consumers * 4 * kStoreBufferBytes : 0;
}
/// Whether output is staged in the ring, which a CTA with one tile has read by then: that leaves
/// room for one more stage.
HGEMM_HOST_DEVICE constexpr bool stages_output_in_ring(const TiledConfig& c) {
  return !is_persistent(c) && c.schedule != Schedule::kPingPong;
}
/// Boxes in which a consumer's part of a tile is stored: 16 rows for each warp by up to
/// store_cols() columns of each 64-row block. A box is a run of each thread's values. The last box
/// of a block may be narrower.
HGEMM_HOST_DEVICE constexpr int boxes_per_block(const TiledKernel& k) {
  return (output_cols(k) + store_cols(k) - 1) / store_cols(k);
}
HGEMM_HOST_DEVICE constexpr int store_boxes(const TiledKernel& k) {
  return output_blocks(k) * boxes_per_block(k);
}
/// Values of a thread in a whole box.
HGEMM_HOST_DEVICE constexpr int box_values(const TiledKernel& k) {
  return (output_cols(k) < store_cols(k) ? output_cols(k) : store_cols(k)) / 2;
}
/// Index of a box's first value; for the box after the last one, the number of values.
HGEMM_HOST_DEVICE constexpr int box_value(const TiledKernel& k, int box) {
  const int block = box / boxes_per_block(k);
  return (block * output_cols(k) + (box - block * boxes_per_block(k)) * store_cols(k)) / 2;
}

/// Sums of which a value is made: one, or with a gate that of the gate and that of the up.
HGEMM_HOST_DEVICE constexpr int sums_of_value(const TiledKernel& k) {
  return is_gated(k.gemm) ? 2 : 1;
}
/// With a gate, the units of a run of gates (gate_unit()).
HGEMM_HOST_DEVICE constexpr int sum_run(const TiledKernel& k) {
  return is_gated(k.gemm) ? gate_run(k) / gate_unit(k) : 0;
}
/// Where sum number `which` of a thread's value lies among its accumulators. `run`: sum_run(). The
/// sums of the same number of four values, from a multiple of 4 on, lie side by side.
HGEMM_HOST_DEVICE constexpr int sum_index(const TiledKernel& k, int run, int value, int which) {
  if (!is_gated(k.gemm)) return value;
  const int of_block = output_cols(k) / 2;
  const int block = value / of_block;
  const int group = value % of_block / 4;
  const int unit = gate_unit_of(k.swap ? block : group, run) + which * run;
  return (k.swap ? unit : block) * (consumer_cols(k) / 2) + (k.swap ? group : unit) * 4 + value % 4;
}

// ---- Shared memory ----

/// Bytes of a tile's origin: its row and column, and of many products its number or address.
HGEMM_HOST_DEVICE constexpr int origin_bytes(const TiledKernel& k) {
  return k.gemm.batched ? 16 : 8;
}
/// Byte offsets in dynamic shared memory, in this order: A stages (at 0), B stages, output staging
/// (which may be in the stages); for each stage its full barrier, its empty barrier and the origin
/// of its tile; if a cluster adds up, a barrier for each consumer, on which its peers' sums arrive;
/// if a cluster takes tiles from the queue, the next tile with its full and empty barriers; the
/// scales of each consumer's part of a tile, or of each stage; the scale of an 8-bit D.
struct TiledSmem {
  int b, staging, full, empty, origin, sums, next, scales, output_scale, total_bytes;
};
HGEMM_HOST_DEVICE constexpr TiledSmem smem_layout_with(const TiledKernel& k, int store_buffers) {
  TiledSmem layout{};
  layout.b = k.stages * a_stage_bytes(k);
  // Atoms of 128-byte swizzle begin at multiples of 1024; A stages of bk = 32 end on 512.
  if (k.gemm.b_major == Major::kMn) layout.b = (layout.b + 1023) / 1024 * 1024;
  const int ring = layout.b + k.stages * b_stage_bytes(k);
  // Data from peers overwrites the stages, from the start of shared memory.
  const int received = adds_in_cluster(k) ? received_bytes(k) : 0;
  const int read = stages_output_in_ring(k) || ring < received ? received : ring;
  // A 128-byte swizzle atom repeats every 1024 bytes; B stages of bk = 32 end on 512.
  layout.staging = (read + 1023) / 1024 * 1024;
  layout.full = layout.staging + store_buffers * store_buffers_bytes(k);
  if (layout.full < ring) layout.full = ring;
  layout.empty = layout.full + k.stages * 8;
  layout.origin = layout.empty + k.stages * 8;
  layout.sums = layout.origin + k.stages * origin_bytes(k);
  layout.next = layout.sums + (adds_in_cluster(k) ? k.consumers * 8 : 0);
  const int end = layout.next + (is_dynamic(k) && multicast_size(k) > 1 ? 3 * 8 : 0);
  const ScaleRoom room = scale_room(k.gemm.scaling, end, k.stages, k.bm, k.bn, k.consumers,
                                    consumer_rows(k), consumer_cols(k));
  layout.scales = room.begin;
  layout.output_scale = room.end;
  layout.total_bytes = room.end + output_scale_bytes(k.gemm, threads_per_cta(k));
  return layout;
}

/// Buffers of each warp's output staging. A box waits until the copy engine has read what was in
/// its buffer, and that comes behind the loads which the producer has issued. Where sums are
/// promoted there are as many buffers as a warp's part of a tile has boxes, if there is room for
/// them beside as many CTAs on an SM: 0.2 to 0.6 % less time with three stages of 128x256. 16-bit
/// operands gain nothing, and some of their epilogues spill with more than two (ptxas 13.0).
HGEMM_HOST_DEVICE constexpr int store_buffers(const TiledKernel& k) {
  if (!stages_output(k) || k.promote == 0) return kFewestStoreBuffers;
  const TiledSmem least = smem_layout_with(k, kFewestStoreBuffers);
  const int ctas = kSmemBytesPerSm / (least.total_bytes + kReservedSmemBytes);
  if (ctas == 0) return kFewestStoreBuffers;
  const int unused = kSmemBytesPerSm / ctas - kReservedSmemBytes - least.total_bytes;
  const int of_each = store_buffers_bytes(k);
  const int in_ring = least.full - least.staging - kFewestStoreBuffers * of_each;
  const int with_room = kFewestStoreBuffers + (in_ring + unused) / of_each;
  const int useful = store_boxes(k) * (k.gemm.epilogue.aux ? 2 : 1);
  return with_room < useful ? with_room
                            : (useful > kFewestStoreBuffers ? useful : kFewestStoreBuffers);
}
HGEMM_HOST_DEVICE constexpr TiledSmem smem_layout(const TiledKernel& k) {
  return smem_layout_with(k, store_buffers(k));
}

}  // namespace hgemm
