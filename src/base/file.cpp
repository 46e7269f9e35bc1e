#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ios>

#include "base/error.h"
#include "base/open_file.h"

namespace hgemm {
namespace fs = std::filesystem;
namespace {

InputError unreadable(const fs::path& path, const char* cause) {
  return InputError(fmt::format("{}: cannot be read: {}; check the path and its permissions",
                                path.string(), cause));
}

/// Not blocking: otherwise open() of a pipe waits until a process writes to it.
constexpr int kToRead = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// The size that the file reports. Throws InputError if it was not opened or is not a regular file.
std::size_t regular_bytes(const OpenFile& file, const fs::path& path) {
  if (file.fd() < 0) throw unreadable(path, std::strerror(errno));
  struct stat status;
  if (fstat(file.fd(), &status) != 0) throw unreadable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw InputError(path.string() + ": a folder, not a file");
  if (!S_ISREG(status.st_mode)) {
    throw InputError(path.string() + ": not a regular file; copy what it gives to one");
  }
  return static_cast<std::size_t>(status.st_size);
}

/// Writes all of the text. Returns false on an error, with errno set.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// The permissions that open() would give a new file (0666 less the umask), because mkostemp()
/// gives 0600. umask() could tell them only by setting the mask, and another thread may be making a
/// file.
mode_t default_mode() {
  std::ifstream status("/proc/self/status");
  for (std::string field; status >> field;) {
    mode_t mask = 0;
    if (field == "Umask:" && status >> std::oct >> mask) return 0666 & ~mask;
  }
  return 0600;
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t max_bytes) {
  const OpenFile file(open(path.c_str(), kToRead));
  const std::size_t reported_bytes = regular_bytes(file, path);
  // One byte more than allowed shows that a file is too long, whatever size it reports.
  std::string text(std::min(max_bytes, reported_bytes) + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    const ssize_t count = file.read(text.data() + size, text.size() - size);
    if (count < 0) throw unreadable(path, std::strerror(errno));
    size += static_cast<std::size_t>(count);
    if (size < text.size() || size > max_bytes) break;
    text.resize(std::min(max_bytes, 2 * size) + 1);  // the file is growing
  }
  if (size > max_bytes) {
    throw InputError(
        fmt::format("{}: larger than {} bytes, which is more than such a file can need",
                    path.string(), max_bytes));
  }
  text.resize(size);
  return text;
}

FilePart read_part(const fs::path& path, std::uint64_t offset, std::size_t most_bytes) {
  const OpenFile file(open(path.c_str(), kToRead));
  FilePart part{.bytes = {}, .file_bytes = regular_bytes(file, path)};
  if (offset >= part.file_bytes) return part;
  if (lseek(file.fd(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    throw unreadable(path, std::strerror(errno));
  }
  part.bytes.resize(std::min<std::uint64_t>(most_bytes, part.file_bytes - offset));
  const ssize_t count = file.read(part.bytes.data(), part.bytes.size());
  if (count < 0) throw unreadable(path, std::strerror(errno));
  part.bytes.resize(static_cast<std::size_t>(count));
  return part;
}

namespace {

/// Calls `write_to` with the descriptor of a temporary file beside `path`, and renames the file to
/// `path`. `write_to` returns false on an error, with errno set.
template <class Write>
void put_in_place(const fs::path& path, std::optional<mode_t> mode, const Write& write_to) {
  std::string temporary = path.string() + ".XXXXXX";
  const auto refuse = [&](int error) {
    return Error(
        fmt::format("{} cannot be written: {}; check the room on its disk and the "
                    "permissions of its folder. What was there before is as it was.",
                    path.string(), std::strerror(error)));
  };
  OpenFile file(mkostemp(temporary.data(), O_CLOEXEC));
  if (file.fd() < 0) throw refuse(errno);
  if (write_to(file.fd()) && fchmod(file.fd(), mode ? *mode : default_mode()) == 0 &&
      fsync(file.fd()) == 0 && file.close() && rename(temporary.c_str(), path.c_str()) == 0) {
    return;
  }
  const int error = errno;
  unlink(temporary.c_str());
  throw refuse(error);
}

}  // namespace

void replace_file(const fs::path& path, std::string_view text, std::optional<mode_t> mode) {
  put_in_place(path, mode, [text](int fd) { return write_all(fd, text); });
}

void copy_whole(const fs::path& from, const fs::path& to) {
  const OpenFile source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.fd() < 0) {
    throw Error(fmt::format("{} cannot be read: {}", from.string(), std::strerror(errno)));
  }
  put_in_place(to, {}, [&source](int fd) {
    std::string part(std::size_t{1} << 20, '\0');
    for (;;) {
      const ssize_t count = source.read(part.data(), part.size());
      if (count <= 0) return count == 0;
      const std::string_view read(part.data(), static_cast<std::size_t>(count));
      if (!write_all(fd, read)) return false;
    }
  });
}

}  // namespace hgemm
