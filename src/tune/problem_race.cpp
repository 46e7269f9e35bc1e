#include "tune/problem_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/error.h"
#include "device/protocol.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

/// Number of candidates that are measured by one call in a round that may be taken in parts: 64
/// samples of 16384^3 with their rest take three seconds.
constexpr std::size_t kRestedPart = 64;

/// Variants of a peer that may take the measurer down at a problem before the others are left out.
constexpr int kMostLossesOfPeer = 3;

}  // namespace

ProblemRace::ProblemRace(GpuContext& context, const RaceToCome& race, const Terms& terms)
    : context_(context),
      problem_(race.problem),
      regime_(race.regime),
      weighed_(race.weighed),
      to_the_end_(race.to_the_end),
      terms_(terms),
      recorder_(context, race.problem, race.regime),
      progress_(context, parts_of(race, terms)) {
  context.losses.race_begins();
  context.turns.race_begins(context.gpu);
}

ProblemRace::~ProblemRace() { context_.turns.race_ends(context_.gpu); }

void ProblemRace::run() {
  record();  // candidates that failed before the race
  load();
  Referee referee(roster_.alive(), policy());
  while (!is_over(referee) && !is_late()) {
    poll();
    progress_.begin_round(referee.phase());
    wait_for_turn();
    for (Samples& samples : measure(referee)) {
      if (!is_over(referee)) end_round(samples, referee);
    }
  }
  roster_.finish(progress_.phase());
  record();  // before the energy windows and the calls, which take seconds
  if (weighed_ != Weighed::kNothing && roster_.configs_alive() > 0) weigh();
  if (regime_ == Regime::kSingle && roster_.configs_alive() > 0) time_calls();
  warn_of_faults();
}

RacePolicy ProblemRace::policy() const {
  RacePolicy policy = context_.plan.policy;
  policy.keep_finalists |= to_the_end_;
  if (terms_.effort == Effort::kBrief) policy = in_brief(policy, terms_.visits);
  if (may_be_capped(problem_, regime_) && terms_.effort == Effort::kFull) {
    policy.finalists = std::min(policy.finalists, policy.own_finalists);
    policy.lt_finalists = std::min(policy.lt_finalists, policy.own_lt_finalists);
    policy.min_rounds = std::min(policy.min_rounds, policy.own_min_rounds);
  }
  return policy;
}

bool ProblemRace::is_over(const Referee& referee) const {
  return referee.finished() || roster_.configs_alive() == 0;
}

/// Whether the time is over and there are enough rounds for an interval; the duration of a race is
/// only an estimate.
bool ProblemRace::is_late() const {
  return terms_.effort == Effort::kBrief && progress_.phase() == Stage::kFinal && terms_.until &&
         progress_.rounds_of_phase() >= in_brief(context_.plan.policy).min_rounds &&
         std::chrono::steady_clock::now() >= *terms_.until;
}

void ProblemRace::poll() const {
  context_.shared.use([](SharedTune& tune) { tune.poll(); });
}

/// Waits while another GPU has its turn; the GPU has cooled down then. The final has a turn.
void ProblemRace::wait_for_turn() {
  const auto poll = [this] { this->poll(); };
  if (context_.turns.wait_for_others(context_.gpu, poll)) settled_for_.reset();
  if (progress_.phase() == Stage::kFinal) context_.turns.begin_turn(context_.gpu, poll);
}

// ---- Making ready ----

void ProblemRace::open() {
  while (!open_ && roster_.configs_alive() > 0) {
    Measurer::Opened opened;
    try {
      opened = context_.measurer.open(problem_, {.seed = context_.plan.policy.seed,
                                                 .without = roster_.ended_baselines(),
                                                 .effort = terms_.effort,
                                                 .regime = regime_});
    } catch (const MeasurerLost& loss) {
      // Nothing may be known of it yet: this is its first launch.
      if (is_baseline(loss.culprit) && loss.culprit != kCublasLabel) add_baseline(loss.culprit);
      blame(loss.culprit, loss);
      end_hopeless_peer(loss.culprit);
      continue;
    } catch (const InputError& error) {
      throw DoesNotFit{error.what()};
    }
    if (std::ranges::find(opened.baselines, kCublasLabel) == opened.baselines.end()) {
      const char* const known = problem_.baselines().why_none;
      throw DoesNotFit{fmt::format(
          "{}, and a race compares with a library; `hgemm-tune verify` checks kernels at it",
          known ? known : "cuBLASLt has no algorithm for it")};
    }
    open_ = true;
    recorder_.set_timing(opened.timing);
    admit_baselines(opened);
  }
}

