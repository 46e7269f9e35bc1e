#include "store/rest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/open_file.h"

namespace hgemm {
namespace {

constexpr std::size_t kReadFormatAt = 19;  // in the header: 2 if reading needs the log
constexpr std::size_t kHeaderBytes = 100;

/// O_NONBLOCK, because opening a pipe would wait for a writer.
OpenFile open_for_looking(const std::string& path) {
  return OpenFile(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

bool exists(const std::string& path) {
  struct stat ignored {};
  return lstat(path.c_str(), &ignored) == 0;
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool unchanged(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         same_time(a.st_mtim, b.st_mtim) && same_time(a.st_ctim, b.st_ctim);
}

/// Whether the file was written so recently that its time stamp may not distinguish this write from
/// the next one (the clock of a file system ticks every 10 ms or less).
bool is_fresh(const struct stat& facts) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age_ns = (now.tv_sec - facts.st_mtim.tv_sec) * std::int64_t{1'000'000'000} +
                              (now.tv_nsec - facts.st_mtim.tv_nsec);
  return age_ns >= 0 && age_ns < 20'000'000;
}

/// Whether a journal ends with the name of another file. SQLite writes such a name if one
/// transaction covers several databases, and may delete that file when it rolls back. This program
/// never does so; such a journal is not its own. ("The Super-Journal File Name" in SQLite's
/// atomiccommit.html; the layout is in fileformat.html and pager.c: length, checksum, magic.)
bool names_another_file(const std::string& journal) {
  constexpr std::array<unsigned char, 8> kMagic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  const OpenFile file = open_for_looking(journal);
  std::array<unsigned char, kMagic.size()> end{};
  return file.fd() >= 0 && lseek(file.fd(), -static_cast<off_t>(end.size()), SEEK_END) >= 0 &&
         file.read(end.data(), end.size()) == static_cast<ssize_t>(end.size()) && end == kMagic;
}

/// What is wrong with the files beside the database that SQLite would read, write and remove; empty
/// if they are fine or missing. A link would make SQLite use a file of another name.
std::string wrong_companion(const std::string& file) {
  for (const char* suffix : {"-journal", "-wal", "-shm"}) {
    const std::string companion = file + suffix;
    struct stat facts {};
    if (lstat(companion.c_str(), &facts) != 0) continue;
    if (!S_ISREG(facts.st_mode) || facts.st_nlink > 1) {
      return companion + " beside it is a link or no regular file";
    }
  }
  if (names_another_file(file + "-journal")) {
    return file + "-journal beside it names another file, as none of hgemm-tune does";
  }
  return "";
}

}  // namespace

FoundFile look_at(const std::string& path, const std::string& file) {
  const auto refuse = [&](std::string_view problem) {
    return InputError(fmt::format("database {}: {}", path, problem));
  };
  if (const std::string wrong = wrong_companion(file); !wrong.empty()) {
    throw refuse(fmt::format("{}; move that away, or name another database", wrong));
  }
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) {
    if (errno == ENOENT) return {};
    throw refuse(
        fmt::format("cannot be read; check its name and permissions ({})", std::strerror(errno)));
  }
  if (S_ISDIR(facts.st_mode)) throw refuse("is a folder; name a file");
  if (!S_ISREG(facts.st_mode)) throw refuse("is no regular file; name another file");
  const OpenFile opened = open_for_looking(file);
  if (opened.fd() < 0) throw refuse("cannot be read; check its permissions");
  FoundFile found{.kind = FoundFile::Kind::kEmpty, .has_many_names = facts.st_nlink > 1};
  if (facts.st_size == 0) return found;
  std::array<char, kHeaderBytes> header{};
  const ssize_t size = opened.read(header.data(), header.size());
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (size < 0 ||
      !std::string_view(header.data(), static_cast<std::size_t>(size)).starts_with(kMagic)) {
    throw refuse("is not a hgemm-tune database; name another file");
  }
  constexpr off_t kSmallestPage = 512;
  if (facts.st_size < kSmallestPage) {  // SQLite would take it for an empty database
    throw refuse("is damaged (cut short); restore it from a copy, or name another file");
  }
  found.kind = FoundFile::Kind::kSqlite;
  found.has_log = header[kReadFormatAt] == 2;
  return found;
}

bool is_being_written(const std::string& file) {
  return exists(file + "-wal") || exists(file + "-journal");
}

std::optional<SQLite::Database> copy_at_rest(const std::string& file) {
  const OpenFile opened = open_for_looking(file);
  struct stat before {};
  if (opened.fd() < 0 || fstat(opened.fd(), &before) != 0 || is_fresh(before)) return std::nullopt;
  if (is_being_written(file)) return std::nullopt;

  const auto size = static_cast<std::size_t>(before.st_size);
  std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      static_cast<unsigned char*>(sqlite3_malloc64(size)), &sqlite3_free);
  if (!bytes) {
    throw Error(fmt::format("database {}: there is no memory for its {} bytes", file, size));
  }
  const ssize_t got = opened.read(bytes.get(), size);

  // The order of these checks matters: a writer creates its log before it writes, and removes it
  // after all is written.
  struct stat after {};
  struct stat there {};
  const bool at_rest = got == before.st_size && !is_being_written(file) &&
                       fstat(opened.fd(), &after) == 0 && unchanged(before, after) &&
                       stat(file.c_str(), &there) == 0 && unchanged(before, there);
  if (!at_rest) return std::nullopt;

  bytes.get()[kReadFormatAt - 1] = bytes.get()[kReadFormatAt] = 1;  // no log: the file is complete
  SQLite::Database copy(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const auto length = static_cast<sqlite3_int64>(size);
  const int result =  // takes ownership of the bytes, also if it fails
      sqlite3_deserialize(copy.getHandle(), "main", bytes.release(), length, length,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (result != SQLITE_OK) throw SQLite::Exception(copy.getHandle(), result);
  return copy;
}

}  // namespace hgemm
