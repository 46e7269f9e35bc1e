// What a file holds is not believed: values, rows and tables that the program never wrote are
// refused, and the message says which.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "store/columns.h"
#include "store/open.h"
#include "tests/store/old_databases.h"
#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

namespace fs = std::filesystem;

Study study() {
  Study study;
  study.kind = "probe";
  study.label = kLabel + ".probe1";
  study.problem = kProblem;
  study.kernel_id = "p1";
  study.message = "a remark";
  study.verdict = {.correct = true, .error = 1e-3, .tolerance = 1e-2, .message = ""};
  study.figures = {{"consumer.wait", "cycles", "clk/tile", 5, 4, 6, 9}};
  study.spans = {{131, 7, "producer", "issue", -1, 0.5, 10}};
  study.parts = {{.position = 0, .variant = "pdl_on", .problem = kProblem, .label = kLabel}};
  study.samples("step") = {sample(0, 500)};
  return study;
}

class DamagedTest : public StoreTest {
 protected:
  void SetUp() override {
    static const std::string whole = [this] {
      record();
      return bytes();
    }();
    write(whole);
  }

  /// One row and more in each table.
  void record() const {
    Store store = open();
    const auto run = store.begin_run(machine(), "hgemm-tune --shapes a");
    const auto race = store.begin_race(run, kProblem, Regime::kSustained, Timing{});
    Sample full = sample(0, 5.5);
    full.power_w = 650.5;
    full.temperature_c = 55;
    full.clock_events = clock_event::kPowerCap;
    Trial called = trial("cublas", {sample(0, 6)});
    called.calls = CallTime{.calls = 20, .host_us = 8, .kernels = 1, .kernel_us = 5.5};
    store.record(race, std::vector{weighed(trial(kLabel, {full, sample(1, 5.25)})), called});
    store.record_build(build(kLabel + " of bf16", kernel_of(kLabel)));
    store.record_study(run, study());
  }

  /// As somebody would who knows SQL.
  void edit(const std::string& sql) const {
    SQLite::Database db(db_.string(), SQLite::OPEN_READWRITE);
    db.exec(
        "PRAGMA ignore_check_constraints = 1; PRAGMA writable_schema = 1; "
        "PRAGMA synchronous = OFF");
    db.exec(sql);
  }
  /// The same, and what checksums would say of it is gone.
  void edit_unnoticed(const std::string& sql) const {
    edit(sql);
    edit("UPDATE race SET checksum = NULL; UPDATE study SET checksum = NULL");
  }

  void read_all() const {
    const Store store = open(Store::Mode::kReadOnly);
    store.races();
    store.studies("probe");
    store.builds();
  }
};

struct Value {
  std::string table;
  std::string column;
  std::string sql;
};
void PrintTo(const Value& v, std::ostream* out) {
  *out << v.table << "." << v.column << " = " << v.sql;
}

class DamagedValueTest : public DamagedTest, public ::testing::WithParamInterface<Value> {};

TEST_P(DamagedValueTest, IsRefusedByItsName) {
  const auto& [table, column, sql] = GetParam();
  EXPECT_NO_THROW(read_all());
  edit_unnoticed(fmt::format("UPDATE OR IGNORE {} SET {} = {}", table, column, sql));
  EXPECT_THAT([&] { read_all(); },
              ThrowsMessage<InputError>(AllOf(
                  StartsWith("database " + db_.string() + ": "),
                  AnyOf(HasSubstr(column + " holds "), HasSubstr("constraint failed in " + table)),
                  HasSubstr("restore it from a copy"), Not(HasSubstr("\n")))));
}

