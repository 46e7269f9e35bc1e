#include "program/writable.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"

namespace hgemm::cli {
namespace fs = std::filesystem;

bool can_write_into(const fs::path& folder) {
  std::error_code error;  // a file where a folder should be: not there
  fs::path existing = fs::absolute(folder, error);
  if (error) return false;  // the working folder is gone
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  return fs::is_directory(existing, error) && access(existing.c_str(), W_OK) == 0;
}

void require_writable_cache(const fs::path& folder) {
  if (can_write_into(folder)) return;
  throw InputError(fmt::format("the cache {} cannot be written; choose another with --cache-dir",
                               folder.string()));
}

}  // namespace hgemm::cli
