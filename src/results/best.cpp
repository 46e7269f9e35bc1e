#include "results/best.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "families/family.h"
#include "record/peer.h"
#include "results/without_pdl.h"

namespace hgemm {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Dense tensor FLOPs of one Hopper SM per clock: 4 tensor cores x 512 FMAs of 16-bit operands, or
/// twice as many of 8 bits (H100 datasheet).
constexpr double kTensorFlopsPerSmClock = 4096;
double flops_per_sm_clock(const GemmProblem& problem) {
  return problem.has_8_bit_operands() ? 2 * kTensorFlopsPerSmClock : kTensorFlopsPerSmClock;
}

struct Group {
  GemmProblem problem;
  Regime regime;
  std::vector<const RecordedRace*> races;  ///< oldest first
};

bool has_config(const Race& race) {
  return std::any_of(race.trials.begin(), race.trials.end(),
                     [](const Trial& trial) { return !is_baseline(trial.label); });
}

/// A race that ended before any config was measured says nothing. It must not hide older races.
std::vector<Group> group_by_problem(std::span<const RecordedRace> races) {
  std::vector<Group> groups;
  for (const RecordedRace& race : races) {
    if (!has_config(race.race)) continue;
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.regime == race.race.regime && g.problem.same_problem(race.race.problem);
    });
    if (known != groups.end()) {
      known->races.push_back(&race);
    } else {
      groups.push_back({race.race.problem, race.race.regime, {&race}});
    }
  }
  return groups;
}

double median_of(std::span<const Sample> samples, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*field);
  return median(values);
}

/// Two candidates of a race in one round.
struct Pair {
  const Sample* baseline;
  const Sample* ours;
};
using Pairs = std::vector<Pair>;

/// The rounds that both were in, at the same pace. Baselines run in every round, also in screening,
/// where the pace may differ and where finalists have no samples.
Pairs paired(const Trial& baseline, const Trial& ours) {
  Pairs pairs;
  auto theirs = baseline.samples.begin();
  for (const Sample& sample : ours.samples) {
    while (theirs != baseline.samples.end() && theirs->round < sample.round) ++theirs;
    if (theirs == baseline.samples.end()) break;
    if (theirs->round == sample.round && theirs->pace == sample.pace) {
      pairs.push_back({&*theirs, &sample});
    }
  }
  return pairs;
}

std::vector<double> time_ratios(const Pairs& pairs) {
  std::vector<double> ratios;
  for (const auto& [baseline, ours] : pairs) ratios.push_back(baseline->time_us / ours->time_us);
  return ratios;
}

std::vector<double> cycle_ratios(const Pairs& pairs) {
  std::vector<double> ratios;
  for (const auto& [baseline, ours] : pairs) {
    if (baseline->cycles() > 0 && ours->cycles() > 0) {
      ratios.push_back(baseline->cycles() / ours->cycles());
    }
  }
  return ratios;
}

double baseline_time_us(const Pairs& pairs) {
  std::vector<double> times_us;
  for (const Pair& pair : pairs) times_us.push_back(pair.baseline->time_us);
  return median(times_us);
}

/// nullopt if they have no round in common.
std::optional<Ratio> ratio_over(const Pairs& pairs) {
  if (pairs.empty()) return std::nullopt;
  const std::vector<double> ratios = time_ratios(pairs);
  const bool enough = ratios.size() >= static_cast<std::size_t>(kMinIntervalRounds);
  return Ratio{median(ratios), enough ? median_interval(ratios) : Interval{kNaN, kNaN}};
}

std::optional<double> joules_of(const Trial* trial) {
  if (trial == nullptr || !trial->energy) return std::nullopt;
  return trial->energy->joules();
}

/// A timed candidate with its baselines, all from the same race.
struct Contender {
  const RecordedRace* race;
  const Trial* trial;
  const Trial* cublas_trial;  ///< null: it failed
  double time_us;
  std::optional<Ratio> cublas;

  std::optional<double> joules() const { return joules_of(trial); }
  std::optional<double> cublas_joules() const { return joules_of(cublas_trial); }
};

/// Ratios are comparable between races, times are not. Times decide only where there is no ratio.
bool faster(const Contender& a, const Contender& b) {
  if (a.cublas && b.cublas) return a.cublas->value > b.cublas->value;
  if (a.cublas || b.cublas) return a.cublas.has_value();
  return a.time_us < b.time_us;
}

