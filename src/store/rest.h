// Reads a database that no process is writing to, without leaving files behind. Internal to store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

namespace hgemm {

/// What is at a path, found out before SQLite opens it.
struct FoundFile {
  enum class Kind { kMissing, kEmpty, kSqlite };
  Kind kind = Kind::kMissing;
  bool has_log = false;         ///< its header says that it is written through a log (WAL)
  bool has_many_names = false;  ///< hard links
};
/// Throws InputError if the file cannot be a database of this program: only databases are ever
/// opened, let alone written to. Messages call the file `path`.
FoundFile look_at(const std::string& path, const std::string& file);

/// Whether a journal or a log lies beside the file: a process is writing to it, or was killed while
/// it did.
bool is_being_written(const std::string& file);

/// The database as a copy in memory, which needs no locks and no writable folder, and leaves no
/// files behind; none if the file was written meanwhile. Call it only for a file with `has_log`: a
/// file with a rollback journal is read with locks, which leave nothing behind.
std::optional<SQLite::Database> copy_at_rest(const std::string& file);

}  // namespace hgemm
