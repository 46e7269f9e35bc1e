#include "replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "space/label.h"
#include "statistics/statistics.h"

namespace hgemm {
namespace {

/// Batches that a budget is spent in.
constexpr std::size_t kBatches = 10;

/// How far a config went; who was in the final and left it has no rounds of screening either.
enum class Reached : std::uint8_t { kNothing, kScreening, kFinal, kEnd };
struct Known {
  double speed = 0;
  Reached reached = Reached::kNothing;
};

/// All races at one shape in one regime under the same conditions.
struct Group {
  const RecordedRace* newest;
  std::map<std::string, Known> configs;

  bool is_of(const RecordedRace& race) const {
    return newest->race.regime == race.race.regime &&
           newest->race.shape.same_problem(race.race.shape) &&
           newest->environment.same_conditions(race.environment);
  }
  bool has_final() const {
    return std::ranges::any_of(
        configs, [](const auto& item) { return item.second.reached == Reached::kEnd; });
  }
};

/// Median over rounds of cublas' time over the trial's; none without a common round.
std::optional<double> speed_of(const Trial& trial, const std::map<int, double>& cublas_us) {
  std::vector<double> ratios;
  for (const Sample& sample : trial.samples) {
    if (const auto found = cublas_us.find(sample.round); found != cublas_us.end()) {
      ratios.push_back(found->second / sample.time_us);
    }
  }
  if (ratios.empty()) return std::nullopt;
  return median(ratios);
}

void add(Group& group, const Race& race) {
  std::map<int, double> cublas_us;
  for (const Trial& trial : race.trials) {
    if (trial.label != kCublasLabel) continue;
    for (const Sample& sample : trial.samples) cublas_us[sample.round] = sample.time_us;
  }
  int final_round = std::numeric_limits<int>::max();  // the first
  for (const Trial& trial : race.trials) {
    if (trial.stage == Stage::kFinal && !is_baseline(trial.label) && !trial.samples.empty()) {
      final_round = std::min(final_round, trial.samples.front().round);
    }
  }
  for (const Trial& trial : race.trials) {
    if (is_baseline(trial.label)) continue;
    Known& known = group.configs[trial.label];
    if (trial.status != Status::kOk) continue;
    const auto speed = speed_of(trial, cublas_us);
    if (!speed) continue;
    Reached reached = Reached::kScreening;
    if (trial.samples.front().round >= final_round) reached = Reached::kFinal;
    if (trial.stage == Stage::kFinal) reached = Reached::kEnd;
    if (reached >= known.reached) known = {*speed, reached};
  }
}

/// By what screened speeds are scaled.
double screening_scale(const Group& group) {
  std::vector<double> finals;
  double fastest = 0;
  for (const auto& [label, known] : group.configs) {
    if (known.reached == Reached::kEnd) finals.push_back(known.speed);
    if (known.reached == Reached::kScreening) fastest = std::max(fastest, known.speed);
  }
  return fastest > 0 ? std::min(1.0, median(finals) / fastest) : 1;
}

Truth truth_of(const Group& group) {
  Truth truth{group.newest->race.shape, group.newest->race.regime, group.newest->environment, {}};
  const double scale = screening_scale(group);
  for (const auto& [label, known] : group.configs) {
    const double speed = known.reached == Reached::kScreening ? known.speed * scale : known.speed;
    truth.entries.push_back({parse_label(label), speed});
  }
  return truth;
}

}  // namespace

double Truth::best() const { return std::ranges::max(entries, {}, &Entry::speed).speed; }

std::vector<Truth> truths(std::span<const RecordedRace> races) {
  std::vector<Group> groups;
  for (const RecordedRace& race : races) {
    auto group =
        std::ranges::find_if(groups, [&](const Group& known) { return known.is_of(race); });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{&race, {}});
    group->newest = &race;
    add(*group, race.race);
  }
  std::erase_if(groups, [](const Group& group) { return !group.has_final(); });