std::vector<Value> bad_values() {
  std::vector<Value> values;
  const auto add = [&](const std::string& table, const std::vector<std::string>& columns,
                       const std::vector<std::string>& sqls) {
    for (const std::string& column : columns) {
      for (const std::string& sql : sqls) values.push_back({table, column, sql});
    }
  };
  const std::string line_break = "'a' || char(10) || 'touch /tmp/x #'";
  const std::string no_utf8 = "CAST(x'fffe80' AS TEXT)";
  const std::string huge = "hex(zeroblob(500000))";
  const std::vector<std::string> no_names = {line_break, no_utf8,  huge,   "'$(id)'",
                                             "'\"; x'",  "'a`b`'", "'<b>'"};
  add("environment", {"gpu_name", "driver", "cuda", "cublas"}, no_names);
  add("environment", {"sm_count", "l2_bytes", "memory_bytes", "max_sm_mhz"}, {"-1", "1 << 62"});
  add("environment", {"power_limit_w"}, {"-1", "1e300", "9e999"});
  add("run", {"gpu_uuid", "host", "git_revision", "kernel_sources"}, no_names);
  add("run", {"started_utc"}, {line_break, "'2026'", "''", "'2026-01-01T00:00:00Z; x'"});
  add("run", {"command_line"}, {line_break, no_utf8, huge, "char(27) || '[2J'"});
  add("candidate", {"label"}, no_names);
  add("kernel", {"identity"}, no_names);
  add("build", {"name", "source_key"}, no_names);
  add("build", {"compiler", "flags"}, {line_break, no_utf8, huge});
  add("build", {"registers", "spill_bytes", "static_smem_bytes"}, {"-1", "1 << 62"});
  add("build", {"compile_ms"}, {"-1", "9e999"});
  add("race", {"uid"}, {"'" + std::string(31, 'a') + "' || char(10)"});
  add("race", {"regime", "effort"}, {"'odd'", line_break});
  add("race", {"neighbours"}, {"-1", "9223372036854775807"});
  add("race", {"cold", "graph", "pdl"}, {"2", "-1"});
  add("race", {"tag"}, {line_break, no_utf8, huge});
  add("race", {"weight"}, {"-1", "9e999"});
  add("race", {"started_utc"}, {line_break, "'yesterday'", "'20aa-01-01T00:00:00Z'"});
  add("trial", {"stage", "status"}, {"'odd'", no_utf8});
  add("trial", {"message", "verdict_message"}, {no_utf8, huge, "char(27) || '[2J'"});
  add("trial", {"correct"}, {"2"});
  add("trial", {"error", "tolerance"}, {"-1"});
  add("sample", {"pace"}, {"'odd'"});
  add("sample", {"launches"}, {"0", "-5", "1 << 62"});
  add("sample", {"time_us"}, {"-5", "0", "1e300", "9e999", "1e-300"});
  add("sample", {"sm_mhz", "power_w"}, {"-1", "1e300", "9e999"});
  add("sample", {"temperature_c"}, {"-1000", "1 << 62"});
  add("energy", {"window_s", "time_us"}, {"-1", "0", "9e999"});
  add("energy", {"power_w"}, {"-1", "9e999"});
  add("call_time", {"calls"}, {"0", "-1", "1 << 62"});
  add("call_time", {"kernels"}, {"-1", "1 << 62"});
  add("call_time", {"host_us", "kernel_us"}, {"-1", "0", "9e999"});
  add("study", {"kind", "label", "kernel"}, {line_break});
  add("study", {"status"}, {"'odd'"});
  add("study", {"problem_id"}, {"NULL"});
  add("candidate", {"label"}, {"'of a later version'", "''"});
  add("figure", {"point", "metric", "unit"}, no_names);
  add("figure", {"value", "low", "high"}, {"9e999"});
  add("span", {"role", "phase"}, {line_break});
  add("span", {"sm", "cta"}, {"-1"});
  add("part", {"variant", "label"}, {line_break});
  add("study_sample", {"series"}, {line_break});
  add("study_sample", {"time_us"}, {"-5"});
  return values;
}
// Columns of NOT NULL, types and keys are SQLite's to check: integrity_check says what is wrong.
INSTANTIATE_TEST_SUITE_P(Value, DamagedValueTest, ::testing::ValuesIn(bad_values()));

