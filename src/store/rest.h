// A database that nobody writes to is read without a trace. Internal to store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

namespace hgemm {

/// What lies at a path, seen before SQLite looks.
struct FoundFile {
  enum class Kind { kMissing, kEmpty, kSqlite };
  Kind kind = Kind::kMissing;
  bool has_log = false;         ///< its header says that it is written through a log (WAL)
  bool has_many_names = false;  ///< hard links
};
/// Throws InputError if it can be no database of ours: nothing but a database is ever opened, let
/// alone written to. Messages call it `path`.
FoundFile look_at(const std::string& path, const std::string& file);

/// Whether a journal or a log lies beside it: somebody writes to it, or was killed as they did.
bool is_being_written(const std::string& file);

/// The database as a copy in memory, which needs no locks, no folder that can be written and leaves
/// no files behind; nothing if somebody wrote to the file meanwhile. Of a file that has_log only:
/// with a rollback journal, locks are needed and leave nothing.
std::optional<SQLite::Database> copy_at_rest(const std::string& file);

}  // namespace hgemm
