// The run folder and the tasks that work in it: what is done is never lost nor measured again, and
// a race that kills its tasks is set aside. Tasks are calls of run_task() here, with fake GPUs;
// tests/slurm has processes, nodes and kills.
#include <gmock/gmock.h>

#include <fstream>

#include "base/file.h"
#include "gemm/codec.h"
#include "results/best.h"
#include "sweep/task.h"
#include "tests/support/scratch_files.h"
#include "tests/tune/support.h"

namespace hgemm::sweep {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

struct NodeLost {};  ///< nothing may be done after it

/// A GPU whose times depend on the shape and the config, so that winners differ.
struct Gpu : FakeMeasurer {
  Gpu() { noise = 0; }
  std::function<void(const GemmProblem&)> in_open_of = [](const GemmProblem&) {};
  Opened open(const GemmProblem& problem, const Opening& opening) override {
    in_open_of(problem);
    return FakeMeasurer::open(problem, opening);
  }

 protected:
  double time_us(const GemmProblem& problem, const std::string& label, Pace) const override {
    return 50 + static_cast<double>(std::hash<std::string>()(label + to_string(problem)) % 100);
  }
};

std::vector<GemmProblem> shapes(int count) {
  std::vector<GemmProblem> all;
  for (int i = 0; i < count; ++i) all.push_back({.m = 256, .n = 512, .k = 128 + 64 * i, .tag = ""});
  return all;
}

class SweepTest : public TuneTest {
 protected:
  static SweepPlan sweep(int shapes_of_it, int shards, std::vector<Regime> regimes = kSustained) {
    SweepPlan plan;
    plan.program = "/p";
    plan.regimes = std::move(regimes);
    const auto all = shapes(shapes_of_it);
    const double size = static_cast<double>(shapes_of_it) / shards;
    plan.shards = make_shards(all, std::vector<double>(all.size(), 1.0),
                              {.longest_s = size, .shortest_s = size, .most = shards});
    return plan;
  }
  RunFolder make(const SweepPlan& plan) const { return RunFolder::create(run_, plan, {}); }

  /// One start of the task of a shard.
  TaskOutcome task(int shard, const Attempt& attempt, Gpu& gpu,
                   const std::function<bool()>& stop = nullptr, int gpus = 1) {
    const RunFolder run = RunFolder::open(run_);
    TunePlan tuned = plan(run.plan().shard(shard).problems, configs(configs_));
    tuned.regimes = run.plan().regimes;
    tuned.policy.seed = 1;
    tuned.search = search_;
    std::vector<std::unique_ptr<Gpu>> others;
    std::vector<Measurer*> measurers{&gpu};
    for (int i = 1; i < gpus; ++i) {
      measurers.push_back(others.emplace_back(std::make_unique<Gpu>(gpu)).get());
    }
    const ScratchFiles local;
    return run_task(run, run.plan().shard(shard), attempt, tuned,
                    {.gpus = measurers,
                     .compiler = compiler,
                     .listener = listener_,
                     .stop = stop,
                     .local = local.folder()});
  }

