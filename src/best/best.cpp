#include "best/best.h"

#include <algorithm>
#include <limits>
#include <map>

namespace hgemm {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Dense 16-bit tensor FLOPs of one Hopper SM per clock: 4 tensor cores x 512 FMAs.
constexpr double kTensorFlopsPerSmClock = 4096;

struct Group {
  Shape shape;
  Regime regime;
  std::vector<const RecordedRace*> races;  ///< oldest first
};

bool has_config(const Race& race) {
  return std::any_of(race.trials.begin(), race.trials.end(),
                     [](const Trial& trial) { return !is_baseline(trial.label); });
}

/// Races that ended before any config did say nothing, and must not hide older ones.
std::vector<Group> group_by_shape(std::span<const RecordedRace> races) {
  std::vector<Group> groups;
  for (const RecordedRace& race : races) {
    if (!has_config(race.race)) continue;
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.regime == race.race.regime && g.shape.same_problem(race.race.shape);
    });
    if (known != groups.end()) {
      known->races.push_back(&race);
    } else {
      groups.push_back({race.race.shape, race.race.regime, {&race}});
    }
  }
  return groups;
}

double median_of(std::span<const Sample> samples, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*field);
  return median(values);
}

/// A baseline against us, over the rounds that both have. A finalist has final rounds only, while
/// baselines have been in every round.
struct Comparison {
  double baseline_us;
  Ratio ratio;
};

std::optional<Comparison> compare(const Trial& baseline, const Trial& ours) {
  std::vector<double> times_us, ratios;
  auto theirs = baseline.samples.begin();
  for (const Sample& sample : ours.samples) {
    while (theirs != baseline.samples.end() && theirs->round < sample.round) ++theirs;
    if (theirs == baseline.samples.end()) break;
    if (theirs->round != sample.round) continue;
    times_us.push_back(theirs->time_us);
    ratios.push_back(theirs->time_us / sample.time_us);
  }
  if (ratios.empty()) return std::nullopt;
  const bool enough = ratios.size() >= static_cast<std::size_t>(kMinIntervalRounds);
  return Comparison{median(times_us),
                    {median(ratios), enough ? median_interval(ratios) : Interval{kNaN, kNaN}}};
}

/// A timed candidate with what it is compared to, all in the same race.
struct Contender {
  const RecordedRace* race;
  const Trial* trial;
  double time_us;
  std::optional<Comparison> cublas;
};

/// Ratios are comparable between races, times are not: they decide only where there is no ratio.
bool faster(const Contender& a, const Contender& b) {
  if (a.cublas && b.cublas) return a.cublas->ratio.value > b.cublas->ratio.value;
  if (a.cublas || b.cublas) return a.cublas.has_value();
  return a.time_us < b.time_us;
}

const Trial* find_ok(const Race& race, std::string_view label) {
  const auto found = std::find_if(
      race.trials.begin(), race.trials.end(),
      [label](const Trial& trial) { return trial.label == label && trial.status == Status::kOk; });
  return found == race.trials.end() ? nullptr : &*found;
}

/// The ok configs that reached `stage`, fastest first.
std::vector<Contender> contenders(std::span<const RecordedRace* const> races, Stage stage) {
  std::vector<Contender> all;
  for (const RecordedRace* recorded : races) {
    const Race& race = recorded->race;
    const Trial* cublas = find_ok(race, kCublasLabel);
    for (const Trial& trial : race.trials) {
      if (is_baseline(trial.label) || trial.status != Status::kOk || trial.stage != stage) continue;
      if (trial.samples.empty()) continue;
      all.push_back({recorded, &trial, median_of(trial.samples, &Sample::time_us),
                     cublas ? compare(*cublas, trial) : std::nullopt});
    }
  }
  std::stable_sort(all.begin(), all.end(), faster);
  return all;
}

