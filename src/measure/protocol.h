// How a time is taken. The one place that says so; results/ and README refer to it.
//
// A SAMPLE is one CUDA graph replay of n back-to-back launches, about kSampleUs long or one launch.
// The launches rotate over input sets that together exceed 3x L2 (problem/problem.h), so no launch
// finds its own inputs in cache; n is a multiple of the number of sets, and every replay starts at
// the same one. Events around the replay give the time. Around the events, one block per SM reads
// clock64 and globaltimer: their differences give the SM clock in band, averaged over the SMs, with
// no NVML.
//
// A ROUND is one sample of every candidate in the race, baselines among them, in a fresh random
// order (search/race.h), enqueued back to back. Ratios are only taken within a round: from round to
// round and from run to run the clock moves by more than kernels differ.
// Samples are short against the control loop of the power cap: the clock that one sees follows from
// its neighbours, which change from round to round, rather than from the kernel itself. So what a
// kernel saves in energy benefits its neighbours and is not seen here.
//
// REGIME sustained: before the first round, cublasGemmEx runs at full load until the clock is
// settled: at least kSettleLongMs for shapes that load the tensor cores (more than kLightLoad FLOP
// per byte; the clock then falls for seconds, to the power cap), else kSettleShortMs; then until
// two successive windows of kSettleWindowMs differ by less than kSettledDrift, at most
// kSettleLimitMs. Rounds follow one another; after a pause longer than kPauseMs (candidates that
// left are freed), cublasGemmEx runs for kResumeMs first, since an idle GPU returns to a higher
// clock within milliseconds. What a power cap does to the clock is part of the regime: nothing is
// discarded.
//
// SCREENING of shapes that arithmetic bounds compares cycles (time x SM clock in band) rather than
// times: at the power cap the clock swings within a round of hundreds of candidates (860 to 1784
// MHz in a first recording, H200, 2026-11-20), which says nothing about a kernel.
//
// A candidate is timed only after it was verified at this shape (problem/problem.h).
#pragma once

namespace hgemm::protocol {

inline constexpr double kSampleUs = 2000;
inline constexpr int kMaxLaunchesPerSample = 4096;  ///< before rounding up to whole rotations

inline constexpr double kLightLoad = 40;  ///< FLOP per byte; M = 64 and more exceed it
inline constexpr double kSettleLongMs = 3000;
inline constexpr double kSettleShortMs = 300;
inline constexpr double kSettleWindowMs = 250;
inline constexpr double kSettledDrift = 0.01;
inline constexpr double kSettleLimitMs = 8000;

inline constexpr double kPauseMs = 3;
inline constexpr double kResumeMs = 200;

}  // namespace hgemm::protocol
