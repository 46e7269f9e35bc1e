// Fits the constants of the cost model to recorded races, and says how well it ranks with them:
//
//   cost_fit DATABASE... [--show]
//
// Run it in the root folder. It prints the constants before and after; copy them to
// src/families/cost_constants.h and cost.h if they rank better. With --show it fits nothing.
//
// Races are pooled by problem and regime. The fit is by least squares to the logarithm of the
// measured over the predicted time. The mean of a problem counts a tenth, because only the order
// within a problem matters to a search. A config counts the more, the nearer it is to the best one
// of its problem, measured or predicted: what the model wrongly ranks first is measured by a
// search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
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

struct Row {
  KernelConfig config;
  double time_us = 0;
  double predicted_us = 0;
};
struct Group {
  GemmProblem problem;
  CostFigures figures;
  std::vector<Row> rows;
};

/// Rows of a problem beyond these are left out: those far from the best first, then at random.
constexpr std::size_t kMostRows = 200;
constexpr double kFar = 2.0;
/// The scale of the weight: a config 15 % behind the best counts 1/e.
constexpr double kNear = 0.15;
constexpr double kMeanShare = 0.1;
constexpr std::size_t kShownMisses = 14;

std::vector<Group> load(const std::vector<std::string>& files) {
  const std::vector<Device> devices = load_devices("configs/devices.yaml");
  std::map<std::string, Group> groups;
  std::map<std::string, std::map<std::string, Row>> rows;
  for (const std::string& file : files) {
    const Store store = Store::open(file, Store::Mode::kReadOnly);
    for (const RecordedRace& recorded : store.races()) {
      const Race& race = recorded.race;
      if (race.regime != Regime::kBurst && race.regime != Regime::kSustained) continue;
      const std::string key = fmt::format("{} {} {}", to_string(race.problem),
                                          to_string(race.regime), recorded.environment.gpu_name);
      groups[key].problem = race.problem;
      groups[key].figures = cost_figures(devices, recorded.environment, race.regime);
      for (const Trial& trial : race.trials) {
        if (is_baseline(trial.label) || trial.status != Status::kOk || trial.samples.empty())
          continue;
        KernelConfig config;
        try {
          config = parse_label(trial.label);
        } catch (const Error&) {
          continue;  // of an older program, or a peer
        }
        if (why_invalid(kernel_for(config, race.problem))) continue;
        double least = INFINITY;
        for (const Sample& sample : trial.samples) least = std::min(least, sample.time_us);
        Row& row = rows[key].try_emplace(label(config), Row{config, least, 0}).first->second;
        row.time_us = std::min(row.time_us, least);
      }
    }
  }
  std::vector<Group> result;
  std::mt19937 random(1);
  for (auto& [key, group] : groups) {
    for (auto& [name, row] : rows[key]) {
      row.predicted_us = predict_cost(group.figures, row.config, group.problem).us();
      group.rows.push_back(row);
    }
    if (group.rows.size() < 5) continue;
    double best = INFINITY, likeliest = INFINITY;
    for (const Row& row : group.rows) {
      best = std::min(best, row.time_us);
      likeliest = std::min(likeliest, row.predicted_us);
    }
    std::erase_if(group.rows, [&](const Row& row) {
      return row.time_us > kFar * best && row.predicted_us > kFar * likeliest;
    });
    std::ranges::shuffle(group.rows, random);
    std::ranges::stable_partition(group.rows, [&](const Row& row) {
      return row.time_us < 1.1 * best || row.predicted_us < 1.1 * likeliest;
    });
    if (group.rows.size() > kMostRows) group.rows.resize(kMostRows);
    result.push_back(std::move(group));
  }
  return result;
}

double loss_of(Group& group) {
  double best = INFINITY, likeliest = INFINITY;
  for (Row& row : group.rows) {
    row.predicted_us = predict_cost(group.figures, row.config, group.problem).us();
    best = std::min(best, row.time_us);
    likeliest = std::min(likeliest, row.predicted_us);
  }
  double weights = 0, sum = 0, squares = 0;
  for (const Row& row : group.rows) {
    const double behind = std::min(row.time_us / best, row.predicted_us / likeliest) - 1;
    const double weight = std::exp(-behind / kNear);
    const double residual = std::log(row.time_us / row.predicted_us);
    weights += weight;
    sum += weight * residual;
    squares += weight * residual * residual;
  }
  const double mean = sum / weights;
  return squares / weights - mean * mean + kMeanShare * mean * mean;
}

