// Fits the constants of the cost model to recorded races, and says how well it ranks with them:
//
//   cost_fit DATABASE... [--show | --only CONSTANT,CONSTANT...]
//
// Run it in the root folder. It prints the constants before and after; copy them to
// src/families/cost_constants.h and cost.h if they rank better. With --show it fits nothing, and
// leaves out no config. With --only it fits these constants alone: those that the races can tell.
//
// Races are pooled by problem and pace: samples after a rest are the same in both regimes, and so
// are predicted as burst; those at a config's own pace are predicted as sustained. Samples at the
// shared pace are left out.
//
// The fit is by least squares to the logarithm of the measured over the predicted time, where the
// prediction is made for the clock that was measured. Without that, constants in cycles take up
// what the power limit does to the clock. The mean of a problem counts half, because only the order
// within a problem matters to a search. A config counts the more, the nearer it is to the best one
// of its problem, measured or predicted: what the model wrongly ranks first is measured by a
// search.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <thread>

#include "base/error.h"
#include "families/cost_constants.h"
#include "families/family.h"
#include "search/devices.h"
#include "search/figures.h"
#include "store/store.h"

namespace hgemm {
namespace {

namespace constants = cost_constants;

/// Times and predictions of a config. `at_clock_us` is predicted for the clock that was measured,
/// `predicted_us` for the clock that the model predicts.
struct Row {
  KernelConfig config;
  double time_us = 0;
  double mhz = 0;
  double at_clock_us = 0;
  double predicted_us = 0;
  double weight = 0;
};
struct Group {
  GemmProblem problem;
  Pace pace = Pace::kRested;
  CostFigures figures;
  std::vector<Row> rows;
};

/// Rows of a problem beyond these are left out: those far from the best first, then at random.
constexpr std::size_t kMostRows = 200;
constexpr double kFar = 2.0;
/// The scale of the weight: a config 15 % behind the best counts 1/e.
constexpr double kNear = 0.15;
constexpr double kMeanShare = 0.5;
constexpr double kNearlyBest = 1.1;
constexpr std::size_t kFewestRows = 5;
constexpr std::size_t kShownMisses = 14;

/// The sample of median time at a pace, if its clock was read.
std::optional<Sample> median_sample(const Trial& trial, Pace pace) {
  std::vector<Sample> samples;
  std::ranges::copy_if(trial.samples, std::back_inserter(samples), [&](const Sample& sample) {
    return sample.pace == pace && sample.sm_mhz > 0;
  });
  if (samples.empty()) return std::nullopt;
  std::ranges::sort(samples, {}, &Sample::time_us);
  return samples[(samples.size() - 1) / 2];
}

std::optional<KernelConfig> config_of(const Trial& trial, const GemmProblem& problem) {
  if (is_baseline(trial.label) || trial.status != Status::kOk) return std::nullopt;
  try {
    const KernelConfig config = parse_label(trial.label);
    if (why_invalid(kernel_for(config, problem))) return std::nullopt;
    return config;
  } catch (const Error&) {
    return std::nullopt;  // of an older program, or a peer
  }
}

void predict_at_clock(const Group& group, Row& row) {
  CostFigures figures = group.figures;
  figures.mhz = row.mhz;
  figures.power_limit_w = 0;
  row.at_clock_us = predict_cost(figures, row.config, group.problem).us();
}

void predict(Group& group) {
  for (Row& row : group.rows) {
    predict_at_clock(group, row);
    row.predicted_us = predict_cost(group.figures, row.config, group.problem).us();
  }
}

/// The least time of a group, measured or predicted.
double least(const Group& group, double Row::*time) {
  double result = INFINITY;
  for (const Row& row : group.rows) result = std::min(result, row.*time);
  return result;
}

/// Leaves the rows that matter to the order, so that a fit ends in minutes.
void thin_out(Group& group, std::mt19937& random) {
  const double best = least(group, &Row::time_us);
  const double likeliest = least(group, &Row::predicted_us);
  std::erase_if(group.rows, [&](const Row& row) {
    return row.time_us > kFar * best && row.predicted_us > kFar * likeliest;
  });
  std::ranges::shuffle(group.rows, random);
  std::ranges::stable_partition(group.rows, [&](const Row& row) {
    return row.time_us < kNearlyBest * best || row.predicted_us < kNearlyBest * likeliest;
  });
  if (group.rows.size() > kMostRows) group.rows.resize(kMostRows);
}

std::vector<Group> load(const std::vector<std::string>& files) {
  const std::vector<Device> devices = load_devices("configs/devices.yaml");
  std::map<std::string, Group> groups;
  std::map<std::string, std::map<std::string, Row>> rows;
  for (const std::string& file : files) {
    const Store store = Store::open(file, Store::Mode::kReadOnly);
    for (const RecordedRace& recorded : store.races()) {
      const Race& race = recorded.race;
      if (race.regime != Regime::kBurst && race.regime != Regime::kSustained) continue;
      for (const Trial& trial : race.trials) {
        const std::optional<KernelConfig> config = config_of(trial, race.problem);
        if (!config) continue;
        for (const Pace pace : {Pace::kRested, Pace::kOwn}) {
          const std::optional<Sample> sample = median_sample(trial, pace);
          if (!sample) continue;
          const std::string key = fmt::format("{} {} {}", to_string(race.problem), to_string(pace),
                                              recorded.environment.gpu_name);
          groups[key].problem = race.problem;
          groups[key].pace = pace;
          groups[key].figures =
              cost_figures(devices, recorded.environment,
                           pace == Pace::kOwn ? Regime::kSustained : Regime::kBurst);
          const Row row{.config = *config, .time_us = sample->time_us, .mhz = sample->sm_mhz};
          const auto [known, is_new] = rows[key].try_emplace(label(*config), row);
          if (!is_new && row.time_us < known->second.time_us) known->second = row;
        }
      }
    }
  }
  std::vector<Group> result;
  for (auto& [key, group] : groups) {
    for (auto& [name, row] : rows[key]) group.rows.push_back(std::move(row));
    if (group.rows.size() < kFewestRows) continue;
    result.push_back(std::move(group));
  }
  return result;
}

void weigh(Group& group) {
  predict(group);
  const double best = least(group, &Row::time_us);
  const double likeliest = least(group, &Row::predicted_us);
  for (Row& row : group.rows) {
    const double behind = std::min(row.time_us / best, row.predicted_us / likeliest) - 1;
    row.weight = std::exp(-behind / kNear);
  }
}

double loss_of(Group& group) {
  double weights = 0, sum = 0, squares = 0;
  for (Row& row : group.rows) {
    predict_at_clock(group, row);
    const double residual = std::log(row.time_us / row.at_clock_us);
    weights += row.weight;
    sum += row.weight * residual;
    squares += row.weight * residual * residual;
  }
  const double mean = sum / weights;
  return squares / weights - mean * mean + kMeanShare * mean * mean;
}

/// Calls `visit` for each group, on all CPUs.
template <typename Visit>
void for_each_at_once(std::vector<Group>& groups, Visit visit) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> pool;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    pool.emplace_back([&] {
      for (std::size_t g; (g = next++) < groups.size();) visit(groups[g], g);
    });
  }
}

