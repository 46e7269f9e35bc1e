// Carries out the plan of a tune on the GPUs of this machine.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/backend.h"
#include "program/signals.h"
#include "program/tune_options.h"
#include "store/store.h"

namespace hgemm::cli {

/// The GPUs that the options ask for. Throws InputError.
GpuRequest request_of(const TuneOptions& options, const TunePlan& plan);

/// Throws InputError if no database can be written there.
void check_db(const std::string& path);

/// A tune that ended, and its database.
struct Measured {
  TuneOutcome outcome;
  std::string db;
  Environment environment;
  std::optional<int> stopped_by;    ///< the signal that ended it early
  std::vector<RecordedRace> races;  ///< of the environment and of the configs that were asked for
  std::vector<BuildFacts> builds;
};

/// Measures what the database lacks, with progress on stderr. `gpus` is what Backend::open_gpus()
/// returned for request_of().
Measured measure(const TuneOptions& options, TunePlan& plan,
                 const std::vector<std::unique_ptr<Measurer>>& gpus, const Backend& backend,
                 StopSignals& stop);

/// The trials that did not end ok at these problems, by status, with the first case of each. A
/// rejected kernel is a finding, too.
void print_failures(std::span<const RecordedRace> races, std::span<const GemmProblem> problems);

}  // namespace hgemm::cli
