// Databases of schema versions 1 to 5 are brought to the present one, and lose nothing.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

namespace fs = std::filesystem;

/// Two runs in two environments: a race with samples at a large shape, one without at a shape that
/// is too small to leave L2.
constexpr const char* kContent = R"sql(
INSERT INTO environment VALUES
  (1, 'NVIDIA H200', 'GPU-1', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '580.1', '13.0',
   '13.1.0', '13.0', 'k1', 'abc'),
  (2, 'NVIDIA H200', 'GPU-1', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '590.2', '13.0',
   '13.1.0', '13.0', 'k1', 'abc');
INSERT INTO run VALUES (1, 1, '2026-11-20T10:00:00Z', 'hgemm-tune --shapes a'),
                       (2, 2, '2026-11-20T11:00:00Z', 'hgemm-tune --shapes b');
INSERT INTO shape VALUES (1, 2048, 4096, 512, 'bf16', 'TN'), (2, 64, 64, 64, 'bf16', 'TN');
INSERT INTO candidate VALUES (1, 'cublas'),
                             (2, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16');
INSERT INTO config VALUES (2, 128, 128, 64, 4, 1, 1, 2, 1, 'linear', 'tma', 1, 'bf16');
INSERT INTO build VALUES (1, 2, 'k1', 'nvrtc 13.0', '-O3', 'c1', 168, 0, 16, 200000, 812.5);
INSERT INTO race VALUES (1, 1, 1, 'sustained', 'prefill/o', 32.0, '2026-11-20T10:00:05Z'),
                        (4, 2, 2, 'sustained', '', 1.0, '2026-11-20T11:00:05Z');
INSERT INTO trial VALUES (1, 1, 1, 'final', 'ok', '', 1, 0.001, 0.01, ''),
                         (2, 1, 2, 'final', 'ok', '', 1, 0.002, 0.01, ''),
                         (3, 4, 2, 'none', 'wrong_result', 'why', 0, NULL, 0.01, 'a NaN');
INSERT INTO sample VALUES (1, 1, 40, 100.0, 1755.5), (1, 2, 40, 101.0, 1750.0),
                          (2, 1, 41, 90.25, 1700.0);
)sql";

/// One run with a race that has every table filled, and an attempt of it.
constexpr const char* kContentV2 = R"sql(
INSERT INTO environment VALUES
  (1, 'NVIDIA H200', 'GPU-1', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '580.1', '13.0',
   '13.1.0', '13.0', 'k1', 'abc');
INSERT INTO run VALUES (1, 1, '2026-11-20T10:00:00Z', 'hgemm-tune --shapes a');
INSERT INTO shape VALUES (3, 64, 128, 256, 'fp16', 'TN'), (5, 2048, 4096, 512, 'bf16', 'TN');
INSERT INTO candidate VALUES (1, 'cublas'),
                             (2, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16');
INSERT INTO config VALUES (2, 128, 128, 64, 4, 1, 1, 2, 1, 'linear', 'tma', 1, 'bf16');
INSERT INTO build VALUES (1, 2, 'k1', 'nvrtc 13.0', '-O3', 'c1', 168, 0, 16, 200000, 812.5);
INSERT INTO race VALUES (1, '0123456789abcdef0123456789abcdef', 1, 5, 'burst', 0, 1, 0,
                         'prefill/o', 32.0, '2026-11-20T10:00:05Z');
INSERT INTO trial VALUES (1, 1, 1, 'final', 'ok', '', 1, 0.001, 0.01, ''),
                         (2, 1, 2, 'final', 'ok', '', 1, 0.002, 0.01, '');
INSERT INTO sample (trial_id, round, pace, launches, time_us, sm_mhz, power_w, temperature_c,
                    clock_events)
  VALUES (1, 1, 'rested', 40, 100.0, 1755.5, 400.5, 50, 4), (2, 1, 'own', 41, 90.25, 1700, NULL,
                                                              NULL, NULL);
INSERT INTO energy (trial_id, window_s, power_w, time_us) VALUES (2, 2.1, 690.0, 91.0);
INSERT INTO attempt VALUES (1, 3, 2, 'the boot before', '2026-11-20T10:00:06Z');
)sql";