TEST_F(DamagedTest, ARefusalSaysWhatWouldBeRight) {
  const std::string whole = bytes();
  const auto expect_refused = [&](const std::string& sql, const std::string& right) {
    write(whole);
    edit_unnoticed(sql);
    EXPECT_THAT([&] { read_all(); }, ThrowsMessage<InputError>(HasSubstr("which is not " + right)))
        << sql;
  };
  expect_refused("UPDATE environment SET driver = '<b>'",
                 "a name (letters, digits and a few marks);");
  expect_refused("UPDATE candidate SET label = '' WHERE label = 'cublas'",
                 "a name (letters, digits and a few marks);");
  expect_refused("UPDATE race SET uid = '" + std::string(32, 'z') + "'", "32 hexadecimal digits;");
  expect_refused("UPDATE run SET started_utc = 'today'", "a time such as 2026-01-31T12:00:00Z;");
  expect_refused("UPDATE run SET command_line = char(27)",
                 "one line of text without control characters;");
  expect_refused("UPDATE trial SET message = char(27)", "text without control characters;");
  expect_refused("UPDATE trial SET message = hex(zeroblob(500000))", "text of that length;");
  expect_refused("UPDATE environment SET sm_count = -1", "a whole number from 0 to ");
}

TEST_F(DamagedTest, ARefusalSaysThatNothingIsThere) {
  edit_unnoticed("UPDATE study SET verdict_message = NULL");
  EXPECT_THAT([&] { read_all(); },
              ThrowsMessage<InputError>(HasSubstr("verdict_message holds nothing, which is not")));
}

class ChangedTest : public DamagedTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(ChangedTest, IsFoundByTheChecksum) {
  EXPECT_NO_THROW(read_all());
  edit(GetParam());
  EXPECT_THAT([&] { read_all(); },
              ThrowsMessage<InputError>(AllOf(StartsWith("database " + db_.string() + ": the "),
                                              HasSubstr("is not as it was recorded"))));
  // Nor is it taken over by another database.
  Store other = open("other.db");
  EXPECT_THROW(other.add_all(open(Store::Mode::kReadOnly)), InputError);
  EXPECT_THAT(other.races(), SizeIs(0));
}
INSTANTIATE_TEST_SUITE_P(
    Row, ChangedTest,
    ::testing::Values(
        "UPDATE sample SET time_us = 5.25000000000000088817841970012523 WHERE round = 1",
        "UPDATE sample SET sm_mhz = 1701 WHERE round = 1", "UPDATE sample SET pace = 'own'",
        "UPDATE sample SET launches = 11 WHERE round = 1",
        "UPDATE sample SET clock_events = 5 WHERE clock_events = 4",
        "UPDATE sample SET temperature_c = NULL", "UPDATE sample SET round = 2 WHERE round = 1",
        "DELETE FROM sample WHERE round = 1",
        "DELETE FROM sample; DELETE FROM energy; DELETE FROM call_time; DELETE FROM trial",
        "DELETE FROM energy", "UPDATE energy SET power_w = 690.5",
        "UPDATE trial SET status = 'crashed'", "UPDATE trial SET error = NULL",
        "UPDATE trial SET kernel_id = NULL",
        "UPDATE candidate SET label = 'cublaslt.0' WHERE label = 'cublas'",
        "UPDATE race SET weight = 33", "UPDATE race SET regime = 'burst'",
        "UPDATE race SET checksum = checksum + 1", "UPDATE environment SET driver = '580.2'",
        "UPDATE problem SET key = '2048x4096x1024'", "UPDATE figure SET value = 5.5",
        "DELETE FROM figure", "DELETE FROM span", "UPDATE span SET tile = 0", "DELETE FROM part",
        "DELETE FROM study_sample", "UPDATE study SET message = 'another'",
        "UPDATE study SET checksum = checksum + 1"));

