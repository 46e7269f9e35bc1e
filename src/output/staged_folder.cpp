#include "output/staged_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace hgemm {
namespace fs = std::filesystem;
namespace {

std::string prefix_of(const fs::path& target) {
  // With its number, the name must stay within the limit of file systems.
  constexpr std::size_t kLongest = 200;
  return fmt::format(".{}.hgemm-new.", target.filename().string().substr(0, kLongest));
}

int open_folder(const fs::path& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Returns false and sets errno if the content is not known to be on the disk.
bool sync(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool synced = fsync(fd) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  return synced;
}

/// Whether the error is one that the user can fix by another folder.
bool is_users(int error) {
  constexpr int kUsers[] = {EACCES,       EPERM, EROFS,  ENOTDIR, ENOENT,
                            ENAMETOOLONG, ELOOP, EEXIST, EISDIR};
  return std::ranges::find(kUsers, error) != std::end(kUsers);
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

bool holds_working_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return !error && is_within(here, folder);
}

}  // namespace

StagedFolder::StagedFolder(const fs::path& target) : shown_(target) {
  std::error_code error;
  target_ = fs::absolute(target, error);
  if (!error) target_ = fs::weakly_canonical(target_, error);
  if (error) refuse(shown_, error.value());
  if (!target_.has_filename()) target_ = target_.parent_path();
  const bool exists = fs::exists(target_, error);
  if (error) refuse(shown_, error.value());
  if (exists && !fs::is_directory(target_)) refuse(shown_, ENOTDIR);
  make_parents();
  const fs::path parent = target_.parent_path();
  struct stat above {
  }, inside{};
  const bool same_disk =
      !exists || (stat(parent.c_str(), &above) == 0 && stat(target_.c_str(), &inside) == 0 &&
                  above.st_dev == inside.st_dev);
  if (exists) {
    if (access(target_.c_str(), W_OK | X_OK) != 0) refuse(shown_, errno);
    remove_abandoned(target_);
  }
  remove_abandoned(parent);
  if (same_disk && make_staging(parent)) return;
  if (exists && make_staging(target_)) return;
  refuse(shown_, errno);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
  if (lock_ >= 0) close(lock_);
  // Folders that were created for a target that does not exist: removed if empty.
  if (first_made_.empty() || fs::exists(target_, ignored)) return;
  for (fs::path made = target_.parent_path(); is_within(made, first_made_);
       made = made.parent_path()) {
    if (!fs::remove(made, ignored)) return;
  }
}

void StagedFolder::refuse(const fs::path& path, int error) const {
  const std::string message = fmt::format(
      "{} cannot be written: {}; choose another folder with -o, or look at its permissions and the "
      "room on its disk. What was there before is as it was.",
      path.string(), std::strerror(error));
  if (is_users(error)) throw InputError(message);
  throw Error(message);
}

void StagedFolder::make_parents() {
  fs::path missing;
  std::error_code error;
  for (fs::path above = target_.parent_path(); !fs::exists(above, error) && !error;
       above = above.parent_path()) {
    missing = above;
  }
  if (missing.empty()) return;
  first_made_ = missing;
  fs::create_directories(target_.parent_path(), error);
  if (error) refuse(shown_, error.value());
}

/// Returns false and sets errno if it cannot be created there.
bool StagedFolder::make_staging(const fs::path& where) {
  constexpr int kMost = 1000;
  for (int number = getpid(), tries = 0; tries < kMost; ++number, ++tries) {
    const fs::path path = where / fmt::format("{}{}", prefix_of(target_), number);
    if (mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return false;
    }
    // Until it is locked, another process may take it for abandoned.
    const int fd = open_folder(path);
    struct stat opened {
    }, named{};
    if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
        fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
        opened.st_ino == named.st_ino) {
      staging_ = path;
      lock_ = fd;
      return true;
    }
    if (fd >= 0) close(fd);
  }
  errno = EEXIST;
  return false;
}

