#include "program/configs.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hgemm::cli {

KernelConfig chosen_config(const std::string& label) {
  const KernelConfig config = parse_label(label);
  const auto rejection = why_invalid(config);
  if (!rejection) return config;
  throw InputError(fmt::format("--config {}: the kernel cannot run it: {} (rule {})", label,
                               rejection->reason, rejection->rule));
}

}  // namespace hgemm::cli
