#include "base/source_hash.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/cpp_text.h"
#include "base/hash.h"

namespace hgemm {

std::string source_hash(std::span<const EmbeddedFile> of_files) {
  std::vector<EmbeddedFile> files(of_files.begin(), of_files.end());
  std::ranges::sort(files, {}, &EmbeddedFile::path);
  std::vector<std::string> stripped;
  for (const EmbeddedFile& file : files) {
    stripped.emplace_back(file.path);
    stripped.push_back(without_comments(file.text));
  }
  const std::vector<std::string_view> texts(stripped.begin(), stripped.end());
  return content_hash(texts);
}

}  // namespace hgemm