void StagedFolder::remove_abandoned(const fs::path& where) const {
  std::error_code error;
  const std::string prefix = prefix_of(target_);
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(where, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool numbered = name.size() > prefix.size() && name.starts_with(prefix) &&
                          name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
    if (numbered) found.push_back(entry->path());
  }
  for (const fs::path& path : found) {
    const int fd = open_folder(path);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, error);
    close(fd);
  }
}

void StagedFolder::write(const fs::path& file, std::string_view text) {
  const fs::path path = staging_ / file;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) refuse(shown_ / file, error.value());
  try {
    replace_file(path, text);
  } catch (const Error& failed) {
    std::string message = failed.what();
    const auto at = message.find(staging_.string());
    if (at != std::string::npos) message.replace(at, staging_.string().size(), shown_.string());
    throw Error(message);
  }
}

void StagedFolder::read_content() {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(staging_, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().lexically_relative(staging_);
    (entry->is_directory(error) ? folders_ : files_).insert(name);
  }
  if (error) refuse(shown_, error.value());
}

void StagedFolder::sync_content() const {
  for (const auto* names : {&files_, &folders_}) {
    for (const fs::path& name : *names) {
      if (!sync(staging_ / name)) refuse(shown_ / name, errno);
    }
  }
  if (!sync(staging_)) refuse(shown_, errno);
}

void StagedFolder::publish() {
  read_content();
  sync_content();
  if (!appear() && !exchange()) move_files();
  sync(target_.parent_path());
}

/// Renames to a target that does not exist. rename() also replaces an empty folder that appeared in
/// the meantime.
bool StagedFolder::appear() {
  std::error_code error;
  if (fs::exists(target_, error)) return false;
  if (rename(staging_.c_str(), target_.c_str()) == 0) {
    staging_.clear();
    return true;
  }
  if (errno != EEXIST && errno != ENOTEMPTY) refuse(shown_, errno);
  return false;  // another process was faster
}

bool StagedFolder::may_exchange() const {
  struct stat theirs {
  }, ours{};
  if (staging_.parent_path() != target_.parent_path() || holds_working_folder(target_) ||
      stat(target_.c_str(), &theirs) != 0 || stat(staging_.c_str(), &ours) != 0 ||
      theirs.st_uid != ours.st_uid || theirs.st_gid != ours.st_gid) {
    return false;
  }
  std::error_code error;
  for (fs::recursive_directory_iterator entry(target_, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().lexically_relative(target_);
    const fs::file_status status = entry->symlink_status(error);
    if (error || !(fs::is_directory(status)      ? folders_.contains(name)
                   : fs::is_regular_file(status) ? files_.contains(name)
                                                 : false)) {
      return false;
    }
  }
  return !error && chmod(staging_.c_str(), theirs.st_mode & 07777) == 0;
}

/// The old target is then the staging folder, which is removed.
bool StagedFolder::exchange() const {
  return may_exchange() &&
         renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0;
}

void StagedFolder::move_files() const {
  std::error_code error;
  for (const fs::path& name : files_) {
    if (fs::is_directory(target_ / name, error)) refuse(shown_ / name, EISDIR);
  }
  for (const fs::path& name : folders_) {
    fs::create_directory(target_ / name, error);
    if (!fs::is_directory(target_ / name, error)) refuse(shown_ / name, ENOTDIR);
    if (access((target_ / name).c_str(), W_OK | X_OK) != 0) refuse(shown_ / name, errno);
  }
  std::size_t moved = 0;
  for (const fs::path& name : files_) {
    if (rename((staging_ / name).c_str(), (target_ / name).c_str()) == 0) {
      ++moved;
      continue;
    }
    const int cause = errno;
    if (moved == 0) refuse(shown_ / name, cause);
    throw Error(fmt::format(
        "{} cannot be replaced: {}; {} of {} files in {} are new already: "
        "write them once more, or into another folder",
        (shown_ / name).string(), std::strerror(cause), moved, files_.size(), shown_.string()));
  }
  for (const fs::path& name : folders_) sync(target_ / name);
  sync(target_);
}

}  // namespace hgemm
