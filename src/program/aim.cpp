#include "program/aim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.h"
#include "gemm/codec.h"
#include "program/help.h"
#include "results/price.h"

namespace hgemm::cli {
namespace {

std::vector<Regime> all_regimes() { return {kRegimes.begin(), kRegimes.end()}; }

/// In the order of kRegimes, each once.
std::vector<Regime> parse_regimes(const std::string& text) {
  std::set<Regime> regimes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "both") {
      regimes.insert({Regime::kSustained, Regime::kBurst});
      continue;
    }
    try {
      regimes.insert(parse_regime(word));
    } catch (const InputError&) {
      throw InputError(fmt::format(
          "--regime {}: use sustained, burst, single, chain, both (sustained and burst), or a list",
          text));
    }
  }
  return {regimes.begin(), regimes.end()};
}

std::vector<std::string_view> names_of(std::span<const Regime> regimes) {
  std::vector<std::string_view> names;
  for (const Regime regime : regimes) names.push_back(to_string(regime));
  return names;
}

Objective parse_objective(const std::string& text) {
  if (text == "time") return Objective::kTime;
  if (text == "energy") return Objective::kEnergy;
  throw InputError(fmt::format("--objective {}: use time or energy", text));
}

/// "off", "safe" or "weights".
PdlKind parse_pdl(const std::string& text) {
  for (const PdlKind kind : {PdlKind::kOff, PdlKind::kSafe, PdlKind::kWeights}) {
    if (text == to_string(kind)) return kind;
  }
  throw InputError(fmt::format("--pdl {}: use off, safe or weights", text));
}

}  // namespace

void add_allowed(CLI::App& command, AllowedOptions& options) {
  command.add_option("--pdl", options.pdl, help_text("common", "--pdl"))
      ->type_name("KIND")
      ->capture_default_str();
  command.add_flag("--batch-invariant", options.batch_invariant,
                   help_text("common", "--batch-invariant"));
}

Allowed parse_allowed(const AllowedOptions& options) {
  return {.pdl = parse_pdl(options.pdl), .batch_invariant = options.batch_invariant};
}

std::string options_of(const Allowed& allowed) {
  std::string options;
  if (allowed.pdl != kDefaultPdl) options += fmt::format(" --pdl {}", to_string(allowed.pdl));
  if (allowed.batch_invariant) options += " --batch-invariant";
  return options;
}

void check_allowed(const Allowed& allowed, std::span<const GemmProblem> problems) {
  for (const GemmProblem& problem : problems) {
    if (const char* reason = why_none_allowed(allowed, problem.kind())) {
      throw InputError(fmt::format("shape {}: --batch-invariant: {}", to_string(problem), reason));
    }
  }
}

void add_aim(CLI::App& command, AimOptions& options, const char* default_regime) {
  command.add_option("--regime", options.regime, help_text("common", "--regime"))
      ->type_name("REGIME")
      ->default_str(default_regime);
  command.add_option("--objective", options.objective, help_text("common", "--objective"))
      ->type_name("OBJECTIVE")
      ->capture_default_str();
  add_allowed(command, options.allowed);
}

Aim parse_aim(const AimOptions& options, std::vector<Regime> regimes) {
  Aim aim{std::move(regimes), parse_objective(options.objective), parse_allowed(options.allowed)};
  if (!options.regime.empty()) aim.regimes = parse_regimes(options.regime);
  if (aim.objective == Objective::kEnergy) check_energy(aim, "--objective energy");
  return aim;
}

Aim parse_aim_of_recorded(const AimOptions& options) {
  Aim aim = parse_aim(options, all_regimes());
  if (aim.objective == Objective::kEnergy && options.regime.empty()) {
    aim.regimes = {Regime::kSustained};
  }
  return aim;
}

void check_energy(const Aim& aim, const char* option) {
  if (std::ranges::find(aim.regimes, Regime::kSustained) != aim.regimes.end()) return;
  throw InputError(
      fmt::format("{} with --regime {}: energy is measured at full load, which only the regime "
                  "sustained reaches; use --regime sustained or both",
                  option, fmt::join(names_of(aim.regimes), ",")));
}

std::string in_words(std::span<const Regime> regimes) {
  if (regimes.size() == 1) return fmt::format("the {} regime", to_string(regimes.front()));
  return fmt::format("the regimes {}", fmt::join(names_of(regimes), ", "));
}

void keep_allowed(std::vector<RecordedRace>& races, const Allowed& allowed) {
  if (allowed == Allowed{}) return;
  std::erase_if(races, [&](const RecordedRace& race) {
    return why_none_allowed(allowed, race.race.problem.kind()) != nullptr;
  });
  for (RecordedRace& race : races) {
    std::erase_if(race.race.trials, [&](const Trial& trial) {
      return !is_baseline(trial.label) && !allows(allowed, parse_label(trial.label));
    });
  }
}

std::vector<BestRow> best_for(const Aim& aim, std::vector<RecordedRace>& races,
                              std::span<const GemmProblem> problems, const IsCurrent& is_current) {
  std::erase_if(races, [&](const RecordedRace& race) {
    return std::ranges::find(aim.regimes, race.race.regime) == aim.regimes.end();
  });
  std::vector<RecordedRace> of_any_kind;
  if (aim.allowed.batch_invariant) {
    of_any_kind = races;
    keep_allowed(of_any_kind, {.pdl = aim.allowed.pdl});
  }
  keep_allowed(races, aim.allowed);
  auto rows = best_rows(races, problems, aim.objective, is_current);
  if (aim.allowed.batch_invariant) set_prices(rows, of_any_kind, aim.allowed, is_current);
  for (BestRow& row : rows) {
    if (row.trials == 0) row.regime = aim.regimes.front();
  }
  return rows;
}

int without_energy(std::span<const BestRow> rows) {
  return static_cast<int>(std::ranges::count_if(rows, [](const BestRow& row) {
    return row.label && row.regime == Regime::kSustained && !row.joules;
  }));
}

}  // namespace hgemm::cli
