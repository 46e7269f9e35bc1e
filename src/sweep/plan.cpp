#include "sweep/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "gemm/codec.h"

namespace hgemm::sweep {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr int kMostShards = 1'000'000;
constexpr double kMostSeconds = 1e12;

/// A member of an object, of the type that is wanted. Throws json's exceptions.
template <class Value>
Value member(const json& object, const char* name) {
  return object.at(name).get<Value>();
}

int count_of(const json& object, const char* name, int low, int high) {
  const auto value = member<std::int64_t>(object, name);
  if (!object.at(name).is_number_integer() || value < low || value > high) {
    throw InputError(fmt::format("\"{}\" is not from {} to {}", name, low, high));
  }
  return static_cast<int>(value);
}

double seconds_of(const json& value) {
  const auto seconds = value.get<double>();
  if (!(seconds >= 0 && seconds <= kMostSeconds)) throw InputError("a time is not a possible one");
  return seconds;
}

SweepPlan plan_of(const json& root) {
  const int version = count_of(root, "version", 1, 1'000'000);
  if (version != kVersion) {
    throw InputError(
        fmt::format("version {} of the run folder; this program knows version {}: use the one "
                    "that wrote it",
                    version, kVersion));
  }
  SweepPlan plan;
  plan.created_utc = member<std::string>(root, "created_utc");
  plan.program = member<std::string>(root, "program");
  plan.version = member<std::string>(root, "program_version");
  plan.command_line = member<std::string>(root, "command_line");
  plan.options = member<std::vector<std::string>>(root, "options");
  plan.database = member<std::string>(root, "database");
  for (const auto& word : member<std::vector<std::string>>(root, "regimes")) {
    plan.regimes.push_back(parse_regime(word));
  }
  plan.gpus = count_of(root, "gpus_per_task", 1, 1024);
  plan.array_limit = count_of(root, "array_limit", 0, kMostShards);
  plan.in_one_stage = member<bool>(root, "in_one_stage");
  plan.compiles_ahead = member<bool>(root, "compiles_ahead");
  if (!root.at("budget_gpu_seconds").is_null()) {
    plan.budget_s = seconds_of(root.at("budget_gpu_seconds"));
  }
  for (const json& seconds : root.at("shard_seconds")) {
    plan.shards.push_back({static_cast<int>(plan.shards.size()) + 1, {}, seconds_of(seconds)});
  }
  for (const json& shard : root.at("order")) {
    const int number = shard.get<int>();
    if (number < 1 || static_cast<std::size_t>(number) > plan.shards.size()) {
      throw InputError("\"order\" names a shard that there is not");
    }
    plan.order.push_back(number);
  }
  if (plan.shards.empty() || plan.regimes.empty()) throw InputError("there are no races in it");
  if (plan.shards.size() > static_cast<std::size_t>(kMostShards)) {
    throw InputError("more shards than a run can have");
  }
  return plan;
}

/// A problem's entry of a shard's file. JSON strings are YAML strings.
std::string entry_of(const GemmProblem& problem) {
  std::string entry;
  const bool has_types = types_text(problem) != types_text(GemmProblem{});
  for (const ProblemField& field : problem_fields()) {
    // In a key a type that is left out follows from the others; in YAML it does not.
    const bool is_operand_type =
        field.name == "a_dtype" || field.name == "b_dtype" || field.name == "d_dtype";
    if (field.is_default(problem) && !(has_types && is_operand_type)) continue;
    entry += fmt::format("{}{}: {}", entry.empty() ? "" : ", ", field.name, field.print(problem));
  }
  if (!problem.tag.empty()) entry += fmt::format(", tag: {}", json(problem.tag).dump());
  if (problem.weight != 1) entry += fmt::format(", weight: {}", problem.weight);
  return "  - {" + entry + "}\n";
}

}  // namespace

std::string race_name(const GemmProblem& problem, Regime regime) {
  return fmt::format("{}-{}", to_string(problem), to_string(regime));
}

std::string shard_name(int number) { return fmt::format("{:04}", number); }

namespace {

/// The sizes of shards for so many seconds of work, the longest first.
std::vector<double> tapered(double total_s, const ShardSizes& sizes) {
  std::vector<double> wanted_s;
  // What rounding leaves over is no shard.
  for (double left_s = total_s; left_s > 1e-9 * total_s;) {
    const double half_s = left_s / sizes.tasks / 2;
    wanted_s.push_back(std::min(left_s, std::clamp(half_s, sizes.shortest_s, sizes.longest_s)));
    left_s -= wanted_s.back();
  }
  if (wanted_s.empty()) wanted_s.push_back(0);
  return wanted_s;
}

}  // namespace

