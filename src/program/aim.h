// The regimes, kernels and objective of a command: --regime, --pdl and --objective.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "families/family.h"
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
  PdlKind pdl = kDefaultPdl;  ///< the most that a kernel may do; kWeights allows all kinds
};

/// As given on the command line.
struct AimOptions {
  std::string regime;  ///< empty: the command's default
  std::string objective = "time";
  std::string pdl = std::string(to_string(kDefaultPdl));
};

/// Adds --regime, --pdl and --objective. `default_regime` is used only in --help.
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

PdlKind parse_pdl(const std::string& text);  ///< "off", "safe" or "weights"; throws InputError

/// Whether the aim allows the config's PDL kind. Every aim allows off; safe and weights allow safe;
/// only weights allows weights.
bool allows(const Aim& aim, const KernelConfig& config);
/// Removes the trials of configs that are not allowed; baselines stay.
void keep_allowed(std::vector<RecordedRace>& races, const Aim& aim);

/// Best rows of the aim's regimes and PDL kinds. Removes all others from `races`.
std::vector<BestRow> best_for(const Aim& aim, std::vector<RecordedRace>& races,
                              std::span<const GemmProblem> problems, const IsCurrent& is_current);

/// The number of rows at full load that lack the winner's energy.
int without_energy(std::span<const BestRow> rows);

}  // namespace hgemm::cli
