// The regimes, kernels and objective of a command: --regime, --pdl, --batch-invariant and
// --objective.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "families/allowed.h"
#include "results/best.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

/// What kernels may do unless --pdl says otherwise, in tunes, tables and exports alike: what a
/// table shows is what an export delivers, and no caller has to promise anything.
inline constexpr PdlKind kDefaultPdl = PdlKind::kSafe;

struct Aim {
  std::vector<Regime> regimes;
  Objective objective = Objective::kTime;
  Allowed allowed = {.pdl = kDefaultPdl};
};

/// As given on the command line.
struct AllowedOptions {
  std::string pdl = std::string(to_string(kDefaultPdl));
  bool batch_invariant = false;
};
struct AimOptions {
  std::string regime;  ///< empty: the command's default
  std::string objective = "time";
  AllowedOptions allowed;
};

/// Adds --pdl and --batch-invariant.
void add_allowed(CLI::App& command, AllowedOptions& options);
Allowed parse_allowed(const AllowedOptions& options);  ///< throws InputError for unknown words
/// " --pdl off --batch-invariant": what differs from the defaults.
std::string options_of(const Allowed& allowed);
/// Throws InputError that names the first problem at which no config is allowed, and says why.
void check_allowed(const Allowed& allowed, std::span<const GemmProblem> problems);

/// Adds --regime, --objective and what add_allowed() adds. `default_regime` is used only in --help.
void add_aim(CLI::App& command, AimOptions& options, const char* default_regime);

/// `regimes` is the default if no regime was given. Throws InputError for unknown words and for an
/// objective that is not measured in the chosen regimes.
Aim parse_aim(const AimOptions& options, std::vector<Regime> regimes);
/// The aim of a command that reads recorded results. The default is all regimes in which the
/// objective is measured.
Aim parse_aim_of_recorded(const AimOptions& options);

/// Throws InputError if `option` asks for energy in a regime that does not measure it.
void check_energy(const Aim& aim, const char* option);

/// "the burst regime", "the regimes sustained, burst"
std::string in_words(std::span<const Regime> regimes);

/// Removes the trials of configs that are not allowed, and races at which none is; baselines stay.
void keep_allowed(std::vector<RecordedRace>& races, const Allowed& allowed);

/// Best rows of the aim's regimes and allowed configs. Removes all others from `races`. Where
/// configs must be batch-invariant, rows have the price of that.
std::vector<BestRow> best_for(const Aim& aim, std::vector<RecordedRace>& races,
                              std::span<const GemmProblem> problems, const IsCurrent& is_current);

/// The number of rows at full load that lack the winner's energy.
int without_energy(std::span<const BestRow> rows);

}  // namespace hgemm::cli
