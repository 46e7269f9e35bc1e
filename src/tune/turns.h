// Lets one GPU measure while the others of its host rest. Private to the module.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>

namespace hgemm {

/// Cards of one host share power and air, so a busy neighbour may move a ratio. While a GPU has its
/// turn, the others wait at the next step of their races. All functions may be called from any
/// thread; a GPU calls them from one thread.
class Turns {
 public:
  /// From now on finals take turns. Until then all functions but busy_neighbours() do nothing.
  void enable();

  void race_begins(int gpu);
  void race_ends(int gpu);  ///< also ends the GPU's turn
  /// The number of other GPUs with a race under way.
  int busy_neighbours(int gpu);

  /// Waits until no other GPU has a turn. `poll` is called about ten times a second meanwhile and
  /// may throw. Returns whether it had to wait: the state of the GPU is another one then.
  bool wait_for_others(int gpu, const std::function<void()>& poll);
  /// Begins the GPU's turn: waits for the turns of others, and then until every other GPU with a
  /// race waits or has ended its race. Does nothing if it has the turn.
  void begin_turn(int gpu, const std::function<void()>& poll);
  void end_turn(int gpu);

 private:
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, const std::function<void()>& poll,
            Condition condition);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool enabled_ = false;
  std::set<int> racing_, waiting_;
  std::optional<int> turn_of_;
};

}  // namespace hgemm
