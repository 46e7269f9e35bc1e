#include "store/open.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "base/embedded.h"
#include "base/error.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;

constexpr int kApplicationId = 0x48474d54;  // "HGMT", as in schema.sql
constexpr int kSchemaVersion = 1;           // as in schema.sql
constexpr int kBusyTimeoutMs = 10'000;      // a commit takes milliseconds: this is another program

/// kMigrations[v - 1] is the SQL that takes a database from schema version v to v + 1.
constexpr std::array<const char*, kSchemaVersion - 1> kMigrations{};

InputError bad_file(const std::string& path, std::string_view problem) {
  return InputError(fmt::format("database {}: {}", path, problem));
}

enum class FileKind { kMissing, kEmpty, kSqlite };

/// Looks before SQLite does, so that nothing else than a database is ever written to.
FileKind look_at(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return FileKind::kMissing;
  if (fs::is_directory(path, ignored)) throw bad_file(path, "is a folder; name a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw bad_file(path, "cannot be read; check its permissions");
  std::array<char, 16> magic{};
  file.read(magic.data(), magic.size());
  if (file.gcount() == 0) return FileKind::kEmpty;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (std::string_view(magic.data(), static_cast<std::size_t>(file.gcount())) != kMagic) {
    throw bad_file(path, "is not a hgemm-tune database; name another file");
  }
  constexpr std::uintmax_t kSmallestPage = 512;
  if (fs::file_size(path) < kSmallestPage) {  // SQLite would take it for an empty database
    throw bad_file(path, "is damaged (cut short); restore it from a copy, or name another file");
  }
  return FileKind::kSqlite;
}

/// A "file:" URI that lets SQLite read without locks, journals or a writable folder.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

int pragma(SQLite::Database& db, const char* name) {
  return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

void create_schema(SQLite::Database& db) {
  // One transaction: another process sees no file, an empty one, or a complete database.
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  const bool created_meanwhile = pragma(db, "application_id") != 0;
  if (!created_meanwhile) db.exec(embedded_schema().front().text.data());
  transaction.commit();
}

/// Throws unless the database is ours, sound, and of a version that we know; returns the version.
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
  // Reads every page once, about 10 ms per MB: a damaged file is found before anything is added.
  const std::string soundness = db.execAndGet("PRAGMA quick_check(1)").getString();
  if (soundness != "ok" || version < 1) {
    throw bad_file(path,
                   fmt::format("is damaged ({}); restore it from a copy, or name another file",
                               version < 1 ? "no schema version" : soundness));
  }
  return version;
}

void migrate(SQLite::Database& db) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  const auto version = static_cast<std::size_t>(pragma(db, "user_version"));  // now that it is ours
  for (const char* migration : std::span(kMigrations).subspan(version - 1)) {
    db.exec(migration);
  }
  db.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
  transaction.commit();
}

SQLite::Database open_for_reading(const std::string& path, const std::string& file) {
  const FileKind kind = look_at(file);
  if (kind != FileKind::kSqlite) {
    throw bad_file(path, fmt::format("{}; `hgemm-tune --shapes FILE` measures and creates one",
                                     kind == FileKind::kEmpty ? "is empty" : "does not exist"));
  }
  // Without a journal beside it nobody is writing, and the file alone is the database. Recorded
  // results are opened this way: in a read-only folder, leaving no -shm and -wal files behind.
  const bool at_rest = !fs::exists(file + "-wal") && !fs::exists(file + "-journal");
  SQLite::Database db =
      at_rest ? SQLite::Database(immutable_uri(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI)
              : SQLite::Database(file, SQLite::OPEN_READONLY, kBusyTimeoutMs);
  if (const int version = check(db, path); version < kSchemaVersion) {
    throw bad_file(path, fmt::format("has the older schema version {}; run `hgemm-tune --shapes` "
                                     "with it once to bring it to version {}",
                                     version, kSchemaVersion));
  }
  return db;
}

SQLite::Database open_for_writing(const std::string& path, const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  if (std::error_code ignored; !fs::is_directory(folder, ignored)) {
    throw bad_file(path, fmt::format("the folder {} does not exist; create it", folder.string()));
  }
  const FileKind kind = look_at(file);
  const int create = kind == FileKind::kMissing ? SQLite::OPEN_CREATE : 0;
  SQLite::Database db(file, SQLite::OPEN_READWRITE | create, kBusyTimeoutMs);
  if (sqlite3_db_readonly(db.getHandle(), "main") != 0) {  // SQLite falls back to reading
    throw bad_file(path, "cannot be written; check its permissions, or name another file");
  }
  if (kind != FileKind::kSqlite) create_schema(db);
  if (check(db, path) < kSchemaVersion) migrate(db);

  // WAL: readers never wait for the tuner. NORMAL: a commit survives the death of the process; a
  // power cut may take the last ones, which are then measured again, and never damages the file.
  // FULL would add a disk flush per trial beside the timing loop.
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = NORMAL");
  db.exec("PRAGMA foreign_keys = ON");
  return db;
}

}  // namespace

void throw_explained(const std::string& path, const SQLite::Exception& error) {
  const std::string_view what = error.what();
  const auto say = [&](std::string_view text) {
    return fmt::format("database {}: {} ({})", path, text, what);
  };
  switch (error.getErrorCode()) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      throw InputError(say("is damaged; restore it from a copy, or name another file"));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      throw InputError(
          say("cannot be opened or written; check the permissions of the file and its "
              "folder, or name another file"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(say("another process is writing to it; wait for it, or name another file"));
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw Error(say("the disk is full or failing; what was committed before is safe"));
    default:
      throw Error(say("a statement failed; this is a defect of hgemm-tune, please report it"));
  }
}

SQLite::Database open_database(const std::string& path, Store::Mode mode) {
  if (path.empty()) throw InputError("the name of the database is empty; name a file");
  try {
    // Absolute, so that names such as ":memory:" or "file:x" are files too.
    const std::string file = fs::absolute(path).string();
    return mode == Store::Mode::kReadOnly ? open_for_reading(path, file)
                                          : open_for_writing(path, file);
  } catch (const SQLite::Exception& error) {
    throw_explained(path, error);
  }
}

}  // namespace hgemm
