// The measurement protocol: how a time is taken. No other place defines it; results/ and README
// refer to this comment.
//
// A SAMPLE is a CUDA graph of n back-to-back launches. It is replayed once; at the own pace it is
// replayed back to back until its time is filled. The launches rotate over input sets that together
// exceed 3x L2, so that no launch finds its own inputs in cache. If memory is the limit, there are
// at least 16 sets, so that no single address decides (device/problem_data.h). n is a multiple of
// the number of sets, and every replay starts at the same set. CUDA events around the replays give
// the time. Around the events, one block per SM reads clock64 and globaltimer; their differences
// give the SM clock in band, averaged over the SMs, without NVML. NVML's power, temperature and
// clock event reasons are read when the host sees the end of the sample. No sample is discarded: a
// throttled sample records that it was throttled, and its cycles (time x clock) are its cost
// without the effect of the clock.
//
// For a chain of GEMMs (studies/chain/run.h), one launch is the whole chain, and the chain's
// weights are the only input set.
//
// A ROUND is one sample of every candidate in the race, including the baselines, in a fresh random
// order (search/referee.h). Ratios are taken only within a round. At the own pace, kOwnSamples
// rounds are taken together and share their order. A rested round of more than 64 candidates is
// taken in parts, the baselines in the first part, because it may take minutes; its samples stand
// alone. After each part the candidates that are far slower than the fastest so far are recorded
// (tune/problem_race.cpp).
//
// The work before a sample sets its clock. At the power cap, clocks differ between kernels by more
// than their cycles do. Therefore every sample has a PACE:
//
//   shared  Samples of about sample_us (or one launch) follow one another without a pause. The
//           control loop of the power cap is slower than a sample, so the clock is the one that the
//           neighbours leave, and the power that a kernel draws has no effect on its time. This
//           pace is good where the cap is not reached.
//   own     kLeadInMs of the same candidate, then kOwnSamples samples of it of kOwnSampleMs each,
//           for as many rounds: the clock is the candidate's own. The control loop needs 40 to 100
//           ms to follow a change of kernel, and then swings around its set point: neighbouring
//           samples of 300 ms had a correlation of -0.57. So the error falls in proportion to the
//           length of the window, not to its square root, and few long windows beat many short
//           ones. Measured on an H200 (2026-11-20, 8192^3, 700 W cap): the shared samples of three
//           configs all gave 1.02-1.03x cublas (with equal cycles), but for 1.1 s each they ran at
//           0.87x, 0.94x and 1.01x of it, repeatable to 0.2 % (with a temporary harness:
//           analysis/kernel-notes.md; so are the figures for rested).
//   rested  The GPU idles for at least rest_ms and kRestRatio times the length of the sample; then
//           about sample_us are timed. At most a quarter of the time is work, so the cap is never
//           reached. The clock still differs between kernels (1403 to 1606 MHz at 8192^3), because
//           it falls within a sample with the power that a kernel draws. More idle time has no
//           effect: 1x and 25x gave times within 0.7 %.
//   single  The GPU idles as for rested. Then the host calls the candidate once, without a graph,
//           while one thread of the GPU waits for a word in the host's memory. The host writes the
//           word when the call and the second event are enqueued. So the time between the events is
//           the GPU's alone: no event waits for the host. Calls take the input sets in turn.
//
// At the own pace, the number of replays of a sample follows from kOwnSampleMs and from the time
// that a replay took in the later half of the lead-in. At the cap that time is longer than at the
// rested clock, which sizes the lead-in itself (samples sized by the rested clock lasted 413 ms:
// results/h200/hundred.db). The last kSizingMs of the lead-in are not timed: they keep the GPU busy
// while the host computes the number (device/window.h).
//
// REGIME burst: rested from screening to the end.
//
// REGIME single: the pace single from screening to the end. It is what a lone call costs: nothing
// overlaps with the kernel before or after it, so PDL has no effect. The finalists, cublas, and the
// fastest algorithm and variant are then called some times more, for the time that the host spends
// in the call; and, at full effort, as often under CUPTI, for the time from the start of the first
// kernel to the end of the last (device/call_time.h). CUPTI slows calls down, so no sample is taken
// with it, and the worker is replaced afterwards.
//
// REGIME chain: as burst, but each launch stands between two elementwise kernels, as a GEMM in a
// model does: one multiplies A by 1 in place before it, one does so with D after it. Both are
// ordinary kernels, launched without PDL, which read and write at memory speed. The time of a
// launch is that of all three. The ratio of two candidates is therefore nearer to 1 than in burst.
//
// REGIME sustained: times as long runs see them. Problems of at most kLightLoad FLOP per byte are
// measured at the shared pace. Other problems are screened rested, because rested samples, unlike
// shared ones, show the effect of the power that a kernel draws. Their final is at the own pace if
// the GPU was found at its power cap, and otherwise at the shared pace; at brief effort it is
// rested.
//
// SETTLING before shared and own: cublasGemmEx runs at full load until the clock is settled. That
// takes at least kSettleLongMs (settle_short_ms for light problems), then until two successive
// windows of settle_window_ms differ by less than kSettledDrift, and at most settle_limit_ms. The
// power cap counts as reached if NVML reports it as a clock event; without NVML, it does on every
// problem that is not light. Before rested: the GPU idles until the clock event is gone; then
// cublas takes rested samples until the medians of two successive groups of kRestedGroup differ by
// less than kSettledDrift, for at most settle_rested_limit_ms. Shared rounds follow one another.
// After a pause longer than kPauseMs (in which candidates that left the race are freed),
// cublasGemmEx first runs for resume_ms, because an idle GPU returns to a higher clock within
// milliseconds.
//
// ENERGY of a candidate: it runs alone, back to back. After kEnergyLeadInMs, the window lasts from
// one step of NVML's energy counter (there is one every 100 ms) to the first step after
// kEnergyWindowMs. Power is the energy between the steps divided by the time between them; the
// joules of a GEMM are this power times its mean time in the window. Steps that the host may have
// seen late neither begin nor end a window. Energy is measured after a
// race at full effort only: after a brief one power has not settled (H200, 2026-11-26;
// kernel-notes.md, "Joules in a tune's time").
//
// EFFORT. A user with one minute for 25 shapes cannot wait three seconds for each to settle. At
// brief effort rests, samples and settling are shorter (kBrief), and a race has fewer rounds
// (search/referee.h). Its final at problems that are not light is rested. For the first second at
// full load a higher power limit acts, and then the clock swings: ratios from windows of 72 ms were
// up to 20 % off, and from windows of 0.7 s 2.4 %. Ratios after rests were within 2 % of full
// effort at 2048 and 128 rows on an H100, but up to 5 % too high at 64 and 128 rows on an H200,
// times up to 15 % too short (2026-11-26; kernel-notes.md, "Brief finals at the power cap"). Races
// of full effort judge brief ones (results/h200/, `hgemm-tune replay`). The length of each sample
// is on record: its launches times their time.
//
// LAUNCHES FAST. A process has two modes, in one of which each launch starts 0.2 to 0.35 us later
// than in the other, and calls of some library algorithms take 1.0 us more. Empty kernels before
// every sample keep it in the faster one (device/launch_mode.h), so that all candidates are timed
// in the same.
//
// ONE STREAM. The process has one stream for all problems: kernels on two streams at the same time,
// or on several streams one after another, end the fast mode, too
// (results/h200/export/two-streams.md). Memory is cleared on the default stream only while the
// other stream is idle.
//
// A candidate is timed only after it was verified at this problem (device/problem_data.h).
#pragma once

