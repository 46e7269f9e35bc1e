#include "program/sweep_task.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <vector>

#include "base/console.h"
#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folders.h"
#include "program/blas.h"
#include "program/progress.h"
#include "program/signals.h"
#include "program/sweep_plan.h"
#include "sweep/task.h"
#include "tune/forecast.h"

namespace hgemm::cli {
namespace fs = std::filesystem;
namespace {

struct ShardTune {
  TuneOptions options;
  TunePlan plan;
};

ShardTune tune_of(const sweep::RunFolder& run, int shard) {
  ShardTune tune{options_of(run.plan()), {}};
  tune.options.problems.shapes =
      (run.path() / "shards" / (sweep::shard_name(shard) + ".yaml")).string();
  const Aim aim = parse_aim(tune.options.aim, {Regime::kSustained});
  check_cache(tune.options.cache);
  tune.plan = plan_of(tune.options, aim, run.plan().command_line, std::chrono::steady_clock::now());
  use_cache(tune.options.cache, tune.plan.compile);
  return tune;
}

}  // namespace

int run_shard(const sweep::RunFolder& run, int number, const std::string& attempt_text,
              const Backend& backend) {
  const auto attempt = sweep::find_attempt(attempt_text);
  if (!attempt) {
    throw InputError(fmt::format("--attempt {}: expected JOB.RESTART.TRY", attempt_text));
  }
  // Slurm signals every process of a job, and the job script passes the signal on. The first one is
  // taken from the queue below, where it is blocked. The others must neither end this program in
  // the middle of its work nor the workers, whose end would look like a crash of what they run.
  std::signal(SIGTERM, SIG_IGN);
  StopSignals stop;
  const sweep::Shard& shard = run.plan().shard(number);
  const ShardTune tune = tune_of(run, number);

  auto gpus = backend.open_gpus({.devices = "all", .blas = blas_folder(tune.options.blas)});
  // Where Slurm does not confine jobs to their GPUs, more are to be seen.
  const auto wanted = static_cast<std::size_t>(run.plan().gpus);
  if (gpus.size() > wanted) gpus.resize(wanted);
  if (gpus.size() < wanted) {
    say("warning: {} GPUs here instead of {}\n", gpus.size(), wanted);
  }
  std::vector<Measurer*> measurers;
  for (const auto& gpu : gpus) measurers.push_back(gpu.get());

  TemporaryFolders local;
  sweep::TaskOutcome outcome;
  {
    Progress progress(stderr, gpus.size(), true);
    outcome = sweep::run_task(run, shard, *attempt, tune.plan,
                              {.gpus = measurers,
                               .compiler = backend.compiler,
                               .listener = progress,
                               .stop = [&stop] { return stop.received().has_value(); },
                               .local = local.at(0).folder});
  }
  for (const std::string& race : outcome.set_aside) {
    say("{} is set aside: its tasks died\n", race);
  }
  say("{} races published\n", outcome.published);
  if (!outcome.stopped) return 0;
  return outcome.published > 0 ? kToldToStop : kToldToStopTooEarly;
}

int compile_shard(const sweep::RunFolder& run, int number, const Backend& backend) {
  run.plan().shard(number);
  TunePlan plan = tune_of(run, number).plan;
  CompileOptions compile = plan.compile;
  if (!compile.shared_cache.empty()) {
    compile.cache_dir = compile.shared_cache;
    compile.shared_cache.clear();
  }
  if (plan.search) plan.search->deadline.reset();
  const std::vector<Kernel> kernels = first_kernels(plan, assumed_environment());
  int failed = 0;
  backend.compiler.compile_all(kernels, compile, [&](const Build& build) {
    if (build.status != Status::kOk) ++failed;
  });
  fmt::print("{} kernels compiled, {} of them rejected\n", kernels.size(), failed);
  return 0;
}

int merge_run(const sweep::RunFolder& run) {
  TemporaryFolders folders;
  const fs::path local = folders.at(0).folder;
  const fs::path merged = local / "table.db";
  run.remove_leftovers();
  {
    Store store = Store::open(merged.string(), Store::Mode::kReadWrite);
    for (const std::string& warning : sweep::merge_published(run, store, local).warnings) {
      say("warning: {}\n", warning);
    }
  }
  copy_whole(merged, run.table());
  return print_sweep(run, Store::open(merged.string(), Store::Mode::kReadOnly),
                     options_of(run.plan()));
}

}  // namespace hgemm::cli
