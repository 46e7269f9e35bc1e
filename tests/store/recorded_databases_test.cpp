// Databases that were recorded by older versions of the program open in this one, with all that was
// measured.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "results/best.h"
#include "tests/store/old_databases.h"
#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::Lt;
using ::testing::StartsWith;

namespace fs = std::filesystem;

struct Counts {
  int environments = 0, races = 0, trials = 0, samples = 0, energies = 0;
  int problems = 0;   ///< that are raced
  int best_rows = 0;  ///< problems and regimes that a config was raced at
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& c, std::ostream* out) {
  *out << fmt::format(
      "{} environments, {} races, {} trials, {} samples, {} energies, {} problems, {} best rows",
      c.environments, c.races, c.trials, c.samples, c.energies, c.problems, c.best_rows);
}

/// By SQL, of a file of any version. Cards and states of the program are no environments.
Counts counted(const fs::path& path) {
  SQLite::Database db(path.string());
  const std::string problem = db.tableExists("shape") ? "shape_id" : "problem_id";
  const auto count = [&](const std::string& what) {
    return db.execAndGet("SELECT COUNT(*) FROM " + what).getInt();
  };
  return {
      .environments = count("(SELECT DISTINCT gpu_name, compute_major, compute_minor, sm_count, "
                            "l2_bytes, memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, "
                            "cublas FROM environment)"),
      .races = count("race"),
      .trials = count("trial"),
      .samples = count("sample"),
      .energies = count("energy"),
      .problems = count("(SELECT DISTINCT " + problem + " FROM race)"),
      .best_rows = count("(SELECT DISTINCT " + problem +
                         ", regime FROM race JOIN trial ON race_id = race.id JOIN candidate "
                         "ON candidate.id = candidate_id WHERE label NOT LIKE 'cublas%')")};
}

/// As the program reads it.
Counts counted(const Store& store) {
  Counts counts{.environments = static_cast<int>(store.environments().size())};
  const auto races = store.races();
  std::set<std::string> problems;
  for (const RecordedRace& recorded : races) {
    ++counts.races;
    problems.insert(to_string(recorded.race.problem));
    for (const Trial& trial : recorded.race.trials) {
      ++counts.trials;
      counts.samples += static_cast<int>(trial.samples.size());
      counts.energies += trial.energy ? 1 : 0;
    }
  }
  counts.problems = static_cast<int>(problems.size());
  counts.best_rows = static_cast<int>(best_rows(races).size());
  return counts;
}

fs::path recorded_folder() { return fs::path(HGEMM_SOURCE_DIR) / "results/h200"; }

/// A database of results/, or one that was there once.
fs::path path_of(const std::string& name) {
  const fs::path recorded = recorded_folder() / name;
  return fs::exists(recorded) ? recorded : fs::path(HGEMM_SOURCE_DIR) / "tests/data" / name;
}

/// All that this version would migrate.
std::vector<std::string> old_databases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(recorded_folder())) {
    if (entry.path().extension() != ".db") continue;
    // Immutable: nothing is written beside the file.
    SQLite::Database db("file:" + entry.path().string() + "?immutable=1",
                        SQLite::OPEN_READONLY | SQLite::OPEN_URI);
    if (version_of(db) < kPresentVersion) names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::string name_of_test(const ::testing::TestParamInfo<std::string>& info) {
  return std::regex_replace(info.param.substr(0, info.param.find('.')), std::regex("-"), "_");
}

class RecordedDatabaseTest : public StoreTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    fs::copy_file(path_of(GetParam()), db_);
    SQLite::Database db(db_.string());
    version_ = version_of(db);
    ASSERT_THAT(version_, Lt(kPresentVersion)) << "choose one that is to be migrated";
  }

  int version_ = 0;
};

TEST_P(RecordedDatabaseTest, HoldsWhatItHeldWhenItIsRead) {
  const Counts before = counted(db_);
  const std::string file = bytes();
  const Store store = open(Store::Mode::kReadOnly);
  EXPECT_EQ(counted(store), before);
  EXPECT_EQ(bytes(), file);
}

TEST_P(RecordedDatabaseTest, CandidatesAndKernelsAreNamedAsTheyAreToday) {
  const Store store = open(Store::Mode::kReadOnly);
  const std::regex old_field(R"(\.(bf16|fp16|late|swap\d|vec\d|for\d+x\d+x\d+)(\.|$))");
  std::set<std::string> labels;
  for (const RecordedRace& recorded : store.races()) {
    EXPECT_THAT(recorded.run.gpu_uuid, StartsWith("GPU-"));
    for (const Trial& trial : recorded.race.trials) {
      labels.insert(trial.label);
      if (version_ >= 7) continue;  // has the kernels themselves
      EXPECT_EQ(trial.kernel_id,
                is_baseline(trial.label) ? "" : "sources:" + recorded.run.kernel_sources);
    }
  }
  for (const std::string& text : labels) {
    if (is_baseline(text)) continue;
    EXPECT_FALSE(std::regex_search(text, old_field)) << text;
    EXPECT_NO_THROW(EXPECT_EQ(label(parse_label(text)), text)) << text;
  }
  for (const BuildFacts& build : store.builds()) {
    if (version_ < 7) {
      EXPECT_THAT(build.kernel_id, StartsWith("sources:"));
    }
    const std::string config = build.name.substr(0, build.name.find(" of "));
    EXPECT_NO_THROW(EXPECT_EQ(label(parse_label(config)), config)) << build.name;
  }
  EXPECT_TRUE(!labels.empty() || counted(db_).trials == 0);
}

INSTANTIATE_TEST_SUITE_P(Recorded, RecordedDatabaseTest, ::testing::ValuesIn(old_databases()),
                         name_of_test);

class MigratedDatabaseTest : public RecordedDatabaseTest {};

TEST_P(MigratedDatabaseTest, HoldsWhatItHeldWhenItIsMigrated) {
  const Counts before = counted(db_);
  const Content content = content_of_old(db_);
  {
    const Store store = open();
    EXPECT_EQ(counted(store), before);
  }
  EXPECT_EQ(counted(db_), before);
  const Content migrated = content_of_migrated(db_, version_);
  for (const auto& [name, rows] : content) EXPECT_TRUE(rows == migrated.at(name)) << name;
  { Store fresh = open("fresh.db"); }
  EXPECT_EQ(schema_of(db_), schema_of(folder_ / "fresh.db"));
}

// A migration that is made twice names every race as it named it before.
TEST_P(MigratedDatabaseTest, CopiesAreMergedOnce) {
  fs::copy_file(db_, folder_ / "copy.db");
  Store store = open();
  const auto added = store.add_all(open("copy.db", Store::Mode::kReadOnly));
  EXPECT_EQ(added.races + added.trials + added.samples + added.studies, 0);
}

/// One of each version since the third, with energies, rows that are not aligned, several
/// environments, and studies.
INSTANTIATE_TEST_SUITE_P(Recorded, MigratedDatabaseTest,
                         ::testing::Values("repeat-a.db", "hundred.db", "rows.db", "staged.db",
                                           "decode.db", "studies.db", "sms.db"),
                         name_of_test);

}  // namespace
}  // namespace hgemm::test