/// The same with joules instead of times. Candidates without joules come last, by time.
bool thriftier(const Contender& a, const Contender& b) {
  const auto cost = [](const Contender& contender) -> std::tuple<int, double> {
    const auto joules = contender.joules(), cublas_joules = contender.cublas_joules();
    if (!joules) return {2, 0.0};
    return cublas_joules ? std::tuple{0, *joules / *cublas_joules} : std::tuple{1, *joules};
  };
  if (!a.joules() && !b.joules()) return faster(a, b);
  return cost(a) < cost(b);
}

const Trial* find_ok(const Race& race, std::string_view label) {
  const auto found = std::find_if(
      race.trials.begin(), race.trials.end(),
      [label](const Trial& trial) { return trial.label == label && trial.status == Status::kOk; });
  return found == race.trials.end() ? nullptr : &*found;
}

Contender contender_of(const RecordedRace& recorded, const Trial& trial) {
  const Trial* cublas = find_ok(recorded.race, kCublasLabel);
  return {&recorded, &trial, cublas, median_of(trial.samples, &Sample::time_us),
          cublas ? ratio_over(paired(*cublas, trial)) : std::nullopt};
}

/// Final status of each config, from the newest race that has it.
using Ended = std::map<std::string_view, Status>;

/// Results of one problem and regime that may be pooled: same environment, matching kernels.
class Pool {
 public:
  Pool(const Group& group, const IsCurrent& is_current)
      : group_(group), newest_(*group.races.back()), is_current_(is_current) {
    std::ranges::copy_if(group.races, std::back_inserter(races_), [this](const auto* race) {
      return race->environment == newest_.environment;
    });
    const auto& trials = newest_.race.trials;
    by_kernel_ = is_current && std::ranges::all_of(trials, [this](const Trial& trial) {
                   return is_baseline(trial.label) || is_current_(trial, group_.problem);
                 });
  }

  const RecordedRace& newest() const { return newest_; }
  const std::vector<const RecordedRace*>& races() const { return races_; }  ///< oldest first

  /// Whether a trial of a config in that race counts.
  bool has(const RecordedRace& race, const Trial& trial) const {
    if (is_baseline(trial.label)) return false;
    if (by_kernel_) return is_current_(trial, group_.problem);
    return race.run.kernel_sources == newest_.run.kernel_sources;
  }

 private:
  const Group& group_;
  const RecordedRace& newest_;
  const IsCurrent& is_current_;
  std::vector<const RecordedRace*> races_;
  bool by_kernel_ = false;
};

/// The ok configs that reached `stage`, best first. Each is from its newest race at full effort, if
/// any has such a race; otherwise from its newest brief one. Before the clock has settled, ratios
/// differ by up to 7 % (results/h200/budget-60s.db).
std::vector<Contender> contenders(const Pool& pool, const Ended& ended, Stage stage,
                                  Objective objective) {
  std::vector<Contender> full, brief;
  std::set<std::string_view> known_in_full, known_in_brief;
  for (const RecordedRace* recorded : pool.races() | std::views::reverse) {
    const bool is_brief = recorded->race.timing.brief;
    auto& known = is_brief ? known_in_brief : known_in_full;
    for (const Trial& trial : recorded->race.trials) {
      if (trial.status != Status::kOk || trial.stage != stage) continue;
      if (!pool.has(*recorded, trial)) continue;
      if (trial.samples.empty() || ended.at(trial.label) != Status::kOk) continue;
      if (!known.insert(trial.label).second) continue;
      (is_brief ? brief : full).push_back(contender_of(*recorded, trial));
    }
  }
  std::vector<Contender> all = full.empty() ? std::move(brief) : std::move(full);
  std::stable_sort(all.begin(), all.end(), objective == Objective::kEnergy ? thriftier : faster);
  return all;
}

void fill_cublas(BestRow& row, const Contender& winner) {
  row.cublas_joules = winner.cublas_joules();
  if (!winner.cublas) return;
  const Pairs pairs = paired(*winner.cublas_trial, *winner.trial);
  row.cublas = winner.cublas;
  row.cublas_time_us = baseline_time_us(pairs);
  row.rounds.cublas = time_ratios(pairs);
  const std::vector<double> cycles = cycle_ratios(pairs);
  if (!cycles.empty()) row.cublas_cycles = median(cycles);
  for (const Pair& pair : pairs) row.clock_events |= pair.baseline->clock_events.value_or(0);
}

