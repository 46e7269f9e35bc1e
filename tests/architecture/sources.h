// The project's sources as text, for tests of what they look like.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>

namespace hgemm::test {

using Sources = std::map<std::string, std::string>;  // path in the project -> text

/// Every C++ and CUDA file below `folders`.
inline Sources sources_in(std::span<const char* const> folders) {
  namespace fs = std::filesystem;
  static const std::set<std::string> kExtensions = {".h", ".cpp", ".cuh", ".cu"};
  const fs::path root = HGEMM_SOURCE_DIR;
  Sources sources;
  for (const char* folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!kExtensions.contains(entry.path().extension().string())) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      sources[entry.path().lexically_relative(root).string()] =
          std::string(std::istreambuf_iterator<char>(file), {});
    }
  }
  return sources;
}

}  // namespace hgemm::test
