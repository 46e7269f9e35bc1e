#include "tune/time_shares.h"

#include <algorithm>
#include <thread>

namespace hgemm {
namespace {

/// Kernels are compiled in the order of the races if this takes at most this fraction of the time
/// left.
constexpr double kCompilingShare = 0.6;
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

TimeShares::TimeShares(Clock::time_point deadline, int jobs, std::size_t gpus)
    : end_(deadline - kEnd), gpus_(static_cast<double>(gpus)) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  jobs_ = jobs > 0 ? jobs : std::max(1, cores - spare_cores(gpus));
}

double TimeShares::seconds_left() const {
  const std::chrono::duration<double> left = end_ - Clock::now();
  return (1 - kReserve) * left.count();
}

double TimeShares::gpu_seconds_left(double busy_s) const {
  return std::max(0.0, gpus_ * seconds_left() - busy_s);
}

double TimeShares::share_s(const Missing& race, std::span<const Missing> others,
                           double busy_s) const {
  double sum = weight(race);
  for (const Missing& other : others) sum += weight(other);
  return std::min(seconds_left(), gpu_seconds_left(busy_s) * weight(race) / sum);
}

void TimeShares::fit(std::vector<Missing>& races) const {
  const double compile_s = kCompileS / jobs_ / static_cast<double>(races.size());
  double sum = 0;
  for (const Missing& race : races) sum += weight(race);
  for (Missing& race : races) {
    const double seconds = std::min(seconds_left(), gpu_seconds_left(0) * weight(race) / sum);
    race.configs.resize(terms_for(race.to_come(), seconds, compile_s).configs);
  }
}

bool TimeShares::can_race_twice(std::span<const Missing> races) const {
  double race_s = 0;
  double compile_s = 0;
  for (const Missing& race : races) {
    const std::size_t configs = std::min(kTypicalConfigs, race.configs.size());
    race_s += duration_s(race.to_come(), {.effort = Effort::kFull, .configs = configs});
    compile_s += static_cast<double>(configs) * kCompileS / jobs_;
  }
  return 2 * (race_s / gpus_ + compile_s) <= seconds_left();
}

bool TimeShares::can_compile(std::size_t kernels) const {
  return static_cast<double>(kernels) * kCompileS / jobs_ < kCompilingShare * seconds_left();
}

bool TimeShares::is_tight(std::span<const Missing> races, double busy_s) const {
  double sum = 0;
  for (const Missing& race : races) {
    sum += duration_s(race.to_come(), {.effort = Effort::kBrief, .configs = race.configs.size()});
  }
  return sum >= gpu_seconds_left(busy_s);
}

}  // namespace hgemm
