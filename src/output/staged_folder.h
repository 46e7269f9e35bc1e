// A folder whose content is put together beside it and then put in its place, all or nothing.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace hgemm {

/// The next content of a folder. A target that does not exist appears by one rename. One that
/// holds nothing but files that are written anew is exchanged by one system call. In both, whoever
/// looks, and whatever kills this process or the machine, finds all of the old content or all of
/// the new.
///
/// Else the files are moved into the folder one after the other, once all of them are on the disk
/// and nothing is known that could stop it: other files stay, each file is old or new as a whole,
/// and only a kill between two of these renames leaves some of both. That is where the folder holds
/// other files, is the working folder of this process (or above it), is a mount point or somebody
/// else's, or its file system cannot exchange.
///
/// Before publish() nothing in the target changes, and an error leaves it as it was. What a killed
/// process leaves behind, ".<name>.hgemm-new.<n>" beside the target or in it, is removed by the
/// next one for the same target; those of a process that lives are not touched.
class StagedFolder {
 public:
  /// Makes the folders above the target. Throws InputError if there can be no folder that may be
  /// written to, Error if the disk does not take it.
  explicit StagedFolder(const std::filesystem::path& target);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();  ///< removes what is not published

  /// Where the content is put together.
  const std::filesystem::path& path() const { return staging_; }

  /// Throws Error that names the file as it will be called.
  void write(const std::filesystem::path& file, std::string_view text);

  /// Once. Throws Error, or InputError where a folder has a file's name.
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

  std::filesystem::path shown_;   ///< as the user calls it
  std::filesystem::path target_;  ///< without links
  std::filesystem::path staging_;
  std::filesystem::path first_made_;                 ///< of the folders above the target
  std::set<std::filesystem::path> files_, folders_;  ///< of the content, relative
  int lock_ = -1;  ///< on the staging folder, while this process lives
};

}  // namespace hgemm
