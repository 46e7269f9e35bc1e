#include "studies/accuracy/accuracy.h"

#include <algorithm>
#include <array>
#include <variant>

namespace hgemm {
namespace {

constexpr std::string_view kWorst = "worst";
constexpr std::string_view kRms = "rms";
constexpr std::string_view kBias = "bias";
constexpr std::string_view kExactRms = "exact_rms";
constexpr const char* kRelative = "of rms";

}  // namespace

std::span<const AccuracyKind> accuracy_kinds() {
  static constexpr std::array kKinds = {
      AccuracyKind{AccuracyData::kNormal, "normal", "normal"},
      AccuracyKind{AccuracyData::kOneSign, "one_sign", "one sign"},
      AccuracyKind{AccuracyData::kGrowing, "growing", "growing along K"},
      AccuracyKind{AccuracyData::kLargeBlock, "large_block", "one large block"},
      AccuracyKind{AccuracyData::kCancelling, "cancelling", "cancelling"},
  };
  return kKinds;
}

void add_figures(std::vector<Figure>& figures, std::string_view kind, const SumErrors& errors) {
  const auto add = [&](std::string_view metric, const char* unit, double value) {
    figures.push_back({.point = std::string(kind),
                       .metric = std::string(metric),
                       .unit = unit,
                       .value = value,
                       .low = value,
                       .high = value,
                       .samples = errors.outputs});
  };
  add(kWorst, kRelative, errors.worst);
  add(kRms, kRelative, errors.rms);
  add(kBias, kRelative, errors.bias);
  add(kExactRms, "1", errors.exact_rms);
}

SumErrors errors_of(const Study& study, std::string_view kind) {
  SumErrors errors;
  const auto read = [&](std::string_view metric, double& value) {
    const Figure* figure = find_figure(study.figures, kind, metric);
    if (figure == nullptr) return;
    value = figure->value;
    errors.outputs = figure->samples;
  };
  read(kWorst, errors.worst);
  read(kRms, errors.rms);
  read(kBias, errors.bias);
  read(kExactRms, errors.exact_rms);
  return errors;
}

const char* why_no_accuracy(const GemmProblem& problem) {
  if (problem.batch > 1) return "it compares a single product; leave the batch out";
  if (has_epilogue(problem.kind())) {
    return "it compares the sums themselves; leave the epilogue, C and the factors out";
  }
  if (problem.has_8_bit_output()) {
    return "rounding D to 8 bits hides the errors of sums; leave --keep-d or the 8-bit D out";
  }
  if (!problem.data.is_normal()) return "it has its own kinds of data; leave --data out";
  return nullptr;
}

int promoted_every(const KernelConfig& config) {
  return std::visit(
      [](const auto& c) {
        if constexpr (requires { c.promote; }) return c.promote;
        return 0;
      },
      config);
}

std::vector<KernelConfig> with_each_interval(const KernelConfig& config,
                                             const GemmProblem& problem) {
  constexpr int kIntervals[] = {0, 128, 256, 512};  // axis promote
  std::vector<KernelConfig> found;
  for (const int interval : kIntervals) {
    KernelConfig other = config;
    // Where each stage is promoted, a wgmma in flight takes registers.
    for (const bool in_flight : {true, false}) {
      const bool has_axes = std::visit(
          [&](auto& c) {
            if constexpr (requires { c.promote; }) {
              c.promote = interval;
              if (!in_flight) c.mma_depth = 0;
              return true;
            }
            return interval == 0 && in_flight;
          },
          other);
      if (!has_axes || why_not(other, problem) != nullptr) continue;
      found.push_back(other);
      break;
    }
  }
  return found;
}

}  // namespace hgemm
