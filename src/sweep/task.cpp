#include "sweep/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "gemm/codec.h"
#include "tune/forecast.h"

namespace hgemm::sweep {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

/// A race of the shard that is still to be measured.
struct ToDo {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string name;
  bool is_suspect = false;
};

/// Removes a database and the files that SQLite may leave beside it.
void remove_database(const fs::path& path) {
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    fs::path file = path;
    file += suffix;
    std::error_code gone;
    fs::remove(file, gone);
  }
}

bool is_race(const RecordedRace& recorded, const ToDo& race) {
  return recorded.race.regime == race.regime && recorded.race.problem.same_problem(race.problem);
}

/// Opens the copy of a published file and reads all of it, so that a later error is not the file's.
Store open_published(const Published& race, const fs::path& copy) {
  try {
    Store store = Store::open(copy.string(), Store::Mode::kReadOnly);
    const auto races = store.races();
    if (races.size() == 1 && races.front().uid == race.uid &&
        race_name(races.front().race.problem, races.front().race.regime) == race.race) {
      return store;
    }
  } catch (const InputError&) {
  }
  remove_database(copy);
  throw InputError(fmt::format("{} is not the result of its race, or damaged", race.path.string()));
}

class Task {
 public:
  Task(const RunFolder& run, const Shard& shard, const Attempt& attempt, const TunePlan& plan,
       const TaskTools& tools)
      : run_(run),
        shard_(shard),
        attempt_(attempt),
        attempts_(run.attempts(shard.number)),
        plan_(plan),
        tools_(tools),
        store_(Store::open((tools.local / "task.db").string(), Store::Mode::kReadWrite)) {
    TunePlan whole = plan;
    if (whole.search) whole.search->deadline.reset();
    for (const RaceForecast& race : forecast(whole, tools.gpus.front()->machine().environment)) {
      seconds_[race_name(race.problem, race.regime)] = race.seconds;
    }
  }

  TaskOutcome run();

 private:
  std::vector<ToDo> find_to_do();
  void tune_together(std::span<const ToDo> races);
  void tune_some(std::span<const ToDo> races, std::span<Measurer* const> gpus);
  void set_deadline(SearchPlan& search, std::span<const ToDo> races, std::size_t gpus) const;
  void begin(const ToDo& race);
  void end(const ToDo& race);
  void publish(const ToDo& race);
  void end_notes();
  double seconds_of(const std::string& race) const {
    const auto found = seconds_.find(race);
    return found == seconds_.end() ? 1 : found->second;
  }
  bool is_stopped() const { return tools_.stop && tools_.stop(); }

  const RunFolder& run_;
  const Shard& shard_;
  const Attempt attempt_;
  const Attempts attempts_;
  const TunePlan& plan_;
  const TaskTools& tools_;
  Store store_;
  std::map<std::string, double> seconds_;  ///< predicted, by race
  std::set<std::string> known_uids_;       ///< of races that are published
  std::set<std::string> in_hand_;
  bool cannot_publish_ = false;
  TaskOutcome outcome_;
  ShardEnd end_;
};

/// Takes over what other attempts published, and leaves out what they did to be left out.
std::vector<ToDo> Task::find_to_do() {
  std::set<std::string> known;
  for (const Published& race : run_.published(shard_.number)) {
    try {
      add_published(race, store_, tools_.local);
      known_uids_.insert(race.uid);
      if (run_.plan().in_one_stage) known.insert(race.race);
    } catch (const InputError& error) {
      tools_.listener.warning(fmt::format("{}; it is now {}, and its race is measured again",
                                          error.what(), run_.put_away(race)));
    }
  }
  // Those of the database, too: the uids of files are only names.
  for (const RecordedRace& race : store_.races()) known_uids_.insert(race.uid);
  for (const std::string& race : known) end_.done.push_back(race);
  for (const std::string& race : run_.set_aside()) known.insert(race);
  const auto histories = attempts_.histories(attempt_);
  std::vector<ToDo> races;
  for (const Regime regime : plan_.regimes) {
    for (const GemmProblem& problem : shard_.problems) {
      ToDo race{problem, regime, race_name(problem, regime)};
      if (known.contains(race.name)) continue;
      const auto history = histories.find(race.name);
      if (history != histories.end() && history->second.is_fatal()) {
        run_.set_aside({race.name, shard_.number, history->second});
        outcome_.set_aside.push_back(race.name);
        continue;
      }
      race.is_suspect = history != histories.end() && history->second.is_suspect();
      races.push_back(std::move(race));
    }
  }
  return races;
}

TaskOutcome Task::run() {
  std::vector<ToDo> races = find_to_do();
  const auto suspects = std::stable_partition(races.begin(), races.end(),
                                              [](const ToDo& race) { return !race.is_suspect; });
  tune_together({races.begin(), suspects});
  for (auto suspect = suspects; suspect != races.end() && !outcome_.stopped; ++suspect) {
    tune_some({&*suspect, 1}, tools_.gpus.first(1));
  }
  if (!outcome_.stopped) run_.end_shard(shard_.number, attempt_, end_);
  return outcome_;
}

/// Tunes problems together that lack the same regimes: a tune takes a list of problems and a list
/// of regimes, and compiles the kernels of all of them ahead.
void Task::tune_together(std::span<const ToDo> races) {
  std::map<std::string, std::vector<Regime>> lacking;
  for (const ToDo& race : races) lacking[to_string(race.problem)].push_back(race.regime);
  std::map<std::vector<Regime>, std::vector<ToDo>> groups;
  for (const ToDo& race : races) groups[lacking.at(to_string(race.problem))].push_back(race);
  for (const auto& [regimes, group] : groups) {
    if (outcome_.stopped) return;
    tune_some(group, tools_.gpus);
  }
}

