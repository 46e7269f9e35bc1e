#include "program/writable.h"

#include <unistd.h>

namespace hgemm::cli {
namespace fs = std::filesystem;

bool can_write_into(const fs::path& folder) {
  std::error_code error;  // ignored: a path below a file does not exist
  fs::path existing = fs::absolute(folder, error);
  if (error) return false;  // the working folder is gone
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  return fs::is_directory(existing, error) && access(existing.c_str(), W_OK) == 0;
}

}  // namespace hgemm::cli
