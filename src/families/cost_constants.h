// The constants of the cost model that are no figures of a GPU (those are CostFigures), each with
// its evidence. "By hand": chosen with the recorded races of 33 problems in view;
// analysis/cost-model.md says how well they hold elsewhere.
#pragma once

namespace hgemm::cost_constants {

// ---- What an SM holds (CUDA programming guide, compute capability 9.0) ----
inline constexpr double kSmemBytesPerSm = 228 * 1024;
inline constexpr double kReservedSmemBytes = 1024;  ///< of each CTA
inline constexpr double kThreadsPerSm = 2048;
/// CTAs that share an SM without slowing one another's start. By hand.
inline constexpr double kMostResident = 4;

// ---- Clock and power ----
/// What the power limit holds the average at (tune.db: 693 of 700 W).
inline constexpr double kHeldShare = 0.99;
/// The clock by which energies are stated, and how they grow with it: as the square of a voltage
/// that rises more slowly than the clock. Fitted by analysis/energy_fit.py.
inline constexpr double kEnergyMhz = 1500;
inline constexpr double kEnergyExponent = 1.5;
inline constexpr double kLeastMhz = 300;  ///< where the search for the clock ends

// ---- Memory ----
/// Where two bounds overlap: the exponent of the norm that joins them. By hand.
inline constexpr double kOverlapSharpness = 6;
/// Copies that fetch 256 bytes at least, over 128 (analysis/kernel-notes.md: 23.5 to 22.2 us).
inline constexpr double kPromotion256 = 1.05;
/// Few long CTAs do not end together: with at most this many rows or columns reading is slower
/// where the CTAs do not fill the SMs evenly (truth.db, decode; by hand).
inline constexpr double kFewRows = 128;
inline constexpr double kUnevenShare = 0.5;   ///< of the unevenness of whole waves that is felt
inline constexpr double kOneWaveShare = 0.9;  ///< of the SMs that less than a wave leaves idle
/// Reading memory by ordinary loads over reading it by the copy engine (truth.db: 1x11008x4096
/// takes 23.8 us by the best GEMV kernel without PDL, 22.3 us by the best swap-AB one).
inline constexpr double kLoadsOverCopies = 1.07;
/// The part of L2 that keeps operands between two waves of tiles: each of its two partitions keeps
/// what its own SMs read, so that what both read is there twice (Hopper tuning guide; with 25 to 30
/// of 60 MiB the count of bytes meets the counters, analysis/cost-model.md).
inline constexpr double kUsefulL2 = 0.5;

// ---- Store and sums, in cycles. By hand ----
inline constexpr double kStoreClk = 250;
inline constexpr double kSwapAbStoreClk = 300;
inline constexpr double kStagedBytesPerClk = 128;  ///< through shared memory
inline constexpr double kDirectBytesPerClk = 48;   ///< by ordinary stores
/// What of it is felt where another tile is multiplied meanwhile.
inline constexpr double kOverlappedStore = 0.25;
inline constexpr double kClusterSumsClk = 400;
inline constexpr double kStreamSumsClk = 1500;
inline constexpr double kSumsBytesPerClk = 64;        ///< of one part, through a cluster or L2
inline constexpr double kSplitSumsBytesPerClk = 200;  ///< of all parts, through L2

// ---- Other ----
/// Addresses and counts that the compiler knows (analysis/kernel-notes.md: 0.4 to 2 %).
inline constexpr double kFixedGainUs = 0.1;
/// The arithmetic of a GEMV kernel: instructions for each product (with its share of widening the
/// elements), lanes of an SM, and threads that an SM's registers can hold.
inline constexpr double kGemvInstructions = 1.3;
inline constexpr double kLanesPerSm = 128;
inline constexpr double kGemvThreadsPerSm = 512;

}  // namespace hgemm::cost_constants