void Task::set_deadline(SearchPlan& search, std::span<const ToDo> races, std::size_t gpus) const {
  double whole = 0, part = 0;
  for (const auto& [race, seconds] : seconds_) whole += seconds;
  for (const ToDo& race : races) part += seconds_of(race.name);
  const double budget_s = run_.plan().budget_of(shard_).value_or(0);
  const double wall_s = whole > 0 ? budget_s * part / whole / static_cast<double>(gpus) : 0;
  search.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(wall_s));
}

void Task::tune_some(std::span<const ToDo> races, std::span<Measurer* const> gpus) {
  if (races.empty()) return;
  if (is_stopped()) {
    outcome_.stopped = true;
    return;
  }
  TunePlan plan = plan_;
  plan.problems.clear();
  std::set<Regime> regimes;
  for (const ToDo& race : races) {
    regimes.insert(race.regime);
    if (race.regime == races.front().regime) plan.problems.push_back(race.problem);
  }
  std::erase_if(plan.regimes, [&](Regime regime) { return !regimes.contains(regime); });
  plan.confirm = plan.confirm && gpus.size() > 1;
  if (plan.search && plan.search->deadline) set_deadline(*plan.search, races, gpus.size());
  const auto find = [&](const GemmProblem& problem, Regime regime) -> const ToDo& {
    return *std::ranges::find_if(races, [&](const ToDo& race) {
      return race.regime == regime && race.problem.same_problem(problem);
    });
  };
  plan.race_begins = [&](const GemmProblem& problem, Regime regime) {
    begin(find(problem, regime));
  };
  plan.race_ended = [&](const GemmProblem& problem, Regime regime) { end(find(problem, regime)); };

  TuneOutcome tuned;
  try {
    tuned = tune(plan, gpus, store_, tools_.compiler, tools_.listener, tools_.stop);
  } catch (const Error&) {
    if (cannot_publish_) end_notes();
    throw;
  }
  end_notes();
  if (is_stopped()) {
    outcome_.stopped = true;
    return;
  }
  const auto names = [](const ToDo& race, const std::vector<std::string>& problems) {
    return std::ranges::find(problems, to_string(race.problem)) != problems.end();
  };
  const std::set<std::string> done(end_.done.begin(), end_.done.end());
  for (const ToDo& race : races) {
    if (done.contains(race.name)) continue;
    if (names(race, tuned.set_aside_problems)) {  // two GPUs of this task could not finish it
      run_.set_aside({race.name, shard_.number, {.deaths = kDeathsToSetAside}});
      outcome_.set_aside.push_back(race.name);
      continue;
    }
    auto& list = names(race, tuned.skipped_problems) ? end_.skipped
                 : names(race, tuned.late_problems)  ? end_.late
                                                     : end_.done;
    list.push_back(race.name);
  }
}

void Task::begin(const ToDo& race) {
  try {
    attempts_.begin(race.name, attempt_);
    in_hand_.insert(race.name);
  } catch (const Error&) {
    cannot_publish_ = true;
    throw;
  }
}

void Task::end(const ToDo& race) {
  try {
    publish(race);
  } catch (const Error&) {
    cannot_publish_ = true;
    throw;
  }
  attempts_.end(race.name, attempt_);
  in_hand_.erase(race.name);
  if (run_.plan().in_one_stage) end_.done.push_back(race.name);
}

void Task::publish(const ToDo& race) {
  for (const RecordedRace& recorded : store_.races()) {
    if (!is_race(recorded, race) || known_uids_.contains(recorded.uid)) continue;
    const fs::path single = tools_.local / "race.db";
    remove_database(single);
    {
      Store store = Store::open(single.string(), Store::Mode::kReadWrite);
      store.add_all(store_, [&](const RecordedRace& one) { return one.uid == recorded.uid; });
    }
    run_.publish(shard_.number, race.name, recorded.uid, single);
    known_uids_.insert(recorded.uid);
    ++outcome_.published;
  }
}

void Task::end_notes() {
  for (const std::string& race : in_hand_) attempts_.end(race, attempt_);
  in_hand_.clear();
}

}  // namespace

TaskOutcome run_task(const RunFolder& run, const Shard& shard, const Attempt& attempt,
                     const TunePlan& plan, const TaskTools& tools) {
  return Task(run, shard, attempt, plan, tools).run();
}

Store::Added add_published(const Published& race, Store& to, const fs::path& local) {
  const fs::path copy = local / "published.db";
  remove_database(copy);
  std::error_code error;
  if (!fs::copy_file(race.path, copy, error)) {
    if (!fs::exists(race.path)) return {};  // another process has just put it away
    throw Error(fmt::format("{} cannot be copied to {}: {}", race.path.string(), copy.string(),
                            error.message()));
  }
  const Store from = open_published(race, copy);
  const Store::Added added = to.add_all(from);
  remove_database(copy);
  return added;
}

Merged merge_published(const RunFolder& run, Store& to, const fs::path& local,
                       const std::function<void()>& advanced) {
  Merged merged;
  for (const Published& race : run.published()) {
    try {
      merged.races += add_published(race, to, local).races;
      ++merged.files;
    } catch (const InputError& error) {
      merged.warnings.push_back(
          fmt::format("{}; it is now {}, and slurm resume measures its race again", error.what(),
                      run.put_away(race)));
    }
    if (advanced) advanced();
  }
  return merged;
}

}  // namespace hgemm::sweep