double loss_of(std::vector<Group>& groups) {
  std::vector<double> losses(groups.size());
  for_each_at_once(groups, [&](Group& group, std::size_t g) { losses[g] = loss_of(group); });
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(groups.size());
}

void weigh(std::vector<Group>& groups) {
  for_each_at_once(groups, [](Group& group, std::size_t) { weigh(group); });
}

/// The mean of measured over predicted time, for the measured clock and for the model's.
void print_means(const std::vector<Group>& groups) {
  for (const Pace pace : {Pace::kRested, Pace::kOwn}) {
    for (const auto& [from, to] : {std::pair{0.0, 10.0}, {10.0, 100.0}, {100.0, INFINITY}}) {
      double at_clock = 0, predicted = 0;
      std::size_t count = 0;
      for (const Group& group : groups) {
        const double best = least(group, &Row::time_us);
        if (group.pace != pace || best < from || best >= to) continue;
        for (const Row& row : group.rows) {
          if (row.time_us > kNearlyBest * best) continue;
          at_clock += std::log(row.time_us / row.at_clock_us);
          predicted += std::log(row.time_us / row.predicted_us);
          ++count;
        }
      }
      if (count == 0) continue;
      const auto rows = static_cast<double>(count);
      fmt::print(
          "pace {}, {} to {} us, {} configs within {:.0f} % of the best: measured over predicted "
          "{:.3f} at the measured clock, {:.3f} at the predicted one\n",
          to_string(pace), from, to, count, 100 * (kNearlyBest - 1), std::exp(at_clock / rows),
          std::exp(predicted / rows));
    }
  }
}

