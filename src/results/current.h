// Tells which recorded results come from kernels that this program would run now.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "families/family.h"
#include "record/trial.h"

namespace hgemm {

/// Names a config's kernel for a problem in the same way as its trials do, without compiling it.
/// The key of the sources that a kernel is compiled from (BuildFacts::source_key) identifies the
/// known build. Editing a comment, or a header that the kernel does not include, leaves the key
/// unchanged.
class CurrentKernels {
 public:
  CurrentKernels(std::function<std::string(const Kernel&)> source_key,
                 std::span<const BuildFacts> builds);

  void add(const BuildFacts& build);

  /// The Trial::kernel_id that a trial recorded now would have: the kernel_id of a known build of
  /// the same source, or else the identity of an unbuilt kernel.
  std::string identity(const KernelConfig& config, const GemmProblem& problem);

  /// Whether the trial at that problem used the kernel that its config has now. False for baselines
  /// and for labels that no family has any more.
  bool is_current(const Trial& trial, const GemmProblem& problem);

 private:
  std::function<std::string(const Kernel&)> source_key_;
  std::map<std::string, std::string> kernel_ids_;   ///< by source_key
  std::map<std::string, std::string> source_keys_;  ///< by build_name(); computed once for each
};

}  // namespace hgemm