class MigrationTest : public StoreTest {
 protected:
  void SetUp() override { make_v1(db_); }

  static void make_v1(const fs::path& path) { make(path, "schema_v1.sql", kContent); }

  static void make(const fs::path& path, const char* schema_file, const char* content) {
    std::ifstream file(fs::path(HGEMM_SOURCE_DIR) / "tests/store" / schema_file);
    const std::string schema{std::istreambuf_iterator<char>(file), {}};
    SQLite::Database db(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA foreign_keys = ON");
    db.exec(schema);
    db.exec(content);
  }

  static std::vector<std::string> lines(SQLite::Database& db, const std::string& query) {
    std::vector<std::string> lines;
    SQLite::Statement row(db, query);
    while (row.executeStep()) {
      std::string line;
      for (int i = 0; i < row.getColumnCount(); ++i) line += row.getColumn(i).getString() + "|";
      lines.push_back(line);
    }
    return lines;
  }

  /// Every table with its columns, their types and order, its references, indices and checks.
  static std::vector<std::string> schema_of(const fs::path& path) {
    SQLite::Database db(path.string());
    std::vector<std::string> schema = lines(db, "PRAGMA user_version");
    SQLite::Statement row(
        db,
        "SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master ORDER BY type, name");
    while (row.executeStep()) {
      const std::string name = row.getColumn(1).getString();
      // As it was written, without comments, quotes around names and white space.
      const std::string sql =
          std::regex_replace(row.getColumn(3).getString(), std::regex("--[^\n]*|[\"\\s]+"), "");
      schema.push_back(row.getColumn(0).getString() + " " + name + " of " +
                       row.getColumn(2).getString() + ": " + sql);
      for (const char* pragma : {"table_xinfo", "foreign_key_list", "index_list", "index_xinfo"}) {
        for (const std::string& line :
             lines(db, std::string("PRAGMA ") + pragma + "('" + name + "')")) {
          schema.push_back(name + " " + pragma + ": " + line);
        }
      }
    }
    return schema;
  }
};

TEST_F(MigrationTest, AMigratedSchemaIsTheOneOfANewDatabase) {
  { Store migrated = open(); }
  { Store fresh = open("fresh.db"); }
  const auto expected = schema_of(folder_ / "fresh.db");
  EXPECT_THAT(expected, ::testing::Contains(::testing::HasSubstr("table_xinfo")));
  EXPECT_EQ(schema_of(db_), expected);
}

TEST_F(MigrationTest, EverythingIsKept) {
  { Store store = open(); }
  {
    SQLite::Database db(db_.string());
    EXPECT_THAT(lines(db, "PRAGMA integrity_check"), ElementsAre("ok|"));
    EXPECT_THAT(lines(db, "PRAGMA foreign_key_check"), IsEmpty());
  }
  const Store store = open(Store::Mode::kReadOnly);
  EXPECT_THAT(store.environments(), ElementsAre(environment(), environment("590.2")));
  ASSERT_THAT(store.builds(), SizeIs(1));
  EXPECT_EQ(store.builds()[0].registers, 168);
  EXPECT_THAT(store.finished(environment(), kShape, Regime::kSustained), ElementsAre(kLabel));

  const auto races = store.races();
  ASSERT_THAT(races, SizeIs(2));
  EXPECT_THAT(races[0].uid, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(races[1].uid, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(races[0].uid, races[1].uid);
  EXPECT_EQ(races[0].environment, environment());
  EXPECT_EQ(races[1].environment, environment("590.2"));
  EXPECT_EQ(races[0].started_utc, "2026-11-20T10:00:05Z");
  EXPECT_TRUE(races[0].race.shape.same_problem(kShape));
  EXPECT_EQ(races[0].race.shape.tag, "prefill/o");
  EXPECT_EQ(races[0].race.shape.weight, 32);
  EXPECT_EQ(races[0].race.regime, Regime::kSustained);
  EXPECT_EQ(races[0].race.timing, (Timing{.cold = true, .graph = true, .pdl = false}));
  EXPECT_FALSE(races[1].race.timing.cold) << "512 sets of 64x64x64 are less than 3x L2";

  const auto& trials = races[0].race.trials;
  ASSERT_THAT(trials, SizeIs(2));
  EXPECT_EQ(trials[0].label, "cublas");
  EXPECT_EQ(trials[1].label, kLabel);
  EXPECT_EQ(trials[1].verdict.error, 0.002);
  EXPECT_FALSE(trials[1].energy);
  ASSERT_THAT(trials[0].samples, SizeIs(2));
  EXPECT_EQ(trials[0].samples[1].round, 2);
  EXPECT_EQ(trials[0].samples[1].pace, Pace::kShared);
  EXPECT_EQ(trials[0].samples[1].launches, 40);
  EXPECT_EQ(trials[0].samples[1].time_us, 101);
  EXPECT_EQ(trials[0].samples[1].sm_mhz, 1750);
  EXPECT_FALSE(trials[0].samples[1].power_w);
  ASSERT_THAT(races[1].race.trials, SizeIs(1));
  EXPECT_EQ(races[1].race.trials[0].status, Status::kWrongResult);
  EXPECT_EQ(races[1].race.trials[0].verdict.message, "a NaN");
}

TEST_F(MigrationTest, AMigratedDatabaseIsGoneOnWith) {
  Store store = open();
  store.record(4, std::vector{weighed(trial(kLabel, {sample(0, 5.0)}))});
  store.record(race(store, environment(), Regime::kBurst), std::vector{trial(kOther)});
  const auto races = store.races();
  ASSERT_THAT(races, SizeIs(3));
  EXPECT_THAT(races[1].race.trials.at(0).samples, SizeIs(1));
  EXPECT_EQ(races[2].race.regime, Regime::kBurst);
  EXPECT_THROW(store.record(7, std::vector{trial(kLabel)}), Error) << "no such race";
}

TEST_F(MigrationTest, AnOldDatabaseIsReadWithoutBeingTouched) {
  const std::string before = bytes();
  std::vector<RecordedRace> read;
  {
    Store store = open(Store::Mode::kReadOnly);
    read = store.races();
    EXPECT_THROW(store.record(1, std::vector{trial(kOther)}), Error) << "it would be lost";
  }
  EXPECT_EQ(bytes(), before);
  EXPECT_THAT(files(), ElementsAre("tune.db"));
  const auto migrated = open().races();
  ASSERT_THAT(read, SizeIs(2));
  ASSERT_THAT(migrated, SizeIs(2));
  for (int i : {0, 1}) {
    EXPECT_EQ(read[i].uid, migrated[i].uid);
    EXPECT_THAT(read[i].race.trials, SizeIs(migrated[i].race.trials.size()));
  }
}

TEST_F(MigrationTest, CopiesThatAreMigratedApartHoldTheSameRaces) {
  make_v1(folder_ / "copy.db");
  { Store copy = open("copy.db"); }
  Store store = open();
  const auto added = store.add_all(open("copy.db", Store::Mode::kReadOnly));
  EXPECT_EQ(added.races + added.trials + added.samples, 0);
  EXPECT_THAT(store.races(), SizeIs(2));
}

TEST_F(MigrationTest, AMigrationThatFailsHalfWayLeavesTheOldDatabase) {
  const std::string before = bytes();
  const auto child = [&] {
    const FullDisk full(20'000);
    open();
  };
  EXPECT_EXIT(run_and_exit(child), ::testing::ExitedWithCode(1), "the disk is full or failing");
  EXPECT_EQ(bytes(), before);
  EXPECT_THAT(open().races(), SizeIs(2));
}

class MigrationOfV2Test : public MigrationTest {
 protected:
  /// Those that are as they were; config, shape and race have been given more columns.
  inline static const std::vector<std::string> kTables = {
      "environment", "run", "candidate", "build", "trial", "sample", "energy", "attempt"};
  static std::vector<std::string> of_full_effort(std::vector<std::string> races) {
    for (std::string& race : races) race += "full|";
    return races;
  }
  static std::vector<std::string> with_leading_dimensions(const std::vector<std::string>& shapes) {
    std::vector<std::string> rows;
    for (const std::string& shape : shapes) {  // id|m|n|k|dtype|layout|
      std::vector<std::string> fields;
      std::istringstream text(shape);
      for (std::string field; std::getline(text, field, '|');) fields.push_back(field);
      rows.push_back(fmt::format("{}{}|{}|{}|", shape, fields.at(3), fields.at(3), fields.at(2)));
    }
    return rows;
  }

  /// Of a sound database in which none of these tables is empty.
  std::vector<std::string> rows(const std::vector<std::string>& tables) {
    std::vector<std::string> rows;
    SQLite::Database db(db_.string());
    for (const std::string& table : tables) {
      const auto of_table = lines(db, "SELECT * FROM " + table + " ORDER BY 1, 2");
      EXPECT_THAT(of_table, Not(IsEmpty())) << table;
      rows.insert(rows.end(), of_table.begin(), of_table.end());
    }
    EXPECT_THAT(lines(db, "PRAGMA integrity_check"), ElementsAre("ok|"));
    EXPECT_THAT(lines(db, "PRAGMA foreign_key_check"), IsEmpty());
    return rows;
  }

  void SetUp() override { make(db_, "schema_v2.sql", kContentV2); }
};

TEST_F(MigrationOfV2Test, ItsSchemaIsTheOneOfANewDatabase) {
  { Store migrated = open(); }
  { Store fresh = open("fresh.db"); }
  EXPECT_EQ(schema_of(db_), schema_of(folder_ / "fresh.db"));
}

TEST_F(MigrationOfV2Test, EverythingIsKept) {
  const std::vector<std::string> before = rows(kTables);
  const std::vector<std::string> shapes = with_leading_dimensions(rows({"shape"}));
  const std::vector<std::string> races = of_full_effort(rows({"race"}));
  { Store store = open(); }
  EXPECT_EQ(rows(kTables), before);
  EXPECT_EQ(rows({"shape"}), shapes);
  EXPECT_EQ(rows({"race"}), races);
  EXPECT_THAT(rows({"config"}),
              ElementsAre("2|128|128|64|4|1|1|coop|2|1|linear|tma|persist|bf16||"));

  const Store store = open();
  EXPECT_THAT(store.races(), SizeIs(1));
  EXPECT_THAT(store.fatal_attempts(environment(),
                                   {.m = 64, .n = 128, .k = 256, .dtype = Dtype::kFp16, .tag = ""}),
              SizeIs(1));
}

TEST_F(MigrationOfV2Test, StudiesAndFp32ShapesCanBeAdded) {
  {
    Store store = open();
    Study study;
    study.kind = StudyKind::kLadder;
    study.label = "naive";
    study.shape = kShape;
    store.record_study(store.begin_run(environment(), "hgemm-tune ladder"), study);
    EXPECT_THAT(store.studies(StudyKind::kLadder), SizeIs(1));
  }
  SQLite::Database db(db_.string(), SQLite::OPEN_READWRITE);
  db.exec(
      "INSERT INTO shape (m, n, k, dtype, layout, lda, ldb, ldd) "
      "VALUES (64, 64, 64, 'fp32', 'TN', 64, 64, 64)");
  EXPECT_THROW(db.exec("INSERT INTO shape (m, n, k, dtype, layout, lda, ldb, ldd) "
                       "VALUES (64, 64, 64, 'fp8', 'TN', 64, 64, 64)"),
               SQLite::Exception);
}

/// Beside what version 2 has, configs with every word of version 3, and studies.
constexpr const char* kContentV3 = R"sql(
INSERT INTO candidate VALUES
  (3, 'bm64.bn72.bk32.q7.c1x2.coop1.d0.group16.direct.single.fp16'),
  (7, 'bm256.bn192.bk64.q3.c2x1.coop2.d1.hilbert.tma.persist.bf16');
INSERT INTO config VALUES (3, 64, 72, 32, 7, 1, 2, 1, 0, 'group16', 'direct', 0, 'fp16'),
                          (7, 256, 192, 64, 3, 2, 1, 2, 1, 'hilbert', 'tma', 1, 'bf16');
INSERT INTO build VALUES (2, 7, 'k1', 'nvrtc 13.0', '-O3', 'c2', 168, 0, 16, 200000, 912.5);
INSERT INTO shape VALUES (6, 64, 64, 64, 'fp32', 'TN');
INSERT INTO study VALUES (1, 'fedcba9876543210fedcba9876543210', 1, 'ladder', 'cuda_core.01', 6,
                          'c3', 'ok', '', 1, 0.5, 1.0, '', '2026-11-20T10:01:00Z');
)sql";

class MigrationOfV3Test : public MigrationOfV2Test {
 protected:
  void SetUp() override {
    make(db_, "schema_v3.sql", (std::string(kContentV2) + kContentV3).c_str());
  }
};

TEST_F(MigrationOfV3Test, ItsSchemaIsTheOneOfANewDatabase) {
  { Store migrated = open(); }
  { Store fresh = open("fresh.db"); }
  EXPECT_EQ(schema_of(db_), schema_of(folder_ / "fresh.db"));
}

TEST_F(MigrationOfV3Test, ConfigsAreGivenTheAxesThatTheyHadNot) {
  std::vector<std::string> tables = kTables;
  tables.push_back("study");
  const std::vector<std::string> before = rows(tables);
  const std::vector<std::string> shapes = with_leading_dimensions(rows({"shape"}));
  const std::vector<std::string> races = of_full_effort(rows({"race"}));
  { Store store = open(); }
  EXPECT_EQ(rows(tables), before);
  EXPECT_EQ(rows({"shape"}), shapes);
  EXPECT_EQ(rows({"race"}), races);
  EXPECT_THAT(rows({"config"}),
              ElementsAre("2|128|128|64|4|1|1|coop|2|1|linear|tma|persist|bf16||",
                          "3|64|72|32|7|1|2|coop|1|0|group16|direct|single|fp16||",
                          "7|256|192|64|3|2|1|coop|2|1|hilbert|tma|persist|bf16||"));
}

// What the label says is what a config that is recorded today has in its columns.
TEST_F(MigrationOfV3Test, TheColumnsAreWhatTheLabelsSay) {
  make(folder_ / "old.db", "schema_v3.sql", (std::string(kContentV2) + kContentV3).c_str());
  const auto configs = [](const fs::path& path) {
    SQLite::Database db(path.string());
    return lines(db,
                 "SELECT label, config.* FROM config JOIN candidate ON id = candidate_id "
                 "ORDER BY label");
  };
  const auto columns = [](std::vector<std::string> lines) {  // without the row's number
    for (std::string& line : lines)
      line = std::regex_replace(line, std::regex("^([^|]*\\|)\\d+"), "$1");
    return lines;
  };
  { Store store = open("old.db"); }
  {
    Store store = open("new.db");
    store.record(race(store),
                 std::vector{trial("bm64.bn72.bk32.q7.c1x2.coop1.d0.group16.direct.single.fp16"),
                             trial("bm256.bn192.bk64.q3.c2x1.coop2.d1.hilbert.tma.persist.bf16"),
                             trial(kLabel)});
  }
  EXPECT_EQ(columns(configs(folder_ / "old.db")), columns(configs(folder_ / "new.db")));
}

TEST_F(MigrationOfV3Test, ConfigsWithNewWordsCanBeAdded) {
  Store store = open();
  const std::string label = "bm128.bn176.bk64.q4.c2x1.pp2.d1.nsnake8.tma.persist.bf16.afirst.p128";
  store.record(race(store), std::vector{trial(label)});
  EXPECT_THAT(store.races(), SizeIs(2));
}

/// Every kind of study, with a figure of each sort.
constexpr const char* kContentV4 = R"sql(
INSERT INTO environment VALUES
  (1, 'NVIDIA H200', 'GPU-1', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '580.1', '13.0',
   '13.1.0', '13.0', 'k1', 'abc');
INSERT INTO run VALUES (1, 1, '2026-11-20T10:00:00Z', 'hgemm-tune ladder');
INSERT INTO shape VALUES (5, 2048, 4096, 512, 'bf16', 'TN'), (6, 64, 64, 64, 'fp32', 'TN');
INSERT INTO study VALUES
  (1, 'fedcba9876543210fedcba9876543210', 1, 'ladder', 'cuda_core.01', 6, 'c3', 'ok', '', 1, 0.5,
   1.0, '', '2026-11-20T10:01:00Z'),
  (2, 'edcba9876543210fedcba9876543210f', 1, 'micro', 'mbarrier', NULL, 'c4', 'ok', '', NULL, NULL,
   NULL, NULL, '2026-11-20T10:02:00Z'),
  (7, 'dcba9876543210fedcba9876543210fe', 1, 'probe', 'p', 5, 'c5', 'wrong_result', 'why', 0, NULL,
   0.1, 'a NaN', '2026-11-20T10:03:00Z'),
  (8, 'cba9876543210fedcba9876543210fed', 1, 'counters', 'cublas', 5, '', 'ok', '', NULL, NULL,
   NULL, NULL, '2026-11-20T10:04:00Z');
INSERT INTO micro VALUES (2, 'cycles', 'clk', 5, 4, 6, 7);
INSERT INTO cycle VALUES (7, 'consumer', 'mma', 'k_block', 3, 9.5);
INSERT INTO span VALUES (7, 1, 2, 'consumer', 'mma', -1, 0.5, 1.5);
INSERT INTO counter VALUES (8, 'l2_hit_rate', '%', 87.5, 'lts');
INSERT INTO ladder (study_id, label, round, pace, launches, time_us, sm_mhz, power_w, temperature_c,
                    clock_events)
  VALUES (1, 'step', 0, 'rested', 4, 100.5, 1755.5, 400.5, 50, 4),
         (1, 'step', 1, 'rested', 4, 101.5, 1750.5, NULL, NULL, NULL),
         (1, 'cublas', 0, 'rested', 40, 10.5, 1700, NULL, NULL, NULL);
)sql";

class MigrationOfV4Test : public MigrationOfV2Test {
 protected:
  void SetUp() override { make(db_, "schema_v4.sql", kContentV4); }
};

TEST_F(MigrationOfV4Test, ItsSchemaIsTheOneOfANewDatabase) {
  { Store migrated = open(); }
  { Store fresh = open("fresh.db"); }
  EXPECT_EQ(schema_of(db_), schema_of(folder_ / "fresh.db"));
}

TEST_F(MigrationOfV4Test, StudiesAndTheirFiguresAreKept) {
  const std::vector<std::string> tables = {"environment", "run",  "study",  "micro",
                                           "cycle",       "span", "counter"};
  const std::vector<std::string> shapes = with_leading_dimensions(rows({"shape"}));
  std::vector<std::string> before = rows(tables);
  for (const std::string& line : rows({"ladder"})) before.push_back(line);
  { Store store = open(); }
  std::vector<std::string> after = rows(tables);
  for (const std::string& line : rows({"study_sample"})) after.push_back(line);
  EXPECT_EQ(after, before);
  EXPECT_EQ(rows({"shape"}), shapes);

  const Store store = open(Store::Mode::kReadOnly);
  const auto ladders = store.studies(StudyKind::kLadder);
  ASSERT_THAT(ladders, SizeIs(1));
  EXPECT_THAT(ladders[0].study.samples, SizeIs(2));
  EXPECT_EQ(ladders[0].study.samples[1].time_us, 101.5);
  EXPECT_THAT(ladders[0].study.cublas_samples, SizeIs(1));
  EXPECT_EQ(store.studies(StudyKind::kProbe).at(0).study.verdict.message, "a NaN");
}

TEST_F(MigrationOfV4Test, ChainsCanBeAdded) {
  Store store = open();
  Study study;
  study.kind = StudyKind::kChain;
  study.label = "chain";
  study.links = {{kShape, kLabel, kOther}};
  store.record_study(store.begin_run(environment(), "hgemm-tune chain"), study);
  EXPECT_THAT(store.studies(StudyKind::kChain).at(0).study.links, SizeIs(1));
}

}  // namespace
}  // namespace hgemm::test
