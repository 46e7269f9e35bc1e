// Temporary folders for files of this process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace hgemm {

/// Folders that only this user can enter. Each is made on first use; all are removed with this
/// object (not if the process is killed). Thread-safe.
class TemporaryFolders {
 public:
  TemporaryFolders() = default;
  TemporaryFolders(const TemporaryFolders&) = delete;
  TemporaryFolders& operator=(const TemporaryFolders&) = delete;
  ~TemporaryFolders();

  /// The first place is in $TMPDIR (/tmp), the second in memory (/dev/shm), for when disks are
  /// full.
  static constexpr std::size_t kPlaces = 2;

  struct Made {
    std::filesystem::path folder;
    bool is_new = false;  ///< true if this call made the folder
  };
  /// The folder at `place` (0 to kPlaces - 1), made if necessary. Throws Error if it cannot be
  /// made.
  Made at(std::size_t place);
  /// The folders that were made so far.
  std::vector<std::filesystem::path> made() const;

 private:
  mutable std::mutex mutex_;
  std::filesystem::path folders_[kPlaces];  ///< empty: not made yet
};

}  // namespace hgemm
