// One shape's race: from making candidates ready to the last record. Private to the module.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tune/tune.h"

namespace hgemm {

/// Thrown where `stop` said so.
struct Stopped {};

/// What the shapes of one call of tune() share.
struct TuneContext {
  const TunePlan& plan;
  Measurer& measurer;
  Store& store;
  TuneListener& listener;
  const std::function<bool()>& stop;
  std::int64_t run = 0;
  std::int64_t recorded = 0;  ///< configs' trials

  void poll_stop() const {
    if (stop && stop()) throw Stopped();
  }
};

/// The measurer may be lost at any step and then holds nothing any more. Whoever is to blame ends
/// there; make_ready() brings back what the next step needs.
class ShapeRace {
 public:
  ShapeRace(TuneContext& context, const Shape& shape) : context_(context), shape_(shape) {}

  void add(const Build& build);  ///< must outlive the race
  void add_failed(const std::string& label, Status status, const std::string& message);
  int configs_alive() const;  ///< that have not ended

  /// Opens the shape if there is anything to measure. Throws InputError if it does not fit.
  void open();
  /// From preparing the candidates to the record of the winner.
  void run();

 private:
  struct Candidate {
    Trial trial;                   ///< its samples: those not recorded yet
    const Build* build = nullptr;  ///< of a config
    bool ready = false;            ///< the measurer holds it, verified
    bool ended = false;
    bool recorded = false;  ///< as ended
  };

  void make_ready();
  void prepare_waiting();
  void prepare(Candidate& candidate);

  std::map<std::string, Sample> measure(const std::vector<std::string>& order);
  std::optional<Sample> measure_alone(const std::string& label);

  void lost();
  void lost_unexplained(const MeasurerLost& loss);
  void lost_to(Candidate& culprit, const MeasurerLost& loss);
  void fail(Candidate& candidate, Status status, const std::string& message);
  void finish(Candidate& candidate);
  void forget(const std::string& label);
  void commit();

  TuneContext& context_;
  Shape shape_;
  std::map<std::string, Candidate> candidates_;  ///< by label; baselines too
  std::optional<std::int64_t> race_;             ///< its id in the store, from the first commit on
  Stage phase_ = Stage::kNone;
  bool open_ = false;
  bool settled_ = false;
  /// Once a round was lost, every label is measured by a call of its own, so that the next loss has
  /// a culprit. The samples stay comparable: the order is the same, only pauses grow.
  bool one_by_one_ = false;
  int unexplained_losses_ = 0;  ///< in a row
};

}  // namespace hgemm
