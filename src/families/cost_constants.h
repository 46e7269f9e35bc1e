// Constants of the cost model that are not figures of a GPU (CostFigures has those), each with its
// evidence. "Fitted": with others by least squares to the logarithms of recorded times of 40,000
// configs at 272 problems (analysis/cost-model.md). "By hand": chosen to fit the recorded races of
// 33 problems.
#pragma once

namespace hgemm::cost_constants {

// ---- Resources of an SM (CUDA programming guide, compute capability 9.0) ----
inline constexpr double kSmemBytesPerSm = 228 * 1024;
inline constexpr double kReservedSmemBytes = 1024;  ///< for each CTA
inline constexpr double kThreadsPerSm = 2048;
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
inline constexpr double kOverlapSharpness = 1.9;
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
inline constexpr double kStoreClk = 650;
inline constexpr double kStagedBytesPerClk = 14;   ///< through shared memory
inline constexpr double kDirectBytesPerClk = 8.5;  ///< by ordinary stores
/// The part of a store that counts if another tile is multiplied meanwhile.
inline constexpr double kOverlappedStore = 0.36;
/// Parts of a tile in a cluster: each CTA sends its sums to their owners.
inline constexpr double kClusterSumsClk = 1660;
inline constexpr double kClusterSumsBytesPerClk = 11;
/// Equal parts in memory: each CTA writes its sums, waits, and adds up a share.
inline constexpr double kSplitSumsClk = 4000;
inline constexpr double kSplitSumsBytesPerClk = 12;
/// Streamed tiles: a CTA leaves its sums; the last one of a tile adds part after part.
inline constexpr double kStreamSumsClk = 530;
inline constexpr double kLeaveBytesPerClk = 9;
inline constexpr double kStreamPartClk = 1015;
inline constexpr double kAddBytesPerClk = 170;

// ---- Starts. Fitted ----
/// A wait for a k block that no other consumer fills with work.
inline constexpr double kLoneBlockClk = 102;
/// A CTA that follows another one on its SM.
inline constexpr double kTurnoverUs = 2.4;
/// By which swap-AB kernels start sooner than tiled ones, without and with PDL.
inline constexpr double kSwapAbStartGainUs = 1.0;
inline constexpr double kSwapAbPdlStartGainUs = 0.29;
/// What a launch of clusters takes longer; and the least time between launches of clusters that
/// overlap (PDL), whatever they compute.
inline constexpr double kClusterLaunchUs = 0.25;
inline constexpr double kClusterIntervalUs = 2.6;
inline constexpr double kIntervalSharpness = 8;

// ---- Other ----
/// Gain from addresses and counts known at compile time (analysis/kernel-notes.md: 0.4 to 2 %).
inline constexpr double kFixedGainUs = 0.1;
/// Arithmetic of GEMV kernels: instructions for each product (including its share of widening the
/// elements), lanes of an SM, and threads that an SM's registers can hold.
inline constexpr double kGemvInstructions = 1.3;
inline constexpr double kLanesPerSm = 128;
inline constexpr double kGemvThreadsPerSm = 512;

}  // namespace hgemm::cost_constants
