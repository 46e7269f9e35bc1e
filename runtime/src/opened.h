// An open bundle: what `hgemm_bundle` is behind the C interface.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bundle/bundle.h"
#include "loaded.h"
#include "misses.h"
#include "outcome.h"
#include "selection.h"

namespace hgemm_runtime {

using hgemm_tuned_selection_rules::Choice;

class OpenedBundle {
 public:
  OpenedBundle(hgemm::Bundle bundle, std::string path);

  const hgemm::Bundle& content() const { return content_; }
  const std::vector<hgemm_tuned_table::Row>& rows() const { return rows_; }
  const hgemm::BundleKernel& kernel(int index) const {
    return content_.kernels[static_cast<std::size_t>(index)];
  }

  Choice choose(const hgemm::ProblemExtents& p, const hgemm::GemmKind& kind,
                const hgemm::Operands& operands) const;
  /// Whether a problem of that kind with this N and K was tuned, for any M.
  bool has_tuned(const hgemm::ProblemExtents& p, const hgemm::GemmKind& kind) const;
  hgemm_tuned_selection select(const hgemm_tuned_problem& problem) const;
  /// HGEMM_TUNED_OK if a choice is launched: what only_gains leaves of it.
  int status_of(const Choice& choice, const hgemm::ProblemExtents& p, const hgemm::GemmKind& kind,
                bool only_gains) const;
  /// The same of a problem at operands that lie at multiples of 16 bytes.
  int status_of(const hgemm_tuned_problem& problem, bool only_gains) const;

  /// Whether the bundle is valid for a device; `flags` are those of hgemm_bundle_check().
  Outcome check(const hgemm::DeviceFacts& device, unsigned flags) const;
  Outcome prepare(int device, unsigned flags);
  /// Null if it is not prepared.
  LoadedDevice* device(int device) const;

  Misses& misses() { return misses_; }
  /// As that many launches would, if it is one.
  void count_misses(const hgemm_tuned_problem& problem, bool only_gains, long long count);
  std::string misses_text() const { return misses_.yaml(path_); }

 private:
  hgemm::Bundle content_;
  std::string path_;
  std::vector<hgemm_tuned_table::Row> rows_;
  Misses misses_;
  mutable std::mutex mutex_;              ///< of what follows
  std::unique_ptr<Libraries> libraries_;  ///< freed after the devices
  std::map<int, std::unique_ptr<LoadedDevice>> devices_;
};

}  // namespace hgemm_runtime
