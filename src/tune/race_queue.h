// The races of a stage that are not over, and which GPU runs which. Private to the module. Not
// thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tune/choice.h"

namespace hgemm {

class RaceQueue {
 public:
  using Clock = std::chrono::steady_clock;

  /// One GPU takes the races in their order. Several take the longest first, so that all end at
  /// about the same time; but problems that have a winner already come last.
  RaceQueue(std::vector<Missing> races, std::size_t gpus);

  std::span<const Missing> waiting() const { return waiting_; }
  /// Whether no race waits or runs. A race that runs may come back.
  bool is_over() const { return waiting_.empty() && running_.empty(); }

  /// Removes and returns the next race for this GPU. `ready` tells the fraction of a race's kernels
  /// that are compiled. The first race that is ready as a whole is next; if there is none, the one
  /// that is ready for the largest part, if that is not nothing and at least `enough`. None: the
  /// GPU has to wait, or no race is for it.
  std::optional<Missing> take(int gpu, const std::function<double(const Missing&)>& ready,
                              double enough);
  /// Sets when the race that the GPU runs is expected to end.
  void expect_end(int gpu, Clock::time_point end) { running_.at(gpu).end = end; }
  /// Seconds that GPUs other than this one will still spend on the races that they run.
  double busy_s(int gpu) const;

  void ended(int gpu) { running_.erase(gpu); }
  /// The GPU could not finish its race. It waits for another GPU; but a race that two GPUs could
  /// not finish, or for which no GPU of `alive` is left, is returned and not tried again.
  std::optional<Missing> gave_up(int gpu, const std::set<int>& alive);
  /// Removes and returns the races that none of these GPUs may take.
  std::vector<Missing> take_impossible(const std::set<int>& alive);

 private:
  struct Running {
    Missing race;
    Clock::time_point end = {};
  };

  std::vector<Missing> waiting_;
  std::map<int, Running> running_;  ///< by GPU
};

}  // namespace hgemm
