#include "studies/ladder/ladder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/error.h"
#include "kernels/studies/ladder/core_steps.h"
#include "kernels/studies/ladder/hopper_steps.h"

namespace hgemm {
namespace {

constexpr std::string_view kPrefix = "ladder.";

ladder::Element element(DataType dtype) {
  switch (dtype) {
    case DataType::kBf16:
      return ladder::Element::kBf16;
    case DataType::kFp16:
      return ladder::Element::kFp16;
    case DataType::kFp32:
      return ladder::Element::kFp32;
    case DataType::kE4m3:
    case DataType::kE5m2:
      break;
  }
  throw Error("a type outside its enumeration");
}

/// "hopper.03"
std::string short_name(const ladder::Step& step) {
  return fmt::format("{}.{}", to_string(step.family), step.id);
}

/// A step without a kernel of its own, for every problem.
ladder::Step tuned(const char* id, const char* name, const char* title) {
  ladder::Step step{};
  step.id = id;
  step.family = ladder::Family::kHopper;
  step.name = name;
  step.title = title;
  step.tile_m = step.tile_n = step.tile_k = 1;
  step.elements = ladder::kHalfTypes;
  return step;
}

constexpr std::string_view kEightBits = "e4m3";

/// The steps of ladder_steps() and tuned_ladder_steps().
std::vector<ladder::Step> all_steps() {
  std::vector<ladder::Step> all = ladder_steps();
  std::ranges::copy(tuned_ladder_steps(), std::back_inserter(all));
  return all;
}

}  // namespace

std::string_view to_string(ladder::Family family) {
  switch (family) {
    case ladder::Family::kHopper:
      return "hopper";
    case ladder::Family::kCudaCore:
      return "cuda_core";
    case ladder::Family::kTensorCore:
      return "tensor_core";
  }
  throw Error("a family outside its enumeration");
}

const std::vector<ladder::Step>& ladder_steps() {
  static const std::vector<ladder::Step> all = [] {
    std::vector<ladder::Step> steps;
    using Table = std::span<const ladder::Step>;
    for (const Table table : {Table(ladder::kCoreSteps), Table(ladder::kHopperSteps)}) {
      steps.insert(steps.end(), table.begin(), table.end());
    }
    return steps;
  }();
  return all;
}

const std::vector<ladder::Step>& tuned_ladder_steps() {
  static const std::vector<ladder::Step> all = {
      tuned("13", "tuned", "the best config of the tuner"),
      tuned("14", kEightBits.data(), "A and B in 8 bits: other sums, twice the peak")};
  return all;
}

bool is_tuned(const ladder::Step& step) { return step.function == nullptr; }

DataType operand_type(const ladder::Step& step, DataType dtype) {
  return is_tuned(step) && step.name == kEightBits ? DataType::kE4m3 : dtype;
}

std::vector<ladder::Step> chosen_ladder_steps(std::string_view names) {
  const std::vector<ladder::Step> all = all_steps();
  std::vector<bool> chosen(all.size());
  while (true) {
    const std::size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    bool known = false;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const ladder::Step& step = all[i];
      if (name != to_string(step.family) && name != short_name(step)) continue;
      chosen[i] = true;
      known = true;
    }
    if (!known) {
      std::vector<std::string> there;
      for (const ladder::Step& step : all) {
        const std::string family(to_string(step.family));
        if (std::ranges::find(there, family) == there.end()) there.push_back(family);
        there.push_back(short_name(step));
      }
      throw InputError(fmt::format("--steps: \"{}\" is neither a step nor a family; there are {}",
                                   name, fmt::join(there, " ")));
    }
    if (comma == names.npos) break;
    names.remove_prefix(comma + 1);
  }
  std::vector<ladder::Step> steps;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) steps.push_back(all[i]);
  }
  return steps;
}

std::string ladder_label(const LadderPoint& point) {
  if (is_tuned(point.step)) return point.config;
  return fmt::format("{}{}_{}.{}", kPrefix, short_name(point.step), point.step.name,
                     to_string(point.dtype));
}

GemmProblem problem_of(const LadderPoint& point, const GemmProblem& problem) {
  GemmProblem computed = problem;
  if (point.dtype != problem.a_type) computed.set_types(point.dtype);
  return computed;
}

std::optional<LadderPoint> parse_ladder_label(std::string_view label) {
  if (!label.starts_with(kPrefix)) return std::nullopt;
  for (const ladder::Step& step : ladder_steps()) {
    for (const DataType dtype : {DataType::kBf16, DataType::kFp16, DataType::kFp32}) {
      if (supports(step, dtype) && label == ladder_label({step, dtype})) {
        return LadderPoint{step, dtype, {}};
      }
    }
  }
  return std::nullopt;
}

bool supports(const ladder::Step& step, DataType dtype) {
  if (is_8_bit(dtype)) return false;
  return (step.elements >> static_cast<unsigned>(element(dtype)) & 1) != 0;
}

std::string ladder_source(const LadderPoint& point, bool probe) {
  const ladder::Step& step = point.step;
  const std::string cluster =
      step.cluster > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", step.cluster) : "";
  const std::string bounds = step.ctas_per_sm > 0
                                 ? fmt::format("{}, {}", step.threads, step.ctas_per_sm)
                                 : fmt::format("{}", step.threads);
  return fmt::format(
      R"(#include "{}"

extern "C" __global__ void {}__launch_bounds__({})
    ladder_kernel(const __grid_constant__ hgemm::LadderParams params) {{
  hgemm::ladder::{}<hgemm::ladder::Element{{{}}}, {}>(params);
}}
)",
      step.header, cluster, bounds, step.function, static_cast<int>(element(point.dtype)), probe);
}

}  // namespace hgemm
