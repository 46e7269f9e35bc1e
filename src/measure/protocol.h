// How a time is taken. The one place that says so; results/ and README refer to it.
//
// A SAMPLE is one CUDA graph replay of n back-to-back launches, n * t >= kSampleUs. The launches
// rotate over input sets that together exceed 3x L2 (problem/problem.h), so no launch finds its own
// inputs in cache; n is a multiple of the number of sets, and every replay starts at the same one.
// Events around the replay give the time. Around the events, one block per SM reads clock64 and
// globaltimer: their differences give the SM clock in band, averaged over the SMs, with no NVML.
//
// A ROUND is one sample of every candidate in the race, baselines among them, in a fresh random
// order (search/race.h), enqueued back to back. Ratios are only taken within a round: clocks and
// temperature drift by 5-10 % between runs, ratios within a round by 0.14 % (median).
//
// REGIME sustained: before the first round, cublasGemmEx runs at full load until the clock is
// settled: at least kSettleLongMs where the shape is bound by arithmetic (more than
// kArithmeticBound FLOP per byte: these reach the power cap, and the clock oscillates for about 3 s
// first), else kSettleShortMs; then until two successive windows of kSettleWindowMs differ by less
// than kSettledDrift, at most kSettleLimitMs. Rounds follow without a pause. What a power cap does
// to the clock is part of the regime: nothing is discarded.
//
// A candidate is timed only after it was verified at this shape (problem/problem.h).
#pragma once

namespace hgemm::protocol {

inline constexpr double kSampleUs = 2000;
inline constexpr int kMaxLaunchesPerSample = 4096;

inline constexpr double kArithmeticBound = 200;  ///< FLOP per byte: H200's ridge is at 206
inline constexpr double kSettleLongMs = 3000;
inline constexpr double kSettleShortMs = 300;
inline constexpr double kSettleWindowMs = 250;
inline constexpr double kSettledDrift = 0.01;
inline constexpr double kSettleLimitMs = 8000;

}  // namespace hgemm::protocol
