// Which regimes and kernels a command is about, and what it calls best: --regime, --pdl and
// --objective.
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

struct Aim {
  std::vector<Regime> regimes;
  Objective objective = Objective::kTime;
  PdlKind pdl = PdlKind::kWeights;  ///< the most that a kernel may do; weights: anything
};

/// As given on the command line.
struct AimOptions {
  std::string regime;  ///< empty: the command's default
  std::string objective = "time";
  std::string pdl = "weights";
};

/// `default_regime` is for --help.
void add_aim(CLI::App& command, AimOptions& options, const char* default_regime);

/// `regimes` are those of a command that was given none. Throws InputError for unknown words, and
/// for an objective that is not measured in these regimes.
Aim parse_aim(const AimOptions& options, std::vector<Regime> regimes);
/// Of a command that asks what is recorded, in all regimes that the objective is measured in.
Aim parse_aim_of_recorded(const AimOptions& options);

/// Throws InputError if `option` asks for energy where it is not measured.
void check_energy(const Aim& aim, const char* option);

/// "the burst regime", "both regimes"
std::string in_words(std::span<const Regime> regimes);

PdlKind parse_pdl(const std::string& text);  ///< "off", "safe" or "weights"; throws InputError

/// Whether the PDL kind of a config is allowed: off is by every kind, safe by safe and weights.
bool allows(const Aim& aim, const KernelConfig& config);
/// Leaves only the trials of such configs, and of baselines.
void keep_allowed(std::vector<RecordedRace>& races, const Aim& aim);

/// Best rows of the regimes and PDL kinds asked for; `races` keeps only those.
std::vector<BestRow> best_for(const Aim& aim, std::vector<RecordedRace>& races,
                              std::span<const GemmProblem> problems, const IsCurrent& is_current);

/// Rows at full load whose winner's energy was not measured.
int without_energy(std::span<const BestRow> rows);

}  // namespace hgemm::cli
