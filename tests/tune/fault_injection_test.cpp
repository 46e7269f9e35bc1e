// Kills, power cuts, full disks and second runs, at random points of a run on a scripted GPU: what
// was committed is there, nothing is there twice, and resuming ends with what an uninterrupted run
// ends with. Each run is a process of its own; SIGKILL leaves it no chance to tidy up.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>

#include "base/error.h"
#include "results/best.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

namespace fs = std::filesystem;

// ---- The run ----

/// Every end that a trial can have, and no noise. Left out is what an interruption changes by
/// design: faults that depend on an earlier loss (restore() is called only after one), and those
/// that come and go.
class ScriptedGpu : public FakeMeasurer {
 public:
  ScriptedGpu() {
    noise = 0;
    model_us = {{name(0), 100},   {name(6), 100.3},      {name(7), 100.2},    {name(8), 150},
                {name(9), 100.1}, {name(10), 104},       {name(11), 108},     {name(12), 105},
                {name(13), 109},  {"cublaslt.0", 101.5}, {"cublaslt.1", 102}, {"cublas", 103}};
    in_prepare = {{name(2), {Status::kWrongResult}},
                  {name(3), {Status::kCrashed}},
                  {name(5), {Status::kTimedOut}}};
    in_round = {{name(4), {Status::kCrashed}}, {name(6), {Status::kTimedOut, 1 << 20, Pace::kOwn}}};
    in_energy = {{name(7), {Status::kCrashed}}};
  }

 protected:
  double time_us(const GemmProblem& problem, const std::string& label, Pace pace) const override {
    const double per_pace = pace == Pace::kOwn ? 1.1 : pace == Pace::kRested ? 0.9 : 1;
    return FakeMeasurer::time_us(problem, label, pace) * per_pace * static_cast<double>(problem.m);
  }
};

TunePlan everything() {
  TunePlan plan;
  plan.problems = {kSmall, kLight, kOddK};
  plan.configs = configs(14);
  plan.regimes = {Regime::kSustained, Regime::kBurst};
  plan.weighed = Weighed::kFinalists;
  plan.policy = {.screen_rounds = 2,
                 .semifinal_rounds = 0,
                 .finalists = 6,
                 .lt_finalists = 1,
                 .min_rounds = 6,
                 .max_rounds = 8};
  return plan;
}

/// Runs or resumes it. Returns how many trials that recorded.
std::int64_t tune_everything(
    const std::string& database, ScriptedGpu& gpu, const std::function<void()>& on_step = [] {}) {
  QuietListener listener;
  gpu.before_step = listener.on_event = on_step;
  Store store = Store::open(database, Store::Mode::kReadWrite);
  FakeCompiler compiler;
  compiler.failing = {name(1)};
  return tune(everything(), gpu, store, compiler.compiler(), listener, nullptr).recorded;
}

/// What a run tells the test, in memory that both have.
struct Progress {
  std::atomic<long> steps;
  std::atomic<std::int64_t> recorded;
  std::array<char, 2000> error;
};

/// A run in a process of its own, killed with this.
class TuneProcess {
 public:
  using AtStep = std::function<void(const ScriptedGpu&, long step)>;
  explicit TuneProcess(
      const std::string& database, const AtStep& at_step = {},
      const std::function<void()>& at_start = [] {}) {
    void* memory =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
    progress_ = new (memory) Progress{};
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      at_start();
      ScriptedGpu gpu;
      progress_->recorded = tune_everything(database, gpu, [&] {
        const long step = ++progress_->steps;
        if (at_step) at_step(gpu, step);
      });
      _exit(0);
    } catch (const Error& error) {
      std::strncpy(progress_->error.data(), error.what(), progress_->error.size() - 1);
      _exit(1);
    } catch (...) {
      _exit(2);
    }
  }
  TuneProcess(const TuneProcess&) = delete;
  ~TuneProcess() {
    if (!status_) end_by(SIGKILL);
    munmap(progress_, sizeof(Progress));
  }

  pid_t pid() const { return pid_; }
  long steps() const { return progress_->steps; }
  std::int64_t recorded() const { return progress_->recorded; }
  std::string error() const { return progress_->error.data(); }

  /// False if it ended before.
  bool reach(long step) {
    while (!ended(WNOHANG)) {
      if (steps() >= step) return true;
      usleep(20);
    }
    return false;
  }
  /// Whether it was still alive and died of it.
  bool end_by(int signal) {
    kill(pid_, signal);
    ended(0);
    return WIFSIGNALED(*status_);
  }
  /// Nothing happens in it until it goes on. False if it ended before.
  bool pause() {
    kill(pid_, SIGSTOP);
    return await_pause();
  }
  bool await_pause() { return !ended(WUNTRACED); }
  void go_on() { kill(pid_, SIGCONT); }
  /// Waits for its end. -1 if a signal killed it.
  int exit_code() {
    ended(0);
    return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -1;
  }

 private:
  bool ended(int options) {
    int status = 0;
    if (!status_ && waitpid(pid_, &status, options) == pid_ && !WIFSTOPPED(status)) {
      status_ = status;
    }
    return status_.has_value();
  }

  Progress* progress_;
  pid_t pid_ = 0;
  std::optional<int> status_;  ///< once it has ended
};