  // The first group of a GPU, shape and regime keeps its place, with the conditions that know most.
  std::vector<const Group*> chosen;
  for (const Group& group : groups) {
    const auto same = std::ranges::find_if(chosen, [&](const Group* other) {
      return other->newest->environment.gpu_name == group.newest->environment.gpu_name &&
             other->newest->race.regime == group.newest->race.regime &&
             other->newest->race.shape.same_problem(group.newest->race.shape);
    });
    if (same == chosen.end()) {
      chosen.push_back(&group);
    } else if (group.configs.size() >= (*same)->configs.size()) {
      *same = &group;
    }
  }
  std::vector<Truth> all;
  for (const Group* group : chosen) all.push_back(truth_of(*group));
  return all;
}

void keep_shapes(std::vector<Truth>& truths, std::span<const Shape> shapes) {
  if (shapes.empty()) return;
  std::erase_if(truths, [&](const Truth& truth) {
    return std::ranges::none_of(
        shapes, [&](const Shape& shape) { return shape.same_problem(truth.shape); });
  });
}

double ReplayRow::measured_fraction() const {
  return static_cast<double>(measured) / static_cast<double>(configs);
}

ReplayRow replay(const Truth& truth, std::span<const double> predicted_us, StrategyKind kind,
                 const Budget& budget, int seeds) {
  std::vector<KernelConfig> configs;
  for (const Truth::Entry& entry : truth.entries) configs.push_back(entry.config);
  const std::size_t trials =
      kind == StrategyKind::kExhaustive ? configs.size() : budget.of(configs.size());
  const std::size_t batch = std::max<std::size_t>(1, trials / kBatches);

  ReplayRow row{.shape = truth.shape,
                .regime = truth.regime,
                .gpu_name = truth.environment.gpu_name,
                .strategy = std::string(to_string(kind)),
                .configs = configs.size(),
                .found = {},
                .best = {}};
  std::vector<double> fractions;
  for (int seed = 0; seed < seeds; ++seed) {
    Strategy strategy(configs, predicted_us,
                      {.kind = kind, .budget = trials, .seed = static_cast<std::uint64_t>(seed)});
    std::size_t measured = 0;
    const Truth::Entry* fastest = nullptr;
    while (measured < trials) {
      const auto chosen = strategy.next(std::min(batch, trials - measured));
      if (chosen.empty()) break;
      for (const std::size_t index : chosen) {
        const Truth::Entry& entry = truth.entries[index];
        // Telling costs a look at every config.
        if (learns(kind)) {
          strategy.tell(index, entry.speed > 0 ? std::optional(1 / entry.speed) : std::nullopt);
        }
        if (!fastest || entry.speed > fastest->speed) fastest = &entry;
      }
      measured += chosen.size();
    }
    row.measured = measured;
    fractions.push_back(fastest->speed / truth.best());
    if (seed == 0) row.found = label(fastest->config);
  }
  row.best_fraction = median(fractions);
  row.worst_fraction = std::ranges::min(fractions);
  row.best = label(std::ranges::max_element(truth.entries, {}, &Truth::Entry::speed)->config);
  return row;
}

std::optional<ReplayRow> judge(const Truth& truth, const std::string& tune,
                               const std::string& label, std::size_t measured) {
  const auto winner = std::ranges::find_if(truth.entries, [&](const Truth::Entry& entry) {
    return hgemm::label(entry.config) == label;
  });
  if (winner == truth.entries.end()) return std::nullopt;
  const auto best = std::ranges::max_element(truth.entries, {}, &Truth::Entry::speed);
  const double fraction = winner->speed / best->speed;
  return ReplayRow{.shape = truth.shape,
                   .regime = truth.regime,
                   .gpu_name = truth.environment.gpu_name,
                   .strategy = tune,
                   .configs = truth.entries.size(),
                   .measured = measured,
                   .best_fraction = fraction,
                   .worst_fraction = fraction,
                   .found = label,
                   .best = hgemm::label(best->config)};
}

}  // namespace hgemm
