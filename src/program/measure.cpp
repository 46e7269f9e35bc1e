#include "program/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/console.h"
#include "base/error.h"
#include "gemm/codec.h"
#include "program/blas.h"
#include "program/command.h"
#include "program/progress.h"
#include "program/report.h"
#include "program/writable.h"

namespace hgemm::cli {
namespace {

std::vector<Measurer*> pointers_to(const std::vector<std::unique_ptr<Measurer>>& gpus) {
  std::vector<Measurer*> pointers;
  for (const auto& gpu : gpus) pointers.push_back(gpu.get());
  return pointers;
}

}  // namespace

GpuRequest request_of(const TuneOptions& options, const TunePlan& plan) {
  return {.devices = options.devices, .peers = plan.peers, .blas = blas_folder(options.blas)};
}

void check_db(const std::string& path) {
  const auto db_folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(db_folder) || !can_write_into(db_folder)) {
    throw InputError(
        fmt::format("database {}: {} is not a folder that can be written; choose another with --db",
                    path, db_folder.string()));
  }
}

Measured measure(const TuneOptions& options, TunePlan& plan,
                 const std::vector<std::unique_ptr<Measurer>>& gpus, const Backend& backend,
                 StopSignals& stop) {
  Measured measured;
  measured.db = options.db.value_or(kDefaultDatabase);
  measured.environment = gpus.front()->machine().environment;
  check_db(measured.db);
  use_cache(options.cache, plan.compile);
  Store store = Store::open(measured.db, Store::Mode::kReadWrite);
  for (std::size_t i = 0; gpus.size() > 1 && i < gpus.size(); ++i) {
    say("GPU {} of this tune is {}\n", i, gpus[i]->machine().run.gpu_uuid);
  }
  {
    Progress progress(stderr, gpus.size(), plan.regimes != std::vector{Regime::kSustained},
                      plan.search ? plan.search->deadline : std::nullopt);
    measured.outcome = tune(plan, pointers_to(gpus), store, backend.compiler, progress,
                            [&] { return stop.received().has_value(); });
  }
  measured.stopped_by = stop.received();
  if (measured.stopped_by) {
    say("stopped; {} trials of this run are in {}. The same command goes on from there.\n",
        measured.outcome.recorded, measured.db);
    return measured;
  }
  measured.races = store.races(measured.environment);
  if (options.is_restricted() && !plan.whole) keep_configs(measured.races, plan.configs);
  measured.builds = store.builds();
  return measured;
}

/// The trials that did not end ok, by status, with the first case of each. A rejected kernel is a
/// finding, too.
void print_failures(std::span<const RecordedRace> races, std::span<const GemmProblem> problems) {
  struct Failures {
    int count = 0;
    std::string first;
  };
  std::map<Status, Failures> by_status;
  for (const RecordedRace& recorded : races) {
    const Race& race = recorded.race;
    const bool asked_for = std::ranges::any_of(
        problems, [&](const GemmProblem& problem) { return problem.same_problem(race.problem); });
    if (!asked_for) continue;
    for (const Trial& trial : race.trials) {
      if (trial.status == Status::kOk || is_baseline(trial.label)) continue;
      Failures& failures = by_status[trial.status];
      if (++failures.count > 1) continue;
      failures.first = fmt::format("{} at {}: {}", trial.label, to_string(race.problem),
                                   trial.message.substr(0, trial.message.find('\n')));
    }
  }
  for (const auto& [status, failures] : by_status) {
    say("failed: {} {}, first {}\n", failures.count, to_string(status), failures.first);
  }
}

}  // namespace hgemm::cli
