// Who takes part in a race, how far each has come, and what of it is still to be recorded. Private
// to the module.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "record/trial.h"

namespace hgemm {

/// A config or a baseline in a race.
struct Racer {
  Trial trial;                         ///< its samples: those not recorded yet
  const Build* build = nullptr;        ///< of a config that compiled
  std::optional<double> estimate_us;   ///< of a config, once it was verified
  bool ready = false;                  ///< the measurer holds it
  bool ended = false;                  ///< takes part no more
  bool due = false;                    ///< to be recorded: ended, measured to the end or weighed
  bool counted = false;                ///< among the configs recorded
  std::vector<double> final_times_us;  ///< of all its final rounds

  bool waits() const { return build && !ended && !ready; }  ///< to be made ready
};

class Roster {
 public:
  void add(const Build& build);  ///< must outlive the roster
  /// One that has ended before the race.
  void add_failed(const std::string& label, const std::string& kernel_id, Status status,
                  const std::string& message);
  Racer& add_baseline(const std::string& label);

  Racer& at(const std::string& label) { return racers_.at(label); }
  const Racer& at(const std::string& label) const { return racers_.at(label); }
  bool takes_part(const std::string& label) const;  ///< known, and has not ended

  std::size_t size() const { return racers_.size(); }
  int configs_alive() const;                      ///< that have not ended
  std::vector<std::string> alive() const;         ///< baselines too
  std::vector<std::string> waiting() const;       ///< to be made ready
  std::set<std::string> ended_baselines() const;  ///< not to be launched again
  std::vector<std::string> ready_of(const std::vector<std::string>& labels) const;

  /// Ends with a status that is not ok, in that phase of the race.
  void fail(const std::string& label, Stage phase, Status status, const std::string& message);
  void eliminate(const std::string& label);  ///< as slower; its trial reached screening
  void finish(Stage phase);                  ///< the race is over for all who are left
  /// The final begins: what was measured in screening does not count in it.
  void drop_samples_of_configs();
  void lose_all();  ///< with the measurer

  /// All trials that are due, and with them all samples of the baselines so far: a recorded config
  /// can always be compared. They are then no longer due, and their samples are gone from here.
  /// `phase`: of the baselines. Adds the configs among them that were never taken before to
  /// `new_configs`.
  std::vector<Trial> take_due(Stage phase, std::int64_t& new_configs);

  /// Whose energy is worth its seconds: configs of the final, cublas, and the fastest algorithm.
  std::vector<std::string> worth_weighing() const;

 private:
  std::map<std::string, Racer> racers_;  ///< by label
};

}  // namespace hgemm
