#include "cli/tuned.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/recorded.h"
#include "space/label.h"
#include "space/space.h"
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

namespace {

std::optional<std::string> fastest(const std::vector<RecordedRace>& races, const Shape& shape,
                                   bool pdl) {
  std::vector<RecordedRace> here;
  for (const RecordedRace& race : races) {
    if (!race.race.shape.same_problem(shape)) continue;
    here.push_back(race);
    std::erase_if(here.back().race.trials, [&](const Trial& trial) {
      if (is_baseline(trial.label)) return false;
      const KernelConfig config = parse_label(trial.label);
      return config.pdl != pdl || why_invalid(config) != Rule::kValid;
    });
  }
  if (here.empty()) return std::nullopt;
  for (BestRow& row : best_rows(here, {&shape, 1})) {
    if (row.label) return std::move(row.label);
  }
  return std::nullopt;
}

}  // namespace

PdlPair pdl_pair_of(const KernelConfig& config) {
  KernelConfig off = config;
  KernelConfig on = config;
  off.pdl = false;
  on.pdl = true;
  return {label(off), label(on)};
}

PdlPair Tuned::pdl_pair(const Shape& shape) const {
  for (const auto& races : sources_) {
    auto off = fastest(races, shape, false);
    auto on = fastest(races, shape, true);
    if (!off && !on) continue;
    // Where the other sort was never measured, or no kernel is of that sort: the same one.
    const auto or_same = [](const std::optional<std::string>& known, const std::string& toggled,
                            const std::string& same) {
      if (known) return *known;
      return why_invalid(parse_label(toggled)) == Rule::kValid ? toggled : same;
    };
    const std::string& known = off ? *off : *on;
    const PdlPair toggled = pdl_pair_of(parse_label(known));
    return {or_same(off, toggled.off, known), or_same(on, toggled.on, known)};
  }
  const std::string known = winner(shape);  // throws, unless what is known is no longer valid
  throw InputError(fmt::format("the best known config at {}, {}: the kernel no longer takes it: {}",
                               to_string(shape), known,
                               rule_text(why_invalid(parse_label(known))).reason));
}

}  // namespace hgemm::cli
