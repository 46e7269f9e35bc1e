#include "program/configs.h"

#include <fmt/format.h>

#include "base/error.h"
#include "program/command.h"

namespace hgemm::cli {

namespace {

/// The rule that the config breaks whatever the operands are. A config that promotes sums is for
/// 8-bit operands only, and a stage with room for no more than these is, too.
std::optional<Rejection> why_for_no_operands(const KernelConfig& config) {
  const auto with_16_bits = why_invalid(config);
  if (!with_16_bits) return std::nullopt;
  GemmProblem of_8_bits;
  of_8_bits.set_types(DataType::kE4m3);
  const auto promoted = why_invalid(kernel_for(config, of_8_bits));
  of_8_bits.accumulator = Accumulator::kFast;
  const auto fast = why_invalid(kernel_for(config, of_8_bits));
  if (!promoted || !fast) return std::nullopt;
  return with_16_bits->rule == "promote" ? promoted : with_16_bits;
}

}  // namespace

KernelConfig chosen_config(const std::string& label) {
  const KernelConfig config = parse_label(label);
  const auto rejection = why_for_no_operands(config);
  if (!rejection) return config;
  throw InputError(fmt::format("--config {}: the kernel cannot run it: {} (rule {})", label,
                               rejection->reason, rejection->rule));
}

Enumeration allowed_points(const Space& space, std::span<const GemmProblem> problems,
                           const Allowed& allowed) {
  Enumeration points = enumerate(space, problems);
  std::erase_if(points.valid, [&](const KernelConfig& config) { return !allows(allowed, config); });
  return points;
}

std::string default_configs(const std::string& space) {
  return space == kWholeSpace ? "100configs" : "3%";
}

}  // namespace hgemm::cli
