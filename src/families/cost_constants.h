// Constants of the cost model that are not figures of a GPU (CostFigures has those), each with its
// evidence. "Fitted": by analysis/cost_fit.cpp to recorded times (analysis/cost-model.md says
// which, and what was rounded). "By hand": chosen to fit the recorded races of 33 problems.
#pragma once

/// Constants, except in analysis/cost_fit.cpp, which changes them.
#ifdef HGEMM_FIT
#define HGEMM_FITTED inline double
#else
#define HGEMM_FITTED inline constexpr double
#endif

namespace hgemm::cost_constants {

// ---- Resources of an SM (CUDA programming guide, compute capability 9.0) ----
inline constexpr double kThreadsPerSm = 2048;
inline constexpr double kRegistersPerSm = 65536;
/// Registers that a thread has beside its accumulators: the lower quartile of 8,311 recorded builds
/// (ptxas 13.0) that could have had more; the median is 26 for swap-AB kernels and 40 for tiled
/// ones.
inline constexpr int kOtherRegisters = 26;
/// The number of CTAs that can share an SM without delaying one another's start. By hand.
inline constexpr double kMostResident = 4;

// ---- Clock and power ----
/// Average power over the power limit, at the cap (tune.db: 693 of 700 W).
inline constexpr double kHeldShare = 0.99;
/// The clock at which energies are stated. Energies grow with the clock as the square of a voltage
/// that rises more slowly than the clock. Fitted by analysis/energy_fit.py.
inline constexpr double kEnergyMhz = 1500;
inline constexpr double kEnergyExponent = 1.5;
inline constexpr double kLeastMhz = 300;  ///< lower end of the search for the clock

// ---- Memory ----
/// Exponent of the norm that joins two bounds that overlap. Fitted: data that is not in L2 arrives
/// late, so cycles and memory time add up in part.
HGEMM_FITTED kOverlapSharpness = 4.12;
/// The part of memory's highest rate that GEMMs reach.
HGEMM_FITTED kReachedRead = 0.819;
/// What an SM reads of memory at most, where the launch leaves some SMs idle: less with PDL, while
/// CTAs of the next kernel wait there (analysis/kernel-notes.md, "PDL with few CTAs": 25 to 30 and
/// 18 to 20 on 72 to 99 SMs; the norm above adds to the time, so the bounds are higher). The first
/// is by hand.
inline constexpr double kReadBytesPerClk = 32;
HGEMM_FITTED kPdlReadBytesPerClk = 21.7;
/// Time of copies that fetch at least 256 bytes over that of those that fetch 128, where few rows
/// (or columns) stream a weight (analysis/kernel-notes.md: 23.5 to 22.2 us). It is of the time of
/// memory, which is ever less of the whole: pairs of configs that differ in nothing else take 1.07
/// up to 128 rows, 1.03 up to 256 and 1.01 up to 512 (5, 137 and 255 pairs, mixed.db and a tune
/// that was not kept).
inline constexpr double kPromotion256 = 1.05;
inline constexpr double kFewRows = 512;
/// An output whose tiles have rows that end within a sector of L2 (32 bytes) takes the time of so
/// many more bytes for each of its own. Fitted: 4096x12288x64 takes 48 us by tiles of 232 columns,
/// 29 us by tiles of 256. Memory's counters show no such bytes (tests/families/cost_test.cpp,
/// 2048x11008x4096), so it is L2 that is slower.
HGEMM_FITTED kPartialSectors = 0.841;
/// What a hint to L2 for A (or B) adds to the time of the main loop, as a part of it: the mean of
/// 6,700 pairs of configs that differ in nothing else is 0.004 and 0.007 (evict last), 0.005 and
/// 0.007 (evict first), in three tunes (analysis/kernel-notes.md, "Hints to L2 and constant extents
/// in pairs").
inline constexpr double kReadHint = 0.006;
/// Time to read memory by ordinary loads over the time by the copy engine (truth.db: 1x11008x4096
/// takes 23.8 us with the best GEMV kernel without PDL, 22.3 us with the best swap-AB one).
inline constexpr double kLoadsOverCopies = 1.07;
/// The part of L2 that keeps operands between two waves of tiles. Each of its two partitions keeps
/// what its own SMs read, so data that both read is stored twice (Hopper tuning guide; with 25 to
/// 30 of 60 MiB the predicted bytes match the counters, analysis/cost-model.md).
inline constexpr double kUsefulL2 = 0.5;

// ---- Store and sums, in cycles. Fitted ----
HGEMM_FITTED kCopiedBytesPerClk = 16.8;      ///< through shared memory, by the copy engine
HGEMM_FITTED kTransposedBytesPerClk = 12.4;  ///< the same, with swapped operands
HGEMM_FITTED kDirectBytesPerClk = 5.17;      ///< by ordinary stores
HGEMM_FITTED kElementsBytesPerClk = 2.97;    ///< through shared memory, by ordinary stores
/// The epilogue, per element. Measured: what each part adds to the time of 2048x11008x4096 in tiles
/// of 256x168 (H200, burst; analysis/kernel-notes.md, "C and the bias come through the ring",
/// without the scope). It is less than the instructions say (SiLU and GELU have two operations of
/// the special-function unit, which has 16 lanes of an SM), probably because consumers that share a
/// tile drift apart, and one multiplies meanwhile.
inline constexpr double kAddClk = 0.012;  ///< of a bias or C
/// Of alpha, which adds 0.1 to 0.2 % there (H200, both regimes; results/h200, "alpha and beta"). (C
/// times beta is one instruction with its addition.)
inline constexpr double kScaleClk = 0.002;
inline constexpr double kReluClk = 0.006;
inline constexpr double kSiluClk = 0.012;
inline constexpr double kGeluClk = 0.042;
inline constexpr double kGeluErfClk = 0.088;
/// If threads load C, it comes from L2 in half sectors, at what an ordinary store of D reaches. If
/// it comes through the ring (tiled/addends.cuh), they read it at this rate.
inline constexpr double kSmemReadBytesPerClk = 128;
inline constexpr double kEpilogueLoadClk = 700;  ///< until the first element of C or a bias arrives
/// To wait for a stage with C or a bias, which has arrived, read it and release it.
inline constexpr double kAddendStageClk = 80;
/// The part of a store that counts if another tile is multiplied meanwhile.
HGEMM_FITTED kOverlappedStore = 0.411;
/// The same if the tile waits in promoted sums: of 3,900 cycles for 128x256 it hides 350 to 750
/// (H200, 2026-11-29; clusters of two, K of 512 to 7168, in burst).
inline constexpr double kStoreFromSums = 0.83;
/// Parts of a tile in a cluster: each CTA sends its sums to their owners.
HGEMM_FITTED kClusterPartClk = 920;
HGEMM_FITTED kClusterSumsBytesPerClk = 29.6;
HGEMM_FITTED kSwapAbPartClk = 31.7;
HGEMM_FITTED kSwapAbSumsBytesPerClk = 9.73;
/// Equal parts in memory: each CTA writes its sums, waits, and adds up a share.
HGEMM_FITTED kSplitSumsClk = 5050;
HGEMM_FITTED kSplitPartClk = 99.9;
HGEMM_FITTED kSplitSumsBytesPerClk = 6.74;
/// Streamed tiles: a CTA leaves its sums; the last one of a tile adds part after part.
HGEMM_FITTED kStreamSumsClk = 4730;
HGEMM_FITTED kLeaveBytesPerClk = 24.7;
HGEMM_FITTED kStreamPartClk = 4110;
HGEMM_FITTED kAddBytesPerClk = 10.8;

// ---- The main loop. Fitted ----
/// Rate of stages with rows of 64 bytes over that of rows of 128.
HGEMM_FITTED kNarrowFill = 0.63;
/// Lines of L2 that a row of a stage touches if it does not begin with one, over those of a row
/// that does: the time of a row in L2.
HGEMM_FITTED kUnalignedRows = 1.6;
/// The part of what the copy engine writes that takes shared memory's port from wgmma. Counters say
/// that it takes none (analysis/kernel-notes.md, "Few tiles with a long K wait for L2"); without it
/// the recorded times are met less well, so it stands for something that grows alike.
HGEMM_FITTED kWrittenShare = 0.435;
/// A CTA that waits for its stages multiplies one in the time in which a stage is fetched and this
/// number of k blocks are multiplied, over the number of stages less one and this number. Large: it
/// waits little.
HGEMM_FITTED kStageBlocks = 4.36;
/// The wait at each k block of a consumer that first lets its wgmma end (mma_depth 0), if no other
/// one fills it with work. (272x3584x3584 by one consumer takes 17.5 us without a wgmma in flight,
/// 13.3 us with one.)
HGEMM_FITTED kLoneDrainClk = 109;
/// Where CTAs share copies and have one consumer each, the tensor cores wait at each k block for so
/// many cycles less those for which they work. (96x3584x3584 by tiles of 48x64 in clusters of 2x2
/// takes 12.2 us with k blocks of 64, 9.9 us with 128. The consumer waits for data all the while;
/// why it comes so late is not known: analysis/kernel-notes.md, "Small k blocks where clusters
/// share copies".)
HGEMM_FITTED kLoneClusterClk = 219;
/// Cycles to fetch 128 bytes of a row of a tile that is outside the operand, and is filled with
/// zeros. Tiles of 64 rows take 18 us at 16x4608x3584, 15 at 32 rows and 12 at 48, where tiles of
/// 16 rows take 10.5 (analysis/kernel-notes.md, "Rows outside an operand arrive slowly").
HGEMM_FITTED kEmptyRowClk = 6.45;
/// A wait at each k block of 32.
HGEMM_FITTED kNarrowBlockClk = 55.7;
/// Cycles of an operation by which a consumer adds the tensor cores' sums to its own: while they
/// multiply for another one, whose sums take the same registers' ports, and alone. (64 additions
/// take 195 and 79 cycles: analysis/kernel-notes.md, "Scales of blocks".)
HGEMM_FITTED kPromotionClk = 3.16;
inline constexpr double kLonePromotionClk = 1.25;
/// Cycles of a consumer beside, from the end of its wgmmas to the next ones.
HGEMM_FITTED kPromotionWaitClk = 209;
/// Cycles for which the tensor cores wait at each addition of the sums of several k blocks.
HGEMM_FITTED kLongPromotionClk = 176;
/// Operations for the scales of blocks: of a run of columns in one block of B, in 16 rows of a warp
/// (find its block, choose two factors and multiply them), and of 8 columns that have a scale each.
inline constexpr double kRunOperations = 4, kGroupOperations = 5;
/// The GPCs of a GPU, whose SMs share a port to L2.
inline constexpr int kGpcs = 8;
/// The part of a GPC's reads of a panel that become one with no other one, although clusters are
/// numbered by GPCs: the CTAs are not at the same place. Drifted: where a CTA has several tiles; of
/// an older fit, because today's races hardly tell (0.7, with an error of 7.75 in place of 7.82 %).
HGEMM_FITTED kReadApart = 0.492;
HGEMM_FITTED kDriftedReadApart = 0.9;

// ---- Starts. Fitted ----
/// By which kernels with PDL that hold the next one back start sooner; tiled ones in clusters of
/// more than two CTAs, later. By hand (hold.db, 14 pairs: analysis/kernel-notes.md, "PDL with few
/// CTAs").
inline constexpr double kHoldGainUs = 0.1;
inline constexpr double kHoldClusterUs = 0.5;
/// A CTA that follows another one on its SM.
HGEMM_FITTED kTurnoverUs = 2.83;
/// By which swap-AB kernels start sooner than tiled ones: without PDL, and with it if they read B
/// before the kernels ahead of them are done.
HGEMM_FITTED kSwapAbStartGainUs = 0.731;
HGEMM_FITTED kSwapAbEarlyStartGainUs = 0.765;
/// The CTAs of a cluster wait for one another before they begin.
HGEMM_FITTED kClusterStartUs = 0.904;
/// Until a CTA knows its first tile: along a Hilbert curve, and from a queue, which clusters have
/// to share. (Pairs of configs in grid-tuned.db that differ in nothing else: 0.2 to 0.35, 0.4 to
/// 0.9.)
HGEMM_FITTED kHilbertUs = 0.218;
HGEMM_FITTED kQueueUs = 0.321;
HGEMM_FITTED kClusterQueueUs = 0.588;

// ---- Other ----
/// Gain from addresses and counts known at compile time: 0.11 to 0.16 us in the median of 4,450
/// pairs of configs that differ in nothing else, from 4 to 64 us (the races of kReadHint).
HGEMM_FITTED kFixedGainUs = 0.13;
/// The latency of a round of loads of GEMV kernels over that of a stage.
HGEMM_FITTED kLoadsLatency = 0.48;
/// Arithmetic of GEMV kernels: instructions for each product of vectors beyond the first, lanes of
/// an SM, and threads that an SM's registers can hold. By hand (the best kernels: 11.3, 13.4,
/// 17.5 and 22.6 us at 4096x4096 with 1, 2, 4 and 8 vectors; not kept).
inline constexpr double kGemvInstructions = 2.6;
inline constexpr double kLanesPerSm = 128;
inline constexpr double kGemvThreadsPerSm = 512;

}  // namespace hgemm::cost_constants

#undef HGEMM_FITTED
