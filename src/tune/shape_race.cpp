#include "tune/shape_race.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
#include <span>
#include <utility>

#include "base/error.h"
#include "measure/protocol.h"
#include "space/label.h"
#include "statistics/statistics.h"

namespace hgemm {
namespace {

/// So many candidates in a row that each took the measurer down, and nothing that worked in
/// between: then the GPU is suspect rather than they.
constexpr std::size_t kMaxBlamed = 8;

/// Candidates of a round that are measured in one go where a round may be in parts: 64 samples of
/// 16384^3 with their rest take three seconds.
constexpr std::size_t kRestedPart = 64;

}  // namespace

void ShapeRace::add(const Build& build) {
  const std::string name = label(build.config);
  if (build.status != Status::kOk) {
    add_failed(name, build.status, build.message);
    return;
  }
  Candidate& candidate = candidates_[name];
  candidate.trial.label = name;
  candidate.build = &build;
}

void ShapeRace::add_failed(const std::string& label, Status status, const std::string& message) {
  Candidate& candidate = candidates_[label];
  candidate.trial.label = label;
  fail(candidate, status, message);
}

int ShapeRace::configs_alive() const {
  return static_cast<int>(std::ranges::count_if(candidates_, [](const auto& item) {
    return !item.second.ended && !is_baseline(item.first);
  }));
}

void ShapeRace::open() {
  while (!open_ && configs_alive() > 0) {
    Measurer::Opened opened;
    try {
      opened = context_.measurer.open(shape_, context_.plan.policy.seed, ended_baselines(),
                                      terms_.effort);
    } catch (const MeasurerLost& loss) {
      // Its first launch: nothing may be known of it yet.
      if (is_cublaslt(loss.culprit)) candidates_[loss.culprit].trial.label = loss.culprit;
      blame(loss.culprit, loss);
      continue;
    } catch (const InputError& error) {
      throw DoesNotFit{error.what()};
    }
    open_ = true;
    timing_ = opened.timing;
    for (std::size_t i = 0; i < opened.baselines.size(); ++i) {
      Candidate& baseline = candidates_[opened.baselines[i]];
      const Prepared& prepared = opened.prepared.at(i);
      baseline.trial.label = opened.baselines[i];
      baseline.trial.verdict = prepared.verdict;
      baseline.ready = prepared.status == Status::kOk;
      if (baseline.ready) {
        baseline.trial.message = prepared.message;
      } else if (baseline.trial.label != kCublasLabel) {
        fail(baseline, prepared.status, prepared.message);
      } else {
        throw Error(
            fmt::format("cublas itself ended with {} at {}: {}; nothing can be compared "
                        "with it, see `hgemm-tune doctor`",
                        to_string(prepared.status), to_string(shape_), prepared.message));
      }
    }
  }
}

void ShapeRace::run() {
  commit();
  load();
  std::vector<std::string> racers;
  for (const auto& [label, candidate] : candidates_) {
    if (!candidate.ended) racers.push_back(label);
  }
  Referee referee(racers, policy());
  const auto over = [&] { return referee.finished() || configs_alive() == 0; };
  while (!over() && !is_late()) {
    context_.poll();
    phase_ = referee.phase();
    for (Samples& samples : measure(referee)) {
      if (!over()) end_round(samples, referee);
    }
  }
  for (auto& [label, candidate] : candidates_) {
    if (!candidate.ended) reach(candidate, phase_);
  }
  commit();  // before the windows of seconds, in which a lot can happen
  const bool weighs = context_.plan.energy && regime_ == Regime::kSustained;
  if (weighs && configs_alive() > 0) weigh();
  warn_of_faults();
}

/// To so many seconds of its parts. It does not go back where steps are taken again after a loss,
/// or more than was thought is still to come.
void ShapeRace::advance(double race_s) {
  share_ = std::max(share_, outlook_.share(race_s));
  context_.listener.advanced(share_);
}

/// Of a round in parts. Who is sure to leave does so now, and is recorded: a kill in the midst of a
/// round, which may take minutes, costs only who might have stayed. The measurer forgets them when
/// the round has ended: should it be lost then, make_ready() comes next.
void ShapeRace::end_part(const Samples& so_far, std::size_t done, std::size_t total,
                         const Referee& referee) {
  const std::set<std::string> leaving = referee.sure_to_leave(so_far);
  for (const auto& [label, sample] : so_far) {
    const bool leaves = leaving.contains(label);
    const bool wanted = leaves || (is_baseline(label) && !leaving.empty());
    if (!wanted || !taken_early_.insert(label).second) continue;
    take(label, sample);
    if (leaves) leave(label);
  }
  commit();
  const double of_round = static_cast<double>(done) / static_cast<double>(total);
  advance(outlook_.parts.when_raced(phase_, phase_rounds_ + of_round));
  context_.listener.measuring(static_cast<int>(done), static_cast<int>(total));
  context_.poll();
}

void ShapeRace::leave(const std::string& label) {
  Candidate& candidate = candidates_.at(label);
  reach(candidate, Stage::kScreen);
  candidate.ended = true;
}

void ShapeRace::end_round(Samples& samples, Referee& referee) {
  for (const std::string& label : taken_early_) {
    if (candidates_.at(label).ended) forget(label);
  }
  // Who failed after its sample, as it was made ready again, has none; nor who left in the round
  // that was measured with this one, or in a part of this one.
  std::erase_if(samples, [&](const auto& item) { return candidates_.at(item.first).ended; });
  for (const auto& [label, sample] : samples) {
    if (!taken_early_.contains(label)) take(label, sample);
  }
  taken_early_.clear();
  ++rounds_;
  ++phase_rounds_;
  const auto eliminated = referee.end_round(samples);
  for (const std::string& label : eliminated) leave(label);
  if (phase_ == Stage::kScreen && phase_rounds_ == 1) {  // how many stay is known from now on
    const auto stay =
        std::ranges::count_if(candidates_, [](const auto& item) { return !item.second.ended; });
    RaceParts& parts = outlook_.parts;
    parts.later_round_s =
        parts.first_round_s * static_cast<double>(stay) / static_cast<double>(candidates_.size());
  }
  commit();
  for (const std::string& label : eliminated) forget(label);
  if (referee.phase() != phase_) {
    for (auto& [label, candidate] : candidates_) {
      if (!is_baseline(label)) candidate.trial.samples.clear();  // screening does not count
    }
    phase_rounds_ = 0;
  }
  advance(outlook_.parts.when_raced(referee.phase(), phase_rounds_));
  context_.listener.racing(rounds_, configs_alive(), referee.standing().leader,
                           referee.standing().ratio_cublas);
}

/// A sample of the round under way.
void ShapeRace::take(const std::string& label, Sample sample) {
  Candidate& candidate = candidates_.at(label);
  sample.round = rounds_ + 1;
  if (phase_ == Stage::kFinal) candidate.final_times_us.push_back(sample.time_us);
  clock_events_ |= sample.clock_events.value_or(0);
  candidate.trial.samples.push_back(std::move(sample));
}

// ---- Making ready ----

/// Opens, prepares and settles whatever the last loss or a new pace has undone. Each pass either
/// succeeds, ends the culprit of a loss, or counts towards giving up.
void ShapeRace::make_ready() {
  while (settled_for_ != pace() && configs_alive() > 0) {
    load();
    if (configs_alive() == 0) return;
    try {
      settle();
    } catch (const MeasurerLost& loss) {
      lost_unexplained(loss);
    }
  }
}

/// Brings everyone into the measurer who has not ended.
void ShapeRace::load() {
  try {
    do {
      open();
      prepare_waiting();
    } while (!open_ && configs_alive() > 0);
  } catch (...) {
    end_attempts();  // we are alive, so the machine is: nobody took it down
    throw;
  }
  end_attempts();
}

/// Not to be launched again: they were slower, or took the measurer down.
std::set<std::string> ShapeRace::ended_baselines() const {
  std::set<std::string> labels;
  for (const auto& [label, candidate] : candidates_) {
    if (candidate.ended && is_baseline(label)) labels.insert(label);
  }
  return labels;
}

void ShapeRace::prepare_waiting() {
  const auto waits = [](const Candidate& candidate) {
    return candidate.build && !candidate.ended && !candidate.ready;
  };
  const auto total =
      std::ranges::count_if(candidates_, [&](const auto& item) { return waits(item.second); });
  int done = 0;
  for (auto& [label, candidate] : candidates_) {
    if (!open_) return;
    if (!waits(candidate)) continue;
    context_.poll();
    prepare(candidate);
    ++done;
    advance(outlook_.parts.when_prepared(done / static_cast<double>(total)));
    context_.listener.preparing(done, static_cast<int>(total));
  }
}

/// What was verified before the measurer was lost is only loaded again.
void ShapeRace::prepare(Candidate& candidate) {
  const std::string name = label(candidate.build->config);
  const bool again = candidate.estimate_us.has_value();
  Prepared prepared;
  try {
    if (again) {
      prepared = context_.measurer.restore(*candidate.build, *candidate.estimate_us);
    } else {
      context_.store.begin_attempt(context_.run, shape_, name);
      attempting_ = true;
      prepared = context_.measurer.prepare(*candidate.build);
    }
  } catch (const MeasurerLost& loss) {
    lost_to(name, loss);
    return;
  }
  candidate.ready = prepared.status == Status::kOk;
  if (!candidate.ready || !again) candidate.trial.verdict = prepared.verdict;
  if (!candidate.ready) {
    fail(candidate, prepared.status, prepared.message);
    commit();
    forget(name);
  } else if (!again) {
    candidate.estimate_us = prepared.estimate_us;
    context_.blamed.clear();
  }
}

void ShapeRace::end_attempts() {
  if (std::exchange(attempting_, false)) context_.store.end_attempts(context_.run);
}

RacePolicy ShapeRace::policy() const {
  RacePolicy policy = context_.plan.policy;
  if (terms_.effort == Effort::kBrief) policy = in_brief(policy, terms_.visits);
  if (may_be_capped(shape_, regime_)) {
    policy.finalists = std::min(policy.finalists, policy.own_finalists);
    policy.lt_finalists = std::min(policy.lt_finalists, policy.own_lt_finalists);
    policy.min_rounds = std::min(policy.min_rounds, policy.own_min_rounds);
  }
  return policy;
}

/// The time is over, and there are rounds for an interval: what a race takes can only be guessed.
bool ShapeRace::is_late() const {
  return terms_.effort == Effort::kBrief && phase_ == Stage::kFinal && terms_.until &&
         phase_rounds_ >= in_brief(context_.plan.policy).min_rounds &&
         std::chrono::steady_clock::now() >= *terms_.until;
}

/// Of the next round; measure/protocol.h says why.
Pace ShapeRace::pace() const {
  if (regime_ == Regime::kBurst) return Pace::kRested;
  if (!may_be_capped(shape_, regime_)) return Pace::kShared;
  if (phase_ != Stage::kFinal) return Pace::kRested;
  return power_capped_.value_or(true) ? Pace::kOwn : Pace::kShared;
}

/// What settling for the own pace finds may call for the shared one.
void ShapeRace::settle() {
  while (settled_for_ != pace()) {
    const Pace next = pace();
    const Measurer::Settled found = context_.measurer.settle(next);
    settled_for_ = next;
    if (next != Pace::kOwn) continue;
    // Once for all: a race changes its pace with its phase only.
    if (!power_capped_) power_capped_ = found.power_capped;
    settled_for_ = pace();  // full load is what the shared pace needs too
  }
}

// ---- Measuring ----

/// The next rounds. Who fails in them is left out. Rested samples stand alone, so that a round of
/// thousands, minutes at large shapes, can be in parts.
std::vector<ShapeRace::Samples> ShapeRace::measure(Referee& referee) {
  std::vector<std::string> order = referee.next_round();
  const bool in_parts = pace() == Pace::kRested && order.size() > kRestedPart;
  // What is recorded of a part can be compared: the baselines are in the first one.
  if (in_parts) std::ranges::stable_partition(order, is_baseline);
  const std::size_t part_size = in_parts ? kRestedPart : std::max<std::size_t>(order.size(), 1);
  std::vector<Samples> rounds;
  while (!one_by_one_) {
    make_ready();
    if (configs_alive() == 0) return {};
    try {
      rounds.clear();
      const std::vector<std::string> labels = ready_of(order);
      for (std::size_t done = 0; done < labels.size();) {
        const auto part = std::span(labels).subspan(done);
        done += measure_together(part.first(std::min(part_size, part.size())), rounds);
        if (in_parts) end_part(rounds.front(), done, labels.size(), referee);
      }
      worked();
      return rounds;
    } catch (const MeasurerLost& loss) {
      if (!loss.culprit.empty()) {
        blame(loss.culprit, loss);
      } else {
        lost();
        one_by_one_ = true;
      }
      // Who left in it keeps its samples; the others' are taken again, in a round of their own.
      if (!taken_early_.empty()) ++rounds_;
      taken_early_.clear();
    }
  }
  rounds.clear();
  for (std::size_t done = 0; done < order.size();) {
    const std::string& label = order[done++];
    if (candidates_.at(label).ended) continue;
    do_alone(label, [&] { measure_together(std::span(&label, 1), rounds); });
    if (in_parts && done % kRestedPart == 0 && !rounds.empty()) {
      end_part(rounds.front(), done, order.size(), referee);
    }
  }
  return rounds;
}

std::vector<std::string> ShapeRace::ready_of(const std::vector<std::string>& order) const {
  std::vector<std::string> labels;
  std::ranges::copy_if(order, std::back_inserter(labels),
                       [this](const auto& label) { return candidates_.at(label).ready; });
  return labels;
}

/// Adds the labels' samples to their rounds, and returns how many labels there were.
std::size_t ShapeRace::measure_together(std::span<const std::string> labels,
                                        std::vector<Samples>& rounds) {
  const auto timed = context_.measurer.rounds(labels, pace());
  rounds.resize(timed.size());
  for (std::size_t round = 0; round < timed.size(); ++round) {
    for (std::size_t i = 0; i < labels.size(); ++i) rounds[round][labels[i]] = timed[round].at(i);
  }
  return labels.size();
}

/// Energy of who reached the end, and of what it is compared with; each is recorded at once.
void ShapeRace::weigh() {
  std::vector<std::string> labels = worth_weighing();
  std::mt19937_64 random(context_.plan.policy.seed);
  std::shuffle(labels.begin(), labels.end(), random);
  for (int done = 0; const std::string& label : labels) {
    if (!context_.has_energy_counter) return;
    context_.poll();
    Candidate& candidate = candidates_.at(label);
    std::optional<Energy>& energy = candidate.trial.energy;
    if (do_alone(label, [&] { energy = context_.measurer.energy(label); })) {
      if (!energy) {
        context_.has_energy_counter = false;
        context_.listener.warning(
            "this GPU has no energy counter that counts: no joules are measured");
        return;
      }
      candidate.due = true;
      commit();
    }
    ++done;
    advance(outlook_.parts.when_weighed(done / static_cast<double>(labels.size())));
    context_.listener.weighing(done, static_cast<int>(labels.size()));
  }
}

std::vector<std::string> ShapeRace::worth_weighing() const {
  std::vector<std::string> labels;
  const std::string* fastest_lt = nullptr;
  const auto time_us = [this](const std::string& label) {
    return median(candidates_.at(label).final_times_us);
  };
  for (const auto& [label, candidate] : candidates_) {
    if (candidate.ended || candidate.final_times_us.empty()) continue;
    if (!is_cublaslt(label)) {
      labels.push_back(label);
    } else if (!fastest_lt || time_us(label) < time_us(*fastest_lt)) {
      fastest_lt = &label;
    }
  }
  if (fastest_lt) labels.push_back(*fastest_lt);
  return labels;
}

/// Runs a step that involves this label alone, again after losses that are not its doing. False if
/// the label, or the last config, has ended.
bool ShapeRace::do_alone(const std::string& label, const std::function<void()>& step) {
  for (;;) {
    make_ready();
    if (!candidates_.at(label).ready || configs_alive() == 0) return false;
    try {
      step();
      worked();
      return true;
    } catch (const MeasurerLost& loss) {
      blame(loss.culprit.empty() ? label : loss.culprit, loss);
    }
  }
}

// ---- Losses ----

void ShapeRace::worked() {
  unexplained_losses_ = 0;
  context_.blamed.clear();
}

void ShapeRace::lost() {
  open_ = false;
  settled_for_.reset();
  for (auto& [label, candidate] : candidates_) candidate.ready = false;
}

/// cublas must stay: without it there are no ratios.
void ShapeRace::blame(const std::string& label, const MeasurerLost& loss) {
  const auto found = candidates_.find(label);
  if (label == kCublasLabel || found == candidates_.end() || found->second.ended) {
    lost_unexplained(loss);
  } else {
    lost_to(label, loss);
  }
}

void ShapeRace::lost_unexplained(const MeasurerLost& loss) {
  lost();
  if (++unexplained_losses_ < 2) return;
  give_up(fmt::format(
      "the GPU worker was lost twice in a row at {} with no kernel to blame: {}; what has ended is "
      "recorded. Check the GPU with `hgemm-tune doctor`, then run the same command to go on",
      to_string(shape_), loss.what()));
}

/// Recorded before anything is tried again: should the machine go down with it, the next call does
/// not walk into the same kernel. But a race has its timing from the start: while that is not
/// known, only baselines can be to blame, and their record waits.
void ShapeRace::lost_to(const std::string& label, const MeasurerLost& loss) {
  lost();
  unexplained_losses_ = 0;
  Candidate& culprit = candidates_.at(label);
  const std::string& algorithm = culprit.trial.message;
  fail(culprit, loss.status,
       algorithm.empty() ? loss.what() : fmt::format("{}: {}", algorithm, loss.what()));
  if (timing_) commit();

  auto& blamed = context_.blamed;
  blamed.push_back(fmt::format("{} at {} ({})", label, to_string(shape_), loss.what()));
  if (blamed.size() < kMaxBlamed) return;
  give_up(fmt::format(
      "the GPU worker was lost to {} candidates in a row, and nothing worked in between: {}. They "
      "are recorded as such and not tried again, but the GPU itself may be at fault. Check it with "
      "`hgemm-tune doctor`, then run the same command to go on with the others",
      blamed.size(), fmt::join(blamed, "; ")));
}

void ShapeRace::give_up(const std::string& why) {
  commit();
  throw Error(why);
}

// ---- Ends ----

void ShapeRace::fail(Candidate& candidate, Status status, const std::string& message) {
  candidate.trial.status = status;
  candidate.trial.message = message;
  candidate.trial.stage = std::min(phase_, Stage::kScreen);  // kFinal: measured to the end
  candidate.ended = true;
  candidate.due = true;
  candidate.ready = false;
}

void ShapeRace::reach(Candidate& candidate, Stage stage) {
  candidate.trial.stage = stage;
  candidate.due = true;
}

void ShapeRace::forget(const std::string& label) {
  if (!open_ || is_baseline(label)) return;
  try {
    context_.measurer.forget(label);
  } catch (const MeasurerLost& loss) {
    lost_unexplained(loss);
  }
}

/// Records, in one transaction, who is due, and with them all samples of the baselines so far: a
/// recorded candidate can always be compared.
void ShapeRace::commit() {
  std::vector<Trial> trials;
  for (auto& [label, candidate] : candidates_) {
    if (!std::exchange(candidate.due, false)) continue;
    if (!std::exchange(candidate.counted, true) && !is_baseline(label)) ++context_.recorded;
    trials.push_back(candidate.trial);
    candidate.trial.samples.clear();
  }
  if (trials.empty()) return;
  for (auto& [label, candidate] : candidates_) {
    if (candidate.ended || !is_baseline(label) || candidate.trial.samples.empty()) continue;
    candidate.trial.stage = phase_;
    trials.push_back(candidate.trial);
    candidate.trial.samples.clear();
  }
  if (!race_) {
    race_ = context_.store.begin_race(context_.run, shape_, regime_, timing_.value_or(Timing{}));
  }
  context_.store.record(*race_, trials);
}

void ShapeRace::warn_of_faults() const {
  const std::uint64_t faults = clock_events_ & clock_event::kFault;
  if (faults == 0) return;
  context_.listener.warning(fmt::format(
      "{} ({}): cooling or power supply held the clocks back ({}); the times are kept "
      "and flagged, but they are not what this GPU can do when it is cooled and powered "
      "properly",
      to_string(shape_), to_string(regime_), clock_event_names(faults)));
}

}  // namespace hgemm
