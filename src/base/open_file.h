#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace hgemm {

/// Owns a file descriptor and closes it; the descriptor is negative if opening failed.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  /// Reads until `bytes` bytes were read or the file ends. Returns the number of bytes read, or -1
  /// with errno set on an error.
  ssize_t read(void* to, std::size_t bytes) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t count = ::read(fd_, static_cast<char*>(to) + done, bytes - done);
      if (count < 0 && errno != EINTR) return -1;
      if (count == 0) break;
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(done);
  }
  /// Closes the file. Returns false, with errno set, if the system reports that written data was
  /// not stored.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

}  // namespace hgemm
