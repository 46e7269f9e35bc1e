// Results that ship with the program. They answer questions without a GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "families/family.h"
#include "output/emit.h"
#include "program/aim.h"
#include "store/store.h"

namespace hgemm::cli {

/// The races of every database of this name in results/, oldest first: "truth.db".
std::vector<RecordedRace> recorded_races(const std::string& name);
/// Races, and the builds recorded with them.
struct RacesAndBuilds {
  std::vector<RecordedRace> races;  ///< oldest first
  std::vector<BuildFacts> builds;
};
/// What is shipped to answer questions without a GPU, from one look at the databases: opening those
/// of older versions is most of the work.
RacesAndBuilds shipped_results();
/// The races alone.
std::vector<RecordedRace> shipped_races();

/// "NVIDIA H200 (driver 580.1, CUDA 13.0) on 2026-01-31", with a remark if this program's kernel
/// sources differ from the measured ones.
std::string where_measured(const Environment& environment, const RunInfo& run,
                           const std::string& started_utc);
inline std::string where_measured(const RecordedStudy& study) {
  return where_measured(study.environment, study.run, study.started_utc);
}

struct Question {
  std::span<const GemmProblem> problems;
  std::string command;  ///< the command that measures the problems on a GPU
  std::string shapes;   ///< in command-line form: "--shapes llama7b.yaml"
  Aim aim;
  bool energy = false;  ///< asks for joules, whatever the objective
  std::optional<std::span<const KernelConfig>> configs;  ///< nullopt: all recorded configs
  Style style = {};
};

/// Answers from the shipped results, on stdout. The first line starts with `why`, a sentence that
/// says why nothing is measured. It then gives the GPU, driver and date of the numbers, and how to
/// measure the missing ones (by regime). With json and csv, which programs read, that line goes to
/// stderr.
void answer_from_records(const Question& question, const std::string& why);

}  // namespace hgemm::cli
