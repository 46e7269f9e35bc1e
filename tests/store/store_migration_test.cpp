// Databases of schema versions 1 to 7 are brought to the present one, and lose nothing.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/structure.h"
#include "studies/chain/chain.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/ladder.h"
#include "studies/micro/points.h"
#include "studies/probe/cycles.h"
#include "tests/store/old_databases.h"
#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

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

/// Every table, every kind of label that is written otherwise today, padded rows; cards, revisions
/// and kernels that made environments of their own.
constexpr const char* kContentV6 = R"sql(
INSERT INTO environment VALUES
  (1, 'NVIDIA H200', 'GPU-1', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '580.1', '13.0',
   '13.1.0', '13.0', 'k1', 'abc'),
  (2, 'NVIDIA H200', 'GPU-2', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '580.1', '13.0',
   '13.1.0', '13.0', 'k2', 'def'),
  (3, 'NVIDIA H200', 'GPU-1', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '590.2', '13.0',
   '13.1.0', '13.0', 'k2', 'def');
INSERT INTO run VALUES (1, 1, '2026-11-20T10:00:00Z', 'hgemm-tune --shapes a'),
                       (2, 2, '2026-11-20T11:00:00Z', 'hgemm-tune --shapes b'),
                       (5, 3, '2026-11-20T12:00:00Z', 'hgemm-tune --shapes b');
INSERT INTO shape VALUES (1, 2048, 4096, 512, 'bf16', 'TN', 512, 512, 4096),
                         (2, 512, 512, 512, 'fp16', 'TN', 520, 512, 512),
                         (3, 64, 64, 64, 'fp32', 'TN', 64, 64, 64);
