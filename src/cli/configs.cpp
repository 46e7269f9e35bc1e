#include "cli/configs.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kernels/rules.h"
#include "space/label.h"

namespace hgemm::cli {

KernelConfig chosen_config(const std::string& label) {
  const KernelConfig config = parse_label(label);
  const Rule rule = why_invalid(config);
  if (rule == Rule::kValid) return config;
  throw InputError(fmt::format("--config {}: the kernel cannot run it: {} (rule {})", label,
                               rule_text(rule).reason, rule_text(rule).name));
}

}  // namespace hgemm::cli
