// Shares out a tune's time until its deadline among its races. Private to the module.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tune/choice.h"

namespace hgemm {

/// Cores that do not compile while kernels are timed: one for this process, one for each worker.
inline int spare_cores(std::size_t gpus) { return 1 + static_cast<int>(gpus); }

/// Core seconds of NVRTC for one kernel, while races run: with 14 processes, 844 kernels took 17.3,
/// 21.7 and 27.4 s (on three machines of 16 cores, 2026-11-22); with 59 processes, kernels of
/// rows-to-512.yaml took 0.40 s, those of rows-of-layers.yaml 0.47 s, those of grid.yaml 0.53 s
/// (64 cores, 2026-11-26).
inline constexpr double kCompileS = 0.5;

/// Predicted seconds of brief races of these problems, each with the same number of configs.
double brief_s(std::span<const Missing> races);

/// The time of a race is in proportion to the time of a brief race with a fixed number of configs.
class TimeShares {
 public:
  using Clock = std::chrono::steady_clock;

  /// `jobs`: number of compile processes; 0: one per core except the spare ones.
  TimeShares(Clock::time_point deadline, int jobs, std::size_t gpus);

  Clock::time_point end() const { return end_; }
  double seconds_left() const;
  /// Kernels that are compiled later come too late.
  Clock::time_point last_kernel() const;
  /// Seconds for `race` if it shares the time that all GPUs have left now with `others`. `busy_s`
  /// of that time is taken by races that run.
  double share_s(const Missing& race, std::span<const Missing> others, double busy_s) const;
  /// Removes configs that there is no time for. The first race waits for its kernels; those of the
  /// others are compiled meanwhile. How many are in the cache is not known at this point.
  void fit(std::vector<Missing>& races) const;
  /// Whether all these races fit in the time twice at full effort, with the compiling before them.
  /// `most`: configs of each; nullopt: many.
  bool can_race_twice(std::span<const Missing> races, std::optional<std::size_t> most) const;
  /// The part of so many kernels, none of them in the cache, that can be compiled in time; at
  /// most 1.
  double compilable(std::size_t kernels) const;
  /// The fraction of its kernels with which a race may begin: that of these races which there is
  /// time to race in brief. 1 if there is time for all.
  double enough_ready(std::span<const Missing> races, double busy_s) const;

 private:
  /// Seconds that are left on all GPUs in sum.
  double gpu_seconds_left(double busy_s) const;

  Clock::time_point end_;
  int jobs_;  ///< assumed number of compile processes
  double gpus_;
};

}  // namespace hgemm
