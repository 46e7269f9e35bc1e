#include "base/trusted_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/open_file.h"

namespace hgemm {
namespace fs = std::filesystem;
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr int kAsIs = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

bool is_trusted(const struct stat& status, uid_t owner) {
  return (status.st_uid == owner || status.st_uid == 0) && (status.st_mode & kOthersMayWrite) == 0;
}

OpenFile open_folder(const fs::path& folder) {
  return OpenFile(open(folder.empty() ? "." : folder.c_str(), kAsIs | O_DIRECTORY));
}

bool is_trusted_folder(int fd, uid_t owner) {
  struct stat status;
  return fd >= 0 && fstat(fd, &status) == 0 && is_trusted(status, owner);
}

}  // namespace

std::optional<std::string> read_trusted_file(const fs::path& path, std::size_t max_bytes,
                                             uid_t owner) {
  const OpenFile folder = open_folder(path.parent_path());
  if (!is_trusted_folder(folder.fd(), owner)) return std::nullopt;
  const OpenFile file(openat(folder.fd(), path.filename().c_str(), kAsIs));
  struct stat status;
  if (file.fd() < 0 || fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_trusted(status, owner) || static_cast<std::uintmax_t>(status.st_size) > max_bytes) {
    return std::nullopt;
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (file.read(text.data(), text.size()) != status.st_size) return std::nullopt;  // it shrank
  return text;
}

void write_trusted_file(const fs::path& path, std::string_view text) {
  const fs::path folder = path.parent_path();
  const auto refuse = [&](const char* cause) {
    return Error(fmt::format("{} cannot be written: {}", folder.string(), cause));
  };
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) throw refuse(std::strerror(errno));
  const OpenFile opened = open_folder(folder);
  struct stat status;
  if (opened.fd() < 0 || fstat(opened.fd(), &status) != 0) throw refuse(std::strerror(errno));
  const uid_t me = geteuid();
  if (status.st_uid == me && (status.st_mode & kOthersMayWrite) != 0 &&
      fchmod(opened.fd(), status.st_mode & 07777 & ~kOthersMayWrite) != 0) {
    throw refuse(std::strerror(errno));
  }
  if (!is_trusted_folder(opened.fd(), me)) {
    throw refuse("it belongs to another user, or others may write there");
  }
  replace_file(path, text, 0644);
  struct stat written;
  if (lstat(path.c_str(), &written) != 0) throw refuse(std::strerror(errno));
  if (!is_trusted(written, me)) {
    throw refuse("its file system does not give files to the user who writes them");
  }
}

uid_t owner_of_trusted_folder(const fs::path& folder) {
  const OpenFile opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status;
  if (opened.fd() < 0 || fstat(opened.fd(), &status) != 0) {
    throw InputError(fmt::format("{} cannot be read: {}; check the path and its permissions",
                                 folder.string(), std::strerror(errno)));
  }
  if ((status.st_mode & kOthersMayWrite) != 0) {
    throw InputError(fmt::format(
        "others than its owner may write into {}, and so could choose what code runs; ask its "
        "owner for chmod -R go-w, or leave it out",
        folder.string()));
  }
  return status.st_uid;
}

}  // namespace hgemm
