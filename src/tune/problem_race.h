// One race of one problem in one regime, from preparing candidates to the last record. Private to
// the module.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/referee.h"
#include "tune/context.h"
#include "tune/race_progress.h"
#include "tune/race_recorder.h"
#include "tune/roster.h"

namespace hgemm {

/// Runs a race. The measurer may be lost at any step, and its state with it. The candidate that
/// caused the loss ends there; make_ready() restores what the next step needs.
class ProblemRace {
 public:
  ProblemRace(GpuContext& context, const RaceToCome& race, const Terms& terms);
  ~ProblemRace();
  ProblemRace(const ProblemRace&) = delete;
  ProblemRace& operator=(const ProblemRace&) = delete;

  Roster& roster() { return roster_; }

  /// Opens the problem if there is anything to measure. Throws DoesNotFit.
  void open();
  /// Runs the race, from preparing the candidates to recording the winner. Throws DoesNotFit if a
  /// problem cannot be opened again after a loss; candidates that have ended are recorded.
  void run();

 private:
  using Samples = std::map<std::string, Sample>;  ///< of one round, by label

  void admit_baselines(const Measurer::Opened& opened);
  Racer& add_baseline(const std::string& label);
  void end_hopeless_peer(const std::string& culprit);
  void poll() const;
  void wait_for_turn();
  void make_ready();
  void load();
  void prepare_waiting();
  void prepare(const std::string& label);
  void forget(const std::string& label);

  RacePolicy policy() const;
  bool is_over(const Referee& referee) const;
  bool is_late() const;
  Pace pace() const;
  void settle();

  std::vector<Samples> measure(Referee& referee);
  std::optional<std::vector<Samples>> measure_at_once(const std::vector<std::string>& order,
                                                      const Referee& referee);
  std::vector<Samples> measure_one_by_one(const std::vector<std::string>& order,
                                          const Referee& referee);
  void measure_together(std::span<const std::string> labels, std::vector<Samples>& rounds);
  bool is_in_parts(const std::vector<std::string>& order) const;
  void end_part(const Samples& so_far, std::size_t done, std::size_t total, const Referee& referee);
  void end_round(Samples& samples, Referee& referee);
  void take(const std::string& label, Sample sample);

  void weigh();
  void time_calls();
  bool do_alone(const std::string& label, const std::function<void()>& step);

  void lost();
  void blame(const std::string& label, const MeasurerLost& loss);
  void lost_unexplained(const MeasurerLost& loss);
  void lost_to(const std::string& label, const MeasurerLost& loss);
  void go_on_unless(const std::optional<std::string>& reason_to_give_up);

  void record() { recorder_.record(roster_, progress_.phase()); }
  void warn_of_faults();

  GpuContext& context_;
  GemmProblem problem_;
  Regime regime_;
  Weighed weighed_;
  bool to_the_end_;
  Terms terms_;
  Roster roster_;
  RaceRecorder recorder_;
  RaceProgress progress_;

  // State of the measurer.
  bool open_ = false;
  std::optional<Pace> settled_for_;   ///< none: not since the problem was opened
  std::optional<bool> power_capped_;  ///< at full load; none: not known yet
  /// Set when a round was lost without a culprit: from then on every label is measured by a call of
  /// its own, so that the next loss has a culprit. The samples stay comparable, because the order
  /// is the same and only the pauses grow.
  bool one_by_one_ = false;

  /// Labels whose sample of the round under way was already taken.
  std::set<std::string> taken_early_;
  std::uint64_t clock_events_ = 0;  ///< of all samples
};

}  // namespace hgemm
