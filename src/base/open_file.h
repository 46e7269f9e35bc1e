#pragma once

#include <unistd.h>

#include <utility>

namespace hgemm {

/// A descriptor that is closed in the end; negative if opening failed.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  /// False, with errno, if what was written turns out not to be stored.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

}  // namespace hgemm