// A checksum says nothing of how the rows came: at once, in steps, or from another database.
TEST_F(DamagedTest, ChecksumsFollowWhatIsRecordedInSteps) {
  Store store = open();
  const auto id = race(store);
  store.record(id, std::vector{trial(kLabel, {sample(0, 5.0)}, Stage::kScreen)});
  store.record(id, std::vector{weighed(trial(kLabel, {sample(0, 7.0), sample(1, 5.5)}), 680)});
  Trial failed = trial(kLabel, {}, Stage::kFinal, Status::kWrongResult);
  failed.verdict.error = std::numeric_limits<double>::quiet_NaN();
  store.record(id, std::vector{failed, weighed(trial("cublas", {sample(0, 6.0)}))});
  store.record(id, std::vector{weighed(failed, 690)});
  EXPECT_THAT(store.races(), SizeIs(2));

  const auto checksums = [](const fs::path& path) {
    SQLite::Database db(path.string());
    return lines(db,
                 "SELECT uid, checksum FROM race UNION ALL SELECT uid, checksum FROM study "
                 "ORDER BY 1");
  };
  Store other = open("other.db");
  other.add_all(store);
  EXPECT_THAT(checksums(db_), SizeIs(3));
  EXPECT_EQ(checksums(db_), checksums(folder_ / "other.db"));

  store.record(id, std::vector{trial(kOther, {sample(0, 6.5)})});
  other.add_all(store);
  EXPECT_EQ(checksums(db_), checksums(folder_ / "other.db"));
}

TEST_F(DamagedTest, RowsThatPointNowhereAreRefused) {
  for (const char* sql : {"DELETE FROM candidate WHERE label = 'cublas'", "DELETE FROM problem",
                          "DELETE FROM environment", "DELETE FROM run", "DELETE FROM kernel",
                          "DELETE FROM trial", "DELETE FROM race", "DELETE FROM study"}) {
    const std::string whole = bytes();
    edit(sql);
    for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
      EXPECT_THAT([&] { open(mode); },
                  ThrowsMessage<InputError>(
                      AllOf(HasSubstr("is damaged (a row of "), HasSubstr("that is not there"))))
          << sql;
    }
    write(whole);
  }
}

// ---- Tables that are not ours ----

class StructureTest : public DamagedTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(StructureTest, IsRefusedBeforeAnythingIsReadFromIt) {
  edit(GetParam());
  const std::string before = bytes();
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    EXPECT_THAT([&] { open(mode); },
                ThrowsMessage<InputError>(AllOf(StartsWith("database " + db_.string() + ": has "),
                                                HasSubstr("restore it from a copy"))));
  }
  EXPECT_EQ(bytes(), before);
}
// Each of the first four would run for hours.
INSTANTIATE_TEST_SUITE_P(
    Of, StructureTest,
    ::testing::Values(
        "DROP TABLE sample; CREATE VIEW sample AS WITH RECURSIVE r(trial_id) AS (SELECT 1 UNION "
        "ALL SELECT trial_id + 1 FROM r) SELECT trial_id, 1 AS round FROM r",
        "CREATE TRIGGER t AFTER INSERT ON race BEGIN DELETE FROM trial; END",
        "ALTER TABLE race ADD COLUMN slow INTEGER AS (length(hex(zeroblob(100000000)))) VIRTUAL",
        "UPDATE sqlite_master SET sql = replace(sql, 'CHECK (launches > 0)', "
        "'CHECK (length(hex(zeroblob(400000000))) > 0)') WHERE name = 'sample'",
        "CREATE TABLE more (x)", "CREATE INDEX more ON race (tag)", "DROP INDEX race_by_problem",
        "DROP TABLE figure", "ALTER TABLE race ADD COLUMN more TEXT",
        "ALTER TABLE race RENAME COLUMN tag TO tags",
        "UPDATE sqlite_master SET sql = replace(sql, 'TEXT    NOT NULL', 'TEXT DEFAULT ''--''') "
        "WHERE name = 'run'"));