void ProblemRace::admit_baselines(const Measurer::Opened& opened) {
  for (std::size_t i = 0; i < opened.baselines.size(); ++i) {
    const std::string& label = opened.baselines[i];
    const Prepared& prepared = opened.prepared.at(i);
    Racer& baseline = add_baseline(label);
    baseline.trial.verdict = prepared.verdict;
    baseline.ready = prepared.status == Status::kOk;
    if (baseline.ready) {
      baseline.trial.message = prepared.message;
    } else if (label != kCublasLabel) {
      roster_.fail(label, progress_.phase(), prepared.status, prepared.message);
    } else {
      throw GpuLost(
          fmt::format("cublas itself ended with {} at {}: {}; nothing can be compared with it, see "
                      "`hgemm-tune doctor`",
                      to_string(prepared.status), to_string(problem_), prepared.message));
    }
  }
}

Racer& ProblemRace::add_baseline(const std::string& label) {
  Racer& baseline = roster_.add_baseline(label);
  if (is_peer(label)) {
    const auto peer = std::ranges::find(context_.plan.peers, peer_name(label), &Peer::name);
    if (peer != context_.plan.peers.end()) baseline.trial.kernel_id = peer->identity();
  }
  return baseline;
}

/// Leaves out the other variants of a peer after some of them have taken the measurer down: each
/// costs seconds, and a GPU is given up after eight in a row.
void ProblemRace::end_hopeless_peer(const std::string& culprit) {
  if (!is_peer(culprit)) return;
  const std::string peer = std::string(kPeerPrefix) + std::string(peer_name(culprit));
  if (roster_.lost_to_variants_of(peer) < kMostLossesOfPeer || roster_.takes_part(peer)) return;
  add_baseline(peer);
  roster_.fail(peer, progress_.phase(), Status::kCrashed,
               fmt::format("{} of its variants took the worker down; the others are not tried",
                           kMostLossesOfPeer));
}

/// Opens, prepares and settles again whatever the last loss or a new pace has undone. Each pass
/// succeeds, ends the culprit of a loss, or counts towards giving up.
void ProblemRace::make_ready() {
  while (settled_for_ != pace() && roster_.configs_alive() > 0) {
    load();
    if (roster_.configs_alive() == 0) return;
    try {
      settle();
    } catch (const MeasurerLost& loss) {
      lost_unexplained(loss);
    }
  }
}

/// Loads every candidate that has not ended into the measurer.
void ProblemRace::load() {
  try {
    do {
      open();
      prepare_waiting();
    } while (!open_ && roster_.configs_alive() > 0);
  } catch (...) {
    recorder_.end_attempts();
    throw;
  }
  recorder_.end_attempts();
}

void ProblemRace::prepare_waiting() {
  const std::vector<std::string> waiting = roster_.waiting();
  for (std::size_t done = 0; const std::string& label : waiting) {
    if (!open_) return;
    poll();
    prepare(label);
    progress_.prepared(++done, waiting.size());
  }
}

/// A candidate that was verified before the measurer was lost is only loaded again.
void ProblemRace::prepare(const std::string& label) {
  Racer& racer = roster_.at(label);
  const bool again = racer.estimate_us.has_value();
  Prepared prepared;
  try {
    if (again) {
      prepared = context_.measurer.restore(*racer.build, *racer.estimate_us);
    } else {
      recorder_.begin_attempt({label, racer.trial.kernel_id});
      prepared = context_.measurer.prepare(*racer.build);
    }
  } catch (const MeasurerLost& loss) {
    lost_to(label, loss);
    return;
  }
  racer.ready = prepared.status == Status::kOk;
  if (!racer.ready || !again) racer.trial.verdict = prepared.verdict;
  if (!racer.ready) {
    roster_.fail(label, progress_.phase(), prepared.status, prepared.message);
    record();
    forget(label);
  } else if (!again) {
    racer.estimate_us = prepared.estimate_us;
    context_.losses.clear_suspicion();
  }
}

void ProblemRace::forget(const std::string& label) {
  if (!open_ || is_baseline(label)) return;
  try {
    context_.measurer.forget(label);
  } catch (const MeasurerLost& loss) {
    lost_unexplained(loss);
  }
}

/// The pace of the next round; device/protocol.h gives the reasons.
Pace ProblemRace::pace() const {
  if (regime_ == Regime::kSingle) return Pace::kSingle;
  if (regime_ == Regime::kBurst || regime_ == Regime::kChain) return Pace::kRested;
  if (!may_be_capped(problem_, regime_)) return Pace::kShared;
  if (progress_.phase() != Stage::kFinal || terms_.effort == Effort::kBrief) return Pace::kRested;
  return power_capped_.value_or(true) ? Pace::kOwn : Pace::kShared;
}