/// The fastest of a library by ratio within rounds; null if none has a round with the winner. A
/// candidate that was eliminated shares only a few rounds with the winner, so it counts only where
/// none was measured to the end.
template <class IsOfLibrary>
const Trial* fastest_of(const Contender& winner, const IsOfLibrary& is_of_library) {
  const Trial* best = nullptr;
  std::pair<bool, double> best_rank;
  for (const Trial& trial : winner.race->race.trials) {
    if (trial.status != Status::kOk || !is_of_library(trial.label)) continue;
    const Pairs pairs = paired(trial, *winner.trial);
    if (pairs.empty()) continue;
    const std::pair rank{trial.stage != Stage::kFinal, median(time_ratios(pairs))};
    if (best != nullptr && rank >= best_rank) continue;
    best = &trial;
    best_rank = rank;
  }
  return best;
}

void fill_cublaslt(BestRow& row, const Contender& winner) {
  const Trial* best = fastest_of(winner, is_cublaslt);
  if (best == nullptr) return;
  const Pairs pairs = paired(*best, *winner.trial);
  row.cublaslt_label = best->label;
  row.cublaslt_algorithm = best->message;
  row.cublaslt = ratio_over(pairs);
  row.cublaslt_time_us = baseline_time_us(pairs);
  row.cublaslt_joules = joules_of(best);
  row.cublaslt_calls = best->calls;
}

void fill_peers(BestRow& row, const Contender& winner) {
  std::set<std::string_view> names;
  for (const Trial& trial : winner.race->race.trials) {
    if (is_peer(trial.label)) names.insert(peer_name(trial.label));
  }
  const Trial* cublaslt = fastest_of(winner, is_cublaslt);
  for (const std::string_view name : names) {
    PeerResult& peer = row.peers.emplace_back(PeerResult{.name = std::string(name)});
    const auto is_of_peer = [name](std::string_view label) {
      return is_peer(label) && peer_name(label) == name;
    };
    const Trial* best = fastest_of(winner, is_of_peer);
    if (best == nullptr) {
      const auto failed = std::ranges::find_if(winner.race->race.trials, is_of_peer, &Trial::label);
      peer.message = fmt::format("{}: {}", to_string(failed->status), failed->message);
      continue;
    }
    const Pairs pairs = paired(*best, *winner.trial);
    peer.label = best->label;
    peer.message = best->message;
    peer.time_us = baseline_time_us(pairs);
    peer.winner = ratio_over(pairs);
    if (winner.cublas_trial != nullptr) {
      peer.cublas = ratio_over(paired(*winner.cublas_trial, *best));
    }
    if (cublaslt != nullptr) peer.cublaslt = ratio_over(paired(*cublaslt, *best));
  }
}

/// `ratio` is the ratio of the finalist to the winner. A finalist that cannot be told apart is a
/// tie, also where there is no interval.
bool is_tie(const Contender& winner, const Contender& finalist, const std::optional<Ratio>& ratio,
            Objective objective) {
  if (objective == Objective::kEnergy && winner.joules()) {
    return finalist.joules() && *finalist.joules() < *winner.joules() * (1 + kTieMargin);
  }
  const bool slower = ratio && ratio->interval.high * (1 + kTieMargin) <= 1;
  return !slower;
}

void fill_finalists(BestRow& row, std::span<const Contender> ranked, Objective objective) {
  const Contender& winner = ranked.front();
  for (const Contender& contender : ranked) {
    Finalist finalist{contender.trial->label, contender.cublas, std::nullopt, contender.joules()};
    if (contender.race == winner.race) {
      finalist.winner = ratio_over(paired(*winner.trial, *contender.trial));
      if (&contender != &winner && is_tie(winner, contender, finalist.winner, objective)) {
        row.ties.push_back(finalist.label);
      }
    }
    row.finalists.push_back(std::move(finalist));
  }
}

/// The newest race of another card, at the same effort, in which the winner met other configs in
/// rounds of the final. One of the two may have left the final as clearly slower.
std::optional<SecondCard> second_card(const Contender& winner, const Pool& pool,
                                      Objective objective) {
  for (const RecordedRace* recorded : pool.races() | std::views::reverse) {
    if (recorded->run.gpu_uuid == winner.race->run.gpu_uuid) continue;
    if (recorded->race.timing.brief != winner.race->race.timing.brief) continue;
    const Trial* own = find_ok(recorded->race, winner.trial->label);
    if (own == nullptr || !pool.has(*recorded, *own)) continue;
    std::vector<Contender> met;
    for (const Trial* rival : met_in_final(recorded->race, *own)) {
      if (pool.has(*recorded, *rival)) met.push_back(contender_of(*recorded, *rival));
    }
    if (met.empty()) continue;
    met.insert(met.begin(), contender_of(*recorded, *own));
    const Contender& best =
        *std::ranges::min_element(met, objective == Objective::kEnergy ? thriftier : faster);
    const std::optional<Ratio> ratio = ratio_over(paired(*best.trial, *own));
    return SecondCard{.gpu_uuid = recorded->run.gpu_uuid,
                      .label = best.trial->label,
                      .winner = ratio,
                      .agrees = best.trial == own || (own->stage == Stage::kFinal &&
                                                      is_tie(best, met.front(), ratio, objective))};
  }
  return std::nullopt;
}