double loss_of(std::vector<Group>& groups) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<double> sums(threads);
  {
    std::vector<std::jthread> pool;
    for (unsigned i = 0; i < threads; ++i) {
      pool.emplace_back([&, i] {
        for (std::size_t g = i; g < groups.size(); g += threads) sums[i] += loss_of(groups[g]);
      });
    }
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum / static_cast<double>(groups.size());
}

/// The best of the first configs by prediction over the best of all: geometric mean and worst. Then
/// the problems at which that of the first five is worst.
void print_ranks(std::vector<Group>& groups) {
  loss_of(groups);
  struct Miss {
    double factor;
    std::string text;
  };
  std::vector<Miss> misses;
  for (const std::size_t first : {1u, 5u, 10u, 20u}) {
    double logs = 0, worst = 1;
    for (Group& group : groups) {
      std::ranges::sort(group.rows, {}, &Row::predicted_us);
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

const std::vector<Constant> kConstants = {
    {"kOverlapSharpness", &constants::kOverlapSharpness},
    {"kStoreClk", &constants::kStoreClk},
    {"kStagedBytesPerClk", &constants::kStagedBytesPerClk},
    {"kTransposedBytesPerClk", &constants::kTransposedBytesPerClk},
    {"kClusterPartClk", &constants::kClusterPartClk},
    {"kSplitPartClk", &constants::kSplitPartClk},
    {"kNarrowFill", &constants::kNarrowFill},
    {"kDirectBytesPerClk", &constants::kDirectBytesPerClk},
    {"kOverlappedStore", &constants::kOverlappedStore},
    {"kClusterSumsBytesPerClk", &constants::kClusterSumsBytesPerClk},
    {"kSplitSumsClk", &constants::kSplitSumsClk},
    {"kSplitSumsBytesPerClk", &constants::kSplitSumsBytesPerClk},
    {"kStreamSumsClk", &constants::kStreamSumsClk},
    {"kLeaveBytesPerClk", &constants::kLeaveBytesPerClk},
    {"kStreamPartClk", &constants::kStreamPartClk},
    {"kAddBytesPerClk", &constants::kAddBytesPerClk},
    {"kBlockClk", &constants::kBlockClk},
    {"kLoneBlockClk", &constants::kLoneBlockClk},
    {"kTurnoverUs", &constants::kTurnoverUs},
    {"kSwapAbStartGainUs", &constants::kSwapAbStartGainUs},
    {"kSwapAbPdlStartGainUs", &constants::kSwapAbPdlStartGainUs},
    {"kSwapAbEarlyStartGainUs", &constants::kSwapAbEarlyStartGainUs},
    {"kClusterIntervalUs", &constants::kClusterIntervalUs},
    {"kFixedGainUs", &constants::kFixedGainUs},
    {"fill_bytes_per_clk", nullptr, &CostFigures::fill_bytes_per_clk},
    {"start_us", nullptr, &CostFigures::start_us},
    {"launch_us", nullptr, &CostFigures::launch_us},
    {"stage_latency_clk", nullptr, &CostFigures::stage_latency_clk},
};

/// Moves one constant after another by shares of its value that become smaller, as long as that
/// helps.
void fit(std::vector<Group>& groups) {
  constexpr double kFirstStep = 0.2, kLastStep = 0.015, kShrink = 1.6;
  constexpr double kGain = 0.003;  // of the loss, for another pass at the same step
  double least = loss_of(groups);
  for (double step = kFirstStep; step > kLastStep; step /= kShrink) {
    for (double start = INFINITY; least < (1 - kGain) * start;) {
      start = least;
      for (const Constant& constant : kConstants) {
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
      fmt::print(stderr, "step {:.3f}: error {:.4f}\n", step, std::sqrt(least));
    }
  }
}

void run(std::vector<std::string> files) {
  const bool show = std::erase(files, "--show") > 0;
  if (files.empty()) throw InputError("usage: cost_fit DATABASE... [--show]");
  std::vector<Group> groups = load(files);
  if (groups.empty()) throw InputError("no problem there has five configs with a time");
  std::size_t rows = 0;
  for (const Group& group : groups) rows += group.rows.size();
  fmt::print("{} problems, {} configs, error {:.4f}\n", groups.size(), rows,
             std::sqrt(loss_of(groups)));
  print_ranks(groups);
  if (show) return;

  std::vector<double> before;
  for (const Constant& constant : kConstants) before.push_back(get(constant, groups));
  fit(groups);
  fmt::print("error {:.4f}\n", std::sqrt(loss_of(groups)));
  for (std::size_t i = 0; i < kConstants.size(); ++i) {
    const Constant& constant = kConstants[i];
    fmt::print("{:24} {:10.4g} -> {:10.4g}\n", constant.name, before[i], get(constant, groups));
  }
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
