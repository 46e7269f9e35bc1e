// Databases are put together: every race once, with all that any of them knows of it.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>

#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

auto is_added(int races, int trials, int samples) {
  return AllOf(Field(&Store::Added::races, races), Field(&Store::Added::trials, trials),
               Field(&Store::Added::samples, samples));
}

/// All that a race says, but for the number that it has in this database.
std::string text_of(const RecordedRace& r) {
  const GemmProblem& s = r.race.problem;
  std::string text = fmt::format(
      "{} driver {} on {} of {} at {}: {} weight {} tag {} {} {}{}{}\n", r.uid,
      r.environment.driver, r.run.gpu_uuid, r.run.host, r.started_utc, to_string(s), s.weight,
      s.tag, to_string(r.race.regime), r.race.timing.cold, r.race.timing.graph, r.race.timing.pdl);
  std::set<std::string> trials;  // in any order
  for (const Trial& t : r.race.trials) {
    std::string line =
        fmt::format("  {} {} {} {} '{}' {} {} {} '{}'", t.label, t.kernel_id, to_string(t.stage),
                    to_string(t.status), t.message, t.verdict.correct, t.verdict.error,
                    t.verdict.tolerance, t.verdict.message);
    if (t.energy) {
      line +=
          fmt::format(" {} s {} W {} us", t.energy->window_s, t.energy->power_w, t.energy->time_us);
    }
    for (const Sample& sample : t.samples) {
      line +=
          fmt::format("\n    {} {} {} {} {} {} {} {}", sample.round, to_string(sample.pace),
                      sample.launches, sample.time_us, sample.sm_mhz, sample.power_w.value_or(-1),
                      sample.temperature_c.value_or(-1), sample.clock_events.value_or(0));
    }
    trials.insert(line);
  }
  for (const std::string& trial : trials) text += trial + "\n";
  return text;
}

class MergeTest : public StoreTest {
 protected:
  /// What the database says, in any order.
  std::multiset<std::string> content(const std::string& name) const {
    const Store store = read(name);
    std::multiset<std::string> content;
    for (const RecordedRace& race : store.races()) content.insert(text_of(race));
    for (const BuildFacts& b : store.builds()) {
      content.insert(fmt::format("build {} {} {} {} {} {} {}", b.name, b.source_key, b.compiler,
                                 b.flags, b.kernel_id, b.registers, b.compile_ms));
    }
    SQLite::Database db((folder_ / name).string());
    SQLite::Statement run(db,
                          "SELECT started_utc, command_line, driver, git_revision FROM run "
                          "JOIN environment ON environment.id = environment_id");
    while (run.executeStep()) {
      content.insert(fmt::format("run {} {} {} {}", run.getColumn(0).getString(),
                                 run.getColumn(1).getString(), run.getColumn(2).getString(),
                                 run.getColumn(3).getString()));
    }
    return content;
  }
  Store read(const std::string& name) const { return open(name, Store::Mode::kReadOnly); }

  /// Adds `from` to `to`, which is made if need be.
  Store::Added add(const std::string& to, const std::string& from) const {
    return open(to).add_all(read(from));
  }

  /// A database as a run leaves it: builds, a sustained and a burst race.
  void make(const std::string& name, const std::string& driver, const std::string& tag = "") const {
    Store store = open(name);
    const auto run = store.begin_run(machine(driver), "hgemm-tune " + name);
    store.record_build(build(kLabel, "c-" + driver));
    GemmProblem problem = kProblem;
    problem.tag = tag;
    const auto sustained = store.begin_race(run, problem, Regime::kSustained, Timing{});
    Sample measured = sample(3, 7.5);
    measured.pace = Pace::kOwn;
    measured.power_w = 699;
    measured.temperature_c = 61;
    measured.clock_events = clock_event::kPowerCap;
    store.record(sustained, std::vector{trial("cublas", {sample(1, 8), sample(2, 8.5), measured}),
                                        weighed(trial(kLabel, {sample(2, 8.25), measured}))});
    const auto burst = store.begin_race(run, problem, Regime::kBurst, {.cold = false});
    store.record(burst, std::vector{trial("cublas", {sample(1, 9)}),
                                    trial(kLabel, {}, Stage::kNone, Status::kTimedOut)});
  }
};

TEST_F(MergeTest, AnEmptyDatabaseTakesOverEverythingOnce) {
  make("a.db", "580.1", "prefill/qkv");
  EXPECT_THAT(add("all.db", "a.db"), is_added(2, 4, 6));
  EXPECT_EQ(content("all.db"), content("a.db"));
  EXPECT_THAT(add("all.db", "a.db"), is_added(0, 0, 0));
  EXPECT_EQ(content("all.db"), content("a.db"));
}

