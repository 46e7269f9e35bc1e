// Results that ship with the program: what is known without a GPU.
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

/// The races of every database of this name in results/, oldest first: "tune.db" or "truth.db".
std::vector<RecordedRace> recorded_races(const std::string& name);
/// What questions without a GPU are answered from, and the builds beside it.
std::vector<RecordedRace> shipped_races();
std::vector<BuildFacts> shipped_builds();

/// "NVIDIA H200 (driver 580.1, CUDA 13.0) on 2026-01-31", and whether this program's kernel sources
/// are others.
std::string where_measured(const Environment& environment, const RunInfo& run,
                           const std::string& started_utc);
inline std::string where_measured(const RecordedStudy& study) {
  return where_measured(study.environment, study.run, study.started_utc);
}

struct Question {
  std::span<const GemmProblem> problems;
  std::string command;  ///< what measures them where there is a GPU
  std::string shapes;   ///< as on a command line: "--shapes llama7b.yaml"
  Aim aim;
  bool energy = false;  ///< joules are wanted, whatever the objective
  std::optional<std::span<const KernelConfig>> configs;  ///< none: all that were recorded
  Style style = {};
};

/// Answers from them, on stdout. The first line begins with `why`, a sentence that says why nothing
/// is measured; then: which GPU, driver and date the numbers are from, and how to measure what is
/// missing (by regime). json and csv are for programs and stand alone; that line then goes to
/// stderr.
void answer_from_records(const Question& question, const std::string& why);

}  // namespace hgemm::cli
