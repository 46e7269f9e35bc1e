#include "results/current.h"

#include <utility>

#include "base/error.h"

namespace hgemm {

CurrentKernels::CurrentKernels(std::function<std::string(const Kernel&)> source_key,
                               std::span<const BuildFacts> builds)
    : source_key_(std::move(source_key)) {
  for (const BuildFacts& build : builds) add(build);
}

void CurrentKernels::add(const BuildFacts& build) {
  if (!build.kernel_id.empty()) kernel_ids_[build.source_key] = build.kernel_id;
}

std::string CurrentKernels::identity(const KernelConfig& config, const GemmProblem& problem) {
  const Kernel kernel = kernel_for(config, problem);
  const auto [known, is_new] = source_keys_.try_emplace(build_name(kernel));
  if (is_new) known->second = source_key_(kernel);
  const auto built = kernel_ids_.find(known->second);
  return built != kernel_ids_.end() ? built->second : BuildFacts::unbuilt_identity(known->second);
}

bool CurrentKernels::is_current(const Trial& trial, const GemmProblem& problem) {
  if (is_baseline(trial.label)) return false;
  try {
    return identity(parse_label(trial.label), problem) == trial.kernel_id;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace hgemm
