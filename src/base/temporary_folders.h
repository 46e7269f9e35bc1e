// Room for what is of use to this process only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace hgemm {

/// Folders of this user's alone, each made when it is first asked for, all removed with this
/// object (not if the process is killed). May be used from several threads.
class TemporaryFolders {
 public:
  TemporaryFolders() = default;
  TemporaryFolders(const TemporaryFolders&) = delete;
  TemporaryFolders& operator=(const TemporaryFolders&) = delete;
  ~TemporaryFolders();

  /// One is in $TMPDIR (/tmp), one in memory (/dev/shm), for when disks are full.
  static constexpr std::size_t kPlaces = 2;

  struct Made {
    std::filesystem::path folder;
    bool is_new = false;  ///< by this call
  };
  /// Throws Error if it cannot be made.
  Made at(std::size_t place);
  /// Those that were made.
  std::vector<std::filesystem::path> made() const;

 private:
  mutable std::mutex mutex_;
  std::filesystem::path folders_[kPlaces];  ///< empty: not made yet
};

}  // namespace hgemm
