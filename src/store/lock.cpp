#include "store/lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace hgemm {
namespace {

/// " (process 1234 since 2026-01-31T12:00:00Z)"; empty if the holder has not written it yet.
std::string holder(int fd) {
  std::array<char, 100> buffer{};
  const ssize_t size = pread(fd, buffer.data(), buffer.size(), 0);
  std::string_view line(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  line = line.substr(0, line.find('\n'));
  return line.empty() ? "" : fmt::format(" ({})", printable(line));
}

}  // namespace

WriterLock::WriterLock(const std::string& name, const std::string& database_file)
    : path_(database_file + ".lock") {
  const auto refuse = [&] {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    return InputError(fmt::format(
        "database {}: cannot be locked for writing; check the permissions of its folder and the "
        "room on its disk, or name another file with --db ({}: {})",
        name, path_, std::strerror(error)));
  };
  // Anyone who may write to the folder can have put anything there, so only an ordinary file with
  // one name is written to. The file may belong to another user, as in the shared folder of a
  // group.
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  for (;;) {
    fd_ = open(path_.c_str(), kFlags, 0666);
    if (fd_ < 0 && errno != ELOOP) throw refuse();
    struct stat facts {};
    if (fd_ < 0 || fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_nlink > 1) {
      if (fd_ >= 0) close(fd_);
      throw InputError(
          fmt::format("database {}: cannot be locked for writing: {} is a link or no regular file; "
                      "remove it if it is nobody's, or name another file with --db",
                      name, path_));
    }
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) throw refuse();
      const std::string who = holder(fd_);
      close(fd_);
      throw Error(fmt::format(
          "database {} is in use by another hgemm-tune{}; wait for it, or name another file with "
          "--db",
          name, who));
    }
    if (at_its_path()) break;
    // Its holder removed it between our open() and flock(): this file locks nothing any more.
    close(fd_);
  }
  const std::string line =
      fmt::format("process {} since {:%FT%TZ}\n", getpid(), fmt::gmtime(std::time(nullptr)));
  // This line is missing on a full disk. The lock holds all the same; others only learn less about
  // it.
  [[maybe_unused]] const bool told =
      ftruncate(fd_, 0) == 0 && pwrite(fd_, line.data(), line.size(), 0) > 0;
}

WriterLock::~WriterLock() {
  if (fd_ < 0) return;
  // Before the lock is released: until then no other process can hold it.
  if (at_its_path()) unlink(path_.c_str());
  close(fd_);
}

bool WriterLock::at_its_path() const {
  struct stat ours {};
  struct stat there {};
  return fstat(fd_, &ours) == 0 && lstat(path_.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

}  // namespace hgemm
