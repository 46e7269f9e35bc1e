#include "store/open.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <utility>

#include "base/embedded.h"
#include "base/error.h"
#include "base/hash.h"
#include "families/legacy_labels.h"
#include "gemm/problem.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;

constexpr int kApplicationId = 0x48474d54;  // "HGMT", as in schema.sql
constexpr int kSchemaVersion = 7;           // as in schema.sql
constexpr int kBusyTimeoutMs = 10'000;      // a commit takes milliseconds: this is another program

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
  db.exec(embedded_schema().front().text.data());
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

// ---- Functions of migrations ----

std::string argument_text(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}
void return_text(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}
/// A function of one text.
template <auto function>
void sql_text_function(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  return_text(context, std::string(function(argument_text(values[0]))));
}
std::string hash_of_text(const std::string& text) { return content_hash(text); }

/// problem_key(m, n, k, dtype, lda, ldb, ldd)
void sql_problem_key(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  GemmProblem problem;
  problem.m = sqlite3_value_int64(values[0]);
  problem.n = sqlite3_value_int64(values[1]);
  problem.k = sqlite3_value_int64(values[2]);
  if (const auto type = find_data_type(argument_text(values[3]))) problem.set_types(*type);
  problem.lda = sqlite3_value_int64(values[4]);
  problem.ldb = sqlite3_value_int64(values[5]);
  problem.ldd = sqlite3_value_int64(values[6]);
  return_text(context, to_string(problem));
}

/// The SQL that takes a database from a version to the next one (src/store/migrations).
std::string_view migration_from(int version) {
  const std::string name = fmt::format("/{}_to_{}.sql", version, version + 1);
  for (const EmbeddedFile& file : embedded_migrations()) {
    if (file.path.ends_with(name)) return file.text;
  }
  throw Error(fmt::format("there is no migration {}; this is a defect of hgemm-tune", name));
}

void migrate(SQLite::Database& db, int version) {
  db.createFunction("content_hash", 1, true, nullptr, sql_text_function<hash_of_text>);
  db.createFunction("modern_label", 1, true, nullptr, sql_text_function<modern_label>);
  db.createFunction("modern_build_name", 1, true, nullptr, sql_text_function<modern_build_name>);
  db.createFunction("problem_key", 7, true, nullptr, sql_problem_key);
  db.exec("PRAGMA foreign_keys = OFF");  // tables are replaced; has no effect in a transaction
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  for (int from = version; from < kSchemaVersion; ++from) {
    db.exec(migration_from(from).data());  // NUL-terminated
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
  const int version = check(db, path);
  if (version == kSchemaVersion) return db;
  SQLite::Database copy(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Backup(copy, db).executeStep(-1);
  migrate(copy, version);
  copy.exec("PRAGMA query_only = ON");  // what is written to it would be lost
  return copy;
}

OpenDatabase open_for_writing(const std::string& path, const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  if (std::error_code ignored; !fs::is_directory(folder, ignored)) {
    throw bad_file(path, fmt::format("the folder {} does not exist; create it", folder.string()));
  }
  WriterLock lock(path, file);
  const FileKind kind = look_at(file);
  const int create = kind == FileKind::kMissing ? SQLite::OPEN_CREATE : 0;
  SQLite::Database db(file, SQLite::OPEN_READWRITE | create, kBusyTimeoutMs);
  if (sqlite3_db_readonly(db.getHandle(), "main") != 0) {  // SQLite falls back to reading
    throw bad_file(path, "cannot be written; check its permissions, or name another file");
  }
  if (kind != FileKind::kSqlite) create_schema(db);
  if (const int version = check(db, path); version < kSchemaVersion) migrate(db, version);

  // WAL: readers never wait for the tuner. FULL: a commit is on disk when it returns, whatever
  // becomes of the power; the flush was measured at 0.1 ms on the GPU machine, and is outside
  // timing.
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA foreign_keys = ON");
  return {std::move(lock), std::move(db)};
}

/// Absolute, so that names such as ":memory:" or "file:x" are files too, and with no symbolic link:
/// journals and locks lie beside the file itself.
std::string file_of(const std::string& path) {
  const fs::path absolute = fs::absolute(path);
  std::error_code error;
  const fs::path file = fs::weakly_canonical(absolute, error);
  return error ? absolute.string() : file.string();
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

OpenDatabase open_database(const std::string& path, Store::Mode mode) {
  if (path.empty()) throw InputError("the name of the database is empty; name a file");
  try {
    const std::string file = file_of(path);
    if (mode == Store::Mode::kReadWrite) return open_for_writing(path, file);
    return {std::nullopt, open_for_reading(path, file)};
  } catch (const SQLite::Exception& error) {
    throw_explained(path, error);
  }
}

}  // namespace hgemm