TEST_F(MergeTest, ThreeDatabasesInAnyOrderAreTheSameUnion) {
  make("a.db", "580.1", "a");
  make("b.db", "590.2", "b");
  make("c.db", "580.1", "c");
  auto expected = content("a.db");
  for (const std::string other : {"b.db", "c.db"}) expected.merge(content(other));
  // The build of a.db and c.db is one.
  expected.extract(fmt::format("build {} s1 nvrtc 13.0 -O3 c-580.1 168 812.5", kLabel));

  for (const std::string name : {"a.db", "b.db", "c.db"}) add("abc.db", name);
  for (const std::string name : {"c.db", "a.db", "b.db"}) add("cab.db", name);
  EXPECT_EQ(content("abc.db"), expected);
  EXPECT_EQ(content("cab.db"), expected);
  EXPECT_THAT(add("abc.db", "cab.db"), is_added(0, 0, 0));
  EXPECT_EQ(read("cab.db").races().size(), 6u);
  EXPECT_THAT(read("cab.db").environments(), SizeIs(2));
}

TEST_F(MergeTest, RacesOfSeveralCardsAreInOneEnvironmentAndKeepTheirCard) {
  std::vector<RunInfo> cards;
  for (const std::string name : {"a.db", "b.db"}) {
    Machine where = machine();
    where.run = {.gpu_uuid = "GPU-" + name,
                 .host = "host of " + name,
                 .git_revision = "revision of " + name,
                 .kernel_sources = "sources of " + name};
    cards.push_back(where.run);
    Trial measured = trial(kLabel, {sample(1, 5)});
    measured.kernel_id = "code of " + name;
    Store store = open(name);
    store.record(race(store, where), std::vector{measured});
  }
  for (const std::string name : {"a.db", "b.db"}) add("all.db", name);
  const Store all = read("all.db");
  EXPECT_THAT(all.environments(), ElementsAre(environment()));
  const auto races = all.races(environment());
  ASSERT_THAT(races, SizeIs(2));
  EXPECT_EQ(races[0].run, cards[0]);
  EXPECT_EQ(races[1].run, cards[1]);
  EXPECT_EQ(races[0].race.trials.at(0).kernel_id, "code of a.db");
  EXPECT_EQ(races[1].race.trials.at(0).kernel_id, "code of b.db");
}

TEST_F(MergeTest, ALaterStateOfARaceIsCaughtUpWithAndAnEarlierOneAddsNothing) {
  {
    Store store = open("now.db");
    const auto id = race(store);
    store.record(id, std::vector{trial("cublas", {sample(1, 8)}, Stage::kScreen),
                                 trial("cublaslt.0", {sample(1, 9)}, Stage::kScreen)});
    store.record(id, std::vector{trial(kOther, {sample(1, 20)}, Stage::kScreen)});
  }
  fs::copy_file(folder_ / "now.db", folder_ / "then.db");
  {
    Store store = open("now.db");
    Trial failed = trial("cublaslt.0", {}, Stage::kScreen, Status::kCrashed);
    failed.message = "illegal address";
    store.record(1, std::vector{trial("cublas", {sample(2, 8), sample(3, 8)}), failed,
                                weighed(trial(kLabel, {sample(2, 7), sample(3, 7)}))});
    store.record(1, std::vector{weighed(trial(kOther, {}, Stage::kScreen))});
    store.begin_race(1, kProblem, Regime::kBurst, Timing{});
  }
  const auto now = content("now.db");
  ASSERT_NE(content("then.db"), now);

  EXPECT_THAT(add("now.db", "then.db"), is_added(0, 0, 0));
  EXPECT_EQ(content("now.db"), now);

  // cublas has more rounds, cublaslt.0 failed, one config is new and one has an energy.
  EXPECT_THAT(add("then.db", "now.db"), is_added(1, 4, 4));
  EXPECT_EQ(content("then.db"), now);
  EXPECT_THAT(add("then.db", "now.db"), is_added(0, 0, 0));
}

TEST_F(MergeTest, RacesOfDatabasesThatWentTheirWaysAreBothKept) {
  make("a.db", "580.1");
  fs::copy_file(folder_ / "a.db", folder_ / "b.db");
  for (const std::string name : {"a.db", "b.db"}) {
    Store store = open(name);
    store.record(race(store), std::vector{trial(kOther, {sample(1, name == "a.db" ? 5 : 6)})});
  }
  EXPECT_THAT(add("a.db", "b.db"), is_added(1, 1, 1));
  EXPECT_THAT(add("b.db", "a.db"), is_added(1, 1, 1));
  EXPECT_EQ(content("a.db"), content("b.db"));
  EXPECT_THAT(read("a.db").races(), SizeIs(4));
}

