#include "program/slurm.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <map>
#include <set>
#include <thread>

#include "base/console.h"
#include "base/error.h"
#include "base/temporary_folders.h"
#include "base/text.h"
#include "output/emit.h"
#include "output/text.h"
#include "program/signals.h"
#include "program/sweep_plan.h"
#include "program/writable.h"
#include "sweep/task.h"

namespace hgemm::cli {
namespace fs = std::filesystem;
using sweep::RaceState;
using sweep::RunFolder;
using sweep::SweepState;
using Clock = std::chrono::steady_clock;
namespace {

/// Slurm's own advice is not to ask in loops (squeue(1), PERFORMANCE).
constexpr std::chrono::seconds kAskEvery{60};
/// The run folder may be on a busy file server, so it is listed less often where that takes long.
constexpr std::chrono::milliseconds kListEvery{2000};
constexpr int kListingShare = 20;
/// The largest number of shards that --dry-run assumes, because it asks no cluster: Slurm's default
/// of MaxArraySize, less one.
constexpr int kDefaultArray = 1000;
/// Starting a task takes some ten seconds on a busy cluster.
constexpr double kShortestShardS = 60;
/// Tasks that run at a time where --array-limit does not say so.
constexpr int kAssumedTasks = 64;

/// "llama7b-20260102T030405.sweep"
std::string default_folder(const TuneOptions& options) {
  const std::string& source =
      options.problems.model.empty() ? options.problems.shapes : options.problems.model;
  std::string name = fs::path(source).stem().string();
  const bool is_plain = !name.empty() && name.size() <= 60 && std::ranges::all_of(name, [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  });
  if (!is_plain || source.find(',') != source.npos) name = "shapes";
  return fmt::format("{}-{:%Y%m%dT%H%M%S}.sweep", name, fmt::gmtime(std::time(nullptr)));
}

std::string again(const char* action, const RunFolder& run) {
  return fmt::format("hgemm-tune slurm {} {}", action, run.path().string());
}

std::set<int> all_of(const sweep::SweepPlan& plan) {
  std::set<int> numbers;
  for (const sweep::Shard& shard : plan.shards) numbers.insert(shard.number);
  return numbers;
}

std::vector<std::string> ids_of(const std::vector<sweep::SubmittedJob>& jobs) {
  std::vector<std::string> ids;
  for (const auto& job : jobs) ids.push_back(job.id);
  return ids;
}

/// A command line for people to copy.
std::string quoted(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) {
    const bool is_plain = word.find_first_of(" ;()&|'\"*?$`\\<>") == word.npos;
    line += (line.empty() ? "" : " ") + (is_plain ? word : "'" + word + "'");
  }
  return line;
}

/// The jobs of a run that are still there, and what each is for.
struct LiveJobs {
  std::vector<sweep::QueuedTask> tasks;
  std::map<std::string, std::string> kinds;  ///< by id

