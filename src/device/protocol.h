// How a time is taken. The one place that says so; results/ and README refer to it.
//
// A SAMPLE is a CUDA graph of n back-to-back launches, replayed once (at the own pace as often as
// its time needs, back to back). They rotate over input sets that together exceed 3x L2, so no
// launch finds its own inputs in cache; at least 16 of them where memory is the bound, so that no
// single placement in memory decides (device/problem_data.h). n is a multiple of the number of
// sets, and every replay starts at the same one. Events around the replays give the time. Around
// the events, one block per SM reads clock64 and globaltimer: their differences give the SM clock
// in band, averaged over the SMs, with no NVML. NVML's power, temperature and clock event reasons
// are read when the sample's end is seen. Nothing is discarded: a throttled sample says so, and its
// cycles (time x clock) are what it costs without the clock.
//
// For a chain of GEMMs (studies/chain/run.h), one launch is the whole chain, and the chain's
// weights are the only input set.
//
// A ROUND is one sample of every candidate in the race, baselines among them, in a fresh random
// order (search/referee.h). Ratios are only taken within a round. At the own pace own_samples
// rounds are taken in one go and share their order. A rested round of more than 64 is in parts, the
// baselines in the first, so that who is far slower than the fastest so far is recorded after each
// (tune/problem_race.cpp): its samples stand alone, and it may take minutes.
//
// What ran before a sample sets its clock, and at the power cap the clock differs between kernels
// by more than their cycles do. Therefore every sample has a PACE:
//
//   shared  about sample_us long (or one launch), one after another with no pause. The cap's
//           control loop is slower than a sample: the clock is what the neighbours leave, and what
//           a kernel costs in power is not seen. Good where the cap is not reached.
//   own     lead_in_ms of the same candidate, then own_samples samples of it, own_sample_ms each,
//           for as many rounds: the clock is its own. The loop needs 40 to 100 ms to follow a
//           change of kernel, and then swings about its set point: neighbouring samples of 300 ms
//           were correlated by -0.57, so a candidate's error falls as its window grows, not with
//           the root of it, and few long windows beat many short ones. Measured (H200, 2026-11-20,
//           8192^3, 700 W cap): three configs whose shared samples all came to 1.02-1.03x cublas
//           (cycles alike) ran at 0.87x, 0.94x and 1.01x of it for 1.1 s each, which repeated to
//           0.2 % (a throw-away harness: analysis/kernel-notes.md, as are the figures for rested).
//   rested  at least rest_ms and kRestRatio times the sample's length idle, then about sample_us
//           timed: at most a quarter of the time is work, so the cap is never reached. The clock
//           still differs between kernels (at 8192^3 1403 to 1606 MHz: it falls within a sample
//           with what a kernel draws). More idle time changes nothing: 1x and 25x gave times within
//           0.7 %.
//
// A sample at the own pace has as many replays as own_sample_ms holds at the time that they took in
// the later half of its lead-in. At the cap that is longer than at the rested clock, by which the
// lead-in itself is counted (samples that were counted so lasted 413 ms: results/h200/hundred.db).
// The lead-in's last kSizingMs are not timed: they keep the GPU busy while the host counts
// (device/window.h).
//
// REGIME burst: rested, from screening to the end.
// REGIME sustained: what long runs see. Shapes of at most kLightLoad FLOP per byte are measured at
// the shared pace. Others are screened rested, since rested samples, unlike shared ones, show what
// a kernel draws; their final is at the own pace if the GPU was found at its power cap, else
// shared.
//
// SETTLING. For shared and own: cublasGemmEx at full load until the clock is settled: at least
// settle_long_ms, or settle_short_ms for light shapes, then until two successive windows of
// settle_window_ms differ by less than kSettledDrift, at most settle_limit_ms. The power cap counts
// as reached if NVML names it as a clock event, or, without NVML, on every shape that is not light.
// For rested: idle until the clock event is gone, then rested samples of cublas until the medians
// of two successive groups of kRestedGroup differ by less than kSettledDrift, at most
// settle_limit_ms. Shared rounds follow one another; after a pause longer than kPauseMs (candidates
// that left are freed), cublasGemmEx runs for resume_ms first, since an idle GPU returns to a
// higher clock within milliseconds.
//
// ENERGY of a finalist: it alone, back to back. After kEnergyLeadInMs, from one step of NVML's
// energy counter (they come every 100 ms) to the first step after kEnergyWindowS: power is energy
// over time between the steps, joules of a GEMM are that power times its mean time in the window.
//
// EFFORT. Who has a minute for 25 shapes cannot settle for three seconds. At brief effort all of
// the above is shorter (kBrief), and a race has fewer rounds (search/referee.h): what it finds is
// judged by races of full effort (results/h200/, `hgemm-tune replay`). How long a sample was is
// always on record: its launches times their time.
//
// ONE STREAM. The process never has kernels on two streams at the same time: once it had, each
// launch starts 0.35 us later after the one before, ours and cuBLAS's alike (H200, driver 580;
// results/h200/export/two-streams.md). What is cleared on the default stream is so while the other
// one is idle.
//
// A candidate is timed only after it was verified at this shape (device/problem_data.h).
#pragma once

namespace hgemm::protocol {

/// What depends on the effort.
struct Windows {
  double sample_us;
  double rest_ms;
  double lead_in_ms;
  double own_sample_ms;
  int own_samples;
  // Settling, at full load.
  double settle_long_ms;
  double settle_short_ms;
  double settle_window_ms;
  double settle_limit_ms;
  double settle_rested_limit_ms;  ///< of the samples; until the cap is left it may always take long
  double resume_ms;
};
inline constexpr Windows kFull{.sample_us = 2000,
                               .rest_ms = 5,
                               .lead_in_ms = 100,
                               .own_sample_ms = 350,
                               .own_samples = 3,
                               .settle_long_ms = 3000,
                               .settle_short_ms = 300,
                               .settle_window_ms = 250,
                               .settle_limit_ms = 8000,
                               .settle_rested_limit_ms = 8000,
                               .resume_ms = 200};
inline constexpr Windows kBrief{.sample_us = 1000,
                                .rest_ms = 2.5,
                                .lead_in_ms = 50,
                                .own_sample_ms = 6,
                                .own_samples = 6,
                                .settle_long_ms = 100,
                                .settle_short_ms = 100,
                                .settle_window_ms = 100,
                                .settle_limit_ms = 100,
                                .settle_rested_limit_ms = 0,
                                .resume_ms = 20};

inline constexpr int kMaxLaunchesPerSample = 4096;  ///< before rounding up to whole rotations
inline constexpr double kLightLoad = 40;            ///< FLOP per byte; M = 64 and more exceed it

inline constexpr double kSizingMs = 5;
inline constexpr double kRestRatio = 3;

inline constexpr double kSettledDrift = 0.01;
inline constexpr double kLeaveCapLimitMs = 8000;
inline constexpr double kLeaveCapStepMs = 5;
inline constexpr int kRestedGroup = 10;

inline constexpr double kPauseMs = 3;

inline constexpr double kEnergyLeadInMs = 300;
inline constexpr double kEnergyWindowS = 2.0;

}  // namespace hgemm::protocol
