// Opens a database file, and explains in words what is wrong with it. Internal to store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>

#include "store/lock.h"
#include "store/network.h"
#include "store/store.h"

namespace hgemm {

/// Throws InputError or Error with an explanation of what SQLite said about the file.
[[noreturn]] void throw_explained(const std::string& path, const SQLite::Exception& error);

struct OpenDatabase {
  /// Set for a writer; declared before `db`, so that `db` is closed first.
  std::optional<WriterLock> lock;
  SQLite::Database db;
};

/// A database of this program at the current schema version. kReadWrite creates or migrates it.
///
/// For reading, a file that no process is writing to is copied into memory and migrated there. If
/// there is a writer, SQLite's own locks and log are used. On a network file system a log is not
/// safe (all its users must be on one host: sqlite.org/wal.html). There a writer says so on stderr
/// and uses a rollback journal, which needs only working file locks.
OpenDatabase open_database(const std::string& path, Store::Mode mode,
                           const FindNetwork& find_network = network_of);

}  // namespace hgemm
