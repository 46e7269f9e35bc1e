// What tuning found best, for commands that look into the best known kernel of a problem.
#pragma once

#include <string>
#include <vector>

#include "families/family.h"
#include "results/best.h"
#include "studies/answer.h"

namespace hgemm::cli {

/// Labels of configs without and with programmatic dependent launch.
struct PdlPair {
  std::string off, on;
};
/// A config both ways.
PdlPair pdl_pair_of(const KernelConfig& config);

/// Known: the database of the command (--db, else ./hgemm-tune.db if it is there), then the results
/// that ship with the program; only these with --recorded and no --db.
class Tuned {
 public:
  /// Throws InputError if --recorded names a database that is not there.
  explicit Tuned(const StudyOptions& options);

  /// At full load where that was measured, else in burst. No label where no config is known.
  BestRow best(const GemmProblem& problem) const;

  /// The label of best(). Throws InputError if no kernel can compute the problem or none is
  /// known.
  std::string winner(const GemmProblem& problem) const;

  /// The fastest of each sort, of the configs that the kernel still takes; where only one sort was
  /// measured, the same config the other way. Throws InputError as winner() does.
  PdlPair pdl_pair(const GemmProblem& problem) const;

 private:
  struct Source {
    std::vector<RecordedRace> races;
    IsCurrent is_current;
  };
  std::vector<Source> sources_;  ///< the first that knows a config answers
};

}  // namespace hgemm::cli
