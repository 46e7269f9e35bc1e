// Files for one test, in a folder that goes away with it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hgemm {

class ScratchFiles {
 public:
  ScratchFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hgemm-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~ScratchFiles() { std::filesystem::remove_all(folder_); }
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace hgemm
