// The candidates of a race: how far each has come, and which trials are still to be recorded.
// Private to the module.
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
  Trial trial;                        ///< with the samples that are not recorded yet
  const Build* build = nullptr;       ///< for a config that compiled
  std::optional<double> estimate_us;  ///< for a config, once it was verified
  bool ready = false;                 ///< the measurer holds it
  bool ended = false;                 ///< takes no part any more
  /// Must be recorded: it ended, was measured to the end, or has an energy.
  bool due = false;
  bool counted = false;                ///< counted among the recorded configs
  std::vector<double> final_times_us;  ///< from all its final rounds

  bool waits() const { return build && !ended && !ready; }  ///< must be made ready
};

class Roster {
 public:
  void add(const Build& build);  ///< `build` must outlive the roster
  /// Adds a candidate that ended before the race.
  void add_failed(const std::string& label, const std::string& kernel_id, Status status,
                  const std::string& message);
  Racer& add_baseline(const std::string& label);

  Racer& at(const std::string& label) { return racers_.at(label); }
  const Racer& at(const std::string& label) const { return racers_.at(label); }
  bool takes_part(const std::string& label) const;  ///< is known, and has not ended

  std::size_t size() const { return racers_.size(); }
  int configs_alive() const;  ///< number of configs that have not ended
  /// Labels that have not ended, including baselines.
  std::vector<std::string> alive() const;
  std::vector<std::string> waiting() const;       ///< labels that must be made ready
  std::set<std::string> ended_baselines() const;  ///< these must not be launched again
  /// Number of variants of a peer, "peer.<name>", that crashed or hung.
  int lost_to_variants_of(const std::string& peer) const;
  std::vector<std::string> ready_of(const std::vector<std::string>& labels) const;

  /// Ends a candidate in this phase of the race with a status other than ok.
  void fail(const std::string& label, Stage phase, Status status, const std::string& message);
  void eliminate(const std::string& label);  ///< ends it as slower; its trial reached screening
  void finish(Stage phase);                  ///< ends the race for all that are left
  /// The final begins; samples of screening do not count in it.
  void drop_samples_of_configs();
  void lose_all();  ///< call it when the measurer is lost

  /// Takes all trials that are due, with all samples of the baselines so far, so that a recorded
  /// config can always be compared. Afterwards they are not due, and their samples are not held
  /// here any more. `phase`: the phase that is recorded for the baselines. Adds to `new_configs`
  /// the number of configs among them that were never taken before.
  std::vector<Trial> take_due(Stage phase, std::int64_t& new_configs);

  /// Labels of the final whose energy or calls are worth measuring: configs, cublas, the fastest
  /// cuBLASLt algorithm, and the fastest variant of each peer.
  std::vector<std::string> ahead() const;
  /// The same with the fastest config alone.
  std::vector<std::string> winner_and_baselines() const;

 private:
  double final_us(const std::string& label) const;
  /// As tables rank configs: by ratio to cublas, round by round.
  double final_speed(const std::string& label) const;

  std::map<std::string, Racer> racers_;  ///< by label
};

}  // namespace hgemm
