#include "store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/error.h"
#include "space/label.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

const std::string kLabel = label(KernelConfig{});
const std::string kOther =
    label(KernelConfig{.bm = 256, .order = TileOrder::kGrouped, .group = 8, .dtype = Dtype::kFp16});

Environment environment(const std::string& driver = "580.1") {
  return {.gpu_name = "NVIDIA H200",
          .gpu_uuid = "GPU-1",
          .compute_major = 9,
          .compute_minor = 0,
          .sm_count = 132,
          .l2_bytes = 62914560,
          .memory_bytes = 150754820096,
          .max_sm_mhz = 1980,
          .power_limit_w = 700,
          .driver = driver,
          .cuda = "13.0",
          .cublas = "13.1.0",
          .nvrtc = "13.0",
          .kernel_hash = "k1",
          .git_revision = "abc"};
}

const Shape kShape{.m = 2048, .n = 4096, .k = 512, .weight = 32, .tag = "prefill/o"};

Trial trial(const std::string& label, std::vector<Sample> samples = {}, Stage stage = Stage::kFinal,
            Status status = Status::kOk) {
  return {.label = label,
          .stage = stage,
          .status = status,
          .message = "",
          .verdict = {.correct = status == Status::kOk,
                      .error = 1e-3,
                      .tolerance = 1e-2,
                      .message = ""},
          .samples = std::move(samples)};
}