/// Settling for the own pace may find that the shared pace is the right one.
void ProblemRace::settle() {
  while (settled_for_ != pace()) {
    const Pace next = pace();
    const Measurer::Settled found = context_.measurer.settle(next);
    settled_for_ = next;
    if (next != Pace::kOwn) continue;
    // Set only once: the pace of a race changes only with its phase.
    if (!power_capped_) power_capped_ = found.power_capped;
    settled_for_ = pace();  // the shared pace needs full load too
  }
}

// ---- Measuring ----

/// Samples of the next rounds. Candidates that fail have none.
std::vector<ProblemRace::Samples> ProblemRace::measure(Referee& referee) {
  std::vector<std::string> order = referee.next_round();
  // The baselines are in the first part, so that each part can be compared when it is recorded.
  if (is_in_parts(order)) std::ranges::stable_partition(order, is_baseline);
  while (!one_by_one_) {
    if (auto rounds = measure_at_once(order, referee)) return *rounds;
  }
  return measure_one_by_one(order, referee);
}

/// Whether the round is measured in parts. A round of thousands of candidates takes minutes at
/// large problems. Only samples after idle time allow it, because they do not depend on their
/// neighbours.
bool ProblemRace::is_in_parts(const std::vector<std::string>& order) const {
  return (pace() == Pace::kRested || pace() == Pace::kSingle) && order.size() > kRestedPart;
}

/// None if the measurer was lost.
std::optional<std::vector<ProblemRace::Samples>> ProblemRace::measure_at_once(
    const std::vector<std::string>& order, const Referee& referee) {
  std::vector<Samples> rounds;
  make_ready();
  if (roster_.configs_alive() == 0) return rounds;
  const bool in_parts = is_in_parts(order);
  try {
    const std::vector<std::string> labels = roster_.ready_of(order);
    for (std::size_t done = 0; done < labels.size();) {
      const auto rest = std::span(labels).subspan(done);
      const auto part = in_parts ? rest.first(std::min(kRestedPart, rest.size())) : rest;
      measure_together(part, rounds);
      done += part.size();
      if (in_parts) end_part(rounds.front(), done, labels.size(), referee);
    }
    context_.losses.worked();
    return rounds;
  } catch (const MeasurerLost& loss) {
    if (!loss.culprit.empty()) {
      blame(loss.culprit, loss);
    } else {
      lost();
      one_by_one_ = true;
    }
    // Candidates that left in this round keep their samples; the others are sampled again in a new
    // round.
    if (!taken_early_.empty()) progress_.lose_round();
    taken_early_.clear();
    return std::nullopt;
  }
}

std::vector<ProblemRace::Samples> ProblemRace::measure_one_by_one(
    const std::vector<std::string>& order, const Referee& referee) {
  std::vector<Samples> rounds;
  const bool in_parts = is_in_parts(order);
  for (std::size_t done = 0; done < order.size();) {
    const std::string& label = order[done++];
    if (!roster_.takes_part(label)) continue;
    do_alone(label, [&] { measure_together(std::span(&label, 1), rounds); });
    if (in_parts && done % kRestedPart == 0 && !rounds.empty()) {
      end_part(rounds.front(), done, order.size(), referee);
    }
  }
  return rounds;
}

/// Adds the samples of `labels` to their rounds.
void ProblemRace::measure_together(std::span<const std::string> labels,
                                   std::vector<Samples>& rounds) {
  const auto timed = context_.measurer.rounds(labels, pace());
  rounds.resize(timed.size());
  for (std::size_t round = 0; round < timed.size(); ++round) {
    for (std::size_t i = 0; i < labels.size(); ++i) rounds[round][labels[i]] = timed[round].at(i);
  }
}

/// Ends a part of a round. Candidates that are sure to leave do so now and are recorded, so that a
/// kill during a round of minutes loses only the samples of those that might have stayed. The
/// measurer frees them at the end of the round: if it is lost before, make_ready() comes next.
void ProblemRace::end_part(const Samples& so_far, std::size_t done, std::size_t total,
                           const Referee& referee) {
  const std::set<std::string> leaving = referee.sure_to_leave(so_far);
  for (const auto& [label, sample] : so_far) {
    const bool leaves = leaving.contains(label);
    const bool wanted = leaves || (is_baseline(label) && !leaving.empty());
    if (!wanted || !taken_early_.insert(label).second) continue;
    take(label, sample);
    if (leaves) roster_.eliminate(label);
  }
  record();
  progress_.measured(done, total);
  poll();
}

