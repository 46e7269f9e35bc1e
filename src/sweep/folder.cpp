#include "sweep/folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "gemm/problem_list.h"

namespace hgemm::sweep {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  ///< of a text file of the run
constexpr auto kLeftoverAge = std::chrono::hours(1);
constexpr const char* kPlanFile = "run.json";
constexpr const char* kFolders[] = {"shards", "results", "done", "attempts", "set-aside", "logs"};

/// The files of a folder, by name. Other processes may add and remove files meanwhile.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    files.push_back(entry->path());
  }
  if (error) {
    throw InputError(fmt::format("{}: cannot be listed: {}; check the run folder", folder.string(),
                                 error.message()));
  }
  std::ranges::sort(files);
  return files;
}

/// "<shard>-<race>-<uid>.db". A race's name has exactly one dash.
std::optional<Published> find_published(const fs::path& path) {
  std::string_view name = path.native();
  name = name.substr(name.rfind('/') + 1);
  if (!name.ends_with(".db")) return std::nullopt;
  name.remove_suffix(3);
  const auto first = name.find('-'), last = name.rfind('-');
  if (first == name.npos || last <= first) return std::nullopt;
  const auto shard = find_number(name.substr(0, first));
  const std::string_view uid = name.substr(last + 1);
  const bool is_uid = !uid.empty() && std::ranges::all_of(uid, is_letter_or_digit);
  if (!shard || *shard > 1'000'000 || !is_uid) return std::nullopt;
  return Published{static_cast<int>(*shard), std::string(name.substr(first + 1, last - first - 1)),
                   std::string(uid), path};
}

json read_json(const fs::path& path) {
  try {
    return json::parse(read_file(path, kMostBytes));
  } catch (const json::exception&) {
    throw InputError(path.string() + ": not complete JSON");
  }
}

/// Lists of races from a shard's done-file; nothing that is not there.
void add_end(const fs::path& path, std::map<std::string, RaceState>& states) {
  const json root = read_json(path);
  const auto add = [&](const char* list, RaceState state) {
    for (const auto& name : root.at(list).get<std::vector<std::string>>()) {
      // Another attempt may have come further.
      RaceState& known = states.try_emplace(name, state).first->second;
      if (state == RaceState::kDone) known = state;
    }
  };
  try {
    add("done", RaceState::kDone);
    add("skipped", RaceState::kSkipped);
    add("late", RaceState::kLate);
  } catch (const json::exception&) {
    throw InputError(path.string() + ": not the end of a shard");
  }
}

}  // namespace

std::string now_utc() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time({}))); }

// ---- State ----

std::size_t SweepState::count(RaceState state) const {
  return static_cast<std::size_t>(std::ranges::count(races, state, &RaceStatus::state));
}

bool SweepState::is_over(int shard) const {
  return std::ranges::none_of(races, [&](const RaceStatus& race) {
    return race.shard == shard &&
           (race.state == RaceState::kWaiting || race.state == RaceState::kInHand);
  });
}

std::optional<std::chrono::seconds> SweepState::time_left() const {
  constexpr std::size_t kWindow = 200;  // the pace of now: nodes come and go
  if (left() == 0) return std::chrono::seconds(0);
  if (published.size() < 2) return std::nullopt;
  const std::size_t count = std::min(published.size(), kWindow);
  const std::chrono::duration<double> span = published.back() - published[published.size() - count];
  if (span.count() <= 0) return std::nullopt;
  const double pace = static_cast<double>(count - 1) / span.count();
  return std::chrono::seconds(static_cast<long>(static_cast<double>(left()) / pace + 0.5));
}

SweepState RunFolder::state() const {
  SweepState state;
  std::map<std::string, RaceState> known;
  for (const fs::path& path : files_in(path_ / "done")) {
    if (path.extension() != ".json") continue;
    try {
      add_end(path, known);
    } catch (const InputError& error) {
      state.warnings.push_back(error.what());
    }
  }
  for (const Published& race : published()) {
    std::error_code gone;
    if (const auto time = fs::last_write_time(race.path, gone); !gone) {
      state.published.push_back(time);
    }
    if (plan_.in_one_stage) known[race.race] = RaceState::kDone;
  }
  std::ranges::sort(state.published);
  // A result counts, even if its race was set aside meanwhile: an attempt that was lost came
  // through.
  for (const std::string& race : set_aside()) known.try_emplace(race, RaceState::kSetAside);
  for (const Shard& shard : plan_.shards) {
    const auto histories = attempts(shard.number).histories();
    for (const Regime regime : plan_.regimes) {
      for (const GemmProblem& problem : shard.problems) {
        RaceStatus race{shard.number, problem, regime, race_name(problem, regime)};
        const auto found = known.find(race.name);
        const auto history = histories.find(race.name);
        if (found != known.end()) {
          race.state = found->second;
        } else if (history != histories.end() && history->second.is_in_hand) {
          race.state = RaceState::kInHand;
        }
        state.races.push_back(std::move(race));
      }
    }
  }
  return state;
}

// ---- Making and opening ----

void RunFolder::check_new(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (fs::exists(path / kPlanFile, error)) {
    throw InputError(fmt::format(
        "{0}: there is a run in it; go on with it by hgemm-tune slurm resume {0}, or name another "
        "folder with --run",
        path.string()));
  }
  if (!fs::is_directory(path, error) || !fs::is_empty(path, error)) {
    throw InputError(
        fmt::format("{}: not an empty folder; name another with --run", path.string()));
  }
}

