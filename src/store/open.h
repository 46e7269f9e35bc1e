// Opening a database file, and saying in words what is wrong with it. Internal to store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <string>

#include "store/store.h"

namespace hgemm {

/// Throws InputError or Error that explains what SQLite said about the file.
[[noreturn]] void throw_explained(const std::string& path, const SQLite::Exception& error);

/// A database of ours at the current schema version, created or migrated if `mode` may write.
SQLite::Database open_database(const std::string& path, Store::Mode mode);

}  // namespace hgemm
