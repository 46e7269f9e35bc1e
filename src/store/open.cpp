#include "store/open.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "base/console.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "families/legacy_labels.h"
#include "gemm/problem.h"
#include "store/rest.h"
#include "store/structure.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;

constexpr int kApplicationId = 0x48474d54;  // "HGMT", as in schema.sql
constexpr int kSchemaVersion = 10;          // as in schema.sql
constexpr int kBusyTimeoutMs = 10'000;      // a commit takes milliseconds

InputError bad_file(const std::string& path, std::string_view problem) {
  return InputError(fmt::format("database {}: {}", path, problem));
}

int pragma(SQLite::Database& db, const char* name) {
  return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

void create_schema(SQLite::Database& db) {
  // One transaction: another process sees no file, an empty one, or a complete database.
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  db.exec(embedded_schema().front().text.data());
  transaction.commit();
}

/// Throws unless the database is one of this program, undamaged, and of a known version. Returns
/// the version.
int check(SQLite::Database& db, const std::string& path) {
  if (pragma(db, "application_id") != kApplicationId) {
    throw bad_file(path, "is a database of another program; name another file");
  }
  const int version = pragma(db, "user_version");
  if (version > kSchemaVersion) {
    throw bad_file(path, fmt::format("has schema version {}, and this program knows versions up to "
                                     "{}; use a newer hgemm-tune, or name another file",
                                     version, kSchemaVersion));
  }
  const std::string wrong = version < 1 ? "has no schema version" : wrong_structure(db, version);
  if (!wrong.empty()) {
    throw bad_file(path, fmt::format("{}; restore it from a copy, or name another file", wrong));
  }
  // Reads every page once, 5 ms per MB: a damaged file is found before anything is added.
  const std::string soundness = db.execAndGet("PRAGMA integrity_check(1)").getString();
  if (soundness != "ok") {
    throw bad_file(path,
                   fmt::format("is damaged ({}); restore it from a copy, or name another file",
                               printable(soundness)));
  }
  SQLite::Statement orphan(db, "PRAGMA foreign_key_check");
  if (orphan.executeStep()) {
    throw bad_file(path,
                   fmt::format("is damaged (a row of {} refers to a row of {} that is not there); "
                               "restore it from a copy, or name another file",
                               orphan.getColumn(0).getString(), orphan.getColumn(2).getString()));
  }
  return version;
}

// ---- Functions of migrations ----

std::string argument_text(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? ""
                         : std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}
void return_text(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}
/// Wraps a function of one text for SQLite. No exception may pass through SQLite.
template <auto function>
void sql_text_function(sqlite3_context* context, int /*count*/, sqlite3_value** values) try {
  return_text(context, std::string(function(argument_text(values[0]))));
} catch (const std::exception& error) {
  sqlite3_result_error(context, error.what(), -1);
}
std::string hash_of_text(const std::string& text) { return content_hash(text); }

/// problem_key(m, n, k, dtype, lda, ldb, ldd)
void sql_problem_key(sqlite3_context* context, int /*count*/, sqlite3_value** values) try {
  GemmProblem problem;
  problem.m = sqlite3_value_int64(values[0]);
  problem.n = sqlite3_value_int64(values[1]);
  problem.k = sqlite3_value_int64(values[2]);
  if (const auto type = find_data_type(argument_text(values[3]))) problem.set_types(*type);
  problem.lda = sqlite3_value_int64(values[4]);
  problem.ldb = sqlite3_value_int64(values[5]);
  problem.ldd = sqlite3_value_int64(values[6]);
  return_text(context, to_string(problem));
} catch (const std::exception& error) {
  sqlite3_result_error(context, error.what(), -1);
}

/// The SQL that migrates a database from `version` to the next one (src/store/migrations).
std::string_view migration_from(int version) {
  const std::string name = fmt::format("/{}_to_{}.sql", version, version + 1);
  for (const EmbeddedFile& file : embedded_migrations()) {
    if (file.path.ends_with(name)) return file.text;
  }
  throw Error(fmt::format("there is no migration {}; this is a defect of hgemm-tune", name));
}

void migrate(SQLite::Database& db, const std::string& path, int version) {
  db.createFunction("content_hash", 1, true, nullptr, sql_text_function<hash_of_text>);
  db.createFunction("modern_label", 1, true, nullptr, sql_text_function<modern_label>);
  db.createFunction("modern_build_name", 1, true, nullptr, sql_text_function<modern_build_name>);
  db.createFunction("problem_key", 7, true, nullptr, sql_problem_key);
  db.exec("PRAGMA foreign_keys = OFF");  // tables are replaced; no effect in a transaction
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  try {
    for (int from = version; from < kSchemaVersion; ++from) {
      db.exec(migration_from(from).data());  // NUL-terminated
    }
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    if (code != SQLITE_CONSTRAINT && code != SQLITE_ERROR && code != SQLITE_MISMATCH) throw;
    throw bad_file(path, fmt::format("is damaged: a value is none that schema version {} has ({}); "
                                     "restore it from a copy, or name another file",
                                     version, printable(error.what())));
  }
  db.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
  transaction.commit();
}

/// Migrates a copy and makes it read-only: changes to a copy would be lost.
SQLite::Database only_read(SQLite::Database copy, const std::string& path, int version) {
  if (version < kSchemaVersion) migrate(copy, path, version);
  copy.exec("PRAGMA query_only = ON");
  return copy;
}

/// For a database that a process is writing to, or that a killed writer left.
SQLite::Database read_with_locks(const std::string& path, const std::string& file) {
  SQLite::Database db(file, SQLite::OPEN_READONLY, kBusyTimeoutMs);
  distrust(db);
  SQLite::Transaction one_state(db);
  const int version = check(db, path);
  one_state.commit();
  if (version == kSchemaVersion) return db;
  SQLite::Database copy(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Backup(copy, db).executeStep(-1);
  distrust(copy);
  return only_read(std::move(copy), path, version);
}

/// Makes SQLite roll back an uncommitted transaction of a killed process, which needs a connection
/// that may write. A journal in use is left alone, because its writer holds a lock.
void take_back_killed_write(const std::string& file) {
  if (std::error_code ignored; !fs::exists(file + "-journal", ignored)) return;
  try {
    SQLite::Database db(file, SQLite::OPEN_READWRITE, kBusyTimeoutMs);
    distrust(db);
    pragma(db, "page_count");
  } catch (const SQLite::Exception&) {  // the reader that opens it next reports the cause
  }
}

SQLite::Database open_for_reading(const std::string& path, const std::string& file,
                                  const FindNetwork& find_network) {
  // Writers come and go: the state of the file may change between looking at it and opening it.
  look_at(path, file);  // never opens a file that is not a database
  take_back_killed_write(file);
  for (int tries = 0;; ++tries) {
    const FoundFile found = look_at(path, file);
    if (found.kind != FoundFile::Kind::kSqlite) {
      const bool is_empty = found.kind == FoundFile::Kind::kEmpty;
      throw bad_file(path, fmt::format("{}; `hgemm-tune --shapes FILE` measures and creates one",
                                       is_empty ? "is empty" : "does not exist"));
    }
    if (!found.has_log) return read_with_locks(path, file);
    if (is_being_written(file)) {
      const std::string network = find_network(fs::path(file).parent_path());
      if (!network.empty()) {
        throw bad_file(path, fmt::format("is on {} and has a log beside it, which only the host "
                                         "that writes it can read; read it there, or when it is "
                                         "written",
                                         network));
      }
      try {
        return read_with_locks(path, file);
      } catch (const SQLite::Exception&) {
        if (is_being_written(file)) throw;
      }
    } else if (auto copy = copy_at_rest(file)) {
      distrust(*copy);
      const int version = check(*copy, path);
      return only_read(std::move(*copy), path, version);
    }
    constexpr int kMostTries = 500;
    if (tries == kMostTries) {
      throw Error(
          fmt::format("database {}: changes all the time; wait for what writes to it, or "
                      "read a copy",
                      path));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Chooses WAL, with which readers never wait for the tuner. On a network file system a log from
/// before is still merged into the file: with exclusive access to the file, this needs no memory
/// shared with other hosts.
void choose_journal(SQLite::Database& db, const std::string& path, const std::string& network) {
  if (!network.empty()) {
    say("hgemm-tune: warning: database {} is on {}: it is written without a log, and is safe only "
        "if file locks work there; better tune into a folder of this host, then `hgemm-tune merge`"
        "\n",
        path, network);
  }
  const std::string wanted = network.empty() ? "wal" : "delete";
  const std::string mode = db.execAndGet("PRAGMA journal_mode = " + wanted).getString();
  if (mode != wanted) {
    throw Error(
        fmt::format("database {}: cannot be written with journal mode {}; name a file on a "
                    "disk of this host",
                    path, wanted));
  }
  if (!network.empty()) {
    db.exec("PRAGMA locking_mode = NORMAL");
    db.execAndGet("SELECT COUNT(*) FROM sqlite_master");  // ends the exclusive lock
  }
}

OpenDatabase open_for_writing(const std::string& path, const std::string& file,
                              const FindNetwork& find_network) {
  const fs::path folder = fs::path(file).parent_path();
  if (std::error_code ignored; !fs::is_directory(folder, ignored)) {
    throw bad_file(path, fmt::format("the folder {} does not exist; create it", folder.string()));
  }
  look_at(path, file);  // no lock file beside a file that is not a database
  WriterLock lock(path, file);
  const FoundFile found = look_at(path, file);
  if (found.has_many_names) {  // each name would have its own journal and lock
    throw bad_file(path,
                   "has several names (hard links), and must have one to be written; make a "
                   "copy (cp) and name that");
  }
  const int create = found.kind == FoundFile::Kind::kMissing ? SQLite::OPEN_CREATE : 0;
  SQLite::Database db(file, SQLite::OPEN_READWRITE | create, kBusyTimeoutMs);
  distrust(db);
  if (sqlite3_db_readonly(db.getHandle(), "main") != 0) {  // SQLite falls back to reading
    throw bad_file(path, "cannot be written; check its permissions, or name another file");
  }
  const std::string network = find_network(folder);
  if (!network.empty()) db.exec("PRAGMA locking_mode = EXCLUSIVE");
  // A process that was killed while it created the database leaves an empty file.
  const bool is_new = found.kind != FoundFile::Kind::kSqlite || pragma(db, "page_count") == 0;
  if (is_new) create_schema(db);
  if (const int version = check(db, path); version < kSchemaVersion) migrate(db, path, version);

  choose_journal(db, path, network);
  // FULL: a commit is on disk when it returns, also after a power failure. The flush took 0.1 ms on
  // the GPU machine, and happens outside timing.
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA foreign_keys = ON");
  return {std::move(lock), std::move(db)};
}

/// An absolute path, so that names such as ":memory:" or "file:x" mean files too; without symbolic
/// links, because journals and locks lie beside the file itself.
std::string file_of(const std::string& path) {
  const fs::path absolute = fs::absolute(path);
  std::error_code error;
  const fs::path file = fs::weakly_canonical(absolute, error);
  return error ? absolute.string() : file.string();
}

}  // namespace

void throw_explained(const std::string& path, const SQLite::Exception& error) {
  const std::string what = printable(error.what());
  const auto explained = [&](std::string_view text) {
    return fmt::format("database {}: {} ({})", path, text, what);
  };
  switch (error.getErrorCode()) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
      throw InputError(explained("is damaged; restore it from a copy, or name another file"));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      throw InputError(
          explained("cannot be opened or written; check the permissions of the file and its "
                    "folder, or name another file"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(explained("another process is writing to it; wait for it, or name another file"));
    case SQLITE_NOMEM:
      throw Error(explained("there is not enough memory for it"));
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw Error(explained("the disk is full or failing; what was committed before is safe"));
    default:
      throw Error(explained(
          "a statement failed; look at the file with `sqlite3 FILE 'PRAGMA integrity_check'`, "
          "and report this as a defect of hgemm-tune if that says ok"));
  }
}

OpenDatabase open_database(const std::string& path, Store::Mode mode,
                           const FindNetwork& find_network) {
  if (path.empty()) throw InputError("the name of the database is empty; name a file");
  try {
    const std::string file = file_of(path);
    if (mode == Store::Mode::kReadWrite) return open_for_writing(path, file, find_network);
    return {std::nullopt, open_for_reading(path, file, find_network)};
  } catch (const SQLite::Exception& error) {
    throw_explained(path, error);
  }
}

}  // namespace hgemm
