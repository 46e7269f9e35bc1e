// A folder whose content is written beside it and then moved into place, all or nothing.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace hgemm {

/// The next content of a folder. A target that does not exist appears by one rename. A target that
/// holds only files that are replaced is exchanged by one system call. In both cases every observer
/// finds all of the old content or all of the new, even after a kill of this process or of the
/// machine.
///
/// In all other cases the files are moved into the folder one after the other, once all of them are
/// on the disk and no known obstacle is left. Other files stay, and each file is old or new as a
/// whole. Only a kill between two of these renames leaves a mixture. These cases are: the folder
/// holds other files, is the working folder of this process (or above it), is a mount point,
/// belongs to another user, or its file system cannot exchange.
///
/// Before publish() nothing in the target changes, and an error leaves it as it was. A killed
/// process leaves ".<name>.hgemm-new.<n>" beside the target or in it. The next process with the
/// same target removes it. Folders of running processes are not touched.
class StagedFolder {
 public:
  /// Creates the folders above the target. Throws InputError if the target cannot be a writable
  /// folder, and Error if the disk refuses it.
  explicit StagedFolder(const std::filesystem::path& target);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();  ///< removes content that is not published

  /// The folder in which the content is assembled.
  const std::filesystem::path& path() const { return staging_; }

  /// Writes a file of the content. Throws Error that names the file by its final path.
  void write(const std::filesystem::path& file, std::string_view text);

  /// Moves the content into place. Call it once. Throws Error, or InputError if a folder has the
  /// name of a file.
  void publish();

 private:
  void make_parents();
  bool make_staging(const std::filesystem::path& where);
  void remove_abandoned(const std::filesystem::path& where) const;
  void read_content();
  void sync_content() const;
  bool appear();
  bool may_exchange() const;
  bool exchange() const;
  void move_files() const;
  [[noreturn]] void refuse(const std::filesystem::path& path, int error) const;

  std::filesystem::path shown_;   ///< the user's spelling, for messages
  std::filesystem::path target_;  ///< without links
  std::filesystem::path staging_;
  /// The first of the folders above the target that was created.
  std::filesystem::path first_made_;
  std::set<std::filesystem::path> files_, folders_;  ///< paths in the content, relative
  int lock_ = -1;  ///< on the staging folder, while this process lives
};

}  // namespace hgemm