TEST_F(MergeTest, RacesAreReadOldestFirstWhereverTheyCameFrom) {
  make("new.db", "580.1");
  make("old.db", "580.1");
  for (const std::string table : {"race", "run"}) {
    SQLite::Database((folder_ / "old.db").string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE " + table + " SET started_utc = '2020-01-01T00:00:00Z'");
  }
  SQLite::Database((folder_ / "old.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE race SET checksum = NULL");
  add("new.db", "old.db");
  const auto races = read("new.db").races();
  ASSERT_THAT(races, SizeIs(4));
  EXPECT_EQ(races[0].started_utc, "2020-01-01T00:00:00Z");
  EXPECT_EQ(races[1].started_utc, "2020-01-01T00:00:00Z");
  EXPECT_GT(races[2].started_utc, "2020-01-01T00:00:00Z");
}

TEST_F(MergeTest, WhatIsAddedIsFinishedHereToo) {
  make("a.db", "580.1");
  add("all.db", "a.db");
  const Store all = read("all.db");
  for (const Regime regime : {Regime::kSustained, Regime::kBurst}) {
    EXPECT_THAT(all.finished(environment(), kProblem, regime, {.energy = true}),
                ElementsAre(with_kernel(kLabel)));
  }
}

TEST_F(MergeTest, ADatabaseAddedToItselfStaysAsItIs) {
  make("a.db", "580.1");
  const auto before = content("a.db");
  {
    Store store = open("a.db");
    EXPECT_THAT(store.add_all(store), is_added(0, 0, 0));
    EXPECT_THAT(store.add_all(read("a.db")), is_added(0, 0, 0));
  }
  EXPECT_EQ(content("a.db"), before);
}

TEST_F(MergeTest, AttemptsStayBehind) {
  {
    Store store = open("a.db");
    const auto run = store.begin_run(machine(), "hgemm-tune");
    store.begin_attempt(run, kProblem, with_kernel(kLabel));
  }
  SQLite::Database((folder_ / "a.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE attempt SET boot_id = 'the boot before'");
  add("all.db", "a.db");
  EXPECT_THAT(read("a.db").fatal_attempts(environment(), kProblem),
              ElementsAre(with_kernel(kLabel)));
  EXPECT_THAT(read("all.db").fatal_attempts(environment(), kProblem), IsEmpty());
}

TEST_F(MergeTest, ASelectionTakesItsRacesAndWhatBelongsToThem) {
  make("a.db", "580.1");
  {
    Store store = open("a.db");
    store.begin_run(machine("580.1"), "hgemm-tune without a race");
    store.record_build(build(kOther, "of no race"));
  }
  const auto is_burst = [](const RecordedRace& race) { return race.race.regime == Regime::kBurst; };
  EXPECT_THAT(open("burst.db").add_all(read("a.db"), is_burst), is_added(1, 2, 1));
  EXPECT_THAT(open("burst.db").add_all(read("a.db"), is_burst), is_added(0, 0, 0));
  ASSERT_THAT(read("burst.db").races(), SizeIs(1u));
  EXPECT_EQ(text_of(read("burst.db").races()[0]), text_of(read("a.db").races()[1]));
  std::set<std::string> kernels;
  const std::vector<RecordedRace> merged = read("burst.db").races();
  for (const Trial& trial : merged[0].race.trials) kernels.insert(trial.kernel_id);
  for (const BuildFacts& facts : read("burst.db").builds()) {
    EXPECT_TRUE(kernels.contains(facts.identity())) << facts.name;
  }
  // The rest, later, makes it whole but for what belongs to no race.
  EXPECT_THAT(add("burst.db", "a.db"), is_added(1, 2, 5));
  EXPECT_EQ(content("burst.db"), content("a.db"));
}

TEST_F(MergeTest, WhatCannotBeAddedWhollyIsNotAddedAtAll) {
  make("a.db", "580.1");
  make("b.db", "590.2");
  const auto before = content("a.db");
  const auto child = [&] {
    Store store = open("a.db");
    const FullDisk full(fs::file_size(folder_ / "a.db-wal") + 10'000);
    store.add_all(read("b.db"));
  };
  EXPECT_EXIT(run_and_exit(child), ::testing::ExitedWithCode(1), "the disk is full or failing");
  EXPECT_EQ(content("a.db"), before);
  EXPECT_THAT(add("a.db", "b.db"), is_added(2, 4, 6));
}

}  // namespace
}  // namespace hgemm::test
