#include "store/structure.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/embedded.h"
#include "base/hash.h"
#include "base/text.h"

namespace hgemm {
namespace {

/// Index: version - 1. structure_hash() of the databases that the last program of that version
/// made, new or migrated. tests/store has their schemas; version 5 is in results/h200/rows.db.
constexpr std::array<std::string_view, 9> kOldStructures = {
    "f1cccafaae8af59edff00b915e99b515", "d30b56dc8c5096c8392d8571830d03b4",
    "c7f5418916c21734c60afda8a618f3c5", "0684a09298481a447be2e952fc077c09",
    "3996335a5afe7373939e6c421d3b0b62", "efa785469f6aec5a25ba869685e4ca39",
    "562b1efc7fa0f9ec4f4cf5cc091e8990", "5e4977d1c5a4d5c0188c145cb597c005",
    "667ca694494b7246ee91e952ab4fa86b",
};

/// SQL without white space, comments and quotes around plain names. ALTER TABLE changes these in
/// the text of a table; any other difference remains.
std::string plain_sql(std::string_view sql) {
  std::string plain;
  while (!sql.empty()) {
    const char c = sql[0];
    std::size_t used = 1;
    if (sql.starts_with("--")) {
      used = std::min(sql.find('\n'), sql.size());
    } else if (c == '\'' || c == '"') {
      const std::size_t end = sql.find(c, 1);
      used = end == std::string_view::npos ? sql.size() : end + 1;
      const std::string_view inner = used > 2 ? sql.substr(1, used - 2) : std::string_view();
      const bool is_plain_name =
          c == '"' && !inner.empty() && std::ranges::all_of(inner, [](char x) {
            return (x >= 'a' && x <= 'z') || (x >= '0' && x <= '9') || x == '_';
          });
      plain += is_plain_name ? inner : sql.substr(0, used);
    } else if (std::string_view(" \n\t\r\f\v").find(c) == std::string_view::npos) {
      plain += c;
    }
    sql.remove_prefix(used);
  }
  return plain;
}

/// From the type and name of an object ("table race") to its SQL.
using Objects = std::map<std::string, std::string>;

Objects objects_of(SQLite::Database& db) {
  Objects objects;
  SQLite::Statement row(db, "SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master");
  while (row.executeStep()) {
    objects.emplace(row.getColumn(0).getString() + " " + row.getColumn(1).getString(),
                    row.getColumn(2).getString() + ": " + plain_sql(row.getColumn(3).getString()));
  }
  return objects;
}

std::string hash_of(const Objects& objects) {
  std::vector<std::string_view> texts;
  for (const auto& [name, sql] : objects) {
    texts.push_back(name);
    texts.push_back(sql);
  }
  return content_hash(texts);
}

Objects present_objects() {
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  fresh.exec(embedded_schema().front().text.data());
  return objects_of(fresh);
}

}  // namespace

void distrust(SQLite::Database& db) {
  constexpr int kLargestRow = 4 << 20;  // 16 times the longest text that may be read
  sqlite3* const handle = db.getHandle();
  for (const auto& [setting, value] :
       {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0}}) {
    sqlite3_db_config(handle, setting, value, nullptr);
  }
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLargestRow);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  db.exec("PRAGMA cell_size_check = ON");
}

std::string structure_hash(SQLite::Database& db) { return hash_of(objects_of(db)); }

std::string wrong_structure(SQLite::Database& db, int version) {
  const Objects objects = objects_of(db);
  for (const auto& [name, sql] : objects) {
    if (name.starts_with("table ") || name.starts_with("index ")) continue;
    return fmt::format("has a {}, which hgemm-tune never makes", printable(name));
  }
  if (version >= 1 && version <= static_cast<int>(kOldStructures.size())) {
    const bool is_known = hash_of(objects) == kOldStructures[static_cast<std::size_t>(version - 1)];
    return is_known ? "" : fmt::format("has other tables than schema version {} has", version);
  }
  const Objects expected = present_objects();
  for (const auto& [name, sql] : expected) {
    const auto found = objects.find(name);
    if (found == objects.end()) return fmt::format("has no {}", name);
    if (found->second != sql) return fmt::format("has another {} than hgemm-tune makes", name);
  }
  for (const auto& [name, sql] : objects) {
    if (!expected.contains(name)) {
      return fmt::format("has a {}, which hgemm-tune does not make", printable(name));
    }
  }
  return "";
}

}  // namespace hgemm