namespace hgemm::protocol {

/// The times that depend on the effort; see above for their meaning.
struct Windows {
  double sample_us;
  double rest_ms;
  // Settling, at full load.
  double settle_short_ms;
  double settle_window_ms;
  double settle_limit_ms;
  /// For the samples; the wait until the power cap is left has its own limit.
  double settle_rested_limit_ms;
  double resume_ms;
  int calls;  ///< that are timed one by one in the regime single
};
inline constexpr Windows kFull{.sample_us = 2000,
                               .rest_ms = 5,
                               .settle_short_ms = 300,
                               .settle_window_ms = 250,
                               .settle_limit_ms = 8000,
                               .settle_rested_limit_ms = 8000,
                               .resume_ms = 200,
                               .calls = 25};
inline constexpr Windows kBrief{.sample_us = 1000,
                                .rest_ms = 2.5,
                                .settle_short_ms = 100,
                                .settle_window_ms = 100,
                                .settle_limit_ms = 100,
                                .settle_rested_limit_ms = 0,
                                .resume_ms = 20,
                                .calls = 9};

inline constexpr int kMaxLaunchesPerSample = 4096;  ///< before rounding up to whole rotations
/// FLOP per byte; problems with M >= 64 exceed it
inline constexpr double kLightLoad = 40;

inline constexpr double kLeadInMs = 100;
inline constexpr double kOwnSampleMs = 350;
inline constexpr int kOwnSamples = 3;
inline constexpr double kSizingMs = 5;
inline constexpr double kRestRatio = 3;

inline constexpr double kSettleLongMs = 3000;
inline constexpr double kSettledDrift = 0.01;
inline constexpr double kLeaveCapLimitMs = 8000;
inline constexpr double kLeaveCapStepMs = 5;
inline constexpr int kRestedGroup = 10;

inline constexpr double kPauseMs = 3;

inline constexpr double kEnergyLeadInMs = 300;
inline constexpr double kEnergyWindowMs = 1000;

}  // namespace hgemm::protocol
