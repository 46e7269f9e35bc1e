// One race, of one problem in one regime: from making candidates ready to the last record. Private
// to the module.
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

/// The measurer may be lost at any step and then holds nothing any more. Whichever candidate is to
/// blame ends there; make_ready() brings back what the next step needs.
class ProblemRace {
 public:
  ProblemRace(TuneContext& context, const GemmProblem& problem, Regime regime, const Terms& terms,
              const Outlook& outlook);

  Roster& roster() { return roster_; }

  /// Opens the problem if there is anything to measure. Throws DoesNotFit.
  void open();
  /// From preparing the candidates to the record of the winner. Throws DoesNotFit if a problem that
  /// was lost cannot be opened again; what has ended is recorded.
  void run();

 private:
  using Samples = std::map<std::string, Sample>;  ///< of a round, by label

  void admit_baselines(const Measurer::Opened& opened);
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

  bool wants_energy() const;
  void weigh();
  bool do_alone(const std::string& label, const std::function<void()>& step);

  void lost();
  void blame(const std::string& label, const MeasurerLost& loss);
  void lost_unexplained(const MeasurerLost& loss);
  void lost_to(const std::string& label, const MeasurerLost& loss);
  void go_on_unless(const std::optional<std::string>& reason_to_give_up);

  void record() { recorder_.record(roster_, progress_.phase()); }
  void warn_of_faults() const;

  TuneContext& context_;
  GemmProblem problem_;
  Regime regime_;
  Terms terms_;
  Roster roster_;
  RaceRecorder recorder_;
  RaceProgress progress_;

  // The measurer's state.
  bool open_ = false;
  std::optional<Pace> settled_for_;   ///< none: not since the problem was opened
  std::optional<bool> power_capped_;  ///< at full load, once that is known
  /// Once a round was lost and nobody knows to whom, every label is measured by a call of its own,
  /// so that the next loss has a culprit. The samples stay comparable: the order is the same, only
  /// pauses grow.
  bool one_by_one_ = false;

  std::set<std::string> taken_early_;  ///< whose sample of the round under way is taken already
  std::uint64_t clock_events_ = 0;     ///< of all samples
};

}  // namespace hgemm