void fill_winner(BestRow& row, std::span<const Contender> ranked, Objective objective) {
  const Contender& winner = ranked.front();
  const std::vector<Sample>& samples = winner.trial->samples;
  row.run = winner.race->run;
  row.started_utc = winner.race->started_utc;
  row.race_uid = winner.race->uid;
  row.kernel_id = winner.trial->kernel_id;
  row.label = winner.trial->label;
  row.stage = winner.trial->stage;
  row.pace = samples.front().pace;
  row.brief = winner.race->race.timing.brief;
  row.neighbours = winner.race->race.timing.neighbours;
  row.verified = winner.trial->verdict.correct;
  row.error = winner.trial->verdict.error;
  row.time_us = winner.time_us;
  row.tflops = row.problem.flops() / winner.time_us * 1e-6;
  row.joules = winner.joules();
  row.calls = winner.trial->calls;
  if (winner.cublas_trial != nullptr) {
    row.cublas_calls = winner.cublas_trial->calls;
    row.cublas_error = winner.cublas_trial->verdict.error;
  }
  if (const double sm_mhz = median_of(samples, &Sample::sm_mhz); sm_mhz > 0) {
    row.sm_mhz = sm_mhz;
    const double peak_tflops = row.environment.sm_count * flops_per_sm_clock(row.problem) * sm_mhz *
                               1e-6;  // MHz * 1e6 / 1e12
    if (peak_tflops > 0) row.peak_fraction = *row.tflops / peak_tflops;
  }
  for (const Sample& sample : samples) {
    row.rounds.time_us.push_back(sample.time_us);
    if (sample.cycles() > 0) row.rounds.cycles.push_back(sample.cycles());
    row.clock_events |= sample.clock_events.value_or(0);
  }
  fill_cublas(row, winner);
  fill_cublaslt(row, winner);
  fill_peers(row, winner);

  if (row.stage == Stage::kFinal) {
    fill_finalists(row, ranked, objective);
    return;
  }
  row.peers.clear();  // screening compares configs only
  for (std::optional<Ratio>* r : {&row.cublas, &row.cublaslt}) {
    if (*r) (*r)->interval = {kNaN, kNaN};
  }
  if (row.regime != Regime::kSustained) return;
  // The GPU rests before screening samples, so such a time is not one at full load.
  for (std::optional<double>* value : {&row.time_us, &row.tflops, &row.sm_mhz, &row.peak_fraction,
                                       &row.cublas_time_us, &row.cublaslt_time_us}) {
    value->reset();
  }
}

/// The first of the contenders that has no PDL.
std::optional<WithoutPdl> first_without_pdl(std::span<const Contender> ranked, Regime regime) {
  const auto best = std::ranges::find_if(ranked, [](const Contender& contender) {
    return find_pdl_kind(contender.trial->label) == PdlKind::kOff;
  });
  if (best == ranked.end()) return std::nullopt;
  WithoutPdl found{.label = best->trial->label,
                   .stage = best->trial->stage,
                   .time_us = best->time_us,
                   .cublas = best->cublas,
                   .cublaslt = std::nullopt};
  if (const Trial* cublaslt = fastest_of(*best, is_cublaslt); cublaslt != nullptr) {
    found.cublaslt = ratio_over(paired(*cublaslt, *best->trial));
  }
  if (found.stage == Stage::kFinal) return found;
  // As for a winner that was only screened (fill_winner).
  for (std::optional<Ratio>* r : {&found.cublas, &found.cublaslt}) {
    if (*r) (*r)->interval = {kNaN, kNaN};
  }
  if (regime == Regime::kSustained) found.time_us.reset();
  return found;
}

