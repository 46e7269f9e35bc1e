// Looks up the best known config of a problem, for commands that study it.
#pragma once

#include <string>
#include <vector>

#include "families/family.h"
#include "results/best.h"
#include "studies/answer.h"

namespace hgemm::cli {

/// Labels of two configs: one without and one with programmatic dependent launch.
struct PdlPair {
  std::string off, on;
};
/// The config without and with PDL.
PdlPair pdl_pair_of(const KernelConfig& config);

/// Looks in the command's database (--db; otherwise ./hgemm-tune.db if it exists), then in the
/// results shipped with the program. With --recorded and no --db, only in the shipped results.
class Tuned {
 public:
  /// Throws InputError if the command has --recorded and its --db does not exist.
  explicit Tuned(const StudyOptions& options);

  /// The best config in the sustained regime; in burst if sustained was not measured. No label if
  /// no config is known.
  BestRow best(const GemmProblem& problem) const;

  /// The label of best(). Throws InputError if no kernel can compute the problem, or no config is
  /// known.
  std::string winner(const GemmProblem& problem) const;

  /// The fastest config without and with PDL, among configs that the kernel still supports. If only
  /// one of the two was measured, the other is the same config with PDL toggled. Throws InputError
  /// as winner() does.
  PdlPair pdl_pair(const GemmProblem& problem) const;

 private:
  struct Source {
    std::vector<RecordedRace> races;
    IsCurrent is_current;
  };
  std::vector<Source> sources_;  ///< searched in this order
};

}  // namespace hgemm::cli
