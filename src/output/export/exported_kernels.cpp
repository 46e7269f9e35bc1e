// The kernels that packages and bundles contain.
#include <algorithm>

#include "families/family.h"
#include "output/export/formats.h"

namespace hgemm {

int ExportedKernels::find(const Kernel& kernel) const {
  const auto found = std::ranges::find(kernels, build_name(kernel), build_name);
  return found == kernels.end() ? kNone : static_cast<int>(found - kernels.begin());
}

int ExportedKernels::add(const Kernel& kernel) {
  if (find(kernel) == kNone) kernels.push_back(kernel);
  return find(kernel);
}

ExportedKernels exported_kernels(const ExportPlan& plan) {
  ExportedKernels all;
  for (const ExportRow& row : plan.rows) {
    all.of_row.push_back(all.add(kernel_for(parse_label(*row.best.label), row.best.problem)));
  }
  for (const ExportRow& row : plan.rows) {
    const KernelConfig config = without_fixed(parse_label(*row.best.label));
    const Kernel general = kernel_for(config, row.best.problem);
    // All M must be computed where bits may not follow it.
    const bool may_add = (!row.fraction || plan.allowed.batch_invariant) && !why_invalid(general);
    all.general_of_row.push_back(may_add ? all.add(general) : all.find(general));
  }
  return all;
}

}  // namespace hgemm
