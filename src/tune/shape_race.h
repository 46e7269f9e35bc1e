// One race, of one shape in one regime: from making candidates ready to the last record. Private to
// the module.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tune/compile_ahead.h"
#include "tune/stop.h"
#include "tune/time_plan.h"
#include "tune/tune.h"

namespace hgemm {

/// Thrown where the GPU cannot hold the shape, or no longer.
struct DoesNotFit {
  std::string reason;
};

/// What the races of one call of tune() share.
struct TuneContext {
  const TunePlan& plan;
  Measurer& measurer;
  Store& store;
  TuneListener& listener;
  const std::function<bool()>& stop;
  std::int64_t run = 0;
  std::int64_t recorded = 0;             ///< configs' trials
  std::vector<std::string> blamed = {};  ///< for losses in a row; nothing worked in between
  bool has_energy_counter = true;        ///< as far as is known

  CompileAhead* compiling = nullptr;  ///< none yet

  /// Between steps: takes over what was compiled meanwhile.
  void poll() const;
};

/// The measurer may be lost at any step and then holds nothing any more. Whoever is to blame ends
/// there; make_ready() brings back what the next step needs.
class ShapeRace {
 public:
  ShapeRace(TuneContext& context, const Shape& shape, Regime regime, const Terms& terms,
            const Outlook& outlook)
      : context_(context), shape_(shape), regime_(regime), terms_(terms), outlook_(outlook) {}

  void add(const Build& build);  ///< must outlive the race
  void add_failed(const std::string& label, Status status, const std::string& message);
  int configs_alive() const;  ///< that have not ended

  /// Opens the shape if there is anything to measure. Throws DoesNotFit.
  void open();
  /// From preparing the candidates to the record of the winner. Throws DoesNotFit if a shape that
  /// was lost cannot be opened again; who has ended is recorded.
  void run();

 private:
  struct Candidate {
    Trial trial;                        ///< its samples: those not recorded yet
    const Build* build = nullptr;       ///< of a config
    std::optional<double> estimate_us;  ///< of a config, once it was verified
    bool ready = false;                 ///< the measurer holds it
    bool ended = false;                 ///< takes part no more
    bool due = false;      ///< to be recorded: it has ended, was measured to the end or weighed
    bool counted = false;  ///< among those recorded
    std::vector<double> final_times_us;
  };

  void make_ready();
  void load();
  std::set<std::string> ended_baselines() const;
  void prepare_waiting();
  void prepare(Candidate& candidate);
  void end_attempts();

  RacePolicy policy() const;
  bool is_late() const;
  Pace pace() const;
  void settle();

  using Samples = std::map<std::string, Sample>;  ///< of a round, by label
  std::vector<Samples> measure(Referee& referee);
  std::vector<std::string> ready_of(const std::vector<std::string>& order) const;
  std::size_t measure_together(std::span<const std::string> labels, std::vector<Samples>& rounds);
  void end_part(const Samples& so_far, std::size_t done, std::size_t total, const Referee& referee);
  void end_round(Samples& samples, Referee& referee);
  void take(const std::string& label, Sample sample);
  void weigh();
  std::vector<std::string> worth_weighing() const;
  bool do_alone(const std::string& label, const std::function<void()>& step);

  void worked();
  void lost();
  void blame(const std::string& label, const MeasurerLost& loss);
  void lost_unexplained(const MeasurerLost& loss);
  void lost_to(const std::string& label, const MeasurerLost& loss);
  [[noreturn]] void give_up(const std::string& why);
  void fail(Candidate& candidate, Status status, const std::string& message);
  static void reach(Candidate& candidate, Stage stage);
  void leave(const std::string& label);  ///< eliminated in screening
  void forget(const std::string& label);
  void commit();
  void warn_of_faults() const;
  void advance(double race_s);

  TuneContext& context_;
  Shape shape_;
  Regime regime_;
  Terms terms_;
  Outlook outlook_;
  std::optional<Timing> timing_;                 ///< once the shape was opened
  std::map<std::string, Candidate> candidates_;  ///< by label; baselines too
  std::optional<std::int64_t> race_;             ///< its id in the store, from the first commit on
  double share_ = 0;                             ///< of the tune that is over
  Stage phase_ = Stage::kNone;
  int phase_rounds_ = 0;               ///< of it, that have ended
  int rounds_ = 0;                     ///< that have ended, or were lost after some had left
  std::set<std::string> taken_early_;  ///< whose sample of the round under way is taken already
  bool open_ = false;
  bool attempting_ = false;           ///< the store has a note of it
  std::optional<Pace> settled_for_;   ///< none: not since the shape was opened
  std::optional<bool> power_capped_;  ///< at full load, once that is known
  /// Once a round was lost and nobody knows to whom, every label is measured by a call of its own,
  /// so that the next loss has a culprit. The samples stay comparable: the order is the same, only
  /// pauses grow.
  bool one_by_one_ = false;
  int unexplained_losses_ = 0;      ///< in a row
  std::uint64_t clock_events_ = 0;  ///< of all samples
};

}  // namespace hgemm
