// What tuning found best, for commands that look into the best known kernel of a shape.
#pragma once

#include <string>
#include <vector>

#include "best/best.h"
#include "cli/studies.h"

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
  BestRow best(const Shape& shape) const;

  /// The label of best(). Throws InputError if the kernel cannot compute the shape or none is
  /// known.
  std::string winner(const Shape& shape) const;

  /// The fastest of each sort, of the configs that the kernel still takes; where only one sort was
  /// measured, the same config the other way. Throws InputError as winner() does.
  PdlPair pdl_pair(const Shape& shape) const;

 private:
  std::vector<std::vector<RecordedRace>> sources_;  ///< the first that knows a config answers
};

}  // namespace hgemm::cli
