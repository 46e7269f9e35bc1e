// The configs of the races behind the rows of the report, and the changes since other recordings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/statistics.h"
#include "families/family.h"
#include "output/emit.h"
#include "output/report_parts.h"
#include "results/best.h"
#include "results/speeds.h"

namespace hgemm::report {
namespace {

/// Numbers of configs that a page can hold: of all races together, and of one race.
constexpr std::size_t kMostConfigs = 40'000;
constexpr std::size_t kMostOfRace = 600;
constexpr std::size_t kLeastOfRace = 100;

/// Rounds to 1 / `parts`.
Json rounded(double value, double parts) {
  if (!std::isfinite(value)) return Json();
  return std::round(value * parts) / parts;
}

/// Every label once, with its value in each axis. Races refer to labels by number.
class Labels {
 public:
  std::size_t add(const std::string& label, const KernelConfig& config) {
    const auto [known, is_new] = numbers_.try_emplace(label, labels_.size());
    if (!is_new) return known->second;
    labels_.push_back(label);
    set("family", std::string(family_name(config)), 0);
    set("pdl", std::string(to_string(pdl_kind(config))), static_cast<int>(pdl_kind(config)));
    std::map<std::string_view, AxisValue> values;
    for (AxisValue& value : axis_values(config)) {
      if (value.axis != "pdl") values.insert({value.axis, std::move(value)});
    }
    for (const auto& [axis, value] : values) set(std::string(axis), value.value, value.rank);
    const auto joined = [&](const char* a, const char* b) {
      if (!values.contains(a) || !values.contains(b)) return;
      const AxisValue &first = values.at(a), &second = values.at(b);
      set("tile", first.value + "x" + second.value, first.rank + second.rank / 10'000);
    };
    joined("bm", "bn");
    joined("vectors", "rows");  // of a GEMV: rows of either operand
    return known->second;
  }

  Json json() const {
    Json axes = Json::object();
    for (const auto& [name, axis] : axes_) {
      std::vector<const Values::value_type*> sorted;
      for (const auto& value : axis.values) sorted.push_back(&value);
      std::ranges::stable_sort(sorted, {}, [](const auto* value) { return value->second.rank; });
      Json values = Json::array();
      std::vector<int> of(labels_.size(), -1);
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        values.push_back(sorted[i]->first);
        for (const std::size_t label : sorted[i]->second.labels) of[label] = static_cast<int>(i);
      }
      axes[name] = {{"values", values}, {"of", of}};
    }
    return {{"labels", labels_}, {"axes", axes}};
  }

 private:
  struct Value {
    std::int64_t rank;
    std::vector<std::size_t> labels;
  };
  using Values = std::map<std::string, Value>;
  struct Axis {
    Values values;
  };
  void set(const std::string& axis, const std::string& value, std::int64_t rank) {
    Values& values = axes_[axis].values;
    values.try_emplace(value, Value{rank, {}}).first->second.labels.push_back(labels_.size() - 1);
  }

