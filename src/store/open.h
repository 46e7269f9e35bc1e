// Opening a database file, and saying in words what is wrong with it. Internal to store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

#include "store/lock.h"
#include "store/network.h"
#include "store/store.h"

namespace hgemm {

/// Throws InputError or Error that explains what SQLite said about the file.
[[noreturn]] void throw_explained(const std::string& path, const SQLite::Exception& error);

struct OpenDatabase {
  std::optional<WriterLock> lock;  ///< of a writer; before `db`, which is thus closed first
  SQLite::Database db;
};

/// A database of ours at the current schema version, created or migrated if `mode` may write.
///
/// To read, a file that nobody writes to is copied into memory (and migrated there); beside a
/// writer, SQLite's own locks and log are used. On a network file system, where a log is not safe
/// (all who use it must be on one host: sqlite.org/wal.html), a writer says so on stderr and uses a
/// rollback journal, for which the locks of the file system are enough if they work.
OpenDatabase open_database(const std::string& path, Store::Mode mode,
                           const FindNetwork& find_network = network_of);

}  // namespace hgemm