/// For a TuneProcess: sends itself a signal.
TuneProcess::AtStep raise_at(long step, int signal) {
  return [=](const ScriptedGpu&, long now) {
    if (now == step) raise(signal);
  };
}

// ---- What it leaves ----

/// A line for each trial of a config, sorted. Race ids, round numbers and times of day are left
/// out: what is resumed is a race of its own. So are the baselines, which every race measures for
/// itself, and finalists that wait for their energy: they are there, but to be measured again.
using Content = std::vector<std::string>;

Content content(const std::string& database) {
  Content lines;
  for (const RecordedRace& race : Store::open(database, Store::Mode::kReadOnly).races()) {
    for (const Trial& trial : race.race.trials) {
      if (is_baseline(trial.label)) continue;
      const bool weighed = trial.energy || race.race.regime != Regime::kSustained;
      if (trial.stage == Stage::kFinal && !weighed) continue;
      std::string line = fmt::format(
          "{} {} {}: {} {} \"{}\" {} {} {} \"{}\" of {}", to_string(race.race.problem),
          to_string(race.race.regime), trial.label, to_string(trial.status), to_string(trial.stage),
          trial.message, trial.verdict.correct, trial.verdict.error, trial.verdict.tolerance,
          trial.verdict.message, trial.kernel_id);
      for (const Sample& s : trial.samples) {
        line += fmt::format(" {}:{}x{}", to_string(s.pace), s.launches, s.time_us);
      }
      if (trial.energy) line += fmt::format(" {} J", trial.energy->joules());
      lines.push_back(line);
    }
  }
  std::ranges::sort(lines);
  return lines;
}

