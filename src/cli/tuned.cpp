#include "cli/tuned.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/recorded.h"
#include "store/store.h"

namespace hgemm::cli {

Tuned::Tuned(const StudyOptions& options) {
  if (options.recorded && options.db) require_database(*options.db);
  const std::string db = options.db.value_or(kDefaultDatabase);
  if ((!options.recorded || options.db) && std::filesystem::exists(db)) {
    sources_.push_back(Store::open(db, Store::Mode::kReadOnly).races());
  }
  sources_.push_back(shipped_races());
}

BestRow Tuned::best(const Shape& shape) const {
  for (const auto& races : sources_) {
    for (BestRow& row : best_rows(races, {&shape, 1})) {  // sustained before burst
      if (row.label) return std::move(row);
    }
  }
  BestRow unknown;
  unknown.shape = shape;
  return unknown;
}

std::string Tuned::winner(const Shape& shape) const {
  if (const char* reason = why_unsupported(shape)) {
    throw InputError(fmt::format("the kernel cannot compute {}: {}", to_string(shape), reason));
  }
  const BestRow row = best(shape);
  if (row.label) return *row.label;
  throw InputError(fmt::format(
      "no configuration is known to be the best at {}: name one with --config, or tune the shape "
      "first",
      to_string(shape)));
}

}  // namespace hgemm::cli
