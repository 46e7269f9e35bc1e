// One writer at a time. Internal to store.
#pragma once

#include <string>
#include <utility>

namespace hgemm {

/// Holds a lock on a file for the lifetime of this object, or of its process. It is a file of its
/// own, because closing any descriptor of a database drops the locks that SQLite has on it. It
/// contains a line that tells other processes who holds it. The destructor removes it; a file that
/// a killed process left is taken over.
class WriterLock {
 public:
  /// Locks `database_file` + ".lock". Throws Error that names the holder if the lock is taken (also
  /// within this process), InputError if the file cannot be made, or is a link or no regular file.
  /// Messages call the database `name`.
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
