// Files for one test, in a temporary folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace hgemm {

class ScratchFiles {
 public:
  const std::filesystem::path& folder() const { return folder_.path(); }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace hgemm
