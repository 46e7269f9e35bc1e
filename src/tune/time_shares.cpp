#include "tune/time_shares.h"

#include <algorithm>
#include <thread>

namespace hgemm {
namespace {

/// Fraction of the time left in which kernels are compiled before they come too late.
constexpr double kCompilingShare = 0.8;
/// Fraction of the time left that races may take which wait for kernels, so that none is late.
constexpr double kRacingShare = 0.9;
/// Fraction of the time left that is reserved for steps that take longer than predicted.
constexpr double kReserve = 0.04;
/// Reserved for the end of the program.
constexpr std::chrono::milliseconds kEnd{300};
/// Number of configs of the brief race whose duration is the weight of a race.
constexpr std::size_t kTypicalConfigs = 40;

double weight(const Missing& race) {
  return duration_s(race.to_come(), {.effort = Effort::kBrief, .configs = kTypicalConfigs});
}

}  // namespace

double brief_s(std::span<const Missing> races) {
  double sum = 0;
  for (const Missing& race : races) sum += weight(race);
  return sum;
}

TimeShares::TimeShares(Clock::time_point deadline, int jobs, std::size_t gpus)
    : end_(deadline - kEnd), gpus_(static_cast<double>(gpus)) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  jobs_ = jobs > 0 ? jobs : std::max(1, cores - spare_cores(gpus));
}

double TimeShares::seconds_left() const {
  const std::chrono::duration<double> left = end_ - Clock::now();
  return (1 - kReserve) * left.count();
}

TimeShares::Clock::time_point TimeShares::last_kernel() const {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(kCompilingShare * seconds_left()));
}

double TimeShares::gpu_seconds_left(double busy_s) const {
  return std::max(0.0, gpus_ * seconds_left() - busy_s);
}

double TimeShares::share_s(const Missing& race, std::span<const Missing> others,
                           double busy_s) const {
  const double sum = weight(race) + brief_s(others);
  return std::min(seconds_left(), gpu_seconds_left(busy_s) * weight(race) / sum);
}

void TimeShares::fit(std::vector<Missing>& races) const {
  const double compile_s = kCompileS / jobs_ / static_cast<double>(races.size());
  const double sum = brief_s(races);
  for (Missing& race : races) {
    const double seconds = std::min(seconds_left(), gpu_seconds_left(0) * weight(race) / sum);
    race.configs.resize(terms_for(race.to_come(), seconds, compile_s).configs);
  }
}

bool TimeShares::can_race_twice(std::span<const Missing> races,
                                std::optional<std::size_t> most) const {
  const std::size_t configs = std::min(kTypicalConfigs, most.value_or(kTypicalConfigs));
  double race_s = 0;
  double compile_s = 0;
  for (const Missing& race : races) {
    race_s += duration_s(race.to_come(), {.effort = Effort::kFull, .configs = configs});
    compile_s += static_cast<double>(configs) * kCompileS / jobs_;
  }
  return 2 * (race_s / gpus_ + compile_s) <= seconds_left();
}

double TimeShares::compilable(std::size_t kernels) const {
  const double in_time = kCompilingShare * seconds_left() * jobs_ / kCompileS;
  return std::clamp(in_time / static_cast<double>(kernels), 0.0, 1.0);
}

double TimeShares::enough_ready(std::span<const Missing> races, double busy_s) const {
  double all_s = 0, one_s = 0;  // of races of all their configs, and of one each
  for (const Missing& race : races) {
    const auto brief_s = [&](std::size_t configs) {
      return duration_s(race.to_come(), {.effort = Effort::kBrief, .configs = configs});
    };
    all_s += brief_s(race.configs.size());
    one_s += brief_s(1);
  }
  // GPUs beyond the number of races have nothing to do.
  const double usable_s = static_cast<double>(races.size()) * seconds_left();
  const double left_s = kRacingShare * std::min(gpu_seconds_left(busy_s), usable_s);
  if (left_s >= all_s) return 1;
  return std::clamp((left_s - one_s) / (all_s - one_s), 0.0, 1.0);
}

}  // namespace hgemm
