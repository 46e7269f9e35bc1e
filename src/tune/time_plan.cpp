#include "tune/time_plan.h"

#include <algorithm>
#include <cmath>

#include "device/protocol.h"
#include "search/referee.h"

namespace hgemm {
namespace {

// Durations measured in tunes of five shapes of llama7b.yaml (H200, 16 cores, 2026-11-22).
constexpr double kNewWorkerS = 0.4;
constexpr double kOpenS = 0.15;
constexpr double kPrepareS = 0.003;     ///< load, poison, compare, capture
constexpr double kPrepareLaunches = 2;  ///< to compare and to estimate; matters for long launches
/// cublas and as many algorithms as cuBLASLt usually offers
constexpr int kBaselines = 9;
constexpr double kFullSettleS = 3.4;  ///< at the power cap
constexpr double kLightSettleS = 0.5;
/// Share of the candidates that each screening round after the first still has: most leave in the
/// first.
constexpr double kLaterShare = 0.5;
constexpr double kFullFinalRounds = 15;
constexpr double kBriefFinalRounds = 6;
constexpr int kCappedVisits = 2;  ///< visits of a finalist at the own pace
constexpr int kWeighedBaselines = 2;
/// With the wait for a step of the counter.
constexpr double kEnergyS = 1e-3 * (protocol::kEnergyLeadInMs + protocol::kEnergyWindowMs + 100);

/// Rates of a fast config on an H200, used if there is no prediction.
constexpr double kFlopsPerSecond = 750e12;
constexpr double kBytesPerSecond = 4e12;

/// Visits beside the first.
constexpr double kMostMoreVisits = 9;
/// Least number of configs of a race.
constexpr std::size_t kLeastConfigs = 8;

double launch_s(const RaceToCome& race) {
  if (race.launch_us > 0) return race.launch_us * 1e-6;
  return std::max(race.problem.flops() / kFlopsPerSecond, race.problem.bytes() / kBytesPerSecond);
}

double sample_s(const RaceToCome& race, const protocol::Windows& windows) {
  const double least_us = race.regime == Regime::kSingle ? 0 : windows.sample_us;
  const double work_s = std::max(least_us * 1e-6, launch_s(race));
  const bool rests = race.regime != Regime::kSustained || may_be_capped(race.problem, race.regime);
  if (!rests) return work_s;
  return work_s + std::max(windows.rest_ms * 1e-3, protocol::kRestRatio * work_s);
}

double own_visit_s(const RaceToCome& race) {
  return 1e-3 * (protocol::kLeadInMs +
                 protocol::kOwnSamples * std::max(protocol::kOwnSampleMs, launch_s(race) * 1e3));
}

}  // namespace

bool may_be_capped(const GemmProblem& problem, Regime regime) {
  return regime == Regime::kSustained && problem.flops() / problem.bytes() > protocol::kLightLoad;
}

double RaceParts::when_raced(Stage phase, double rounds) const {
  const auto share = [](double done, double of) { return of > 0 ? std::min(done / of, 1.0) : 1.0; };
  if (phase == Stage::kFinal) {
    return screened_s() + semifinal_s + final_s * share(rounds, final_rounds);
  }
  if (rounds <= 1) return open_s + prepare_s + first_round_s * rounds;
  const double to_come = screening_rounds - rounds;
  if (to_come > 0) return screened_s() - to_come * later_round_s;
  return screened_s() + semifinal_s * share(-to_come, semifinal_rounds);
}

RaceParts parts_of(const RaceToCome& race, const Terms& terms) {
  const bool full = terms.effort == Effort::kFull;
  const bool capped = may_be_capped(race.problem, race.regime);
  const protocol::Windows& windows = full ? protocol::kFull : protocol::kBrief;
  const RacePolicy policy = full ? RacePolicy{} : in_brief({}, terms.visits);
  const double sample = sample_s(race, windows);
  const auto candidates = static_cast<double>(terms.configs) + kBaselines;
  const bool has_own_pace = capped && full;
  const int configs_in_final = std::min(has_own_pace ? policy.own_finalists : policy.finalists,
                                        static_cast<int>(terms.configs));
  const int algorithms_in_final = has_own_pace ? policy.own_lt_finalists : policy.lt_finalists;
  const int finalists = configs_in_final + algorithms_in_final + 1;
  const double settle_s =
      full ? (capped ? kFullSettleS : kLightSettleS) : windows.settle_limit_ms * 1e-3;

  RaceParts parts;
  parts.open_s = (full ? kNewWorkerS : 0) + kOpenS;
  parts.prepare_s = candidates * (kPrepareS + kPrepareLaunches * launch_s(race));
  parts.screening_rounds = policy.screen_rounds;
  parts.first_round_s = candidates * sample;
  parts.later_round_s = kLaterShare * parts.first_round_s;
  parts.semifinal_rounds = policy.semifinal_rounds;
  parts.semifinal_s =
      policy.semifinal_rounds * (policy.semifinalists + policy.lt_semifinalists + 1) * sample;
  if (has_own_pace) {
    parts.final_rounds = kCappedVisits * protocol::kOwnSamples;
    parts.final_s = finalists * kCappedVisits * own_visit_s(race);
  } else {
    parts.final_rounds = full ? kFullFinalRounds : terms.visits * kBriefFinalRounds;
    parts.final_s = finalists * parts.final_rounds * sample;
  }
  // At the power cap, settling comes before the final, and a brief race does not settle.
  if (has_own_pace) parts.final_s += settle_s;
  if (!capped) parts.open_s += settle_s;
  if (race.weighed != Weighed::kNothing) {
    const int configs = race.weighed == Weighed::kWinners ? 1 : configs_in_final;
    parts.energy_s = (configs + kWeighedBaselines) * kEnergyS;
  }
  return parts;
}

double duration_s(const RaceToCome& race, const Terms& terms) {
  return parts_of(race, terms).sum();
}

Terms terms_for(const RaceToCome& race, double seconds, double compile_s, Effort most) {
  const auto within = [&](Effort effort) {
    // With this many configs or more the final is full, and each further one takes as long.
    constexpr std::size_t kFillsFinal = 16;
    const double some_s = duration_s(race, {.effort = effort, .configs = kFillsFinal});
    const double timing_s =
        duration_s(race, {.effort = effort, .configs = kFillsFinal + 1}) - some_s;
    const double base_s = some_s - static_cast<double>(kFillsFinal) * timing_s;
    const double configs = std::floor((seconds - base_s) / (timing_s + compile_s));
    return static_cast<std::size_t>(std::max(0.0, configs));
  };
  const auto share = static_cast<std::size_t>(kEnough * static_cast<double>(race.space));
  const std::size_t enough = std::max(share, 2 * kLeastConfigs);
  if (const std::size_t configs = within(Effort::kFull);
      most == Effort::kFull && configs >= std::min(enough, race.configs)) {
    return {.effort = Effort::kFull, .configs = std::min(configs, race.configs)};
  }
  const std::size_t configs = std::clamp(within(Effort::kBrief), kLeastConfigs, enough);
  Terms brief{.effort = Effort::kBrief, .configs = std::min(configs, race.configs)};
  const double once_s = duration_s(race, brief) + compile_s * static_cast<double>(brief.configs);
  brief.visits = 2;
  const double visit_s =
      duration_s(race, brief) + compile_s * static_cast<double>(brief.configs) - once_s;
  const double more = std::clamp((seconds - once_s) / visit_s, 0.0, kMostMoreVisits);
  brief.visits = 1 + static_cast<int>(more);
  return brief;
}

}  // namespace hgemm