std::vector<Shard> make_shards(std::span<const GemmProblem> problems, std::span<const double> costs,
                               ShardSizes sizes) {
  constexpr double kGrowth = 1.25;
  const double total_s = std::accumulate(costs.begin(), costs.end(), 0.0);
  std::vector<double> wanted_s = tapered(total_s, sizes);
  while (wanted_s.size() > static_cast<std::size_t>(std::max(sizes.most, 1))) {
    sizes.shortest_s *= kGrowth;
    sizes.longest_s = std::max(sizes.longest_s, sizes.shortest_s);
    wanted_s = tapered(total_s, sizes);
  }
  std::vector<std::size_t> costliest_first(problems.size());
  std::iota(costliest_first.begin(), costliest_first.end(), std::size_t{0});
  std::ranges::stable_sort(costliest_first, std::greater<>(), [&](auto i) { return costs[i]; });
  struct Load {
    double room_s = 0, seconds = 0;
    std::vector<std::size_t> problems;
  };
  std::vector<Load> loads;
  for (const double seconds : wanted_s) loads.emplace_back().room_s = seconds;
  for (const std::size_t i : costliest_first) {
    Load& emptiest = *std::ranges::max_element(loads, {}, &Load::room_s);
    emptiest.room_s -= costs[i];
    emptiest.seconds += costs[i];
    emptiest.problems.push_back(i);
  }
  std::erase_if(loads, [](const Load& load) { return load.problems.empty(); });
  std::ranges::stable_sort(loads, std::greater<>(), &Load::seconds);
  std::vector<Shard> shards;
  for (Load& load : loads) {
    Shard& shard = shards.emplace_back();
    shard.number = static_cast<int>(shards.size());
    shard.seconds = load.seconds;
    std::ranges::sort(load.problems);
    for (const std::size_t i : load.problems) shard.problems.push_back(problems[i]);
  }
  return shards;
}

std::vector<int> order_of(std::span<const GemmProblem> problems, std::span<const Shard> shards) {
  std::map<std::string, int> shard_of;
  for (const Shard& shard : shards) {
    for (const GemmProblem& problem : shard.problems) shard_of[to_string(problem)] = shard.number;
  }
  std::vector<int> order;
  for (const GemmProblem& problem : problems) order.push_back(shard_of.at(to_string(problem)));
  return order;
}

std::string shard_text(const Shard& shard) {
  std::string text = fmt::format("# Shard {} of a sweep: about {:.1f} GPU minutes.\nshapes:\n",
                                 shard_name(shard.number), shard.seconds / 60);
  for (const GemmProblem& problem : shard.problems) text += entry_of(problem);
  return text;
}

double SweepPlan::seconds() const {
  double sum = 0;
  for (const Shard& shard : shards) sum += shard.seconds;
  return sum;
}

std::size_t SweepPlan::races() const {
  std::size_t problems = 0;
  for (const Shard& shard : shards) problems += shard.problems.size();
  return problems * regimes.size();
}

std::vector<GemmProblem> SweepPlan::problems() const {
  std::vector<GemmProblem> all;
  std::vector<std::size_t> next(shards.size(), 0);
  for (const int number : order) {
    const auto index = static_cast<std::size_t>(number) - 1;
    if (next[index] < shards[index].problems.size()) {
      all.push_back(shards[index].problems[next[index]++]);
    }
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {  // that a shard's file has and the plan has not
    const auto& problems = shards[i].problems;
    all.insert(all.end(), problems.begin() + static_cast<std::ptrdiff_t>(next[i]), problems.end());
  }
  return all;
}

const Shard& SweepPlan::shard(int number) const {
  if (number < 1 || static_cast<std::size_t>(number) > shards.size()) {
    throw InputError(fmt::format("there is no shard {}; the run has {}", number, shards.size()));
  }
  return shards[static_cast<std::size_t>(number) - 1];
}

std::optional<double> SweepPlan::budget_of(const Shard& shard) const {
  if (!budget_s) return std::nullopt;
  const double all = seconds();
  const double share = all > 0 ? shard.seconds / all : 1 / static_cast<double>(shards.size());
  return *budget_s * share;
}

std::string plan_text(const SweepPlan& plan) {
  nlohmann::ordered_json root;
  root["version"] = kVersion;
  root["created_utc"] = plan.created_utc;
  root["command_line"] = plan.command_line;
  root["program"] = plan.program;
  root["program_version"] = plan.version;
  root["options"] = plan.options;
  root["database"] = plan.database;
  root["regimes"] = nlohmann::ordered_json::array();
  for (const Regime regime : plan.regimes) root["regimes"].push_back(to_string(regime));
  root["gpus_per_task"] = plan.gpus;
  root["array_limit"] = plan.array_limit;
  root["in_one_stage"] = plan.in_one_stage;
  root["compiles_ahead"] = plan.compiles_ahead;
  root["budget_gpu_seconds"] = nullptr;
  if (plan.budget_s) root["budget_gpu_seconds"] = *plan.budget_s;
  root["shard_seconds"] = nlohmann::ordered_json::array();
  for (const Shard& shard : plan.shards) root["shard_seconds"].push_back(shard.seconds);
  root["order"] = plan.order;
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

SweepPlan parse_plan(std::string_view text, const std::string& place) {
  try {
    return plan_of(json::parse(text));
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: not the plan of a run ({})", place, error.what()));
  } catch (const Error& error) {
    throw InputError(fmt::format("{}: {}", place, error.what()));
  }
}

}  // namespace hgemm::sweep
