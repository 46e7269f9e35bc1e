// One writer at a time. Internal to store.
#pragma once

#include <string>
#include <utility>

namespace hgemm {

/// A file that is locked as long as this lives, or its process. It is a file of its own: to close
/// any descriptor of a database drops the locks that SQLite has on it. It holds a line that tells
/// others who has it, and is removed in the end; one that a killed process left is taken over.
class WriterLock {
 public:
  /// Locks `database_file` + ".lock". Throws Error that names the holder if another has it (in this
  /// process too), InputError if there can be no such file, or
  /// what has that name is a link or no regular file. Messages call the database `name`.
  WriterLock(const std::string& name, const std::string& database_file);
  WriterLock(WriterLock&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

 private:
  bool at_its_path() const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace hgemm
