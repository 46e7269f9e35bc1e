// Which of the recorded results are of kernels that this program would run now.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "families/family.h"
#include "record/trial.h"

namespace hgemm {

/// Names a config's kernel for a problem as its trials do, without compiling it. What a kernel is
/// compiled from (BuildFacts::source_key) says which of the known builds it is: an edit of a
/// comment, or of a header that it does not include, leaves it the same.
class CurrentKernels {
 public:
  CurrentKernels(std::function<std::string(const Kernel&)> source_key,
                 std::span<const BuildFacts> builds);

  void add(const BuildFacts& build);

  /// Trial::kernel_id of a trial that were recorded now: the kernel_id of a known build of the same
  /// source, else the identity of what was not built.
  std::string identity(const KernelConfig& config, const GemmProblem& problem);

  /// Whether the trial at that problem is of the kernel that its config has now. False of
  /// baselines, and of labels that no family has any more.
  bool is_current(const Trial& trial, const GemmProblem& problem);

 private:
  std::function<std::string(const Kernel&)> source_key_;
  std::map<std::string, std::string> kernel_ids_;   ///< by source_key
  std::map<std::string, std::string> source_keys_;  ///< by build_name(): made once for each
};

}  // namespace hgemm
