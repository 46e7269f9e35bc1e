#include "store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <set>

#include "base/error.h"
#include "families/family.h"
#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

// ---- What is written is read ----

TEST_F(StoreTest, ARaceIsReadBackAsItWasRecorded) {
  Trial failed = trial(kOther, {}, Stage::kNone, Status::kWrongResult);
  failed.message = "row 3, column 5: 'x' | \"y\"\nnext line";
  failed.verdict = {.correct = false, .error = std::nan(""), .tolerance = 0.02, .message = "a NaN"};
  Sample measured{.round = 3,
                  .pace = Pace::kOwn,
                  .launches = 40,
                  .time_us = 100.125,
                  .sm_mhz = 1755.5,
                  .power_w = 699.875,
                  .temperature_c = -3,
                  .clock_events = clock_event::kPowerCap | 0x8000000000000000};
  const Sample without_nvml{.round = 4,
                            .pace = Pace::kRested,
                            .launches = 41,
                            .time_us = 1.0 / 3,
                            .sm_mhz = 0,
                            .power_w = {},
                            .temperature_c = {},
                            .clock_events = {}};
  {
    Store store = open();
    const auto id =
        store.begin_race(store.begin_run(machine(), "hgemm-tune"), kProblem, Regime::kBurst,
                         {.cold = false, .graph = true, .pdl = true, .brief = true});
    store.record(
        id, std::vector{trial("cublas"), weighed(trial(kLabel, {measured, without_nvml})), failed});
  }

  const auto races = open(Store::Mode::kReadOnly).races();
  ASSERT_THAT(races, SizeIs(1));
  EXPECT_EQ(races[0].environment, environment());
  EXPECT_EQ(races[0].run, machine().run);
  EXPECT_THAT(races[0].started_utc, ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_EQ(races[0].command_line, "hgemm-tune");
  EXPECT_THAT(races[0].uid, ::testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_TRUE(races[0].race.problem.same_problem(kProblem));
  EXPECT_EQ(races[0].race.problem.tag, "prefill/o");
  EXPECT_EQ(races[0].race.problem.weight, 32);
  EXPECT_EQ(races[0].race.regime, Regime::kBurst);
  EXPECT_EQ(races[0].race.timing,
            (Timing{.cold = false, .graph = true, .pdl = true, .brief = true}));

  const auto& trials = races[0].race.trials;
  ASSERT_THAT(trials, SizeIs(3));
  EXPECT_EQ(trials[0].label, "cublas");
  EXPECT_EQ(trials[0].kernel_id, "");
  EXPECT_FALSE(trials[0].energy);
  EXPECT_EQ(trials[1].label, kLabel);
  EXPECT_EQ(trials[1].kernel_id, kernel_of(kLabel));
  EXPECT_EQ(trials[1].stage, Stage::kFinal);
  EXPECT_TRUE(trials[1].verdict.correct);
  EXPECT_EQ(trials[1].verdict.error, 1e-3);
  ASSERT_TRUE(trials[1].energy);
  EXPECT_EQ(trials[1].energy->window_s, 2.1);
  EXPECT_EQ(trials[1].energy->power_w, 690);
  EXPECT_EQ(trials[1].energy->time_us, 100);
  ASSERT_THAT(trials[1].samples, SizeIs(2));
  EXPECT_EQ(trials[1].samples[0].round, 3);
  EXPECT_EQ(trials[1].samples[0].pace, Pace::kOwn);
  EXPECT_EQ(trials[1].samples[0].launches, 40);
  EXPECT_EQ(trials[1].samples[0].sm_mhz, 1755.5);
  EXPECT_EQ(trials[1].samples[0].power_w, measured.power_w);
  EXPECT_EQ(trials[1].samples[0].temperature_c, measured.temperature_c);
  EXPECT_EQ(trials[1].samples[0].clock_events, measured.clock_events);
  EXPECT_EQ(trials[1].samples[1].pace, Pace::kRested);
  EXPECT_EQ(trials[1].samples[1].time_us, 1.0 / 3);
  EXPECT_FALSE(trials[1].samples[1].power_w);
  EXPECT_FALSE(trials[1].samples[1].temperature_c);
  EXPECT_FALSE(trials[1].samples[1].clock_events);
  EXPECT_EQ(trials[2].status, Status::kWrongResult);
  EXPECT_EQ(trials[2].stage, Stage::kNone);
  EXPECT_EQ(trials[2].message, failed.message);
  EXPECT_FALSE(trials[2].verdict.correct);
  EXPECT_TRUE(std::isnan(trials[2].verdict.error));
  EXPECT_EQ(trials[2].verdict.tolerance, 0.02);
  EXPECT_EQ(trials[2].verdict.message, "a NaN");
}

TEST_F(StoreTest, WhatFollowsFromColumnsIsAColumn) {
  Store store = open();
  store.record(race(store), std::vector{weighed(trial(kLabel, {sample(0, 5.0)}))});
  SQLite::Database db(db_.string());
  const Trial read = store.races().at(0).race.trials.at(0);
  EXPECT_EQ(db.execAndGet("SELECT cycles FROM sample").getDouble(), read.samples.at(0).cycles());
  EXPECT_DOUBLE_EQ(db.execAndGet("SELECT joules FROM energy").getDouble(), read.energy->joules());
  EXPECT_DOUBLE_EQ(read.energy->joules(), 690 * 100e-6);
}

TEST_F(StoreTest, ALabelRecordedAgainIsBroughtUpToDateAndKeepsItsSamples) {
  Store store = open();
  const auto id = race(store);
  store.record(id, std::vector{trial(kLabel, {sample(0, 5.0)}, Stage::kScreen)});
  Trial again = trial(kLabel, {sample(0, 99.0), sample(1, 6.0)}, Stage::kFinal);
  again.message = "second";
  store.record(id, std::vector{again});

  const auto trials = store.races().at(0).race.trials;
  ASSERT_THAT(trials, SizeIs(1));
  EXPECT_EQ(trials[0].stage, Stage::kFinal);
  EXPECT_EQ(trials[0].message, "second");
  ASSERT_THAT(trials[0].samples, SizeIs(2));
  EXPECT_EQ(trials[0].samples[0].time_us, 5.0);  // what was measured is never rewritten
  EXPECT_EQ(trials[0].samples[1].time_us, 6.0);
}

TEST_F(StoreTest, AnEnergyIsAddedOrMeasuredAgainAndNeverLost) {
  Store store = open();
  const auto id = race(store);
  const auto power_after = [&](const Trial& recorded) {
    store.record(id, std::vector{recorded});
    return store.races().at(0).race.trials.at(0).energy->power_w;
  };
  store.record(id, std::vector{trial(kLabel)});
  EXPECT_FALSE(store.races().at(0).race.trials.at(0).energy);
  EXPECT_EQ(power_after(weighed(trial(kLabel), 500)), 500);
  EXPECT_EQ(power_after(weighed(trial(kLabel), 510)), 510);
  EXPECT_EQ(power_after(trial(kLabel)), 510);
}

TEST_F(StoreTest, TheAttributesOfAProblemAreColumns) {
  Store store = open();
  GemmProblem padded{.m = 512, .n = 1024, .k = 4096, .lda = 4104, .tag = ""};
  padded.set_types(DataType::kFp16);
  padded.d_type = DataType::kFp32;
  const GemmProblem wgrad{.m = 512, .n = 1024, .k = 4096, .layout = Layout::kNT, .tag = ""};
  const auto run = store.begin_run(machine(), "hgemm-tune");
  for (const GemmProblem& problem : {kProblem, padded, wgrad}) {
    store.begin_race(run, problem, Regime::kSustained, Timing{});
  }
  EXPECT_TRUE(store.races().at(1).race.problem.same_problem(padded));
  EXPECT_TRUE(store.races().at(2).race.problem.same_problem(wgrad));

  SQLite::Database db(db_.string());
  EXPECT_THAT(
      lines(db, "SELECT * FROM problem ORDER BY id"),
      ElementsAre("1|2048x4096x512|2048|4096|512|bf16|bf16|bf16|none|fp32|TN|512|512|4096|1|"
                  "none|plain|",
                  "2|512x1024x4096.fp16.dfp32.lda4104|512|1024|4096|fp16|fp16|fp32|none|"
                  "fp32|TN|4104|4096|1024|1|none|plain|",
                  "3|512x1024x4096.layoutNT|512|1024|4096|bf16|bf16|bf16|none|fp32|NT|512|1024|"
                  "1024|1|none|plain|"));
}

TEST_F(StoreTest, ACandidateIsItsLabelAndAKernelIsARowOfItsOwn) {
  Store store = open();
  Trial rebuilt = trial(kLabel);
  rebuilt.kernel_id = "other code";
  store.record(race(store), std::vector{trial("cublaslt.0"), trial(kLabel)});
  store.record(race(store), std::vector{trial("cublaslt.0"), rebuilt});
  SQLite::Database db(db_.string());
  EXPECT_THAT(lines(db, "SELECT label FROM candidate ORDER BY id"),
              ElementsAre("cublaslt.0|", kLabel + "|"));
  EXPECT_THAT(lines(db,
                    "SELECT race_id, label, identity FROM trial "
                    "JOIN candidate ON candidate.id = candidate_id "
                    "LEFT JOIN kernel ON kernel.id = kernel_id ORDER BY trial.id"),
              ElementsAre("1|cublaslt.0||", "1|" + kLabel + "|" + kernel_of(kLabel) + "|",
                          "2|cublaslt.0||", "2|" + kLabel + "|other code|"));
}

// Words are for the program to judge, not for a CHECK: a newer program may know more of them.
TEST_F(StoreTest, AWordThatTheProgramDoesNotKnowIsRefusedWhenItIsRead) {
  {
    Store store = open();
    store.record(race(store), std::vector{trial(kLabel, {sample(0, 5.0)})});
  }
  struct Case {
    const char* table;
    const char* column;
    const char* complaint;
  };
  for (const Case& c :
       {Case{"trial", "status", "unknown status 'odd': expected one of ok, invalid"},
        Case{"trial", "stage", "unknown stage 'odd'"}, Case{"sample", "pace", "unknown pace 'odd'"},
        Case{"race", "regime", "unknown regime 'odd'"},
        Case{"race", "effort", "unknown effort 'odd': expected full or brief"},
        Case{"problem", "key", "odd"}}) {
    SQLite::Database db(db_.string(), SQLite::OPEN_READWRITE);
    const std::string before =
        db.execAndGet(fmt::format("SELECT {} FROM {}", c.column, c.table)).getString();
    db.exec(fmt::format("UPDATE {} SET {} = 'odd'", c.table, c.column));
    EXPECT_THAT([&] { open(Store::Mode::kReadOnly).races(); },
                ThrowsMessage<InputError>(HasSubstr(c.complaint)))
        << c.column;
    db.exec(fmt::format("UPDATE {} SET {} = '{}'", c.table, c.column, before));
    EXPECT_THAT(open(Store::Mode::kReadOnly).races(), SizeIs(1)) << c.column;
  }
}

TEST_F(StoreTest, EqualEnvironmentsAreOneRowAndRacesCanBeAskedByConditions) {
  Store store = open();
  Machine later = machine();
  later.run = {.gpu_uuid = "GPU-2", .host = "node2", .git_revision = "def", .kernel_sources = "k2"};
  for (const Machine& m : {machine(), machine("590.2"), machine(), later}) {
    store.record(race(store, m), std::vector{trial(kLabel)});
  }
  EXPECT_THAT(store.races(), SizeIs(4));
  EXPECT_EQ(SQLite::Database(db_.string()).execAndGet("SELECT COUNT(*) FROM environment").getInt(),
            2);
  // Another card, host and revision are the same conditions.
  EXPECT_THAT(store.races(environment()), SizeIs(3));
  EXPECT_EQ(store.races(environment()).at(2).run, later.run);
  EXPECT_THAT(store.races(environment("590.2")), SizeIs(1));
  EXPECT_THAT(store.races(environment("600.0")), SizeIs(0));
  EXPECT_THAT(store.environments(), ElementsAre(environment(), environment("590.2")));
}

TEST_F(StoreTest, EveryRaceHasAUidOfItsOwn) {
  Store store = open();
  const auto run = store.begin_run(machine(), "hgemm-tune");
  std::set<std::string> uids;
  for (int i = 0; i < 20; ++i) store.begin_race(run, kProblem, Regime::kSustained, Timing{});
  for (const RecordedRace& race : store.races()) uids.insert(race.uid);
  EXPECT_THAT(uids, SizeIs(20));
}

TEST_F(StoreTest, FinishedIsWhateverEndedInTheseConditions) {
  Store store = open();
  const auto id = race(store);
  const std::string waiting = tiled({.bn = 64});
  const std::string broken = tiled({.bn = 96});
  store.record(id, std::vector{trial(kLabel), trial("cublas"), trial("cublaslt.1"),
                               trial(broken, {}, Stage::kNone, Status::kCompileFailed),
                               trial(waiting, {}, Stage::kNone, Status::kOk)});
  GemmProblem renamed = kProblem;
  renamed.tag = "other";
  EXPECT_THAT(store.finished(environment(), renamed, Regime::kSustained),
              UnorderedElementsAre(with_kernel(kLabel), with_kernel(broken)));
  GemmProblem fp16 = kProblem;
  fp16.set_types(DataType::kFp16);
  EXPECT_THAT(store.finished(environment(), fp16, Regime::kSustained), SizeIs(0));
  EXPECT_THAT(store.finished(environment("590.2"), kProblem, Regime::kSustained), SizeIs(0));
  EXPECT_THAT(store.finished(environment(), kProblem, Regime::kBurst), SizeIs(0));
}

TEST_F(StoreTest, AFinalistWithoutEnergyIsNotFinishedWhereEnergyIsWanted) {
  Store store = open();
  const auto id = race(store);
  const std::string unweighed = tiled({.bn = 64});
  const std::string screened = tiled({.bn = 96});
  const std::string failed = tiled({.bn = 160});
  store.record(id, std::vector{weighed(trial(kLabel)), trial(unweighed), trial("cublas"),
                               trial(screened, {}, Stage::kScreen),
                               trial(failed, {}, Stage::kFinal, Status::kCrashed)});
  const auto finished = [&](bool with_energy) {
    return store.finished(environment(), kProblem, Regime::kSustained, {.energy = with_energy});
  };
  EXPECT_THAT(finished(false), UnorderedElementsAre(with_kernel(kLabel), with_kernel(unweighed),
                                                    with_kernel(screened), with_kernel(failed)));
  EXPECT_THAT(finished(true), UnorderedElementsAre(with_kernel(kLabel), with_kernel(screened),
                                                   with_kernel(failed)));

  // It raced again for its energy: either it has one now, or it was no finalist any more.
  const auto again = race(store);
  store.record(again, std::vector{trial(unweighed, {}, Stage::kScreen), trial(kLabel)});
  EXPECT_THAT(finished(true), UnorderedElementsAre(with_kernel(kLabel), with_kernel(unweighed),
                                                   with_kernel(screened), with_kernel(failed)));

  // Another lost in screening first, and was a finalist the next time, without energy.
  store.record(race(store), std::vector{trial(screened)});
  EXPECT_THAT(finished(true), UnorderedElementsAre(with_kernel(kLabel), with_kernel(unweighed),
                                                   with_kernel(failed)));
}

TEST_F(StoreTest, WhatWasRacedInBriefIsNotFinishedWhereFullEffortIsWanted) {
  Store store = open();
  const auto in_brief = store.begin_race(store.begin_run(machine(), "hgemm-tune"), kProblem,
                                         Regime::kSustained, {.brief = true});
  const std::string screened = tiled({.bn = 96});
  const std::string failed = tiled({.bn = 160});
  store.record(in_brief, std::vector{trial(kLabel), trial(kOther), trial("cublas"),
                                     trial(screened, {}, Stage::kScreen),
                                     trial(failed, {}, Stage::kNone, Status::kWrongResult)});
  const auto finished = [&](bool full_effort) {
    return store.finished(environment(), kProblem, Regime::kSustained,
                          {.full_effort = full_effort});
  };
  EXPECT_THAT(finished(false), UnorderedElementsAre(with_kernel(kLabel), with_kernel(kOther),
                                                    with_kernel(screened), with_kernel(failed)));
  EXPECT_THAT(finished(true), ElementsAre(with_kernel(failed)))
      << "to lose in brief is no end, to fail is one";

  // Two raced again at full effort: one was a finalist there too, the other was not.
  store.record(race(store), std::vector{trial(kLabel), trial(kOther, {}, Stage::kScreen)});
  EXPECT_THAT(finished(true),
              UnorderedElementsAre(with_kernel(kLabel), with_kernel(kOther), with_kernel(failed)));
}

// ---- Attempts ----

class AttemptTest : public StoreTest {
 protected:
  /// As if all attempts had been noted before the machine went down.
  void reboot() const {
    SQLite::Database(db_.string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE attempt SET boot_id = 'the boot before'");
  }
};

TEST_F(AttemptTest, WhatWasUnderWayWhenTheMachineWentDownIsKnownAfterwards) {
  EXPECT_EXIT(
      {
        Store store = open();
        const auto run = store.begin_run(machine(), "hgemm-tune");
        store.begin_attempt(run, kProblem, with_kernel(kOther));  // over, since the next one began
        store.begin_attempt(run, kProblem, with_kernel(kLabel));
        raise(SIGKILL);
      },
      ::testing::KilledBySignal(SIGKILL), "");
  reboot();
  Store store = open();
  store.begin_run(machine(), "hgemm-tune");
  EXPECT_THAT(store.fatal_attempts(environment(), kProblem), ElementsAre(with_kernel(kLabel)));
  EXPECT_THAT(store.fatal_attempts(environment("590.2"), kProblem), IsEmpty());
  GemmProblem other = kProblem;
  other.m = 4096;
  EXPECT_THAT(store.fatal_attempts(environment(), other), IsEmpty());
  EXPECT_THAT(open(Store::Mode::kReadOnly).fatal_attempts(environment(), kProblem),
              ElementsAre(with_kernel(kLabel)));
}

TEST_F(AttemptTest, WhatIsOverOrWasMerelyKilledIsNotFatal) {
  Store store = open();
  const auto run = store.begin_run(machine(), "hgemm-tune");
  store.begin_attempt(run, kProblem, with_kernel(kLabel));
  EXPECT_THAT(store.fatal_attempts(environment(), kProblem), IsEmpty()) << "the same boot";
  store.end_attempts(run);
  reboot();
  EXPECT_THAT(store.fatal_attempts(environment(), kProblem), IsEmpty()) << "over";

  store.begin_attempt(run, kProblem,
                      with_kernel(kLabel));        // killed here, while the machine stays up:
  store.begin_run(machine(), "hgemm-tune again");  // the next run has seen that
  reboot();
  EXPECT_THAT(store.fatal_attempts(environment(), kProblem), IsEmpty()) << "killed, then a reboot";
}

// ---- Transactions ----

TEST_F(StoreTest, ABuildIsRecordedOncePerOutcome) {
  Store store = open();
  BuildFacts facts = build(build_name(kernel_for(TiledConfig{}, kProblem)), "c1");
  store.record_build(facts);
  store.record_build(facts);
  facts.kernel_id = "c2";
  store.record_build(facts);
  const auto builds = store.builds();
  ASSERT_THAT(builds, SizeIs(2));
  EXPECT_EQ(builds[0].name, kLabel + " of bf16");
  EXPECT_EQ(builds[0].kernel_id, "c1");
  EXPECT_EQ(builds[0].source_key, "s1");
  EXPECT_EQ(builds[0].compiler, "nvrtc 13.0");
  EXPECT_EQ(builds[0].flags, "-O3");
  EXPECT_EQ(builds[0].registers, 168);
  EXPECT_EQ(builds[0].dynamic_smem_bytes, 200000);
  EXPECT_EQ(builds[0].compile_ms, 812.5);
  EXPECT_EQ(builds[1].kernel_id, "c2");
}

TEST_F(StoreTest, ABuildThatFailedIsNamedByItsSource) {
  Store store = open();
  const BuildFacts failed = build("a kernel", "");
  store.record_build(failed);
  ASSERT_THAT(store.builds(), SizeIs(1));
  EXPECT_EQ(store.builds()[0].kernel_id, "");
  EXPECT_EQ(store.builds()[0].identity(), "source:s1");
  Trial trial_of_it = trial(kLabel, {}, Stage::kNone, Status::kCompileFailed);
  trial_of_it.kernel_id = failed.identity();
  store.record(race(store), std::vector{trial_of_it});
  EXPECT_THAT(store.finished(environment(), kProblem, Regime::kSustained),
              ElementsAre(TrialKernel{kLabel, "source:s1"}));
}

TEST_F(StoreTest, ATrialsBuildIsTheOneOfItsKernel) {
  Store store = open();
  for (const std::string kernel : {"c1", "c2"}) {
    Trial of_kernel = trial(kLabel);
    of_kernel.kernel_id = kernel;
    store.record(race(store), std::vector{of_kernel});
    store.record_build(build(kLabel, kernel, "s of " + kernel, kernel == "c1" ? 168 : 152));
  }
  // A change of the source that leaves the code as it was is another build of the same kernel.
  store.record_build(build(kLabel, "c2", "s3", 152));
  EXPECT_THAT(store.builds(), SizeIs(3));
  SQLite::Database db(db_.string());
  EXPECT_THAT(lines(db,
                    "SELECT DISTINCT trial.id, identity, registers FROM trial "
                    "JOIN kernel ON kernel.id = trial.kernel_id "
                    "JOIN build ON build.kernel_id = kernel.id ORDER BY trial.id"),
              ElementsAre("1|c1|168|", "2|c2|152|"));
}

TEST_F(StoreTest, WhatIsFinishedIsAKernelNotALabel) {
  Store store = open();
  Trial newer = trial(kLabel);
  newer.kernel_id = "other code";
  const auto finished = [&] {
    return store.finished(environment(), kProblem, Regime::kSustained, {.full_effort = true});
  };
  store.record(race(store), std::vector{trial(kLabel)});
  EXPECT_THAT(finished(), ElementsAre(with_kernel(kLabel)));
  const auto in_brief = store.begin_race(store.begin_run(machine(), "hgemm-tune"), kProblem,
                                         Regime::kSustained, {.brief = true});
  store.record(in_brief, std::vector{newer});
  EXPECT_THAT(finished(), ElementsAre(with_kernel(kLabel))) << "full effort was another kernel's";
  store.record(race(store), std::vector{newer});
  EXPECT_THAT(finished(),
              UnorderedElementsAre(with_kernel(kLabel), TrialKernel{kLabel, "other code"}));
}

TEST_F(StoreTest, ARecordIsAllOrNothing) {
  Store store = open();
  const auto id = race(store);
  EXPECT_THROW(store.record(id, std::vector{trial(kLabel), trial(kOther, {sample(0, -1.0)})}),
               Error);
  EXPECT_THROW(store.record(id + 1, std::vector{trial(kLabel)}), Error) << "no such race";
  EXPECT_THAT(store.races().at(0).race.trials, SizeIs(0));
  store.record(id, std::vector{trial(kLabel)});
  EXPECT_THAT(store.races().at(0).race.trials, SizeIs(1));
}

TEST_F(StoreTest, AFullDiskLosesNothingThatWasCommittedAndTheStoreGoesOn) {
  std::vector<Trial> many;
  for (int bn = 8; bn <= 256; bn += 8) {
    many.push_back(trial(tiled({.bn = bn}), {sample(0, 5.0), sample(1, 6.0)}));
  }
  const auto child = [&] {
    Store store = open();
    const auto id = race(store);
    store.record(id, std::vector{trial(kOther)});
    {
      const FullDisk full(fs::file_size(db_.string() + "-wal") + 10'000);
      try {
        store.record(id, many);
        _exit(3);
      } catch (const Error& error) {
        std::cerr << error.what() << std::endl;
      }
      if (store.races().at(0).race.trials.size() != 1) _exit(4);
    }
    store.record(id, many);
  };
  EXPECT_EXIT(run_and_exit(child), ::testing::ExitedWithCode(0),
              "tune.db: the disk is full or failing; what was committed before is safe");
  const auto trials = open(Store::Mode::kReadOnly).races().at(0).race.trials;
  ASSERT_THAT(trials, SizeIs(1 + many.size()));
  EXPECT_THAT(trials.back().samples, SizeIs(2));
}

TEST_F(StoreTest, WhatWasRecordedSurvivesAKilledProcess) {
  EXPECT_EXIT(
      {
        Store store = open();
        store.record(race(store), std::vector{trial(kLabel)});
        raise(SIGKILL);
      },
      ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_THAT(open(Store::Mode::kReadOnly).races().at(0).race.trials, SizeIs(1));
  Store store = open();
  EXPECT_THAT(store.finished(environment(), kProblem, Regime::kSustained),
              ElementsAre(with_kernel(kLabel)));
}

// ---- Scale ----

// Recorded results are committed, and every table starts by reading all of them.
TEST_F(StoreTest, AFullRunStaysSmallAndIsReadAtOnce) {
  constexpr int kShapes = 37, kConfigs = 250, kSamples = 5;
  {
    Store store = open();
    const auto run = store.begin_run(machine(), "hgemm-tune --shapes all");
    for (int s = 0; s < kShapes; ++s) {
      const GemmProblem problem{.m = 64 * (s + 1), .n = 4096, .k = 4096, .tag = "prefill/qkv"};
      std::vector<Trial> trials;
      for (int c = 0; c < kConfigs; ++c) {
        const TiledConfig config{.bn = 8 * (c % 32 + 1), .stages = 2 + c / 32};
        Trial one = trial(label(config));
        for (int r = 0; r < kSamples; ++r) {
          Sample s = sample(r, 250.0 + c + 0.1234567 * r);
          s.sm_mhz = 1600 + 1.0 / (c + r + 1);
          s.power_w = 650 + 0.1 * c;
          s.temperature_c = 60 + r;
          s.clock_events = clock_event::kPowerCap;
          one.samples.push_back(s);
        }
        trials.push_back(std::move(one));
      }
      store.record(store.begin_race(run, problem, Regime::kSustained, Timing{}), trials);
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const auto races = open(Store::Mode::kReadOnly).races();
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  ASSERT_THAT(races, SizeIs(kShapes));
  EXPECT_THAT(races.back().race.trials, SizeIs(kConfigs));
  EXPECT_THAT(races.back().race.trials.back().samples, SizeIs(kSamples));
  RecordProperty("open_and_read_ms", std::to_string(elapsed.count()));
  RecordProperty("file_bytes", std::to_string(fs::file_size(db_)));
  std::cout << "[ measured ] " << kShapes * kConfigs << " trials: open and read " << elapsed.count()
            << " ms, " << fs::file_size(db_) / 1024 << " KiB\n";
  EXPECT_LT(fs::file_size(db_), 5u << 20);
}

}  // namespace
}  // namespace hgemm::test
