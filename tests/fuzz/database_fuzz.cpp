// A database from someone else: opened for reading, read whole, and merged into one of our own.
// The input is one of
//   - a file: it begins as SQLite's do;
//   - "patch" and lines "<offset> <hex bytes>": written over a database that this program made;
//   - SQL, run on such a database by someone who means no good (a view in place of a table, ...).
#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <charconv>
#include <sstream>

#include "families/family.h"
#include "store/store.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hgemm;

Sample sample(int round) {
  return {.round = round,
          .pace = Pace::kShared,
          .launches = 10,
          .time_us = 100.0 + round,
          .sm_mhz = 1700,
          .power_w = 650,
          .temperature_c = 50,
          .clock_events = 4};
}

/// A race and a study, with something in every column.
void record_something(const std::string& path) {
  Store store = Store::open(path, Store::Mode::kReadWrite);
  Machine machine;
  machine.environment.gpu_name = "NVIDIA H200";
  machine.environment.sm_count = 132;
  machine.run = {
      .gpu_uuid = "GPU-1", .host = "node1", .git_revision = "abc", .kernel_sources = "k"};
  const std::int64_t run = store.begin_run(machine, "hgemm-tune tune");
  const GemmProblem problem{.m = 64, .n = 64, .k = 64, .weight = 2, .tag = "decode/qkv"};
  const std::int64_t race = store.begin_race(run, problem, Regime::kSustained, Timing{});
  Trial baseline{.label = "cublas",
                 .stage = Stage::kFinal,
                 .message = "",
                 .verdict = {},
                 .samples = {},
                 .energy = {}};
  baseline.samples = {sample(0), sample(1)};
  Trial trial = baseline;
  trial.label = label(TiledConfig{});
  trial.kernel_id = "0123456789abcdef0123456789abcdef";
  trial.verdict = {.correct = true, .error = 1e-3, .tolerance = 1e-2, .message = ""};
  trial.energy = Energy{.window_s = 2, .power_w = 690, .time_us = 100};
  store.record(race, std::vector{baseline, trial});
  store.record_build({.name = "a build",
                      .kernel_id = trial.kernel_id,
                      .source_key = "s",
                      .compiler = "nvrtc 13.0",
                      .flags = "-O3"});
  Study study{.kind = "micro",
              .label = "memory",
              .problem = problem,
              .kernel_id = trial.kernel_id,
              .message = "",
              .figures = {},
              .spans = {},
              .parts = {},
              .series = {},
              .verdict = {}};
  study.figures = {{.point = "p",
                    .metric = "bandwidth",
                    .unit = "TB/s",
                    .value = 4,
                    .low = 3,
                    .high = 5,
                    .samples = 3}};
  study.spans = {{.role = "producer", .phase = "wait", .end_ns = 10}};
  study.parts = {{.variant = "pdl_off", .problem = problem, .label = "cublas"}};
  study.series = {{.name = "step", .samples = {sample(0)}}};
  store.record_study(run, study);
}

/// A small database as bytes, closed in order.
std::string good_database(const fuzz::Scratch& scratch) {
  const std::string path = scratch.folder() / "good.db";
  record_something(path);
  {
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    db.exec("PRAGMA journal_mode=DELETE; PRAGMA page_size=512; VACUUM");
  }
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// "<offset> <hex>" lines written over the bytes.
std::string patched(std::string bytes, std::string_view patch) {
  std::istringstream lines{std::string(patch)};
  std::string line;
  while (std::getline(lines, line)) {
    std::size_t offset = 0;
    const char* at = line.data();
    const char* const end = at + line.size();
    at = std::from_chars(at, end, offset).ptr;
    if (at != end) ++at;
    for (; end - at >= 2; at += 2, ++offset) {
      unsigned byte = 0;
      if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) break;
      if (offset < bytes.size()) bytes[offset] = static_cast<char>(byte);
    }
  }
  return bytes;
}

/// Runs as much of the SQL as is allowed: nothing that leaves this file, nor takes for ever.
void run_sql(const std::string& path, const std::string& text) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  sqlite3* const handle = db.getHandle();
  sqlite3_set_authorizer(
      handle,
      [](void*, int action, const char* name, const char*, const char*, const char*) {
        const bool kept = action == SQLITE_ATTACH || action == SQLITE_DETACH ||
                          (action == SQLITE_PRAGMA && std::string_view(name) != "writable_schema" &&
                           std::string_view(name) != "user_version");
        return kept ? SQLITE_DENY : SQLITE_OK;
      },
      nullptr);
  int budget = 200;
  sqlite3_progress_handler(
      handle, 1000, [](void* left) { return --*static_cast<int*>(left) < 0 ? 1 : 0; }, &budget);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_exec(handle, text.c_str(), nullptr, nullptr, nullptr);
  sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
}

void read_whole(const Store& store) {
  for (const RecordedRace& recorded : store.races()) {
    store.finished(recorded.environment, recorded.race.problem, recorded.race.regime);
    store.fatal_attempts(recorded.environment, recorded.race.problem);
  }
  store.builds();
  store.environments();
  for (const char* kind : {"micro", "probe", "counters", "ladder", "chain", "accuracy", "quantise"})
    store.studies(kind);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch("database");
  static const std::string good = good_database(scratch);
  const std::string_view text = fuzz::text_of(data, size);
  constexpr std::string_view kMagic = "SQLite format 3";
  constexpr std::string_view kPatch = "patch\n";
  std::string path;
  if (text.starts_with(kMagic)) {
    path = scratch.write("input.db", text);
  } else if (text.starts_with(kPatch)) {
    path = scratch.write("input.db", patched(good, text.substr(kPatch.size())));
  } else {
    path = scratch.write("input.db", good);
    run_sql(path, std::string(text));
  }
  fuzz::accepts([&] {
    const Store store = Store::open(path, Store::Mode::kReadOnly);
    read_whole(store);
    const std::string own = scratch.write("own.db", good);
    Store::open(own, Store::Mode::kReadWrite).add_all(store);
    read_whole(Store::open(own, Store::Mode::kReadOnly));
  });
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    std::filesystem::remove(path + suffix);
  }
  return 0;
}