RunFolder RunFolder::create(const fs::path& path, SweepPlan plan,
                            const std::map<std::string, std::string>& scripts) {
  check_new(path);
  try {
    for (const char* folder : kFolders) fs::create_directories(path / folder);
    for (const Shard& shard : plan.shards) {
      fs::create_directory(path / "attempts" / shard_name(shard.number));
      replace_file(path / "shards" / (shard_name(shard.number) + ".yaml"), shard_text(shard));
    }
    for (const auto& [name, text] : scripts) replace_file(path / name, text, 0755);
    replace_file(path / kPlanFile, plan_text(plan));
  } catch (const fs::filesystem_error& error) {
    throw InputError(fmt::format("{}: the run folder cannot be made: {}; name another with --run",
                                 path.string(), error.code().message()));
  }
  return {path, std::move(plan)};
}

RunFolder RunFolder::open(const fs::path& path) {
  const fs::path file = path / kPlanFile;
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw InputError(fmt::format(
        "{}: there is no {} in it, so it is not the folder of a run; name the folder that "
        "hgemm-tune --executor slurm made",
        path.string(), kPlanFile));
  }
  SweepPlan plan = parse_plan(read_file(file, kMostBytes), file.string());
  for (Shard& shard : plan.shards) {
    const fs::path shapes = path / "shards" / (shard_name(shard.number) + ".yaml");
    shard.problems = parse_problems(read_file(shapes, kMostBytes), shapes.string());
  }
  return {path, std::move(plan)};
}

// ---- Results ----

void RunFolder::publish(int shard, const std::string& race, const std::string& uid,
                        const fs::path& database) const {
  const std::string name = fmt::format("{}-{}-{}.db", shard_name(shard), race, uid);
  copy_whole(database, path_ / "results" / name);
}

std::vector<Published> RunFolder::published(std::optional<int> shard) const {
  std::vector<Published> all;
  for (const fs::path& path : files_in(path_ / "results")) {
    auto found = find_published(path);
    if (found && (!shard || found->shard == *shard)) all.push_back(std::move(*found));
  }
  return all;
}

std::string RunFolder::put_away(const Published& damaged) const {
  fs::path aside = damaged.path;
  aside += ".damaged";
  std::error_code gone;  // another process may have done it
  fs::rename(damaged.path, aside, gone);
  return aside.filename().string();
}

void RunFolder::remove_leftovers() const {
  const auto now = fs::file_time_type::clock::now();
  for (const char* folder : {"results", "done", "set-aside"}) {
    for (const fs::path& path : files_in(path_ / folder)) {
      // replace_file() and copy_whole() add a dot and six letters to the name.
      const std::string name = path.filename().string();
      const auto dot = name.rfind('.');
      if (dot == name.npos || name.size() - dot != 7) continue;
      const std::string_view before = std::string_view(name).substr(0, dot);
      if (!before.ends_with(".db") && !before.ends_with(".json")) continue;
      std::error_code gone;
      const auto written = fs::last_write_time(path, gone);
      if (!gone && now - written > kLeftoverAge) fs::remove(path, gone);
    }
  }
}

void RunFolder::end_shard(int shard, const Attempt& attempt, const ShardEnd& end) const {
  const json root{{"done", end.done}, {"skipped", end.skipped}, {"late", end.late}};
  replace_file(path_ / "done" /
                   fmt::format("{}-{}.json", shard_name(shard), hgemm::sweep::to_string(attempt)),
               root.dump(1) + "\n");
}

void RunFolder::set_aside(const SetAside& race) const {
  const json root{{"race", race.race},
                  {"shard", race.shard},
                  {"deaths", race.history.deaths},
                  {"losses", race.history.losses},
                  {"utc", now_utc()}};
  replace_file(path_ / "set-aside" / (race.race + ".json"), root.dump(1) + "\n");
}

std::vector<std::string> RunFolder::set_aside() const {
  std::vector<std::string> races;
  for (const fs::path& path : files_in(path_ / "set-aside")) {
    if (path.extension() == ".json") races.push_back(path.stem().string());
  }
  return races;
}

int RunFolder::retry() const {
  int count = 0;
  for (const RaceStatus& race : state().races) {
    const bool ended_early = race.state == RaceState::kSetAside ||
                             race.state == RaceState::kSkipped || race.state == RaceState::kLate;
    if (!ended_early) continue;
    attempts(race.shard).forget(race.name);
    std::error_code gone;
    fs::remove(path_ / "set-aside" / (race.name + ".json"), gone);
    for (const fs::path& path : files_in(path_ / "done")) {
      if (path.filename().string().starts_with(shard_name(race.shard) + "-")) {
        fs::remove(path, gone);
      }
    }
    ++count;
  }
  return count;
}

// ---- Jobs ----

std::vector<SubmittedJob> RunFolder::jobs() const {
  const fs::path path = path_ / "jobs.json";
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::vector<SubmittedJob> jobs;
  const json root = read_json(path);
  try {
    for (const json& job : root) {
      SubmittedJob read{job.at("kind"), job.at("id"), job.at("shards"), job.at("submitted_utc")};
      // The id becomes an argument of Slurm's commands.
      if (!find_number(read.id)) throw InputError(path.string() + ": the id of a job is no number");
      jobs.push_back(std::move(read));
    }
  } catch (const json::exception&) {
    throw InputError(path.string() + ": not a list of jobs");
  }
  return jobs;
}

void RunFolder::write_jobs(const std::vector<SubmittedJob>& jobs) const {
  json root = json::array();
  for (const SubmittedJob& job : jobs) {
    root.push_back({{"kind", job.kind},
                    {"id", job.id},
                    {"shards", job.shards},
                    {"submitted_utc", job.submitted_utc}});
  }
  replace_file(path_ / "jobs.json", root.dump(1) + "\n");
}

}  // namespace hgemm::sweep
