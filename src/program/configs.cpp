#include "program/configs.h"

#include <fmt/format.h>

#include "base/error.h"
#include "program/command.h"

namespace hgemm::cli {

KernelConfig chosen_config(const std::string& label) {
  const KernelConfig config = parse_label(label);
  const auto rejection = why_invalid(config);
  if (!rejection) return config;
  throw InputError(fmt::format("--config {}: the kernel cannot run it: {} (rule {})", label,
                               rejection->reason, rejection->rule));
}

Enumeration allowed_points(const Space& space, std::span<const GemmProblem> problems,
                           PdlKind most) {
  Enumeration points = enumerate(space, problems);
  std::erase_if(points.valid,
                [most](const KernelConfig& config) { return pdl_kind(config) > most; });
  return points;
}

std::string default_configs(const std::string& space) {
  return space == kWholeSpace ? "100configs" : "3%";
}

}  // namespace hgemm::cli
