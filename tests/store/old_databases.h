// Databases of old schema versions: how they are made, and what they and migrated ones say, in one
// form.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "families/legacy_labels.h"
#include "tests/store/support.h"

namespace hgemm::test {

inline constexpr int kPresentVersion = 10;

inline int version_of(SQLite::Database& db) {
  return db.execAndGet("PRAGMA user_version").getInt();
}

/// A database of the schema in this folder with the content of these statements.
inline void make_database(const std::filesystem::path& path, const std::string& schema_file,
                          const std::string& content) {
  std::ifstream file(std::filesystem::path(HGEMM_SOURCE_DIR) / "tests/store" / schema_file);
  const std::string schema{std::istreambuf_iterator<char>(file), {}};
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA foreign_keys = ON");
  db.exec(schema);
  db.exec(content);
}

/// Rows of the things that a database holds, by their names.
using Content = std::map<std::string, std::vector<std::string>>;

/// Queries for the content of a migrated database. Version 1 had no uids and no timing: they are
/// not looked at.
inline std::map<std::string, std::string> present_queries(int migrated_from) {
  const bool named = migrated_from >= 2;
  return {
      {"runs",
       "SELECT run.id, gpu_name, compute_major, compute_minor, sm_count, l2_bytes, memory_bytes, "
       "max_sm_mhz, power_limit_w, driver, cuda, cublas, gpu_uuid, host, git_revision, "
       "kernel_sources, started_utc, command_line FROM run "
       "JOIN environment ON environment.id = environment_id ORDER BY run.id"},
      {"problems",
       "SELECT id, m, n, k, a_dtype, b_dtype, d_dtype, layout, lda, ldb, ldd FROM problem "
       "ORDER BY id"},
      {"races", fmt::format("SELECT id, {}, run_id, problem_id, regime, {}, graph, pdl, effort, "
                            "tag, weight, started_utc FROM race ORDER BY id",
                            named ? "uid" : "'not yet'", named ? "cold" : "'not yet'")},
      {"trials",
       "SELECT trial.id, race_id, label, identity, stage, status, message, correct, error, "
       "tolerance, verdict_message FROM trial JOIN candidate ON candidate.id = candidate_id "
       "LEFT JOIN kernel ON kernel.id = kernel_id ORDER BY trial.id"},
      {"samples",
       "SELECT trial_id, round, pace, launches, time_us, sm_mhz, power_w, temperature_c, "
       "clock_events FROM sample ORDER BY trial_id, round"},
      {"builds",
       "SELECT build.id, name, identity, source_key, compiler, flags, registers, spill_bytes, "
       "static_smem_bytes, dynamic_smem_bytes, compile_ms FROM build "
       "JOIN kernel ON kernel.id = kernel_id ORDER BY build.id"},
      {"energies", "SELECT trial_id, window_s, power_w, time_us FROM energy ORDER BY trial_id"},
      {"attempts",
       "SELECT run_id, problem_id, label, identity, boot_id, started_utc FROM attempt "
       "JOIN candidate ON candidate.id = candidate_id JOIN kernel ON kernel.id = kernel_id "
       "ORDER BY run_id"},
      {"studies",
       "SELECT id, uid, run_id, kind, label, problem_id, kernel, status, message, correct, error, "
       "tolerance, verdict_message, started_utc FROM study ORDER BY id"},
      {"figures",
       "SELECT study_id, point, metric, unit, value, low, high, samples FROM figure "
       "ORDER BY study_id, metric, point"},
      {"spans", "SELECT * FROM span ORDER BY study_id, rowid"},
      {"study samples",
       "SELECT study_id, series, round, pace, launches, time_us, sm_mhz, power_w, temperature_c, "
       "clock_events FROM study_sample ORDER BY study_id, series, round"},
      {"parts",
       "SELECT study_id, position, variant, problem_id, label FROM part "
       "ORDER BY study_id, position, variant"}};
}

/// Queries for the content of a database of that version, each with the columns of
/// present_queries(). Configs are said to be of the kernel that migrated trials have.
inline std::map<std::string, std::string> old_queries(int version) {
  if (version >= 7) return present_queries(version);
  const char* uid = version >= 2 ? "uid" : "'not yet'";
  const char* timing = version >= 2 ? "cold, graph, pdl" : "'not yet', 1, 0";
  const char* effort = version >= 6 ? "effort" : "'full'";
  const char* paced = version >= 2 ? "pace" : "'shared'";
  const char* nvml = version >= 2 ? "power_w, temperature_c, clock_events" : "NULL, NULL, NULL";
  const char* leading = version >= 5 ? "lda, ldb, ldd" : "k, k, n";
  std::map<std::string, std::string> queries{
      {"runs",
       "SELECT run.id, gpu_name, compute_major, compute_minor, sm_count, l2_bytes, memory_bytes, "
       "max_sm_mhz, power_limit_w, driver, cuda, cublas, gpu_uuid, '', git_revision, kernel_hash, "
       "started_utc, command_line FROM run JOIN environment ON environment.id = environment_id "
       "ORDER BY run.id"},
      {"problems", fmt::format("SELECT id, m, n, k, dtype, dtype, dtype, layout, {} FROM shape "
                               "ORDER BY id",
                               leading)},
      {"races", fmt::format("SELECT id, {}, run_id, shape_id, regime, {}, {}, tag, weight, "
                            "started_utc FROM race ORDER BY id",
                            uid, timing, effort)},
      {"trials",
       "SELECT trial.id, race_id, modern_label(label), CASE WHEN config.candidate_id IS NULL "
       "THEN NULL ELSE 'sources:' || kernel_hash END, stage, status, message, correct, error, "
       "tolerance, verdict_message FROM trial JOIN candidate ON candidate.id = trial.candidate_id "
       "LEFT JOIN config ON config.candidate_id = candidate.id JOIN race ON race.id = race_id "
       "JOIN run ON run.id = run_id JOIN environment ON environment.id = environment_id "
       "ORDER BY trial.id"},
      {"samples", fmt::format("SELECT trial_id, round, {}, launches, time_us, sm_mhz, {} "
                              "FROM sample ORDER BY trial_id, round",
                              paced, nvml)},
      {"builds",
       "SELECT build.id, modern_build_name(label), 'sources:' || kernel_hash, "
       "'sources:' || kernel_hash, compiler, flags, registers, spill_bytes, static_smem_bytes, "
       "dynamic_smem_bytes, compile_ms FROM build JOIN candidate ON candidate.id = candidate_id "
       "ORDER BY build.id"}};
  if (version >= 2) {
    queries["energies"] =
        "SELECT trial_id, window_s, power_w, time_us FROM energy ORDER BY trial_id";
    queries["attempts"] =
        "SELECT run_id, shape_id, modern_label(label), 'sources:' || kernel_hash, boot_id, "
        "attempt.started_utc FROM attempt JOIN candidate ON candidate.id = candidate_id "
        "JOIN run ON run.id = run_id JOIN environment ON environment.id = environment_id "
        "ORDER BY run_id";
  }
  if (version >= 3) {
    queries["studies"] =
        "SELECT id, uid, run_id, kind, modern_label(label), shape_id, cubin_hash, status, message, "
        "correct, error, tolerance, verdict_message, started_utc FROM study ORDER BY id";
    queries["figures"] =
        "SELECT study_id, '' AS point, metric, unit, value, low, high, samples FROM micro "
        "UNION ALL SELECT study_id, role || '.' || phase, 'cycles', 'clk/' || unit, mean, mean, "
        "mean, "
        "count FROM (SELECT *, IIF(count = 0, 0.0, cycles / count) AS mean FROM cycle) "
        "UNION ALL SELECT study_id, source, metric, unit, value, value, value, 1 FROM counter "
        "ORDER BY study_id, metric, point";
    queries["spans"] = "SELECT * FROM span ORDER BY study_id, rowid";
    queries["study samples"] = fmt::format(
        "SELECT study_id, label, round, pace, launches, time_us, sm_mhz, power_w, temperature_c, "
        "clock_events FROM {} ORDER BY study_id, label, round",
        version >= 5 ? "study_sample" : "ladder");
  }
  if (version >= 5) {
    queries["parts"] =
        "SELECT study_id, position, 'pdl_off' AS variant, shape_id, modern_label(pdl_off) "
        "FROM link UNION ALL SELECT study_id, position, 'pdl_on', shape_id, modern_label(pdl_on) "
        "FROM link ORDER BY study_id, position, variant";
  }
  return queries;
}

template <auto function>
void text_function(sqlite3_context* context, int, sqlite3_value** values) {
  const std::string text = function(reinterpret_cast<const char*>(sqlite3_value_text(values[0])));
  sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

/// What an old database says, as it should be after its migration; what its version had not is
/// left out.
inline Content content_of_old(const std::filesystem::path& path) {
  SQLite::Database db(path.string());
  db.createFunction("modern_label", 1, true, nullptr, text_function<modern_label>);
  db.createFunction("modern_build_name", 1, true, nullptr, text_function<modern_build_name>);
  Content content;
  for (const auto& [name, query] : old_queries(version_of(db))) content[name] = lines(db, query);
  return content;
}

/// What a migrated database says; of a sound one, in which every reference is to a row that is
/// there.
inline Content content_of_migrated(const std::filesystem::path& path, int from) {
  SQLite::Database db(path.string());
  EXPECT_EQ(version_of(db), kPresentVersion);
  EXPECT_THAT(lines(db, "PRAGMA integrity_check"), ::testing::ElementsAre("ok|"));
  EXPECT_THAT(lines(db, "PRAGMA foreign_key_check"), ::testing::IsEmpty());
  const auto had = old_queries(from);
  Content content;
  for (const auto& [name, query] : present_queries(from)) {
    auto rows = lines(db, query);
    if (had.contains(name)) {
      content[name] = std::move(rows);
    } else {
      EXPECT_THAT(rows, ::testing::IsEmpty()) << name;
    }
  }
  return content;
}

/// Every table with its columns, their types and order, its references, indices and checks.
inline std::vector<std::string> schema_of(const std::filesystem::path& path) {
  SQLite::Database db(path.string());
  std::vector<std::string> schema = lines(db, "PRAGMA user_version");
  SQLite::Statement row(
      db, "SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master ORDER BY type, name");
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

}  // namespace hgemm::test
