// Constants of the cost model that are not figures of a GPU (CostFigures has those), each with its
// evidence. "By hand": chosen to fit the recorded races of 33 problems; analysis/cost-model.md says
// how well they fit others.
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
/// Exponent of the norm that joins two bounds that overlap. By hand.
inline constexpr double kOverlapSharpness = 6;
/// Speed-up of copies that fetch at least 256 bytes over 128 (analysis/kernel-notes.md: 23.5 to
/// 22.2 us).
inline constexpr double kPromotion256 = 1.05;
/// A few long CTAs do not end at the same time. With at most this many rows or columns, reading
/// memory is slower if the CTAs do not fill the SMs evenly (truth.db, decode; by hand).
inline constexpr double kFewRows = 128;
inline constexpr double kUnevenShare = 0.5;  ///< part of the unevenness of whole waves that counts
/// Part of the SMs left idle by less than a wave that counts.
inline constexpr double kOneWaveShare = 0.9;
/// Time to read memory by ordinary loads over the time by the copy engine (truth.db: 1x11008x4096
/// takes 23.8 us with the best GEMV kernel without PDL, 22.3 us with the best swap-AB one).
inline constexpr double kLoadsOverCopies = 1.07;
/// The part of L2 that keeps operands between two waves of tiles. Each of its two partitions keeps
/// what its own SMs read, so data that both read is stored twice (Hopper tuning guide; with 25 to
/// 30 of 60 MiB the predicted bytes match the counters, analysis/cost-model.md).
inline constexpr double kUsefulL2 = 0.5;

// ---- Store and sums, in cycles. By hand ----
inline constexpr double kStoreClk = 250;
inline constexpr double kSwapAbStoreClk = 300;
inline constexpr double kStagedBytesPerClk = 128;  ///< through shared memory
inline constexpr double kDirectBytesPerClk = 48;   ///< by ordinary stores
/// The part of a store that counts if another tile is multiplied meanwhile.
inline constexpr double kOverlappedStore = 0.25;
inline constexpr double kClusterSumsClk = 400;
inline constexpr double kStreamSumsClk = 1500;
inline constexpr double kSumsBytesPerClk = 64;        ///< of one part, through a cluster or L2
inline constexpr double kSplitSumsBytesPerClk = 200;  ///< of all parts, through L2

// ---- Other ----
/// Gain from addresses and counts known at compile time (analysis/kernel-notes.md: 0.4 to 2 %).
inline constexpr double kFixedGainUs = 0.1;
/// Arithmetic of GEMV kernels: instructions for each product (including its share of widening the
/// elements), lanes of an SM, and threads that an SM's registers can hold.
inline constexpr double kGemvInstructions = 1.3;
inline constexpr double kLanesPerSm = 128;
inline constexpr double kGemvThreadsPerSm = 512;

}  // namespace hgemm::cost_constants