INSERT INTO candidate VALUES
  (1, 'cublas'),
  (2, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16'),
  (3, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.fp16'),
  (4, 'bm128.bn192.bk64.q4.c2x1.coop2.d0.group8.late.persist.bf16'),
  (5, 'bm8.bn64.bk128.q10.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128.pdl'),
  (6, 'bm1.bn16.bk1024.q2.c1x1.vec2.d1.linear.direct.csplit4.bf16.pdl'),
  (8, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16.for2048x4096x512'),
  (9, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.fp16.for512x512x512');
INSERT INTO config
  SELECT id, 1, 1, 1, 1, 1, 1, 'x', 1, 1, 'x', 'x', 'x', 'bf16', '' FROM candidate WHERE id > 1;
INSERT INTO build VALUES
  (1, 2, 'k1', 'nvrtc 13.0', '-O3', 'c1', 168, 0, 16, 200000, 812.5),
  (2, 3, 'k1', 'nvrtc 13.0', '-O3', 'c2', 168, 0, 16, 200000, 812.5),
  (3, 8, 'k2', 'nvrtc 13.0', '-O3', 'c3', 168, 0, 16, 200000, 812.5),
  (4, 9, 'k3', 'nvrtc 13.0', '-O3', 'c4', 168, 0, 16, 200000, 812.5);
INSERT INTO race VALUES
  (1, '0123456789abcdef0123456789abcdef', 1, 1, 'burst', 0, 1, 0, 'prefill/o', 32.0,
   '2026-11-20T10:00:05Z', 'full'),
  (2, '1123456789abcdef0123456789abcdef', 2, 2, 'sustained', 1, 1, 1, '', 1.0,
   '2026-11-20T11:00:05Z', 'brief');
INSERT INTO trial VALUES (1, 1, 1, 'final', 'ok', '', 1, 0.001, 0.01, ''),
                         (2, 1, 2, 'final', 'ok', '', 1, 0.002, 0.01, ''),
                         (3, 1, 4, 'screen', 'ok', '', 1, 0.002, 0.01, ''),
                         (4, 1, 5, 'none', 'timed_out', 'why', 0, NULL, 0.01, ''),
                         (5, 1, 6, 'final', 'ok', '', 1, 0.002, 0.01, ''),
                         (6, 1, 8, 'final', 'ok', '', 1, 0.002, 0.01, ''),
                         (7, 2, 3, 'final', 'ok', '', 1, 0.002, 0.01, ''),
                         (8, 2, 9, 'final', 'ok', '', 1, 0.002, 0.01, '');
INSERT INTO sample (trial_id, round, pace, launches, time_us, sm_mhz, power_w, temperature_c,
                    clock_events)
  VALUES (1, 1, 'rested', 40, 100.0, 1755.5, 400.5, 50, 4), (2, 1, 'own', 41, 90.25, 1700, NULL,
                                                              NULL, NULL);
INSERT INTO energy (trial_id, window_s, power_w, time_us) VALUES (2, 2.1, 690.0, 91.0);
INSERT INTO attempt VALUES (5, 2, 9, 'the boot before', '2026-11-20T12:00:06Z');
INSERT INTO study VALUES
  (1, 'fedcba9876543210fedcba9876543210', 1, 'chain', 'chain.m1', NULL, 'c3', 'ok', '', 1, 0.5, 1.0,
   '', '2026-11-20T10:01:00Z'),
  (2, 'edcba9876543210fedcba9876543210f', 1, 'micro', 'mbarrier', NULL, 'c4', 'ok', '', NULL, NULL,
   NULL, NULL, '2026-11-20T10:02:00Z'),
  (7, 'dcba9876543210fedcba9876543210fe', 2, 'probe',
   'bm128.bn192.bk64.q4.c2x1.coop2.d0.group8.late.persist.bf16.probe1', 1, 'c5', 'ok', '', NULL,
   NULL, NULL, NULL, '2026-11-20T10:03:00Z');
INSERT INTO micro VALUES (2, 'cycles', 'clk', 5, 4, 6, 7);
INSERT INTO cycle VALUES (7, 'consumer', 'mma', 'k_block', 3, 9.5),
                         (7, 'consumer', 'never', 'tile', 0, 0.0);
INSERT INTO counter VALUES (7, 'l2_hit_rate', '%', 87.5, 'lts');
INSERT INTO span VALUES (7, 1, 2, 'consumer', 'mma', -1, 0.5, 1.5);
INSERT INTO link VALUES
  (1, 0, 1, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16',
   'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16.pdl'),
  (1, 1, 3, 'cublas', 'bm8.bn64.bk128.q10.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128.pdl');
INSERT INTO study_sample (study_id, label, round, pace, launches, time_us, sm_mhz, power_w,
                          temperature_c, clock_events)
  VALUES (1, 'pdl_off', 0, 'rested', 4, 100.5, 1755.5, 400.5, 50, 4),
         (1, 'pdl_on', 0, 'rested', 4, 101.5, 1750.5, NULL, NULL, NULL),
         (1, 'cublas', 0, 'rested', 40, 10.5, 1700, NULL, NULL, NULL);
)sql";

/// Every table, with what no checksum says yet.
constexpr const char* kContentV7 = R"sql(
INSERT INTO environment VALUES
  (1, 'NVIDIA H200', 9, 0, 132, 62914560, 150754820096, 1980, 700.0, '580.1', '13.0', '13.1.0');
INSERT INTO run VALUES (1, 1, 'GPU-1', 'node1', 'abc', 'k1', '2026-11-23T10:00:00Z', 'hgemm-tune');
INSERT INTO problem VALUES (1, '2048x4096x512', 2048, 4096, 512, 'bf16', 'bf16', 'bf16', 'none',
                            'fp32', 'TN', 512, 512, 4096, 1, 'none', 'plain');
INSERT INTO candidate VALUES (1, 'cublas'),
                             (2, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist');
INSERT INTO kernel VALUES (1, 'c1'), (2, 'source:s2');
INSERT INTO build VALUES (1, 'bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist of bf16', 1, 's1',
                          'nvrtc 13.0', '-O3', 168, 0, 16, 200000, 812.5);
INSERT INTO race (id, uid, run_id, problem_id, regime, cold, graph, pdl, effort, tag, weight,
                  started_utc)
  VALUES (1, '0123456789abcdef0123456789abcdef', 1, 1, 'burst', 0, 1, 0, 'brief',
                         'prefill/o', 32.0, '2026-11-23T10:00:05Z');
INSERT INTO trial VALUES (1, 1, 1, NULL, 'final', 'ok', '', 1, 0.001, 0.01, ''),
                         (2, 1, 2, 1, 'final', 'ok', '', 1, NULL, 0.01, '');
INSERT INTO sample (trial_id, round, pace, launches, time_us, sm_mhz, power_w, temperature_c,
                    clock_events)
  VALUES (1, 1, 'rested', 40, 100.0, 1755.5, 400.5, 50, 4), (2, 1, 'own', 41, 90.25, 1700, NULL,
                                                              NULL, NULL);
INSERT INTO energy (trial_id, window_s, power_w, time_us) VALUES (2, 2.1, 690.0, 91.0);
INSERT INTO attempt VALUES (1, 1, 2, 2, 'the boot before', '2026-11-23T10:00:06Z');
INSERT INTO study (id, uid, run_id, kind, label, problem_id, kernel, status, message, correct, error,
                   tolerance, verdict_message, started_utc) VALUES
  (1, 'fedcba9876543210fedcba9876543210', 1, 'chain', 'chain.m1', NULL, 'c3', 'ok', '', 1, 0.5, 1.0,
   '', '2026-11-23T10:01:00Z');
INSERT INTO figure VALUES (1, 1, '', 'cycles', 'clk', 5, 4, 6, 7);
INSERT INTO span VALUES (1, 1, 2, 'consumer', 'mma', -1, 0.5, 1.5);
INSERT INTO part VALUES (1, 0, 'pdl_off', 1, 'cublas'), (1, 0, 'pdl_on', 1, 'cublas');
INSERT INTO study_sample (study_id, series, round, pace, launches, time_us, sm_mhz, power_w,
                          temperature_c, clock_events)
  VALUES (1, 'pdl_off', 0, 'rested', 4, 100.5, 1755.5, 400.5, 50, 4);
)sql";

/// The kernel that configs of databases before version 7 are said to be of.
const std::string kOldKernel = "sources:k1";

struct OldVersion {
  int version;
  std::string content;
  std::string schema() const { return fmt::format("schema_v{}.sql", version); }
};
const std::vector<OldVersion> kVersions = {
    {1, kContent},   {2, kContentV2}, {3, std::string(kContentV2) + kContentV3},
    {4, kContentV4}, {6, kContentV6}, {7, kContentV7},
    {8, kContentV7}, {9, kContentV7}};

void make_version(const fs::path& path, int version) {
  for (const OldVersion& old : kVersions) {
    if (old.version == version) make_database(path, old.schema(), old.content);
  }
}

// ---- Of every version ----

class MigrationOfAnyTest : public StoreTest, public ::testing::WithParamInterface<OldVersion> {
 protected:
  void SetUp() override { make_version(db_, GetParam().version); }
};

TEST_P(MigrationOfAnyTest, ItsSchemaIsTheOneOfANewDatabase) {
  { Store migrated = open(); }
  { Store fresh = open("fresh.db"); }
  const auto expected = schema_of(folder_ / "fresh.db");
  EXPECT_THAT(expected, Contains(HasSubstr("table_xinfo")));
  EXPECT_EQ(schema_of(db_), expected);
}

TEST_P(MigrationOfAnyTest, ItsTablesAreKnown) {
  SQLite::Database db(db_.string());
  EXPECT_EQ(wrong_structure(db, GetParam().version), "")
      << "the structure's hash is " << structure_hash(db);
}

TEST_P(MigrationOfAnyTest, EverythingIsKept) {
  const Content before = content_of_old(db_);
  if (GetParam().version != 1 && GetParam().version != 3 &&
      GetParam().version != 4) {  // others have some empty tables
    for (const auto& [name, rows] : before) EXPECT_THAT(rows, Not(IsEmpty())) << name;
  }
  { Store store = open(); }
  EXPECT_EQ(content_of_migrated(db_, GetParam().version), before);
}

TEST_P(MigrationOfAnyTest, ItIsReadWithoutBeingTouched) {
  const std::string before = bytes();
  std::vector<RecordedRace> read;
  {
    Store store = open(Store::Mode::kReadOnly);
    read = store.races();
    EXPECT_THROW(store.begin_run(machine(), "hgemm-tune"), Error) << "it would be lost";
  }
  EXPECT_EQ(bytes(), before);
  EXPECT_THAT(files(), ElementsAre("tune.db"));
  const auto migrated = open().races();
  ASSERT_EQ(read.size(), migrated.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].uid, migrated[i].uid);
    EXPECT_EQ(read[i].run, migrated[i].run);
    EXPECT_THAT(read[i].race.trials, SizeIs(migrated[i].race.trials.size()));
  }
}

TEST_P(MigrationOfAnyTest, CopiesThatAreMigratedApartHoldTheSame) {
  make_version(folder_ / "copy.db", GetParam().version);
  { Store copy = open("copy.db"); }
  Store store = open();
  const std::size_t races = store.races().size();
  const auto added = store.add_all(open("copy.db", Store::Mode::kReadOnly));
  EXPECT_EQ(added.races + added.trials + added.samples + added.studies, 0);
  EXPECT_THAT(store.races(), SizeIs(races));
}

INSTANTIATE_TEST_SUITE_P(Version, MigrationOfAnyTest, ::testing::ValuesIn(kVersions),
                         [](const auto& info) { return std::to_string(info.param.version); });

// ---- Of version 1 ----

class MigrationTest : public StoreTest {
 protected:
  void SetUp() override { make_version(db_, 1); }
};

TEST_F(MigrationTest, RacesAndTrialsAreReadAsTheyWere) {
  { Store store = open(); }
  const Store store = open(Store::Mode::kReadOnly);
  EXPECT_THAT(store.environments(), ElementsAre(environment(), environment("590.2")));
  ASSERT_THAT(store.builds(), SizeIs(1));
  EXPECT_EQ(store.builds()[0].name, kLabel + " of bf16");
  EXPECT_EQ(store.builds()[0].registers, 168);
  EXPECT_THAT(store.finished(environment(), kProblem, Regime::kSustained),
              ElementsAre(TrialKernel{kLabel, kOldKernel}));

  const auto races = store.races();
  ASSERT_THAT(races, SizeIs(2));
  EXPECT_THAT(races[0].uid, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(races[1].uid, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(races[0].uid, races[1].uid);
  EXPECT_EQ(races[0].environment, environment());
  EXPECT_EQ(races[1].environment, environment("590.2"));
  RunInfo run = machine().run;
  run.host = "";  // was not noted
  EXPECT_EQ(races[0].run, run);
  EXPECT_EQ(races[0].command_line, "hgemm-tune --shapes a");
  EXPECT_EQ(races[0].started_utc, "2026-11-20T10:00:05Z");
  EXPECT_TRUE(races[0].race.problem.same_problem(kProblem));
  EXPECT_EQ(races[0].race.problem.tag, "prefill/o");
  EXPECT_EQ(races[0].race.problem.weight, 32);
  EXPECT_EQ(races[0].race.regime, Regime::kSustained);
  EXPECT_EQ(races[0].race.timing, (Timing{.cold = true, .graph = true, .pdl = false}));
  EXPECT_FALSE(races[1].race.timing.cold) << "512 sets of 64x64x64 are less than 3x L2";

  const auto& trials = races[0].race.trials;
  ASSERT_THAT(trials, SizeIs(2));
  EXPECT_EQ(trials[0].label, "cublas");
  EXPECT_EQ(trials[0].kernel_id, "");
  EXPECT_EQ(trials[1].label, kLabel);
  EXPECT_EQ(trials[1].kernel_id, kOldKernel);
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
  store.record(race(store, machine(), Regime::kBurst), std::vector{trial(kOther)});
  const auto races = store.races();
  ASSERT_THAT(races, SizeIs(3));
  EXPECT_THAT(races[1].race.trials, SizeIs(1)) << "its label is the one of today";
  EXPECT_THAT(races[1].race.trials.at(0).samples, SizeIs(1));
  EXPECT_EQ(races[2].race.regime, Regime::kBurst);
  EXPECT_THAT(store.environments(), SizeIs(2));
  EXPECT_THROW(store.record(7, std::vector{trial(kLabel)}), Error) << "no such race";
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

// ---- Of version 2 ----

class MigrationOfV2Test : public StoreTest {
 protected:
  void SetUp() override { make_version(db_, 2); }
};

TEST_F(MigrationOfV2Test, AnAttemptIsKnownByItsKernel) {
  const Store store = open();
  EXPECT_THAT(store.races(), SizeIs(1));
  GemmProblem fp16{.m = 64, .n = 128, .k = 256, .tag = ""};
  fp16.set_types(DataType::kFp16);
  EXPECT_THAT(store.fatal_attempts(environment(), fp16),
              ElementsAre(TrialKernel{kLabel, kOldKernel}));
}

TEST_F(MigrationOfV2Test, StudiesAndFp32ProblemsCanBeAdded) {
  Study study;
  study.kind = kLadderStudy;
  study.label = "naive";
  study.problem = kProblem;
  study.problem->set_types(DataType::kFp32);
  {
    Store store = open();
    store.record_study(store.begin_run(machine(), "hgemm-tune ladder"), study);
  }
  const auto read = open(Store::Mode::kReadOnly).studies(kLadderStudy);
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_TRUE(read[0].study.problem->same_problem(*study.problem));
}

// ---- Of version 3 ----

class MigrationOfV3Test : public StoreTest {
 protected:
  void SetUp() override { make_version(db_, 3); }
};

TEST_F(MigrationOfV3Test, LabelsAreWrittenAsTheyAreToday) {
  Store store = open();
  const std::vector<std::string> labels = {"cublas", kLabel,
                                           "bm64.bn72.bk32.q7.c1x2.coop1.d0.group16.direct.single",
                                           "bm256.bn192.bk64.q3.c2x1.coop2.d1.hilbert.tma.persist"};
  std::vector<std::string> rows;
  for (const std::string& label : labels) rows.push_back(label + "|");
  SQLite::Database db(db_.string());
  const std::string query = "SELECT label FROM candidate ORDER BY rowid";
  EXPECT_THAT(lines(db, query), UnorderedElementsAreArray(rows));

  std::vector<Trial> today;
  for (const std::string& label : labels) today.push_back(trial(label));
  store.record(race(store), today);
  EXPECT_THAT(lines(db, query), UnorderedElementsAreArray(rows)) << "they are known";
}

TEST_F(MigrationOfV3Test, ConfigsWithNewWordsCanBeAdded) {
  Store store = open();
  const std::string label = "bm128.bn176.bk64.q4.c2x1.pp2.d1.nsnake8.tma.persist.afirst.p128";
  EXPECT_EQ(hgemm::label(parse_label(label)), label);
  store.record(race(store), std::vector{trial(label)});
  const auto races = store.races();
  ASSERT_THAT(races, SizeIs(2));
  EXPECT_EQ(races[1].race.trials.at(0).label, label);
}

// ---- Of version 4 ----

class MigrationOfV4Test : public StoreTest {
 protected:
  void SetUp() override { make_version(db_, 4); }
};

TEST_F(MigrationOfV4Test, StudiesAndTheirFindingsAreKept) {
  { Store store = open(); }
  const Store store = open(Store::Mode::kReadOnly);
  const auto ladders = store.studies(kLadderStudy);
  ASSERT_THAT(ladders, SizeIs(1));
  EXPECT_EQ(ladders[0].study.problem->a_type, DataType::kFp32);
  EXPECT_EQ(ladders[0].study.kernel_id, "c3");
  const auto& steps = ladders[0].study.samples(kStepSeries);
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_EQ(steps[1].time_us, 101.5);
  EXPECT_THAT(ladders[0].study.samples(kCublasLabel), SizeIs(1));

  const Study micro = store.studies(kMicroStudy).at(0).study;
  ASSERT_THAT(micro.figures, SizeIs(1));
  EXPECT_EQ(micro.figures[0].point, "");
  EXPECT_EQ(micro.figures[0].metric, "cycles");
  EXPECT_EQ(micro.figures[0].value, 5);
  EXPECT_EQ(micro.figures[0].low, 4);
  EXPECT_EQ(micro.figures[0].high, 6);
  EXPECT_EQ(micro.figures[0].samples, 7);

  const Study probe = store.studies(kProbeStudy).at(0).study;
  EXPECT_EQ(probe.verdict.message, "a NaN");
  const auto cycles = cycles_of(probe);
  ASSERT_THAT(cycles, SizeIs(1));
  EXPECT_EQ(cycles[0].role, "consumer");
  EXPECT_EQ(cycles[0].phase, "mma");
  EXPECT_EQ(cycles[0].unit, "k_block");
  EXPECT_EQ(cycles[0].count, 3);
  EXPECT_DOUBLE_EQ(cycles[0].cycles, 9.5);
  EXPECT_THAT(probe.spans, SizeIs(1));

  const Study counters = store.studies(kCountersStudy).at(0).study;
  const Figure* rate = find_figure(counters.figures, "lts", "l2_hit_rate");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->value, 87.5);
  EXPECT_EQ(rate->unit, "%");
}

TEST_F(MigrationOfV4Test, ChainsCanBeAdded) {
  Store store = open();
  Study study;
  study.kind = kChainStudy;
  study.label = "chain";
  study.parts = parts_of(std::vector<ChainLink>{{kProblem, kLabel, kOther}});
  store.record_study(store.begin_run(machine(), "hgemm-tune chain"), study);
  EXPECT_THAT(links_of(store.studies(kChainStudy).at(0).study.parts), SizeIs(1));
}

// ---- Of version 6 ----

class MigrationOfV6Test : public StoreTest {
 protected:
  void SetUp() override { make_version(db_, 6); }
};

TEST_F(MigrationOfV6Test, CardsAndRevisionsOfOneModelAreOneEnvironment) {
  const Store store = open();
  EXPECT_THAT(store.environments(), ElementsAre(environment(), environment("590.2")));
  const auto races = store.races(environment());
  ASSERT_THAT(races, SizeIs(2));
  EXPECT_EQ(
      races[0].run,
      (RunInfo{.gpu_uuid = "GPU-1", .host = "", .git_revision = "abc", .kernel_sources = "k1"}));
  EXPECT_EQ(
      races[1].run,
      (RunInfo{.gpu_uuid = "GPU-2", .host = "", .git_revision = "def", .kernel_sources = "k2"}));
  EXPECT_TRUE(races[1].race.timing.brief);
}

// The type and the extents of a problem were in the labels of its kernels.
TEST_F(MigrationOfV6Test, ConfigsAreTheSameWhateverTheyComputed) {
  const Store store = open();
  const std::string fixed = kLabel + ".fixed";
  const auto labels_of = [](const RecordedRace& race) {
    std::vector<std::string> labels;
    for (const Trial& trial : race.race.trials) labels.push_back(trial.label);
    return labels;
  };
  const auto races = store.races();
  EXPECT_THAT(
      labels_of(races.at(0)),
      ElementsAre("cublas", kLabel, "bm128.bn192.bk64.q4.c2x1.coop2.d0.group8.overlap.persist",
                  "swap_ab.bm8.bn64.bk128.q10.d1.tma.csplit2.p128.pdl",
                  "gemv.v1.r16.s1024.q2.w8.csplit4.pdl", fixed));
  EXPECT_THAT(labels_of(races.at(1)), ElementsAre(kLabel, fixed));
  for (const RecordedRace& race : races) {
    for (const Trial& trial : race.race.trials) {
      EXPECT_EQ(trial.kernel_id,
                is_baseline(trial.label) ? "" : "sources:" + race.run.kernel_sources);
    }
  }
  std::vector<std::string> builds;
  for (const BuildFacts& build : store.builds()) {
    builds.push_back(build.name + " from " + build.identity());
  }
  EXPECT_THAT(builds,
              ElementsAre(kLabel + " of bf16 from sources:k1", kLabel + " of fp16 from sources:k1",
                          fixed + " of bf16.2048x4096x512 from sources:k2",
                          fixed + " of fp16.512x512x512 from sources:k3"));
  // They are what a kernel is called today.
  EXPECT_EQ(builds[2], build_name(kernel_for(parse_label(fixed), kProblem)) + " from sources:k2");
}

TEST_F(MigrationOfV6Test, PaddedRowsAndChainsAreKept) {
  const Store store = open();
  GemmProblem padded{.m = 512, .n = 512, .k = 512, .lda = 520, .tag = ""};
  padded.set_types(DataType::kFp16);
  EXPECT_TRUE(store.races().at(1).race.problem.same_problem(padded));
  EXPECT_THAT(store.fatal_attempts(environment("590.2"), padded),
              ElementsAre(TrialKernel{kLabel + ".fixed", "sources:k2"}));

  const Study chain = store.studies(kChainStudy).at(0).study;
  const auto links = links_of(chain.parts);
  ASSERT_THAT(links, SizeIs(2));
  EXPECT_TRUE(links[0].problem.same_problem(kProblem));
  EXPECT_EQ(links[0].pdl_off, kLabel);
  EXPECT_EQ(links[0].pdl_on, kLabel + ".pdl");
  EXPECT_EQ(links[1].pdl_off, "cublas");
  EXPECT_EQ(links[1].pdl_on, "swap_ab.bm8.bn64.bk128.q10.d1.tma.csplit2.p128.pdl");
  for (const char* series : {kPdlOff, kPdlOn, "cublas"}) {
    EXPECT_THAT(chain.samples(series), SizeIs(1)) << series;
  }
  EXPECT_EQ(store.studies(kProbeStudy).at(0).study.label,
            "bm128.bn192.bk64.q4.c2x1.coop2.d0.group8.overlap.persist.probe1");
}

}  // namespace
}  // namespace hgemm::test