void ProblemRace::end_round(Samples& samples, Referee& referee) {
  for (const std::string& label : taken_early_) {
    if (!roster_.takes_part(label)) forget(label);
  }
  // Drops samples of candidates that do not take part any more: those that failed after their
  // sample (when they were made ready again), and those that left in a part of this round, or in
  // another round that was measured with it.
  std::erase_if(samples, [&](const auto& item) { return !roster_.takes_part(item.first); });
  for (const auto& [label, sample] : samples) {
    if (!taken_early_.contains(label)) take(label, sample);
  }
  taken_early_.clear();

  const auto eliminated = referee.end_round(samples);
  for (const std::string& label : eliminated) roster_.eliminate(label);
  record();
  for (const std::string& label : eliminated) forget(label);
  if (referee.phase() != progress_.phase()) roster_.drop_samples_of_configs();
  const double staying =
      static_cast<double>(roster_.alive().size()) / static_cast<double>(roster_.size());
  progress_.end_round(staying, referee.phase(), roster_.configs_alive(), referee.standing());
}

/// Adds a sample of the round under way.
void ProblemRace::take(const std::string& label, Sample sample) {
  Racer& racer = roster_.at(label);
  sample.round = progress_.rounds() + 1;
  if (progress_.phase() == Stage::kFinal) racer.final_times_us.push_back(sample.time_us);
  clock_events_ |= sample.clock_events.value_or(0);
  racer.trial.samples.push_back(std::move(sample));
}

// ---- Energy ----

/// Measures the energy of the winner or of all finalists, and of the baselines for comparison;
/// records each at once.
void ProblemRace::weigh() {
  std::vector<std::string> labels =
      weighed_ == Weighed::kWinners ? roster_.winner_and_baselines() : roster_.ahead();
  std::mt19937_64 random(context_.plan.policy.seed);
  std::shuffle(labels.begin(), labels.end(), random);
  for (std::size_t done = 0; const std::string& label : labels) {
    if (!context_.has_energy_counter) return;
    poll();
    Racer& racer = roster_.at(label);
    std::optional<Energy>& energy = racer.trial.energy;
    if (do_alone(label, [&] { energy = context_.measurer.energy(label); })) {
      if (!energy) {
        context_.has_energy_counter = false;
        context_.tell([](TuneListener& listener) {
          listener.warning("this GPU has no energy counter that counts: no joules are measured");
        });
        return;
      }
      racer.due = true;
      record();
    }
    progress_.weighed(++done, labels.size());
  }
}

/// Times calls of the finalists and of the baselines for comparison.
void ProblemRace::time_calls() {
  for (const std::string& label : roster_.ahead()) {
    poll();
    Racer& racer = roster_.at(label);
    const auto call = [&] { racer.trial.calls = context_.measurer.calls(label); };
    if (do_alone(label, call)) racer.due = true;
  }
  record();
}

/// Runs a step that involves only this label, and repeats it after losses that the label did not
/// cause. Returns false if the label, or the last config, has ended.
bool ProblemRace::do_alone(const std::string& label, const std::function<void()>& step) {
  for (;;) {
    make_ready();
    if (!roster_.at(label).ready || roster_.configs_alive() == 0) return false;
    try {
      step();
      context_.losses.worked();
      return true;
    } catch (const MeasurerLost& loss) {
      blame(loss.culprit.empty() ? label : loss.culprit, loss);
    }
  }
}

// ---- Losses ----

void ProblemRace::lost() {
  open_ = false;
  settled_for_.reset();
  roster_.lose_all();
}

/// cublas must stay, because there are no ratios without it.
void ProblemRace::blame(const std::string& label, const MeasurerLost& loss) {
  if (label == kCublasLabel || !roster_.takes_part(label)) {
    lost_unexplained(loss);
  } else {
    lost_to(label, loss);
  }
}

void ProblemRace::lost_unexplained(const MeasurerLost& loss) {
  lost();
  go_on_unless(context_.losses.unexplained(loss, problem_));
}

/// Records the loss before anything is tried again: if the machine goes down next, the next call
/// does not run the same kernel. A race is recorded with its timing, so the record waits until that
/// is known; before, only baselines can be the culprit.
void ProblemRace::lost_to(const std::string& label, const MeasurerLost& loss) {
  lost();
  const std::string algorithm = roster_.at(label).trial.message;
  roster_.fail(label, progress_.phase(), loss.status,
               algorithm.empty() ? loss.what() : fmt::format("{}: {}", algorithm, loss.what()));
  if (recorder_.has_timing()) record();
  go_on_unless(context_.losses.explained(label, loss, problem_));
}

void ProblemRace::go_on_unless(const std::optional<std::string>& reason_to_give_up) {
  if (!reason_to_give_up) return;
  record();
  throw GpuLost(*reason_to_give_up);
}

void ProblemRace::warn_of_faults() {
  const std::uint64_t faults = clock_events_ & clock_event::kFault;
  if (faults == 0) return;
  context_.tell([&](TuneListener& listener) {
    listener.warning(fmt::format(
        "{} ({}): cooling or power supply held the clocks back ({}); the times are kept and "
        "flagged, but they are not what this GPU can do when it is cooled and powered properly",
        to_string(problem_), to_string(regime_), clock_event_names(faults)));
  });
}

}  // namespace hgemm
