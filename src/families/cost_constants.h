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
inline constexpr double kSmemBytesPerSm = 228 * 1024;
inline constexpr double kReservedSmemBytes = 1024;  ///< for each CTA
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
HGEMM_FITTED kOverlapSharpness = 1.75;
/// Time of copies that fetch at least 256 bytes over that of those that fetch 128, where few rows
/// (or columns) stream a weight (analysis/kernel-notes.md: 23.5 to 22.2 us).
inline constexpr double kPromotion256 = 1.05;
inline constexpr double kFewRows = 128;
/// Time to read memory by ordinary loads over the time by the copy engine (truth.db: 1x11008x4096
/// takes 23.8 us with the best GEMV kernel without PDL, 22.3 us with the best swap-AB one).
inline constexpr double kLoadsOverCopies = 1.07;
/// The part of L2 that keeps operands between two waves of tiles. Each of its two partitions keeps
/// what its own SMs read, so data that both read is stored twice (Hopper tuning guide; with 25 to
/// 30 of 60 MiB the predicted bytes match the counters, analysis/cost-model.md).
inline constexpr double kUsefulL2 = 0.5;

// ---- Store and sums, in cycles. Fitted ----
HGEMM_FITTED kStoreClk = 400;
HGEMM_FITTED kStagedBytesPerClk = 28;        ///< through shared memory
HGEMM_FITTED kTransposedBytesPerClk = 12.5;  ///< the same, with swapped operands
HGEMM_FITTED kDirectBytesPerClk = 5.9;       ///< by ordinary stores
/// The part of a store that counts if another tile is multiplied meanwhile.
HGEMM_FITTED kOverlappedStore = 0.59;
/// Parts of a tile in a cluster: each CTA sends its sums to their owners.
HGEMM_FITTED kClusterPartClk = 165;
HGEMM_FITTED kClusterSumsBytesPerClk = 5.7;
/// Equal parts in memory: each CTA writes its sums, waits, and adds up a share.
HGEMM_FITTED kSplitSumsClk = 1690;
HGEMM_FITTED kSplitPartClk = 196;
HGEMM_FITTED kSplitSumsBytesPerClk = 14.1;
/// Streamed tiles: a CTA leaves its sums; the last one of a tile adds part after part.
HGEMM_FITTED kStreamSumsClk = 700;
HGEMM_FITTED kLeaveBytesPerClk = 2.85;
HGEMM_FITTED kStreamPartClk = 155;
HGEMM_FITTED kAddBytesPerClk = 575;

// ---- Fetching of stages. Fitted ----
/// Rate of stages with rows of 64 bytes over that of rows of 128.
HGEMM_FITTED kNarrowFill = 0.57;

// ---- Starts. Fitted ----
/// A wait for a k block: with other consumers, and if no other one fills it with work.
HGEMM_FITTED kBlockClk = 34;
HGEMM_FITTED kLoneBlockClk = 77;
/// A CTA that follows another one on its SM.
HGEMM_FITTED kTurnoverUs = 1.75;
/// By which swap-AB kernels start sooner than tiled ones: without PDL, with it, and if they read B
/// before the kernels ahead of them are done.
HGEMM_FITTED kSwapAbStartGainUs = 0.66;
HGEMM_FITTED kSwapAbPdlStartGainUs = 0.15;
HGEMM_FITTED kSwapAbEarlyStartGainUs = 1.08;
/// The least time between launches of clusters that overlap (PDL), whatever they compute.
HGEMM_FITTED kClusterIntervalUs = 2.8;
inline constexpr double kIntervalSharpness = 8;

// ---- Other ----
/// Gain from addresses and counts known at compile time (analysis/kernel-notes.md: 0.4 to 2 %).
HGEMM_FITTED kFixedGainUs = 0.15;
/// Arithmetic of GEMV kernels: instructions for each product (including its share of widening the
/// elements), lanes of an SM, and threads that an SM's registers can hold.
inline constexpr double kGemvInstructions = 1.3;
inline constexpr double kLanesPerSm = 128;
inline constexpr double kGemvThreadsPerSm = 512;

}  // namespace hgemm::cost_constants

#undef HGEMM_FITTED