class StoreTest : public ::testing::Test {
 protected:
  Store open(Store::Mode mode = Store::Mode::kReadWrite) const { return Store::open(db_, mode); }
  std::int64_t race(Store& store, const Environment& where = environment()) const {
    return store.begin_race(store.begin_run(where, "hgemm-tune"), kShape, Regime::kSustained);
  }
  void write(const std::string& text) const { std::ofstream(db_, std::ios::binary) << text; }
  std::string bytes() const {
    std::ifstream file(db_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    return names;
  }

  test::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  fs::path db_ = folder_ / "tune.db";
};

// ---- What is written is read ----

TEST_F(StoreTest, ARaceIsReadBackAsItWasRecorded) {
  Trial failed = trial(kOther, {}, Stage::kNone, Status::kWrongResult);
  failed.message = "row 3, column 5: 'x' | \"y\"\nnext line";
  failed.verdict = {.correct = false, .error = std::nan(""), .tolerance = 0.02, .message = "a NaN"};
  Trial timed = trial(kLabel, {{.round = 3, .launches = 40, .time_us = 100.125, .sm_mhz = 1755.5},
                               {.round = 4, .launches = 41, .time_us = 1.0 / 3, .sm_mhz = 0}});
  {
    Store store = open();
    store.record(race(store), std::vector{trial("cublas"), timed, failed});
  }

  const auto races = open(Store::Mode::kReadOnly).races();
  ASSERT_THAT(races, SizeIs(1));
  EXPECT_EQ(races[0].environment, environment());
  EXPECT_THAT(races[0].started_utc, ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_TRUE(races[0].race.shape.same_problem(kShape));
  EXPECT_EQ(races[0].race.shape.tag, "prefill/o");
  EXPECT_EQ(races[0].race.shape.weight, 32);
  EXPECT_EQ(races[0].race.regime, Regime::kSustained);

  const auto& trials = races[0].race.trials;
  ASSERT_THAT(trials, SizeIs(3));
  EXPECT_EQ(trials[0].label, "cublas");
  EXPECT_EQ(trials[1].label, kLabel);
  EXPECT_EQ(trials[1].stage, Stage::kFinal);
  EXPECT_TRUE(trials[1].verdict.correct);
  EXPECT_EQ(trials[1].verdict.error, 1e-3);
  ASSERT_THAT(trials[1].samples, SizeIs(2));
  EXPECT_EQ(trials[1].samples[0].round, 3);
  EXPECT_EQ(trials[1].samples[0].launches, 40);
  EXPECT_EQ(trials[1].samples[0].sm_mhz, 1755.5);
  EXPECT_EQ(trials[1].samples[1].time_us, 1.0 / 3);
  EXPECT_EQ(trials[2].status, Status::kWrongResult);
  EXPECT_EQ(trials[2].stage, Stage::kNone);
  EXPECT_EQ(trials[2].message, failed.message);
  EXPECT_FALSE(trials[2].verdict.correct);
  EXPECT_TRUE(std::isnan(trials[2].verdict.error));
  EXPECT_EQ(trials[2].verdict.tolerance, 0.02);
  EXPECT_EQ(trials[2].verdict.message, "a NaN");
}

TEST_F(StoreTest, ALabelRecordedAgainIsBroughtUpToDateAndKeepsItsSamples) {
  Store store = open();
  const auto id = race(store);
  store.record(id, std::vector{trial(kLabel, {{0, 10, 5.0, 1700}}, Stage::kScreen)});
  Trial again = trial(kLabel, {{0, 10, 99.0, 1700}, {1, 10, 6.0, 1700}}, Stage::kFinal);
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

TEST_F(StoreTest, TheAxesOfAConfigAreColumns) {
  Store store = open();
  store.record(race(store), std::vector{trial(kOther), trial("cublaslt.0")});
  SQLite::Database db(db_.string());
  SQLite::Statement row(db,
                        "SELECT bm, tile_order, epilogue, persistent, dtype FROM config "
                        "JOIN candidate ON id = candidate_id");
  ASSERT_TRUE(row.executeStep());
  EXPECT_EQ(row.getColumn(0).getInt(), 256);
  EXPECT_EQ(row.getColumn(1).getString(), "group8");
  EXPECT_EQ(row.getColumn(2).getString(), "tma");
  EXPECT_EQ(row.getColumn(3).getInt(), 1);
  EXPECT_EQ(row.getColumn(4).getString(), "fp16");
  EXPECT_FALSE(row.executeStep()) << "a baseline has no axes";
}

TEST_F(StoreTest, EqualEnvironmentsAreOneRowAndRacesCanBeAskedByConditions) {
  Store store = open();
  Environment later = environment();
  later.git_revision = "def";
  for (const Environment& e : {environment(), environment("590.2"), environment(), later}) {
    store.record(race(store, e), std::vector{trial(kLabel)});
  }
  EXPECT_THAT(store.races(), SizeIs(4));
  EXPECT_EQ(SQLite::Database(db_.string()).execAndGet("SELECT COUNT(*) FROM environment").getInt(),
            3);
  EXPECT_THAT(store.races(environment()), SizeIs(3));  // another revision, same conditions
  EXPECT_THAT(store.races(environment("590.2")), SizeIs(1));
  EXPECT_THAT(store.races(environment("600.0")), SizeIs(0));
}

TEST_F(StoreTest, FinishedIsWhateverEndedInTheseConditions) {
  Store store = open();
  const auto id = race(store);
  const std::string waiting = label(KernelConfig{.bn = 64});
  const std::string broken = label(KernelConfig{.bn = 96});
  store.record(id, std::vector{trial(kLabel), trial("cublas"), trial("cublaslt.1"),
                               trial(broken, {}, Stage::kNone, Status::kCompileFailed),
                               trial(waiting, {}, Stage::kNone, Status::kOk)});
  Environment newer_revision = environment();
  newer_revision.git_revision = "def";
  Shape renamed = kShape;
  renamed.tag = "other";
  EXPECT_THAT(store.finished(newer_revision, renamed, Regime::kSustained),
              UnorderedElementsAre(kLabel, broken));
  Shape fp16 = kShape;
  fp16.dtype = Dtype::kFp16;
  EXPECT_THAT(store.finished(environment(), fp16, Regime::kSustained), SizeIs(0));
  EXPECT_THAT(store.finished(environment("590.2"), kShape, Regime::kSustained), SizeIs(0));
}

TEST_F(StoreTest, ABuildIsRecordedOncePerOutcome) {
  Store store = open();
  BuildFacts facts{.label = kLabel,
                   .kernel_hash = "k1",
                   .compiler = "nvrtc 13.0",
                   .flags = "-O3",
                   .cubin_hash = "c1",
                   .registers = 168,
                   .spill_bytes = 0,
                   .static_smem_bytes = 16,
                   .dynamic_smem_bytes = 200000,
                   .compile_ms = 812.5};
  store.record_build(facts);
  store.record_build(facts);
  facts.cubin_hash = "c2";
  store.record_build(facts);
  const auto builds = store.builds();
  ASSERT_THAT(builds, SizeIs(2));
  EXPECT_EQ(builds[0].label, kLabel);
  EXPECT_EQ(builds[0].kernel_hash, "k1");
  EXPECT_EQ(builds[0].compiler, "nvrtc 13.0");
  EXPECT_EQ(builds[0].flags, "-O3");
  EXPECT_EQ(builds[0].registers, 168);
  EXPECT_EQ(builds[0].dynamic_smem_bytes, 200000);
  EXPECT_EQ(builds[0].compile_ms, 812.5);
  EXPECT_EQ(builds[1].cubin_hash, "c2");
}

TEST_F(StoreTest, ATrialsBuildIsTheOneOfItsKernel) {
  Store store = open();
  Environment changed = environment();
  changed.kernel_hash = "k2";
  for (const Environment& e : {environment(), changed}) {
    store.record(race(store, e), std::vector{trial(kLabel)});
  }
  // A change that leaves the cubin as it was is another build all the same.
  for (const std::string kernel : {"k1", "k2"}) {
    BuildFacts facts;
    facts.label = kLabel;
    facts.kernel_hash = kernel;
    facts.cubin_hash = "same";
    facts.registers = kernel == "k1" ? 168 : 152;
    store.record_build(facts);
  }
  SQLite::Database db(db_.string());
  SQLite::Statement row(db,
                        "SELECT environment.kernel_hash, registers FROM trial "
                        "JOIN race ON race.id = race_id JOIN run ON run.id = run_id "
                        "JOIN environment ON environment.id = environment_id "
                        "JOIN build ON build.candidate_id = trial.candidate_id "
                        "AND build.kernel_hash = environment.kernel_hash ORDER BY trial.id");
  for (const auto& [kernel, registers] : {std::pair{"k1", 168}, std::pair{"k2", 152}}) {
    ASSERT_TRUE(row.executeStep());
    EXPECT_EQ(row.getColumn(0).getString(), kernel);
    EXPECT_EQ(row.getColumn(1).getInt(), registers);
  }
  EXPECT_FALSE(row.executeStep()) << "one build per trial";
}

TEST_F(StoreTest, ARecordIsAllOrNothing) {
  Store store = open();
  const auto id = race(store);
  EXPECT_THROW(store.record(id, std::vector{trial(kLabel), trial("bm1.bogus")}), InputError);
  EXPECT_THROW(store.record(id, std::vector{trial(kLabel), trial(kOther, {{0, 1, -1.0, 0}})}),
               Error);
  EXPECT_THROW(store.record(id + 1, std::vector{trial(kLabel)}), Error) << "no such race";
  EXPECT_THAT(store.races().at(0).race.trials, SizeIs(0));
  store.record(id, std::vector{trial(kLabel)});
  EXPECT_THAT(store.races().at(0).race.trials, SizeIs(1));
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
  EXPECT_THAT(store.finished(environment(), kShape, Regime::kSustained), ElementsAre(kLabel));
}

TEST_F(StoreTest, IsReadWhileAnotherConnectionWrites) {
  Store writer = open();
  const auto id = race(writer);
  writer.record(id, std::vector{trial(kLabel)});
  const Store reader = open(Store::Mode::kReadOnly);
  EXPECT_THAT(reader.races().at(0).race.trials, SizeIs(1));
  writer.record(id, std::vector{trial(kOther)});
  EXPECT_THAT(reader.races().at(0).race.trials, SizeIs(2));
}

TEST_F(StoreTest, TwoWritersTakeTurns) {
  Store a = open();
  Store b = open();
  a.record(race(a), std::vector{trial(kLabel)});
  b.record(race(b), std::vector{trial(kLabel)});
  EXPECT_THAT(a.races(), SizeIs(2));
}

// ---- Opening ----

TEST_F(StoreTest, AnEmptyFileIsANewDatabase) {
  write("");
  Store store = open();
  EXPECT_EQ(store.path(), db_.string());
  EXPECT_THAT(store.races(), SizeIs(0));
}

TEST_F(StoreTest, AFileNameIsOnlyEverAFileName) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  { Store store = Store::open(":memory:", Store::Mode::kReadWrite); }
  { Store store = Store::open("a?b#c%41.db", Store::Mode::kReadWrite); }
  EXPECT_THAT(Store::open("a?b#c%41.db", Store::Mode::kReadOnly).races(), SizeIs(0));
  fs::current_path(before);
  EXPECT_THAT(files(), UnorderedElementsAre(":memory:", "a?b#c%41.db"));
}

TEST_F(StoreTest, ReadingLeavesNoFilesBehind) {
  { Store store = open(); }
  { EXPECT_THAT(open(Store::Mode::kReadOnly).races(), SizeIs(0)); }
  EXPECT_THAT(files(), ElementsAre("tune.db"));
}

/// Runs `work` as a user whom file permissions bind, in a process of its own; its messages to
/// stderr are matched by EXPECT_EXIT.
template <class Work>
[[noreturn]] void as_ordinary_user(const Work& work) {
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(3);
  try {
    work();
  } catch (const InputError& error) {
    std::cerr << error.what() << std::endl;
    _exit(2);
  }
  _exit(0);
}

TEST_F(StoreTest, ReadsInAReadOnlyFolder) {
  {
    Store store = open();
    store.record(race(store), std::vector{trial(kLabel)});
  }
  fs::permissions(db_, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_EXIT(as_ordinary_user([&] {
                if (open(Store::Mode::kReadOnly).races().at(0).race.trials.size() != 1) _exit(4);
              }),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(StoreTest, SaysThatAFileOrFolderCannotBeWritten) {
  { Store store = open(); }
  fs::permissions(db_, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_EXIT(as_ordinary_user([&] { open(); }), ::testing::ExitedWithCode(2),
              "tune.db: cannot be written; check its permissions");
  fs::permissions(db_, fs::perms(0666));
  EXPECT_EXIT(as_ordinary_user([&] { open(); }), ::testing::ExitedWithCode(2),
              "tune.db: cannot be opened or written; check the permissions of the file and its");
  EXPECT_EXIT(as_ordinary_user([&] { Store::open(folder_ / "new.db", Store::Mode::kReadWrite); }),
              ::testing::ExitedWithCode(2), "new.db: cannot be opened or written");
  fs::permissions(db_, fs::perms(0));
  EXPECT_EXIT(as_ordinary_user([&] { open(Store::Mode::kReadOnly); }), ::testing::ExitedWithCode(2),
              "tune.db: cannot be read; check its permissions");
}

TEST_F(StoreTest, SaysWhatIsMissing) {
  EXPECT_THAT([&] { open(Store::Mode::kReadOnly); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("tune.db: does not exist"), HasSubstr("hgemm-tune --shapes"))));
  EXPECT_THAT([&] { Store::open(folder_ / "no" / "a.db", Store::Mode::kReadWrite); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("folder"), HasSubstr("does not exist"))));
  EXPECT_THAT([&] { Store::open(folder_, Store::Mode::kReadWrite); },
              ThrowsMessage<InputError>(HasSubstr("is a folder")));
  EXPECT_THAT([&] { Store::open("", Store::Mode::kReadWrite); },
              ThrowsMessage<InputError>(HasSubstr("name a file")));
  write("");
  EXPECT_THAT([&] { open(Store::Mode::kReadOnly); },
              ThrowsMessage<InputError>(HasSubstr("is empty")));
  EXPECT_THAT(files(), ElementsAre("tune.db")) << "nothing may be created on the way";
}

TEST_F(StoreTest, RefusesAnotherFileAndLeavesItAlone) {
  for (const std::string text : {"x", "shapes:\n  - {m: 1, n: 2, k: 3}\n"}) {
    write(text);
    for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
      EXPECT_THAT([&] { open(mode); },
                  ThrowsMessage<InputError>(HasSubstr("tune.db: is not a hgemm-tune database")));
      EXPECT_EQ(bytes(), text);
    }
  }
}

TEST_F(StoreTest, RefusesAnotherProgramsDatabaseAndLeavesItAlone) {
  {
    SQLite::Database other(db_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE run (id INTEGER); PRAGMA user_version = 1");
  }
  const std::string before = bytes();
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    EXPECT_THAT([&] { open(mode); },
                ThrowsMessage<InputError>(HasSubstr("is a database of another program")));
  }
  EXPECT_EQ(bytes(), before);
}

TEST_F(StoreTest, RefusesANewerSchema) {
  { Store store = open(); }
  SQLite::Database(db_.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 7");
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    EXPECT_THAT([&] { open(mode); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("schema version 7"),
                                                HasSubstr("versions up to 1"),
                                                HasSubstr("use a newer hgemm-tune"))));
  }
}

TEST_F(StoreTest, SaysThatATruncatedOrOverwrittenDatabaseIsDamaged) {
  {
    Store store = open();
    std::vector<Trial> trials;
    for (int bn = 8; bn <= 256; bn += 8) trials.push_back(trial(label(KernelConfig{.bn = bn})));
    store.record(race(store), trials);
  }
  const std::string whole = bytes();
  ASSERT_GT(whole.size(), 40'000u);
  std::string overwritten = whole;
  overwritten.replace(8 * 4096, 20'000, std::string(20'000, '\x5a'));
  const std::vector<std::string> broken = {whole.substr(0, 50), whole.substr(0, 5000),
                                           whole.substr(0, whole.size() / 2), overwritten};
  for (const std::string& content : broken) {
    write(content);
    for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
      EXPECT_THAT([&] { open(mode); },
                  ThrowsMessage<InputError>(AllOf(StartsWith("database " + db_.string()),
                                                  HasSubstr("is damaged"), HasSubstr("copy"))))
          << content.size() << " of " << whole.size() << " bytes";
      EXPECT_EQ(bytes(), content);
    }
  }
}

// ---- Scale ----

// Recorded results are committed, and every table starts by reading all of them.
TEST_F(StoreTest, AFullRunStaysSmallAndIsReadAtOnce) {
  constexpr int kShapes = 37, kConfigs = 250, kSamples = 5;
  {
    Store store = open();
    const auto run = store.begin_run(environment(), "hgemm-tune --shapes all");
    for (int s = 0; s < kShapes; ++s) {
      const Shape shape{.m = 64 * (s + 1), .n = 4096, .k = 4096, .tag = "prefill/qkv"};
      std::vector<Trial> trials;
      for (int c = 0; c < kConfigs; ++c) {
        const KernelConfig config{.bn = 8 * (c % 32 + 1), .stages = 2 + c / 32};
        Trial one = trial(label(config));
        for (int r = 0; r < kSamples; ++r) {
          one.samples.push_back({r, 100, 250.0 + c + 0.1234567 * r, 1600 + 1.0 / (c + r + 1)});
        }
        trials.push_back(std::move(one));
      }
      store.record(store.begin_race(run, shape, Regime::kSustained), trials);
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
}  // namespace hgemm