  std::vector<std::string> labels_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::string, Axis> axes_;
};

/// A config that was timed.
struct Timed {
  const Trial* trial;
  KernelConfig config;
  double speed;  ///< cublas' time over its own; 0: cublas was not timed beside it
  double time_us;
};

/// Thins to `most` configs: the fastest for one half, and the others sampled evenly for the other
/// half.
std::vector<Timed> thinned(std::vector<Timed> fastest_first, std::size_t most) {
  if (fastest_first.size() <= most) return fastest_first;
  const std::size_t kept = most / 2, others = fastest_first.size() - kept, wanted = most - kept;
  std::vector<Timed> few(fastest_first.begin(),
                         fastest_first.begin() + static_cast<std::ptrdiff_t>(kept));
  for (std::size_t i = 0; i < wanted; ++i) {
    few.push_back(fastest_first[kept + i * others / wanted]);
  }
  return few;
}

double median_of(const Trial& trial, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& sample : trial.samples) values.push_back(sample.*field);
  return median(values);
}

Json race_json(const RecordedRace& race, std::size_t most, Labels& labels) {
  KnownSpeeds known;
  known.add(race.race);
  const std::map<std::string, double> speeds = known.all();
  std::vector<Timed> timed;
  std::map<std::string, int> not_timed;
  for (const Trial& trial : race.race.trials) {
    if (is_baseline(trial.label)) continue;
    const auto config = find_config(trial.label);
    if (trial.status != Status::kOk || trial.samples.empty() || !config) {
      ++not_timed[trial.status == Status::kOk ? "never_timed"
                                              : std::string(to_string(trial.status))];
      continue;
    }
    timed.push_back({.trial = &trial,
                     .config = *config,
                     .speed = speeds.at(trial.label),
                     .time_us = median_of(trial, &Sample::time_us)});
  }
  std::ranges::stable_sort(timed, std::greater(),
                           [](const Timed& one) { return std::pair(one.speed, -one.time_us); });
  const std::size_t measured = timed.size();
  timed = thinned(std::move(timed), most);

  const std::vector<BestRow> rows = best_rows({&race, 1});
  std::map<std::string, const Finalist*> finalists;
  std::vector<std::string> ties;
  if (!rows.empty()) {
    for (const Finalist& finalist : rows[0].finalists) finalists[finalist.label] = &finalist;
    ties = rows[0].ties;
  }
  Json config = Json::array(), speed = Json::array(), time_us = Json::array(),
       sm_mhz = Json::array(), final = Json::array(), low = Json::array(), high = Json::array(),
       tie = Json::array();
  for (const Timed& one : timed) {
    const auto finalist = finalists.find(one.trial->label);
    const Ratio* ratio = nullptr;
    if (finalist != finalists.end() && finalist->second->cublas) {
      ratio = &*finalist->second->cublas;
    }
    const double value = ratio ? ratio->value : one.speed;
    config.push_back(labels.add(one.trial->label, one.config));
    speed.push_back(value > 0 ? rounded(value, 1e4) : Json());
    time_us.push_back(rounded(one.time_us, 1e3));
    sm_mhz.push_back(rounded(median_of(*one.trial, &Sample::sm_mhz), 1));
    final.push_back(one.trial->stage == Stage::kFinal ? 1 : 0);
    low.push_back(ratio ? rounded(ratio->interval.low, 1e4) : Json());
    high.push_back(ratio ? rounded(ratio->interval.high, 1e4) : Json());
    tie.push_back(std::ranges::count(ties, one.trial->label) > 0 ? 1 : 0);
  }
  return {{"winner", rows.empty() || !rows[0].label ? Json() : Json(*rows[0].label)},
          {"command", race.command_line},
          {"measured", measured},
          {"not_timed", not_timed},
          {"config", config},
          {"speed", speed},
          {"time_us", time_us},
          {"sm_mhz", sm_mhz},
          {"final", final},
          {"low", low},
          {"high", high},
          {"tie", tie}};
}

}  // namespace

Json configs_section(std::span<const RecordedRace* const> races) {
  const std::size_t share = kMostConfigs / std::max<std::size_t>(races.size(), 1);
  const std::size_t most = std::clamp(share, kLeastOfRace, kMostOfRace);
  Labels labels;
  Json list = Json::array();
  for (const RecordedRace* race : races) list.push_back(race_json(*race, most, labels));
  Json json = labels.json();
  json["most_of_race"] = most;
  json["races"] = std::move(list);
  return json;
}

Json comparison_section(std::span<const RecordedRace> before, std::span<const RecordedRace> after,
                        const std::vector<std::string>& names) {
  const Comparison comparison = compare(before, after);
  Json json = Json::parse(format_comparison(comparison, Format::kJson));
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const GemmProblem& problem = comparison.rows[i].b.problem;
    json["rows"][i]["shape"] = to_string(problem);
    json["rows"][i]["group"] = group_of(problem);
  }
  json["names"] = names;
  return json;
}

}  // namespace hgemm::report