/// The best of the first configs by prediction over the best of all: geometric mean and worst. Then
/// the problems at which that of the first five is worst.
void print_ranks(std::vector<Group>& groups) {
  struct Miss {
    double factor;
    std::string text;
  };
  std::vector<Miss> misses;
  for (const std::size_t first : {1u, 5u, 10u, 20u}) {
    double logs = 0, worst = 1;
    for (Group& group : groups) {
      std::ranges::stable_sort(group.rows, {}, &Row::predicted_us);
      const auto by_time = [](const Row& a, const Row& b) { return a.time_us < b.time_us; };
      const Row& best = *std::ranges::min_element(group.rows, by_time);
      const auto end = group.rows.begin() + std::min(first, group.rows.size());
      const Row& found = *std::min_element(group.rows.begin(), end, by_time);
      const double factor = found.time_us / best.time_us;
      logs += std::log(factor);
      worst = std::max(worst, factor);
      if (first != 5 || factor < 1.05) continue;
      const auto line = [](const Row& row) {
        return fmt::format("    {:9.2f} us, predicted {:9.2f}: {}\n", row.time_us, row.predicted_us,
                           label(row.config));
      };
      misses.push_back({factor, fmt::format("  {:.3f} {}\n", factor, to_string(group.problem)) +
                                    line(best) + line(group.rows.front())});
    }
    fmt::print("best of the {:2} likeliest: {:.4f} of the best, at worst {:.3f}\n", first,
               std::exp(logs / static_cast<double>(groups.size())), worst);
  }
  std::ranges::sort(misses, std::greater<>{}, &Miss::factor);
  for (std::size_t i = 0; i < std::min<std::size_t>(misses.size(), kShownMisses); ++i) {
    fmt::print("{}", misses[i].text);
  }
}

struct Constant {
  const char* name;
  double* value;                          ///< of cost_constants.h, or
  double CostFigures::*figure = nullptr;  ///< a figure of every problem
};

double get(const Constant& constant, const std::vector<Group>& groups) {
  return constant.value ? *constant.value : groups.front().figures.*constant.figure;
}
void set(const Constant& constant, std::vector<Group>& groups, double value) {
  if (constant.value) {
    *constant.value = value;
  } else {
    for (Group& group : groups) group.figures.*constant.figure = value;
  }
}

const std::vector<Constant> kAllConstants = {
    {"kOverlapSharpness", &constants::kOverlapSharpness},
    {"kCopiedBytesPerClk", &constants::kCopiedBytesPerClk},
    {"kTransposedBytesPerClk", &constants::kTransposedBytesPerClk},
    {"kClusterPartClk", &constants::kClusterPartClk},
    {"kSplitPartClk", &constants::kSplitPartClk},
    {"kNarrowFill", &constants::kNarrowFill},
    {"kPdlReadBytesPerClk", &constants::kPdlReadBytesPerClk},
    {"kUnalignedRows", &constants::kUnalignedRows},
    {"kWrittenShare", &constants::kWrittenShare},
    {"kStageBlocks", &constants::kStageBlocks},
    {"kElementsBytesPerClk", &constants::kElementsBytesPerClk},
    {"kPartialSectors", &constants::kPartialSectors},
    {"kReadApart", &constants::kReadApart},
    {"kDriftedReadApart", &constants::kDriftedReadApart},
    {"kHilbertUs", &constants::kHilbertUs},
    {"kQueueUs", &constants::kQueueUs},
    {"kClusterQueueUs", &constants::kClusterQueueUs},
    {"kClusterStartUs", &constants::kClusterStartUs},
    {"kDirectBytesPerClk", &constants::kDirectBytesPerClk},
    {"kOverlappedStore", &constants::kOverlappedStore},
    {"kClusterSumsBytesPerClk", &constants::kClusterSumsBytesPerClk},
    {"kSplitSumsClk", &constants::kSplitSumsClk},
    {"kSplitSumsBytesPerClk", &constants::kSplitSumsBytesPerClk},
    {"kStreamSumsClk", &constants::kStreamSumsClk},
    {"kLeaveBytesPerClk", &constants::kLeaveBytesPerClk},
    {"kStreamPartClk", &constants::kStreamPartClk},
    {"kAddBytesPerClk", &constants::kAddBytesPerClk},
    {"kLoneDrainClk", &constants::kLoneDrainClk},
    {"kEmptyRowClk", &constants::kEmptyRowClk},
    {"kLoneClusterClk", &constants::kLoneClusterClk},
    {"kSwapAbSumsBytesPerClk", &constants::kSwapAbSumsBytesPerClk},
    {"kNarrowBlockClk", &constants::kNarrowBlockClk},
    {"kPromotionClk", &constants::kPromotionClk},
    {"kPromotionWaitClk", &constants::kPromotionWaitClk},
    {"kLongPromotionClk", &constants::kLongPromotionClk},
    {"kReachedRead", &constants::kReachedRead},
    {"kSwapAbPartClk", &constants::kSwapAbPartClk},
    {"kTurnoverUs", &constants::kTurnoverUs},
    {"kSwapAbStartGainUs", &constants::kSwapAbStartGainUs},
    {"kSwapAbEarlyStartGainUs", &constants::kSwapAbEarlyStartGainUs},
    {"kFixedGainUs", &constants::kFixedGainUs},
    {"kLoadsLatency", &constants::kLoadsLatency},
    {"fill_bytes_per_clk", nullptr, &CostFigures::fill_bytes_per_clk},
    {"start_us", nullptr, &CostFigures::start_us},
    {"launch_us", nullptr, &CostFigures::launch_us},
    {"stage_latency_clk", nullptr, &CostFigures::stage_latency_clk},
};

