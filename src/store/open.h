// Opening a database file, and saying in words what is wrong with it. Internal to store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

#include "store/lock.h"
#include "store/store.h"

namespace hgemm {

/// Throws InputError or Error that explains what SQLite said about the file.
[[noreturn]] void throw_explained(const std::string& path, const SQLite::Exception& error);

struct OpenDatabase {
  std::optional<WriterLock> lock;  ///< of a writer; before `db`, which is thus closed first
  SQLite::Database db;
};

/// A database of ours at the current schema version, created or migrated if `mode` may write. What
/// may not be written and has an older version is read as a copy in memory, which is migrated.
OpenDatabase open_database(const std::string& path, Store::Mode mode);

}  // namespace hgemm