BestRow best_row(const Group& group, Objective objective, const IsCurrent& is_current) {
  const Pool pool(group, is_current);
  BestRow row;
  row.problem = group.problem;
  row.regime = group.regime;
  row.environment = pool.newest().environment;
  row.run = pool.newest().run;
  row.started_utc = pool.newest().started_utc;

  Ended ended;
  for (const RecordedRace* race : pool.races()) {
    for (const Trial& trial : race->race.trials) {
      if (pool.has(*race, trial)) ended[trial.label] = trial.status;
    }
  }
  row.trials = static_cast<int>(ended.size());
  row.failed = static_cast<int>(std::count_if(ended.begin(), ended.end(), [](const auto& end) {
    return end.second != Status::kOk && end.second != Status::kInvalidConfig;
  }));

  std::vector<Contender> ranked = contenders(pool, ended, Stage::kFinal, objective);
  if (ranked.empty()) ranked = contenders(pool, ended, Stage::kScreen, objective);
  if (!ranked.empty()) fill_winner(row, ranked, objective);
  row.without_pdl = first_without_pdl(ranked, row.regime);
  if (row.stage == Stage::kFinal) {
    if (!row.without_pdl) {
      const auto screened = contenders(pool, ended, Stage::kScreen, objective);
      row.without_pdl = first_without_pdl(screened, row.regime);
    }
    row.second_card = second_card(ranked.front(), pool, objective);
  }
  return row;
}

}  // namespace

std::vector<BestRow> best_rows(std::span<const RecordedRace> races,
                               std::span<const GemmProblem> problems, Objective objective,
                               const IsCurrent& is_current) {
  const std::vector<Group> groups = group_by_problem(races);
  std::vector<BestRow> rows;
  if (problems.empty()) {
    for (const Group& group : groups) rows.push_back(best_row(group, objective, is_current));
    return rows;
  }
  for (const GemmProblem& problem : problems) {
    const std::size_t before = rows.size();
    for (const Regime regime : kRegimes) {
      for (const Group& group : groups) {
        if (group.regime != regime || !group.problem.same_problem(problem)) continue;
        rows.push_back(best_row(group, objective, is_current));
      }
    }
    if (rows.size() == before) rows.emplace_back();
    for (std::size_t i = before; i < rows.size(); ++i) rows[i].problem = problem;
  }
  return rows;
}

Fastest fastest_of(const BestRow& row) {
  if (!row.label) return Fastest::kConfig;
  const double cublas = row.cublas ? row.cublas->value : 1;
  const double cublaslt = row.cublaslt ? row.cublaslt->value : 1;
  if (cublaslt < 1 && cublaslt <= cublas) return Fastest::kCublasLt;
  return cublas < 1 ? Fastest::kCublas : Fastest::kConfig;
}

std::string fastest_library(const BestRow& row) {
  switch (fastest_of(row)) {
    case Fastest::kCublas:
      return std::string(kCublasLabel);
    case Fastest::kCublasLt:
      return row.cublaslt_label;
    case Fastest::kConfig:
      break;
  }
  return "";
}

void name_libraries(std::span<BestRow> rows) {
  for (BestRow& row : rows) row.library = fastest_library(row);
}

std::vector<const Trial*> met_in_final(const Race& race, const Trial& trial) {
  std::vector<const Trial*> met;
  for (const Trial& other : race.trials) {
    if (&other == &trial || is_baseline(other.label) || other.status != Status::kOk) continue;
    // Samples of screening are dropped when the final begins.
    const bool is_finalist = trial.stage == Stage::kFinal || other.stage == Stage::kFinal;
    if (is_finalist && !paired(trial, other).empty()) met.push_back(&other);
  }
  return met;
}

std::optional<MeasuredSwap> measured_swap(std::span<const RecordedRace> races,
                                          const GemmProblem& problem) {
  struct Way {
    std::string label;
    double ratio = 0;
  };
  const RecordedRace* newest = nullptr;
  Way swapped, as_is;  // of the newest race
  for (const RecordedRace& recorded : races) {
    if (!recorded.race.problem.same_problem(problem)) continue;
    if (newest && recorded.started_utc < newest->started_utc) continue;
    const Trial* cublas = find_ok(recorded.race, kCublasLabel);
    if (cublas == nullptr) continue;
    Way ways[2];
    for (const Trial& trial : recorded.race.trials) {
      if (trial.status != Status::kOk || is_baseline(trial.label)) continue;
      const auto ratio = ratio_over(paired(*cublas, trial));
      const KernelConfig config = parse_label(trial.label);
      const bool is_swap_ab = std::holds_alternative<SwapAbConfig>(config);
      if (!is_swap_ab && !std::holds_alternative<TiledConfig>(config)) continue;
      Way& way = ways[is_swap_ab ? 1 : 0];
      if (ratio && ratio->value > way.ratio) way = {trial.label, ratio->value};
    }
    if (ways[0].ratio == 0 || ways[1].ratio == 0) continue;
    newest = &recorded;
    as_is = std::move(ways[0]);
    swapped = std::move(ways[1]);
  }
  if (newest == nullptr) return std::nullopt;
  const double speedup = swapped.ratio / as_is.ratio;
  return MeasuredSwap{std::move(swapped.label), std::move(as_is.label), speedup};
}

}  // namespace hgemm