  const std::string& kind(const sweep::QueuedTask& task) const { return kinds.at(task.job); }
  /// Shards that a racing job works on or will.
  std::set<int> shards() const {
    std::set<int> numbers;
    for (const auto& task : tasks) {
      if (task.index && kind(task) == "race" && !will_never_start(task))
        numbers.insert(*task.index);
    }
    return numbers;
  }
  static bool will_never_start(const sweep::QueuedTask& task) {
    return task.reason == "DependencyNeverSatisfied";
  }
};

LiveJobs live_jobs(const RunFolder& run, const sweep::Slurm& slurm) {
  LiveJobs live;
  const auto jobs = run.jobs();
  for (const auto& job : jobs) live.kinds[job.id] = job.kind;
  for (auto& task : slurm.queue(ids_of(jobs))) {
    if (live.kinds.contains(task.job)) live.tasks.push_back(std::move(task));
  }
  return live;
}

// ---- Submitting ----

/// Each id is written down at once: if the next sbatch fails, the jobs that exist are known.
void submit(const RunFolder& run, const sweep::Slurm& slurm, const std::set<int>& shards,
            const std::set<std::string>& other_racing_jobs) {
  auto jobs = run.jobs();
  const std::string array = sweep::index_list(shards);
  const auto note = [&](const char* kind, const std::string& id, const std::string& what) {
    jobs.push_back({kind, id, what, sweep::now_utc()});
    run.write_jobs(jobs);
  };
  std::string dependency;
  if (run.plan().compiles_ahead) {
    const std::string id = slurm.submit(sweep::submit_array(run.path() / "compile.sh", array, 0));
    note("compile", id, array);
    dependency = "aftercorr:" + id;
  }
  const std::string id = slurm.submit(
      sweep::submit_array(run.path() / "job.sh", array, run.plan().array_limit, dependency));
  note("race", id, array);
  std::string racing = id;
  for (const std::string& other : other_racing_jobs) racing += ":" + other;
  const std::string merge =
      slurm.submit(sweep::submit_job(run.path() / "merge.sh", "afterany:" + racing));
  note("merge", merge, "");
  say("submitted {} shards as job {}, and job {}, which merges the results\n", shards.size(), id,
      merge);
}

void print_plan(const Sweep& sweep) {
  const sweep::SweepPlan& plan = sweep.plan;
  double longest = 0;
  for (const sweep::Shard& shard : plan.shards) longest = std::max(longest, shard.seconds);
  fmt::print("{} races: {} shapes in {}\n", plan.races(), sweep.problems.size(),
             in_words(plan.regimes));
  fmt::print("about {:.2g} GPU hours on {} (predicted, without compiling)\n", plan.seconds() / 3600,
             assumed_environment().gpu_name);
  fmt::print("{} shards; the longest takes about {} on {} GPU{}\n", plan.shards.size(),
             duration_text(longest / plan.gpus), plan.gpus, plan.gpus == 1 ? "" : "s");
}

void print_dry_run(const Sweep& sweep, const SlurmOptions& slurm, const fs::path& folder,
                   const std::map<std::string, std::string>& scripts) {
  print_plan(sweep);
  fmt::print("run folder: {} (not made)\n", printable(folder.string()));
  for (const auto& [name, text] : scripts) fmt::print("\n---- {} ----\n{}", name, printable(text));
  const std::string array = sweep::index_list(all_of(sweep.plan));
  std::string dependency;
  fmt::print("\n---- submitted by ----\n");
  if (sweep.plan.compiles_ahead) {
    fmt::print("{}\n", printable(quoted(sweep::submit_array(folder / "compile.sh", array, 0))));
    dependency = "aftercorr:COMPILE_JOB";
  }
  fmt::print("{}\n{}\n",
             printable(quoted(
                 sweep::submit_array(folder / "job.sh", array, slurm.array_limit, dependency))),
             printable(quoted(sweep::submit_job(folder / "merge.sh", "afterany:RACE_JOB"))));
}

// ---- Following ----

/// Progress on stderr: one line that is rewritten on a terminal, else a line for each change.
class Display {
 public:
  void show(const std::string& text) {
    if (text == shown_) return;
    if (terminal_) {
      write_to(stderr, "\r\033[K" + one_line(text));
    } else {
      say("{}\n", text);
    }
    shown_ = text;
  }
  ~Display() {
    if (terminal_ && !shown_.empty()) write_to(stderr, "\n");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::string shown_;
};

std::string progress_of(const SweepState& state) {
  std::string text = fmt::format("{} of {} races done, {} in hand", state.count(RaceState::kDone),
                                 state.races.size(), state.count(RaceState::kInHand));
  if (const auto aside = state.count(RaceState::kSetAside); aside > 0) {
    text += fmt::format(", {} set aside", aside);
  }
  const auto left = state.time_left();
  if (left && state.left() > 0) {
    text += fmt::format(", about {} left", duration_text(static_cast<double>(left->count())));
  }
  return text;
}

enum class End { kDone, kLeftAlone, kJobsEnded };

/// Whether jobs of the run are still there. A controller that does not answer says nothing.
bool has_jobs(const RunFolder& run, const sweep::Slurm& slurm) {
  try {
    return !live_jobs(run, slurm).shards().empty();
  } catch (const Error& error) {
    say("\n{}\n", error.what());
    return true;
  }
}

End watch(const RunFolder& run, const sweep::Slurm& slurm, StopSignals& stop) {
  Display display;
  Clock::time_point asked = Clock::now();
  for (bool jobs_ended = false;;) {
    const Clock::time_point begin = Clock::now();
    const SweepState state = run.state();
    display.show(progress_of(state));
    if (state.left() == 0) return End::kDone;
    if (jobs_ended) return End::kJobsEnded;
    if (Clock::now() - asked >= kAskEvery) {
      // Then the folder is read once more: the last races may have been published meanwhile.
      jobs_ended = !has_jobs(run, slurm);
      asked = Clock::now();
    }
    const auto pause =
        std::max<Clock::duration>(kListEvery, (Clock::now() - begin) * kListingShare);
    for (const auto next = Clock::now() + pause; Clock::now() < next && !jobs_ended;) {
      if (stop.received()) return End::kLeftAlone;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

void print_jobs(const RunFolder& run, const sweep::Slurm& slurm) {
  const LiveJobs live = live_jobs(run, slurm);
  if (live.tasks.empty()) {
    fmt::print("jobs   none\n");
    return;
  }
  std::map<std::string, std::map<std::string, int>> counts;  // kind and id -> state -> tasks
  for (const auto& task : live.tasks) {
    std::string state = task.state;
    std::ranges::transform(state, state.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    const bool says_why = sweep::is_held(task) || LiveJobs::will_never_start(task);
    if (says_why) state += fmt::format(" ({})", task.reason);
    ++counts[fmt::format("{} {}", live.kind(task), task.job)][state];
  }
  for (const auto& [job, states] : counts) {
    std::vector<std::string> parts;
    for (const auto& [state, count] : states) parts.push_back(fmt::format("{} {}", count, state));
    fmt::print("jobs   {}: {}\n", job, printable(fmt::format("{}", fmt::join(parts, ", "))));
  }
}

}  // namespace

int run_on_slurm(const TuneOptions& options, const SlurmOptions& slurm_options,
                 const std::string& command_line) {
  const Style style = style_of(options.tables, parse_format(options.format));
  check_best_columns(style);
  Sweep sweep = sweep_of(options, slurm_options, command_line);
  const fs::path folder =
      fs::absolute(slurm_options.run.empty() ? default_folder(options) : slurm_options.run)
          .lexically_normal();
  RunFolder::check_new(folder);
  sweep::check_scriptable(slurm_options.jobs, folder, sweep.plan.program);
  const fs::path database_folder = fs::path(sweep.plan.database).parent_path();
  if (!fs::is_directory(database_folder) || !can_write_into(database_folder)) {
    throw InputError(fmt::format("{} is not a folder that can be written; choose another with --db",
                                 database_folder.string()));
  }
  const sweep::Slurm slurm;
  const int most = slurm_options.dry_run ? kDefaultArray : slurm.limits().shards();
  const double longest_s = slurm_options.shard_minutes * 60 * sweep.plan.gpus;
  sweep.plan.shards = sweep::make_shards(
      sweep.problems, sweep.seconds,
      {.longest_s = longest_s,
       .shortest_s = std::min(longest_s, kShortestShardS * sweep.plan.gpus),
       .tasks = slurm_options.array_limit > 0 ? slurm_options.array_limit : kAssumedTasks,
       .most = most});
  sweep.plan.order = sweep::order_of(sweep.problems, sweep.plan.shards);
  const auto scripts = sweep::scripts(slurm_options.jobs, folder, sweep.plan.program);
  if (slurm_options.dry_run) {
    print_dry_run(sweep, slurm_options, folder, scripts);
    return 0;
  }
  const RunFolder run = RunFolder::create(folder, sweep.plan, scripts);
  say("run folder: {}\n", run.path().string());
  try {
    submit(run, slurm, all_of(run.plan()), {});
  } catch (const Error& error) {
    throw Error(fmt::format("{}. {} is made; correct job.sh in it if need be, then: {}",
                            error.what(), run.path().string(), again("resume", run)));
  }
  say("look at it: {}\n", again("status", run));
  if (slurm_options.no_follow) return 0;
  return follow(run, slurm, options);
}

int follow(const RunFolder& run, const sweep::Slurm& slurm, TuneOptions options) {
  {
    StopSignals stop;
    const End end = watch(run, slurm, stop);
    if (end == End::kLeftAlone) {
      say("the run goes on. Look again: {}\nEnd it: {}\n", again("status", run),
          again("cancel", run));
      return 128 + *stop.received();
    }
  }
  TemporaryFolders local;
  Store store = Store::open(run.plan().database, Store::Mode::kReadWrite);
  const sweep::Merged merged = sweep::merge_published(run, store, local.at(0).folder);
  for (const std::string& warning : merged.warnings) say("warning: {}\n", warning);
  say("{} holds {} races of this run\n", run.plan().database, merged.files);
  return print_sweep(run, store, options);
}

void print_status(const RunFolder& run, const sweep::Slurm& slurm) {
  const SweepState state = run.state();
  fmt::print("run    {}, made {}\n", printable(run.path().string()),
             printable(run.plan().created_utc));
  fmt::print("races  {} of {} done, {} in hand, {} waiting, {} set aside\n",
             state.count(RaceState::kDone), state.races.size(), state.count(RaceState::kInHand),
             state.count(RaceState::kWaiting), state.count(RaceState::kSetAside));
  const auto left = state.time_left();
  if (left && state.left() > 0) {
    fmt::print("time   about {} left, at the pace of the last {} races\n",
               duration_text(static_cast<double>(left->count())),
               std::min<std::size_t>(state.published.size(), 200));
  }
  for (const auto& [kind, what] : {std::pair(RaceState::kSetAside, "aside  "),
                                   {RaceState::kSkipped, "skipped"},
                                   {RaceState::kLate, "late   "}}) {
    for (const auto& race : state.races) {
      if (race.state != kind) continue;
      fmt::print("{} {} (shard {})\n", what, race.name, sweep::shard_name(race.shard));
    }
  }
  for (const std::string& warning : state.warnings) fmt::print("damaged {}\n", printable(warning));
  if (run.jobs().empty()) {
    fmt::print("jobs   none was submitted; next: {}\n", printable(again("resume", run)));
    return;
  }
  try {
    print_jobs(run, slurm);
  } catch (const Error& error) {
    fmt::print("jobs   not known: {}\n", printable(error.what()));
  }
}

void resume(const RunFolder& run, const sweep::Slurm& slurm, bool retry) {
  if (retry) say("{} races get another chance\n", run.retry());
  const LiveJobs live = live_jobs(run, slurm);
  std::vector<std::string> stuck;
  for (const auto& task : live.tasks) {
    if (sweep::is_held(task) && slurm.release(task)) {
      say("job {} was held after a failed launch, and is released\n", task.job);
    }
    if (LiveJobs::will_never_start(task)) {
      stuck.push_back(task.index ? fmt::format("{}_{}", task.job, *task.index) : task.job);
    }
  }
  slurm.cancel(stuck);
  const SweepState state = run.state();
  const std::set<int> busy = live.shards();
  std::set<int> missing;
  for (const sweep::Shard& shard : run.plan().shards) {
    if (!state.is_over(shard.number) && !busy.contains(shard.number)) missing.insert(shard.number);
  }
  if (missing.empty()) {
    say("{}\n",
        busy.empty() ? "every race is done" : "jobs work on every shard with missing races");
    return;
  }
  std::set<std::string> racing;
  for (const auto& task : live.tasks) {
    if (live.kind(task) == "race" && !LiveJobs::will_never_start(task)) racing.insert(task.job);
  }
  submit(run, slurm, missing, racing);
}

void cancel(const RunFolder& run, const sweep::Slurm& slurm) {
  const auto ids = ids_of(run.jobs());
  slurm.cancel(ids);
  const SweepState state = run.state();
  say("cancelled. {} of {} races are done and stay; {} goes on with the others\n",
      state.count(RaceState::kDone), state.races.size(), again("resume", run));
}

}  // namespace hgemm::cli