  SweepState state() const { return RunFolder::open(run_).state(); }
  std::vector<std::string> files(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(run_ / folder)) {
      if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  /// What all results say, whenever and wherever they were measured: shape, regime, label, time.
  std::set<std::string> merged(int* races = nullptr) const {
    const ScratchFiles local;
    Store store = Store::open((local.folder() / "all.db").string(), Store::Mode::kReadWrite);
    merge_published(RunFolder::open(run_), store, local.folder());
    if (races != nullptr) *races = static_cast<int>(store.races().size());
    return content_of(store);
  }
  static std::set<std::string> content_of(const Store& store) {
    std::set<std::string> content;
    for (const RecordedRace& race : store.races()) {
      for (const Trial& trial : race.race.trials) {
        content.insert(fmt::format("{} {} {} {} {}", to_string(race.race.problem),
                                   to_string(race.race.regime), trial.label,
                                   to_string(trial.status),
                                   trial.samples.empty() ? 0 : trial.samples.front().time_us));
      }
    }
    return content;
  }
  /// What one machine measures in one tune.
  std::set<std::string> on_one_machine(int count, std::vector<Regime> regimes = kSustained) {
    TunePlan whole = plan(shapes(count), configs(configs_));
    whole.regimes = std::move(regimes);
    whole.search = search_;
    whole.policy.seed = 1;
    Gpu gpu;
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    tune(whole, gpu, store, compiler, listener_, nullptr);
    return content_of(store);
  }

  static inline const std::vector<Regime> kSustained{Regime::kSustained};
  static inline const std::vector<Regime> kBoth{Regime::kSustained, Regime::kBurst};
  int configs_ = 4;
  std::optional<SearchPlan> search_;
  const Compiler compiler = compiler_.compiler();
  const fs::path run_ = fs::path(folder_) / "big.sweep";
};

// ---- Results ----

TEST_F(SweepTest, TheTasksTogetherMeasureWhatOneMachineDoes) {
  make(sweep(7, 3, kBoth));
  Gpu gpu;
  for (const int shard : {3, 1, 2}) task(shard, {1, 0, 0}, gpu);
  EXPECT_EQ(state().count(RaceState::kDone), 14u);
  int races = 0;
  EXPECT_EQ(merged(&races), on_one_machine(7, kBoth));
  EXPECT_EQ(races, 14);
  EXPECT_THAT(files("attempts"), IsEmpty());
}

TEST_F(SweepTest, AFileHoldsOneRace) {
  make(sweep(3, 1));
  Gpu gpu;
  task(1, {1, 0, 0}, gpu);
  const auto published = RunFolder::open(run_).published();
  ASSERT_THAT(published, SizeIs(3u));
  for (const Published& race : published) {
    const Store store = Store::open(race.path.string(), Store::Mode::kReadOnly);
    ASSERT_THAT(store.races(), SizeIs(1u));
    EXPECT_EQ(store.races()[0].uid, race.uid);
    EXPECT_EQ(race_name(store.races()[0].race.problem, store.races()[0].race.regime), race.race);
    EXPECT_THAT(store.builds(), SizeIs(4u));
  }
}

TEST_F(SweepTest, AStoppedTaskLosesTheRaceInHandAndGoesOn) {
  make(sweep(5, 1));
  Gpu gpu;
  int opened = 0;
  gpu.in_open_of = [&](const GemmProblem&) { ++opened; };
  const TaskOutcome first = task(1, {1, 0, 0}, gpu, [&] { return opened == 3; });
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(first.published, 2);
  EXPECT_THAT(files("attempts"), IsEmpty()) << "no race is to blame";
  EXPECT_THAT(files("done"), IsEmpty());
  const TaskOutcome second = task(1, {1, 1, 0}, gpu);
  EXPECT_FALSE(second.stopped);
  EXPECT_EQ(second.published, 3);
  EXPECT_EQ(opened, 6);
  int races = 0;
  EXPECT_EQ(merged(&races), on_one_machine(5));
  EXPECT_EQ(races, 5);
  EXPECT_EQ(task(1, {1, 2, 0}, gpu).published, 0) << "nothing is measured twice";
}

TEST_F(SweepTest, ASearchThatLearnsIsDoneWhenItsTaskSaysSo) {
  configs_ = 12;
  search_ = SearchPlan{.strategy = StrategyKind::kAdaptive, .budget = {.trials = 6}, .devices = {}};
  SweepPlan learning = sweep(3, 1);
  learning.in_one_stage = false;
  make(learning);
  Gpu gpu;
  int opened = 0;
  gpu.in_open_of = [&](const GemmProblem&) { ++opened; };
  // Stopped in the second of the two races of the first problem.
  EXPECT_TRUE(task(1, {1, 0, 0}, gpu, [&] { return opened == 5; }).stopped);
  EXPECT_EQ(opened, 5);
  EXPECT_EQ(state().left(), 3u);
  EXPECT_FALSE(task(1, {1, 1, 0}, gpu).stopped);
  EXPECT_EQ(opened, 7) << "what was published is not measured again";
  EXPECT_EQ(state().count(RaceState::kDone), 3u);
  EXPECT_EQ(merged(), on_one_machine(3));
}

TEST_F(SweepTest, TwoAttemptsOnARaceMergeInAnyOrder) {
  make(sweep(2, 1));
  Gpu gpu;
  task(1, {1, 0, 0}, gpu);
  const fs::path first = fs::path(folder_) / "first";
  fs::create_directory(first);
  for (const Published& race : RunFolder::open(run_).published()) {
    fs::rename(race.path, first / race.path.filename());
  }
  fs::remove_all(run_ / "done");
  fs::create_directory(run_ / "done");
  task(1, {1, 1, 0}, gpu);  // as if the other attempt had been lost, which then published
  const auto second = RunFolder::open(run_).published();
  for (const auto& file : fs::directory_iterator(first)) {
    fs::copy(file, run_ / "results" / file.path().filename());
  }
  auto all = RunFolder::open(run_).published();
  ASSERT_THAT(all, SizeIs(4u));
  const ScratchFiles local;
  std::set<std::string> contents;
  std::vector<std::size_t> counts;
  for (int order = 0; order < 3; ++order) {
    std::ranges::rotate(all, all.begin() + 1);
    Store store = Store::open((local.folder() / fmt::format("{}.db", order)).string(),
                              Store::Mode::kReadWrite);
    for (const Published& race : all) add_published(race, store, local.folder());
    for (const Published& race : all) {
      const auto again = add_published(race, store, local.folder());
      EXPECT_EQ(again.races + again.trials + again.samples, 0);
    }
    counts.push_back(store.races().size());
    contents.merge(content_of(store));
  }
  EXPECT_THAT(counts, ElementsAre(4u, 4u, 4u));
  EXPECT_EQ(contents, on_one_machine(2));
  EXPECT_EQ(state().count(RaceState::kDone), 2u);
}

TEST_F(SweepTest, HalfWrittenAndDamagedFilesAreNoResults) {
  const RunFolder run = make(sweep(3, 1));
  Gpu gpu;
  task(1, {1, 0, 0}, gpu);
  fs::remove_all(run_ / "done");
  fs::create_directory(run_ / "done");
  const auto published = run.published();
  const std::string name = published[0].path.string();
  fs::copy(published[0].path, name + ".aB3dEf");                                  // being written
  fs::resize_file(published[0].path, 5000);                                       // damaged
  fs::copy_file(published[1].path, run_ / "results/0001-9x9x9-sustained-ab.db");  // a wrong name
  put(run_ / "results/0001.db", "x");
  put(run_ / "results/notes.txt", "x");
  put(run_ / "done/0001-1.0.0.json", "{\"done\": [\"half");
  EXPECT_THAT(state().warnings, ElementsAre(HasSubstr("0001-1.0.0.json")));
  EXPECT_EQ(task(1, {2, 0, 0}, gpu).published, 1);
  EXPECT_THAT(listener_.warnings, SizeIs(2u));
  EXPECT_TRUE(fs::exists(name + ".damaged"));
  EXPECT_EQ(merged(), on_one_machine(3));
}

TEST_F(SweepTest, LeftoversOfPublishersGoAfterAnHour) {
  const RunFolder run = make(sweep(1, 1));
  for (const char* name : {"a.db.aB3dEf", "b.db.aB3dEf", "c.db", "d.damage"}) {
    put(run_ / "results" / name, "x");
    fs::last_write_time(run_ / "results" / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  fs::last_write_time(run_ / "results/b.db.aB3dEf", fs::file_time_type::clock::now());
  run.remove_leftovers();
  EXPECT_THAT(files("results"), UnorderedElementsAre("b.db.aB3dEf", "c.db", "d.damage"));
}

// ---- Attempts and poison ----

TEST_F(SweepTest, ARaceThatKillsItsTaskTwiceIsSetAside) {
  const RunFolder run = make(sweep(4, 1));
  Gpu gpu;
  const std::string poison = to_string(shapes(4)[1]);
  gpu.in_open_of = [&](const GemmProblem& problem) {
    if (to_string(problem) == poison) throw NodeLost();
  };
  const fs::path attempts = run_ / "attempts/0001";
  EXPECT_THROW(task(1, {1, 0, 0}, gpu), NodeLost);
  EXPECT_THAT(files("attempts"), ElementsAre(poison + "-sustained@1.0.0"));
  put(attempts / "1.0.0.died", "134");
  EXPECT_THROW(task(1, {1, 0, 1}, gpu), NodeLost);
  EXPECT_EQ(state().count(RaceState::kDone), 3u) << "a suspect comes last";
  put(attempts / "1.0.1.died", "134");
  const TaskOutcome last = task(1, {1, 0, 2}, gpu);
  EXPECT_THAT(last.set_aside, ElementsAre(poison + "-sustained"));
  EXPECT_EQ(state().count(RaceState::kSetAside), 1u);
  EXPECT_EQ(state().left(), 0u);
  EXPECT_THAT(files("set-aside"), ElementsAre(poison + "-sustained.json"));
  EXPECT_THAT(task(1, {1, 1, 0}, gpu).set_aside, IsEmpty()) << "it is not tried again";

  gpu.in_open_of = [](const GemmProblem&) {};
  EXPECT_EQ(run.retry(), 1);
  EXPECT_EQ(state().left(), 1u);
  EXPECT_EQ(task(1, {2, 0, 0}, gpu).published, 1);
  EXPECT_EQ(merged(), on_one_machine(4));
}

TEST_F(SweepTest, LossesThatNobodyWitnessedCountHalf) {
  make(sweep(2, 1));
  Gpu gpu;
  gpu.in_open_of = [](const GemmProblem& problem) {
    if (problem.k == 128) throw NodeLost();
  };
  for (int restart = 0; restart < 4; ++restart) {
    EXPECT_THROW(task(1, {1, restart, 0}, gpu), NodeLost) << restart;
    EXPECT_EQ(state().count(RaceState::kSetAside), 0u);
  }
  EXPECT_THAT(task(1, {1, 4, 0}, gpu).set_aside, SizeIs(1u));
}

TEST_F(SweepTest, ATaskThatWasToldToStopIsNoEvidence) {
  make(sweep(1, 1));
  Gpu gpu;
  gpu.in_open_of = [](const GemmProblem&) { throw NodeLost(); };
  for (int restart = 0; restart < 6; ++restart) {
    EXPECT_THROW(task(1, {1, restart, 0}, gpu), NodeLost);
    put(run_ / fmt::format("attempts/0001/1.{}.0.stopped", restart), "");
    put(run_ / fmt::format("attempts/0001/1.{}.0.died", restart), "137");
  }
  gpu.in_open_of = [](const GemmProblem&) {};
  EXPECT_EQ(task(1, {1, 6, 0}, gpu).published, 1);
}

TEST_F(SweepTest, WithSeveralGpusOnlyThePoisonIsSetAside) {
  make(sweep(6, 1));
  const std::string poison = to_string(shapes(6)[0]);
  Gpu gpu;
  const fs::path attempts = run_ / "attempts/0001";
  // A task that died with two races in hand: both are suspects.
  Attempts(attempts).begin(poison + "-sustained", {1, 0, 0});
  Attempts(attempts).begin(to_string(shapes(6)[1]) + "-sustained", {1, 0, 0});
  put(attempts / "1.0.0.died", "139");
  gpu.in_open_of = [&](const GemmProblem& problem) {
    if (to_string(problem) == poison) throw NodeLost();
  };
  EXPECT_THROW(task(1, {1, 0, 1}, gpu, nullptr, 2), NodeLost);
  EXPECT_EQ(files("attempts").size(), 4u) << "it was alone: one more note";
  put(attempts / "1.0.1.died", "139");
  EXPECT_THAT(task(1, {1, 0, 2}, gpu, nullptr, 2).set_aside, ElementsAre(poison + "-sustained"));
  EXPECT_EQ(state().count(RaceState::kDone), 5u);
}

TEST_F(SweepTest, AFolderThatCannotBeWrittenIsNoRacesFault) {
  make(sweep(2, 1));
  Gpu gpu;
  gpu.in_open_of = [&](const GemmProblem&) { fs::remove_all(run_ / "results"); };
  EXPECT_THROW(task(1, {1, 0, 0}, gpu), Error);
  EXPECT_THAT(files("attempts"), IsEmpty());
}

TEST_F(SweepTest, AttemptsAreReadStrictly) {
  EXPECT_EQ(to_string(*find_attempt("12.3.4")), "12.3.4");
  for (const char* text : {"", "1.2", "1.2.3.4", "1.2.x", "-1.2.3", "1..2"}) {
    EXPECT_FALSE(find_attempt(text)) << text;
  }
  EXPECT_LT((Attempt{9, 5, 5}), (Attempt{10, 0, 0}));
}

TEST_F(SweepTest, TheLatestAttemptIsAtWork) {
  make(sweep(3, 1));
  const Attempts attempts(run_ / "attempts/0001");
  attempts.begin("a", {9, 0, 0});
  attempts.begin("b", {10, 0, 0});
  put(run_ / "attempts/0001/unheard of", "");
  auto histories = attempts.histories();
  EXPECT_EQ(histories.at("a").losses, 1);
  EXPECT_TRUE(histories.at("b").is_in_hand);
  histories = attempts.histories(Attempt{10, 0, 1});
  EXPECT_EQ(histories.at("b").losses, 1);
  attempts.forget("a");
  EXPECT_FALSE(attempts.histories().contains("a"));
}

// ---- The folder ----

TEST_F(SweepTest, AProblemThatDoesNotFitIsNotTriedForEver) {
  const RunFolder run = make(sweep(2, 1));
  Gpu gpu;
  gpu.too_large = {to_string(shapes(2)[0])};
  task(1, {1, 0, 0}, gpu);
  EXPECT_EQ(state().count(RaceState::kSkipped), 1u);
  EXPECT_EQ(state().left(), 0u);
  EXPECT_THAT(files("attempts"), IsEmpty());
  gpu.too_large.clear();
  EXPECT_EQ(run.retry(), 1);
  EXPECT_EQ(task(1, {2, 0, 0}, gpu).published, 1);
}

TEST_F(SweepTest, AFolderIsMadeOnce) {
  make(sweep(2, 1));
  EXPECT_THAT([&] { make(sweep(2, 1)); },
              ThrowsMessage<InputError>(HasSubstr("hgemm-tune slurm resume")));
  const fs::path other = fs::path(folder_) / "other";
  fs::create_directory(other);
  EXPECT_THAT([&] { RunFolder::open(other); }, ThrowsMessage<InputError>(HasSubstr("run.json")));
  RunFolder::create(other, sweep(1, 1), {{"job.sh", "x"}});
  EXPECT_EQ(fs::status(other / "job.sh").permissions() & fs::perms::owner_exec,
            fs::perms::owner_exec);
  put(other / "jobs.json",
      "[{\"kind\":\"race\",\"id\":\"-1\",\"shards\":\"1\",\"submitted_utc\":\"\"}]");
  EXPECT_THROW(RunFolder::open(other).jobs(), InputError);
}

TEST_F(SweepTest, JobsAreRemembered) {
  const RunFolder run = make(sweep(2, 1));
  EXPECT_THAT(run.jobs(), IsEmpty());
  run.write_jobs({{"race", "17", "1-8", "t"}, {"merge", "18", "", "t"}});
  ASSERT_THAT(run.jobs(), SizeIs(2u));
  EXPECT_EQ(run.jobs()[0].shards, "1-8");
}

TEST_F(SweepTest, TheTimeLeftFollowsThePace) {
  SweepState state;
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 11; ++i) state.published.push_back(now + std::chrono::seconds(6 * i));
  state.races.resize(20);
  for (std::size_t i = 0; i < 10; ++i) state.races[i].state = RaceState::kDone;
  EXPECT_EQ(state.time_left(), std::chrono::seconds(60));
  state.published.resize(1);
  EXPECT_FALSE(state.time_left());
}

TEST_F(SweepTest, ATimeBudgetIsSharedOut) {
  SweepPlan budgeted = sweep(4, 2);
  budgeted.budget_s = 0.000001;
  make(budgeted);
  const RunFolder run = RunFolder::open(run_);
  TunePlan tuned = plan(run.plan().shard(1).problems, configs(4));
  tuned.search = SearchPlan{.strategy = StrategyKind::kModel, .budget = {}, .devices = {}};
  tuned.search->deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  Gpu gpu;
  Measurer* const measurers[] = {&gpu};
  const ScratchFiles local;
  run_task(run, run.plan().shard(1), {1, 0, 0}, tuned,
           {.gpus = measurers,
            .compiler = compiler,
            .listener = listener_,
            .stop = nullptr,
            .local = local.folder()});
  EXPECT_EQ(state().count(RaceState::kLate), 2u);
}

}  // namespace
}  // namespace hgemm::sweep
