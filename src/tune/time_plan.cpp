#include "tune/time_plan.h"

#include <algorithm>
#include <cmath>

#include "measure/protocol.h"
#include "search/race.h"

namespace hgemm {
namespace {

// Measured in tunes of five shapes of llama7b.yaml (H200, 16 cores, 2026-11-22).
constexpr double kNewWorkerS = 0.4;
constexpr double kOpenS = 0.15;
constexpr double kPrepareS = 0.0035;  ///< load, run, compare, estimate, capture
constexpr int kBaselines = 9;         ///< cublas and what cuBLASLt usually offers
constexpr double kFullSettleS = 3.4;  ///< at the power cap
constexpr double kLightSettleS = 0.5;
constexpr double kFullRounds = 2;  ///< of screening that a config sees, most leave after the first
constexpr double kFullFinalRounds = 15;
constexpr double kBriefFinalRounds = 6;
constexpr int kCappedVisits = 2;  ///< of a finalist at full effort

/// After the first.
constexpr double kMostMoreVisits = 9;
/// Fewer are no race.
constexpr std::size_t kLeastConfigs = 8;

double sample_s(const RaceToCome& race, const protocol::Windows& windows) {
  const double work_s = std::max(windows.sample_us, race.launch_us) * 1e-6;
  const bool rests = race.regime == Regime::kBurst || may_be_capped(race.shape, race.regime);
  if (!rests) return work_s;
  return work_s + std::max(windows.rest_ms * 1e-3, protocol::kRestRatio * work_s);
}

double own_window_s(const RaceToCome& race, const protocol::Windows& windows) {
  return 1e-3 * (windows.lead_in_ms +
                 windows.own_samples * std::max(windows.own_sample_ms, race.launch_us * 1e-3));
}

}  // namespace

bool may_be_capped(const Shape& shape, Regime regime) {
  return regime == Regime::kSustained && shape.flops() / shape.bytes() > protocol::kLightLoad;
}

double duration_s(const RaceToCome& race, const Terms& terms) {
  const bool full = terms.effort == Effort::kFull;
  const bool capped = may_be_capped(race.shape, race.regime);
  const protocol::Windows& windows = full ? protocol::kFull : protocol::kBrief;
  const RacePolicy policy = full ? RacePolicy{} : in_brief({}, terms.visits);
  const double sample = sample_s(race, windows);

  const auto candidates = static_cast<double>(terms.configs) + kBaselines;
  const double screening = candidates * (kPrepareS + (full ? kFullRounds : 1) * sample);
  const double semifinal =
      policy.semifinal_rounds * (policy.semifinalists + policy.lt_semifinalists + 1) * sample;
  const int finalists = capped ? policy.own_finalists + policy.own_lt_finalists + 1
                               : policy.finalists + policy.lt_finalists + 1;
  const double final_s =
      finalists * (capped ? (full ? kCappedVisits : terms.visits) * own_window_s(race, windows)
                          : (full ? kFullFinalRounds : terms.visits * kBriefFinalRounds) * sample);
  const double settling =
      full ? (capped ? kFullSettleS : kLightSettleS) : windows.settle_limit_ms * 1e-3;
  return (full ? kNewWorkerS : 0) + kOpenS + settling + screening + semifinal + final_s;
}

Terms terms_for(const RaceToCome& race, double seconds, double compile_s, Effort most) {
  const auto within = [&](Effort effort) {
    const double base_s = duration_s(race, {.effort = effort, .configs = 0});
    const double timing_s = duration_s(race, {.effort = effort, .configs = 1}) - base_s;
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