using Constants = std::vector<Constant>;

/// Those of a list of names with commas; without one all.
Constants constants_named(const std::optional<std::string>& names) {
  if (!names) return kAllConstants;
  Constants named;
  for (const auto part : std::views::split(*names, ',')) {
    const std::string_view name(part.begin(), part.end());
    const auto found = std::ranges::find(kAllConstants, name, &Constant::name);
    if (found == kAllConstants.end()) throw InputError(fmt::format("no constant {}", name));
    named.push_back(*found);
  }
  return named;
}

std::vector<double> values(const Constants& constants, const std::vector<Group>& groups) {
  std::vector<double> result;
  for (const Constant& constant : constants) result.push_back(get(constant, groups));
  return result;
}
double loss_with(const Constants& constants, std::vector<Group>& groups,
                 const std::vector<double>& values) {
  for (std::size_t i = 0; i < constants.size(); ++i) set(constants[i], groups, values[i]);
  return loss_of(groups);
}

/// Moves one constant after another by a share of its value, if that helps. Returns the loss.
double explore(const Constants& constants, std::vector<Group>& groups, double step, double least) {
  for (const Constant& constant : constants) {
    const double old = get(constant, groups);
    for (const double factor : {1 + step, 1 / (1 + step)}) {
      set(constant, groups, old * factor);
      const double loss = loss_of(groups);
      if (loss < least) {
        least = loss;
        break;
      }
      set(constant, groups, old);
    }
  }
  return least;
}

/// Pattern search (Hooke and Jeeves, 1961) on the logarithms of the constants: what one round of
/// moves has brought is tried again as a whole, since many constants make up for one another.
void fit(const Constants& constants, std::vector<Group>& groups) {
  constexpr double kFirstStep = 0.2, kLastStep = 0.015, kShrink = 1.6;
  constexpr double kGain = 0.002;  // of the loss, for another round at the same step
  for (double step = kFirstStep; step > kLastStep; step /= kShrink) {
    weigh(groups);
    double least = loss_of(groups);
    for (double start = INFINITY; least < (1 - kGain) * start;) {
      start = least;
      const std::vector<double> before = values(constants, groups);
      least = explore(constants, groups, step, least);
      std::vector<double> best = values(constants, groups);
      while (true) {
        std::vector<double> further = best;
        for (std::size_t i = 0; i < best.size(); ++i) further[i] *= best[i] / before[i];
        const double loss = loss_with(constants, groups, further);
        if (!(loss < least)) break;
        least = loss;
        best = further;
      }
      loss_with(constants, groups, best);
      fmt::print(stderr, "step {:.3f}: error {:.4f}\n", step, std::sqrt(least));
    }
  }
}

void run(std::vector<std::string> files) {
  const bool show = std::erase(files, "--show") > 0;
  std::optional<std::string> only;
  if (const auto at = std::ranges::find(files, "--only"); files.end() - at > 1) {
    only = at[1];
    files.erase(at, at + 2);
  }
  const Constants constants = constants_named(only);
  if (files.empty()) throw InputError("usage: cost_fit DATABASE... [--show | --only CONSTANT,...]");
  std::vector<Group> groups = load(files);
  if (groups.empty()) throw InputError("no problem there has five configs with a time");
  weigh(groups);
  if (!show) {
    std::mt19937 random(1);
    for (Group& group : groups) thin_out(group, random);
  }
  std::size_t rows = 0;
  for (const Group& group : groups) rows += group.rows.size();
  fmt::print("{} problems, {} configs, error {:.4f}\n", groups.size(), rows,
             std::sqrt(loss_of(groups)));
  print_means(groups);
  print_ranks(groups);
  if (show) return;

  const std::vector<double> before = values(constants, groups);
  fit(constants, groups);
  weigh(groups);
  fmt::print("error {:.4f}\n", std::sqrt(loss_of(groups)));
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Constant& constant = constants[i];
    fmt::print("{:24} {:10.4g} -> {:10.4g}\n", constant.name, before[i], get(constant, groups));
  }
  print_means(groups);
  print_ranks(groups);
}

}  // namespace
}  // namespace hgemm

int main(int count, char** values) {
  try {
    hgemm::run({values + 1, values + count});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cost_fit: {}\n", error.what());
    return 1;
  }
}