void fill_baselines(BestRow& row, const Contender& winner) {
  if (winner.cublas) {
    row.cublas_time_us = winner.cublas->baseline_us;
    row.cublas = winner.cublas->ratio;
  }
  for (const Trial& trial : winner.race->race.trials) {
    if (trial.status != Status::kOk || !is_cublaslt(trial.label)) continue;
    const std::optional<Comparison> lt = compare(trial, *winner.trial);
    if (!lt || (row.cublaslt_time_us && lt->baseline_us >= *row.cublaslt_time_us)) continue;
    row.cublaslt_time_us = lt->baseline_us;
    row.cublaslt_label = trial.label;
    row.cublaslt = lt->ratio;
  }
}

void fill_winner(BestRow& row, std::span<const Contender> ranked) {
  const Contender& winner = ranked.front();
  row.environment = winner.race->environment;
  row.started_utc = winner.race->started_utc;
  row.label = winner.trial->label;
  row.stage = winner.trial->stage;
  row.verified = winner.trial->verdict.correct;
  row.time_us = winner.time_us;
  row.tflops = row.shape.flops() / winner.time_us * 1e-6;
  if (const double sm_mhz = median_of(winner.trial->samples, &Sample::sm_mhz); sm_mhz > 0) {
    row.sm_mhz = sm_mhz;
    const double peak_tflops =
        row.environment.sm_count * kTensorFlopsPerSmClock * sm_mhz * 1e-6;  // MHz * 1e6 / 1e12
    if (peak_tflops > 0) row.peak_fraction = *row.tflops / peak_tflops;
  }
  fill_baselines(row, winner);

  if (row.stage == Stage::kScreen) {
    for (std::optional<Ratio>* r : {&row.cublas, &row.cublaslt}) {
      if (*r) (*r)->interval = {kNaN, kNaN};
    }
    return;
  }
  for (const Contender& other : ranked.subspan(1)) {
    if (other.race != winner.race) continue;
    const std::optional<Comparison> to_winner = compare(*other.trial, *winner.trial);
    // A NaN interval tells nothing apart: a tie.
    const bool told_apart =
        to_winner && (to_winner->ratio.interval.low > 1 || to_winner->ratio.interval.high < 1);
    if (!told_apart) row.ties.push_back(other.trial->label);
  }
}

BestRow best_row(const Group& group) {
  // Only races in the conditions of the newest one.
  const RecordedRace& newest = *group.races.back();
  std::vector<const RecordedRace*> races;
  std::copy_if(group.races.begin(), group.races.end(), std::back_inserter(races),
               [&newest](const RecordedRace* race) {
                 return race->environment.same_conditions(newest.environment);
               });

  BestRow row;
  row.shape = group.shape;
  row.regime = group.regime;
  row.environment = newest.environment;
  row.started_utc = newest.started_utc;

  std::map<std::string, Status> ended;  // the newest race that has a label says how it ended
  for (const RecordedRace* race : races) {
    for (const Trial& trial : race->race.trials) {
      if (!is_baseline(trial.label)) ended[trial.label] = trial.status;
    }
  }
  row.trials = static_cast<int>(ended.size());
  row.failed = static_cast<int>(std::count_if(ended.begin(), ended.end(), [](const auto& end) {
    return end.second != Status::kOk && end.second != Status::kInvalidConfig;
  }));

  std::vector<Contender> ranked = contenders(races, Stage::kFinal);
  if (ranked.empty()) ranked = contenders(races, Stage::kScreen);
  if (!ranked.empty()) fill_winner(row, ranked);
  return row;
}

}  // namespace

std::vector<BestRow> best_rows(std::span<const RecordedRace> races, std::span<const Shape> shapes) {
  const std::vector<Group> groups = group_by_shape(races);
  std::vector<BestRow> rows;
  if (shapes.empty()) {
    for (const Group& group : groups) rows.push_back(best_row(group));
    return rows;
  }
  for (const Shape& shape : shapes) {
    const std::size_t before = rows.size();
    for (const Group& group : groups) {
      if (group.shape.same_problem(shape)) rows.push_back(best_row(group));
    }
    if (rows.size() == before) rows.emplace_back();
    for (std::size_t i = before; i < rows.size(); ++i) rows[i].shape = shape;
  }
  return rows;
}

}  // namespace hgemm