/// Who won, and by how much. Ties are sought in the winner's race alone, and who was measured again
/// for its energy is in another: here every finalist is a tie.
Content standings(const std::string& database) {
  Content lines;
  for (const BestRow& row : best_rows(Store::open(database, Store::Mode::kReadOnly).races())) {
    const auto elsewhere = static_cast<std::size_t>(
        std::ranges::count_if(row.finalists, [](const Finalist& f) { return !f.winner; }));
    std::string line = fmt::format(
        "{} {}: {} {} trials, {} failed, {} ties", to_string(row.problem), to_string(row.regime),
        row.label.value_or("nobody"), row.trials, row.failed, row.ties.size() + elsewhere);
    for (const auto& ratio : {row.cublas, row.cublaslt}) {
      if (!ratio) continue;
      line += fmt::format(" {} [{}, {}]", ratio->value, ratio->interval.low, ratio->interval.high);
    }
    if (row.joules) line += fmt::format(" {} J", *row.joules);
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

/// Also while it is being created: then there is nothing yet.
Content content_so_far(const std::string& database) {
  try {
    return content(database);
  } catch (const InputError&) {
    return {};
  }
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class FaultInjection : public testing::Test {
 protected:
  FaultInjection() {
    fs::create_directories(folder_);
    const std::string database = new_database();
    const auto start = std::chrono::steady_clock::now();
    TuneProcess run(database);
    EXPECT_EQ(run.exit_code(), 0) << run.error();
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - start;
    steps_ = run.steps();
    step_us_ = elapsed.count() / static_cast<double>(steps_);
    whole_ = content(database);
    whole_standings_ = standings(database);
  }
  ~FaultInjection() override { fs::remove_all(folder_); }

  std::string new_database() {
    const fs::path folder = folder_ / std::to_string(databases_++);
    fs::create_directories(folder);
    return folder / "test.db";
  }
  void discard(const std::string& database) { fs::remove_all(fs::path(database).parent_path()); }

  long uniform(long low, long high) {
    return std::uniform_int_distribution<long>(low, high)(random_);
  }

  void expect_whole(const std::string& database) const {
    EXPECT_EQ(content(database), whole_);
    EXPECT_EQ(standings(database), whole_standings_);
  }
  /// Does the rest, exactly, in this process.
  void expect_whole_once_resumed(const std::string& database) const {
    const auto before = content_so_far(database).size();
    ScriptedGpu gpu;
    EXPECT_EQ(tune_everything(database, gpu) + static_cast<std::int64_t>(before),
              static_cast<std::int64_t>(whole_.size()));
    expect_whole(database);
  }

  fs::path folder_ = fast_folder() / ("hgemm_fault_test." + std::to_string(getpid()));
  int databases_ = 0;
  std::mt19937_64 random_{20};
  // What an uninterrupted run records:
  long steps_ = 0;
  double step_us_ = 0;
  Content whole_, whole_standings_;
};

// ---- The tests ----

TEST_F(FaultInjection, TheUninterruptedRunHasEveryEnd) {
  EXPECT_THAT(whole_, SizeIs(14 * 3 * 2));
  for (const char* end :
       {"invalid_config none", "compile_failed none", "wrong_result none", "crashed none",
        "timed_out none", "crashed screen", "timed_out screen", "ok screen", "ok final"}) {
    EXPECT_THAT(whole_, Contains(HasSubstr(end)));
  }
  const auto of = [&](int config) {
    const std::string start = "256x512x128 sustained " + name(config) + ": ";
    return *std::ranges::find_if(whole_, [&](auto& line) { return line.starts_with(start); });
  };
  EXPECT_THAT(of(8), HasSubstr("ok screen"));
  EXPECT_THAT(of(8), Not(HasSubstr("own")));  // out in the first round of screening
  EXPECT_THAT(of(11), HasSubstr("ok screen"));
  EXPECT_THAT(of(11), Not(HasSubstr("own")));  // surplus at the end of screening
  EXPECT_THAT(of(10), AllOf(HasSubstr("ok screen"), HasSubstr("own")));      // clearly slower
  EXPECT_THAT(of(6), HasSubstr("timed_out screen"));                         // hung in the final
  EXPECT_THAT(of(7), AllOf(HasSubstr("crashed screen"), HasSubstr("own")));  // crashed at the end
  EXPECT_THAT(of(9), AllOf(HasSubstr("ok final"), HasSubstr(" J")));
  EXPECT_THAT(whole_standings_, Contains(HasSubstr("256x512x128 sustained: " + name(0))));
}

TEST_F(FaultInjection, KilledAnywhereNothingIsLostOrMeasuredTwice) {
  constexpr int kKills = 200;
  int kills = 0, databases = 0, most_of_one = 0;
  std::array<int, 4> by_race{};  // that was under way
  for (; kills < kKills && !HasFailure(); ++databases) {
    const std::string database = new_database();
    Content known;
    int of_this = 0;
    for (bool finished = false; !finished && !HasFailure();) {
      TuneProcess run(database);
      if (kills < kKills && run.reach(uniform(0, steps_))) {
        if (uniform(0, 3) == 0) {  // what others can read is there to stay
          const Content seen = content_so_far(database);
          EXPECT_TRUE(std::ranges::includes(seen, known));
          known = seen;
        }
        usleep(static_cast<useconds_t>(uniform(0, static_cast<long>(2 * step_us_))));
        finished = !run.end_by(SIGKILL);
      } else {
        finished = true;
      }
      if (finished) {
        EXPECT_EQ(run.exit_code(), 0) << run.error();
      } else {
        ++kills;
        ++of_this;
      }
      const Content now = content_so_far(database);
      EXPECT_TRUE(std::ranges::includes(now, known)) << "something committed is gone";
      known = now;
      if (!finished) ++by_race[now.size() < 14 ? 0 : now.size() < 42 ? 1 : now.size() < 56 ? 2 : 3];
    }
    most_of_one = std::max(most_of_one, of_this);
    expect_whole(database);
    discard(database);
  }
  EXPECT_EQ(kills, kKills);
  EXPECT_GE(most_of_one, 3);
  EXPECT_LT(databases, kKills);
  for (const int count : by_race) EXPECT_GE(count, kKills / 20);
  std::cout << "[ measured ] " << kills << " kills of " << databases << " runs, at most "
            << most_of_one << " of one; by race:";
  for (const int count : by_race) std::cout << ' ' << count;
  std::cout << "; " << steps_ << " steps of " << step_us_ << " us\n";
}

TEST_F(FaultInjection, ResumingDoesExactlyWhatIsMissing) {
  for (int i = 0; i < 10; ++i) {
    const std::string database = new_database();
    TuneProcess run(database, raise_at(steps_ * (2 * i + 1) / 20, SIGKILL));
    ASSERT_EQ(run.exit_code(), -1);
    expect_whole_once_resumed(database);
    ScriptedGpu idle;
    EXPECT_EQ(tune_everything(database, idle), 0);
    EXPECT_EQ(idle.opened, 0);
  }
}

/// Bytes of the journal that a power cut cannot take: what SQLite copies into the database it has
/// flushed before. nBackfillAttempted of the -shm counts those frames (sqlite.org/walformat.html).
/// A run that ends copies everything, then removes the -shm and then the journal.
std::size_t flushed_bytes(const std::string& shm, const std::string& wal) {
  constexpr std::size_t kWalHeader = 32, kFrameHeader = 24, kBackfillAttempted = 128;
  if (shm.size() < kBackfillAttempted + 4 || wal.size() < kWalHeader) return wal.size();
  std::uint32_t frames = 0;
  std::memcpy(&frames, &shm[kBackfillAttempted], sizeof frames);
  std::size_t page = 0;
  for (const char byte : wal.substr(8, 4)) page = page << 8 | static_cast<unsigned char>(byte);
  return frames == 0 ? 0 : kWalHeader + frames * (kFrameHeader + page);
}

TEST_F(FaultInjection, APowerCutLosesAtMostTheLastCommits) {
  constexpr int kCuts = 50, kParts = 5;
  int cuts = 0, lossy = 0;
  while (cuts < kCuts && !HasFailure()) {
    const std::string database = new_database();
    TuneProcess run(database);
    for (int part = 0; part < kParts && cuts < kCuts; ++part) {
      if (!run.reach(steps_ * part / kParts + uniform(0, steps_ / kParts)) || !run.pause()) break;
      std::map<std::string, std::string> files;
      for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
        if (fs::exists(database + suffix)) files[suffix] = read_file(database + suffix);
      }
      run.go_on();
      const std::size_t flushed = flushed_bytes(files["-shm"], files["-wal"]);
      files.erase("-shm");  // of the kernel's memory

      const std::string copy = new_database();
      for (const auto& [suffix, bytes] : files) write_file(copy + suffix, bytes);
      const Content before = content_so_far(copy);
      fs::remove(copy + "-shm");

      std::string& wal = files["-wal"];
      const auto cut = static_cast<std::size_t>(
          uniform(static_cast<long>(flushed), static_cast<long>(wal.size())));
      if (uniform(0, 1) == 0) {
        wal.resize(cut);
      } else {  // a file system may keep the length and lose what was in it
        std::generate(wal.begin() + static_cast<std::ptrdiff_t>(cut), wal.end(),
                      [this] { return static_cast<char>(uniform(0, 255)); });
      }
      for (const auto& [suffix, bytes] : files) write_file(copy + suffix, bytes);
      const Content left = content_so_far(copy);
      EXPECT_TRUE(std::ranges::includes(before, left));
      if (left.size() < before.size()) ++lossy;
      ++cuts;
      expect_whole_once_resumed(copy);
      discard(copy);
    }
    EXPECT_EQ(run.exit_code(), 0) << run.error();
    expect_whole(database);
    discard(database);
  }
  EXPECT_GT(lossy, cuts / 5);
  std::cout << "[ measured ] " << cuts << " power cuts, " << lossy << " of them took commits\n";
}

TEST_F(FaultInjection, AFullDiskIsNamedAndWhatWasRecordedStays) {
  // What the journal grows to: the largest file.
  const std::string whole = new_database();
  TuneProcess unlimited(whole, raise_at(steps_, SIGSTOP));
  ASSERT_TRUE(unlimited.await_pause());
  const auto most = static_cast<double>(fs::file_size(whole + "-wal"));

  std::vector<std::size_t> recorded;
  for (const double share : {0.001, 0.1, 0.3, 0.5, 0.7, 0.9}) {
    SCOPED_TRACE(fmt::format("at {} of {} bytes", share, most));
    const std::string database = new_database();
    TuneProcess run(database, {}, [&] {
      signal(SIGXFSZ, SIG_IGN);
      const auto bytes = static_cast<rlim_t>(share * most);
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
    });
    EXPECT_EQ(run.exit_code(), 1);
    EXPECT_THAT(run.error(), AllOf(HasSubstr(database), HasSubstr("disk")));
    recorded.push_back(content_so_far(database).size());
    expect_whole_once_resumed(database);
  }
  EXPECT_EQ(recorded.front(), 0u);
  EXPECT_GT(recorded.back(), recorded[2]);
  EXPECT_LT(recorded.back(), whole_.size());
}

TEST_F(FaultInjection, ASecondRunIsRefusedAndDisturbsNobody) {
  const std::string database = new_database();
  TuneProcess first(database, raise_at(steps_ / 2, SIGSTOP));
  ASSERT_TRUE(first.await_pause());
  const auto names_the_first = AllOf(HasSubstr(database), HasSubstr("in use"),
                                     HasSubstr(fmt::format("process {} ", first.pid())));
  EXPECT_THAT([&] { Store::open(database, Store::Mode::kReadWrite); },
              ThrowsMessage<Error>(names_the_first));
  TuneProcess second(database);
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_THAT(second.error(), names_the_first);
  EXPECT_EQ(second.steps(), 0);
  EXPECT_THAT(content(database), Not(IsEmpty()));  // reading is free
  first.go_on();
  EXPECT_EQ(first.exit_code(), 0) << first.error();
  expect_whole(database);
}

TEST_F(FaultInjection, WhatTookTheMachineDownIsNotRunAgainAtThatShape) {
  const std::string database = new_database();
  // Slow, so that the others' races go the same way without it.
  const std::string fatal = name(8), at_small = "256x512x128 " + fatal;
  {
    TuneProcess run(database, [&](const ScriptedGpu& gpu, long) {
      if (!gpu.prepared.empty() && gpu.prepared.back() == at_small) raise(SIGKILL);
    });
    ASSERT_EQ(run.exit_code(), -1);
  }
  SQLite::Database(database, SQLite::OPEN_READWRITE)
      .exec("UPDATE attempt SET boot_id = 'the boot before'");
  ScriptedGpu gpu;
  tune_everything(database, gpu);
  for (const auto& ran : {gpu.prepared, gpu.restored}) EXPECT_THAT(ran, Not(Contains(at_small)));
  EXPECT_THAT(gpu.prepared, Contains("16x512x128 " + fatal));

  Content others, ends;
  for (const std::string& line : content(database)) {
    const bool is_fatal = line.starts_with("256x") && line.find(fatal) != std::string::npos;
    (is_fatal ? ends : others).push_back(line);
  }
  EXPECT_THAT(ends, ElementsAre(HasSubstr("crashed none \"the machine went down"),
                                HasSubstr("crashed none \"the machine went down")));
  Content expected = whole_;
  std::erase_if(expected, [&](const std::string& line) {
    return line.starts_with("256x") && line.find(fatal) != std::string::npos;
  });
  EXPECT_EQ(others, expected);
  ScriptedGpu idle;
  EXPECT_EQ(tune_everything(database, idle), 0);
}

}  // namespace
}  // namespace hgemm
