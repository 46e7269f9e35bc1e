#include "base/temporary_folders.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace hgemm {
namespace fs = std::filesystem;

TemporaryFolders::~TemporaryFolders() {
  for (const fs::path& folder : made()) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
}

TemporaryFolders::Made TemporaryFolders::at(std::size_t place) {
  const std::scoped_lock lock(mutex_);
  fs::path& folder = folders_[place];
  if (!folder.empty()) return {folder, false};
  std::error_code no_tmpdir;
  const fs::path parent = place == 0 ? fs::temp_directory_path(no_tmpdir) : fs::path("/dev/shm");
  std::string name = (parent / "hgemm-tune.XXXXXX").string();
  if (no_tmpdir || mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("no temporary folder can be made in {}: {}", parent.string(),
                            no_tmpdir ? no_tmpdir.message() : std::strerror(errno)));
  }
  folder = name;
  return {folder, true};
}

std::vector<fs::path> TemporaryFolders::made() const {
  const std::scoped_lock lock(mutex_);
  std::vector<fs::path> folders;
  for (const fs::path& folder : folders_) {
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

}  // namespace hgemm
