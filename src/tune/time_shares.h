// A tune's time until its deadline, shared out among its races. Private to the module.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "tune/choice.h"

namespace hgemm {

/// Cores that do not compile while kernels are timed: one for the driver, one for the worker.
inline constexpr int kSpareCores = 2;

/// What a race may take is in proportion to what a brief one of the same number of configs would.
class TimeShares {
 public:
  using Clock = std::chrono::steady_clock;

  /// `jobs`: compile processes; 0: what the machine has.
  TimeShares(Clock::time_point deadline, int jobs);

  Clock::time_point end() const { return end_; }
  double seconds_left() const;
  /// Of the race, if it shares what is left now with these others.
  double share_s(const Missing& race, std::span<const Missing> others) const;
  /// Takes out configs that there will be no time for. The first race waits for its kernels, the
  /// others' are compiled meanwhile; how many are in the cache is not known yet.
  void fit(std::vector<Missing>& races) const;
  /// To compile so many kernels, if none is in the cache, leaves time to race what is compiled.
  bool can_compile(std::size_t kernels) const;
  /// Races as planned would take what is left.
  bool is_tight(std::span<const Missing> races) const;

 private:
  Clock::time_point end_;
  int jobs_;  ///< that the compiler is thought to have
};

}  // namespace hgemm