// The schema was checked when it was opened. It must be what was checked as long as it is open.
TEST_F(DamagedTest, NoStatementChangesTheSchemaBehindTheProgramsBack) {
  OpenDatabase opened = open_database(db_, Store::Mode::kReadWrite);
  opened.db.exec("PRAGMA writable_schema = 1");
  EXPECT_THROW(opened.db.exec("UPDATE sqlite_master SET sql = replace(sql, 'CHECK', 'check')"),
               SQLite::Exception);
}

TEST_F(DamagedTest, ObjectsInAnOldDatabaseAreRefusedToo) {
  fs::remove(db_);
  make_database(db_, "schema_v6.sql", "CREATE VIEW v AS SELECT 1");
  EXPECT_THAT([&] { open(Store::Mode::kReadOnly); },
              ThrowsMessage<InputError>(HasSubstr("has a view v")));
  fs::remove(db_);
  make_database(db_, "schema_v6.sql", "ALTER TABLE race ADD COLUMN x TEXT AS (hex(zeroblob(1e9)))");
  EXPECT_THAT([&] { open(Store::Mode::kReadOnly); },
              ThrowsMessage<InputError>(HasSubstr("other tables than schema version 6 has")));
}

// ---- What is recorded can be read ----

TEST_F(StoreTest, WhatCannotBeShownIsRecordedAsQuestionMarks) {
  Store store = open();
  GemmProblem problem = kProblem;
  problem.tag = "a\nb\x1b[2J";
  const auto run = store.begin_run(machine(), "hgemm-tune --db \xff\n.db");
  const auto race = store.begin_race(run, problem, Regime::kSustained, Timing{});
  Trial failed = trial(kLabel, {}, Stage::kNone, Status::kCompileFailed);
  failed.message = "line 1\n\tline 2 \x1b[31m\xff" + std::string(1'000'000, 'x');
  failed.verdict.error = std::numeric_limits<double>::infinity();
  Trial odd_clock = trial("cublas", {sample(0, 5)});
  odd_clock.samples[0].sm_mhz = std::numeric_limits<double>::infinity();
  odd_clock.samples[0].power_w = -1;
  store.record(race, std::vector{failed, odd_clock});

  const RecordedRace read = store.races().at(0);
  EXPECT_EQ(read.command_line, "hgemm-tune --db ? .db");
  EXPECT_EQ(read.race.problem.tag, "a b?[2J");
  EXPECT_THAT(read.race.trials.at(0).message, StartsWith("line 1\n\tline 2 ?[31m?xxx"));
  EXPECT_EQ(read.race.trials.at(1).samples.at(0).sm_mhz, 0) << "as if no clock was read";
  EXPECT_FALSE(read.race.trials.at(1).samples.at(0).power_w);
}

TEST_F(StoreTest, NamesHaveAtMost300Bytes) {
  Store store = open();
  Machine named = machine();
  named.environment.gpu_name = std::string(300, 'x');
  store.begin_race(store.begin_run(named, "hgemm-tune"), kProblem, Regime::kSustained, Timing{});
  EXPECT_EQ(store.races().at(0).environment, named.environment);
  named.environment.gpu_name += 'x';
  EXPECT_THAT([&] { store.begin_run(named, "hgemm-tune"); },
              ThrowsMessage<Error>(HasSubstr("environment.gpu_name")));
}

TEST_F(StoreTest, ANameThatNoneHasIsNotRecorded) {
  Store store = open();
  Machine odd = machine();
  odd.environment.gpu_name = "NVIDIA\nH200";
  EXPECT_THAT([&] { store.begin_run(odd, "hgemm-tune"); },
              ThrowsMessage<Error>(AllOf(HasSubstr(db_.string()), HasSubstr("cannot be recorded"),
                                         HasSubstr("environment.gpu_name"),
                                         HasSubstr("not a name (letters, digits"))));
}

}  // namespace
}  // namespace hgemm::test
