#include "base/resources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "base/embedded.h"
#include "base/revision.h"

namespace hgemm {
namespace {
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(Resources, AreFoundFromABuildFolderWhateverTheWorkingFolder) {
  const fs::path start = fs::current_path();
  fs::current_path("/");
  EXPECT_TRUE(fs::exists(resource_dir() / "configs/shapes/llama7b.yaml"));
  EXPECT_TRUE(fs::exists(resource_dir() / "configs/spaces/quick.yaml"));
  fs::current_path(start);
}

TEST(Resources, ListTheDatabaseOfEachDevice) {
  std::vector<fs::path> expected;
  for (const auto& entry : fs::recursive_directory_iterator(resource_dir() / "results")) {
    if (entry.path().filename() == "tune.db") expected.push_back(entry.path());
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(recorded_databases(), expected);
}

TEST(Embedded, KernelsAreThoseOfTheSourceTree) {
  const fs::path root = HGEMM_SOURCE_DIR;
  std::size_t in_tree = 0;
  for (const auto& entry : fs::directory_iterator(root / "kernels")) {
    const auto extension = entry.path().extension();
    in_tree += extension == ".h" || extension == ".cuh" ? 1 : 0;
  }
  EXPECT_EQ(embedded_kernels().size(), in_tree);
  for (const EmbeddedFile& file : embedded_kernels()) {
    EXPECT_EQ(file.text, read(root / file.path)) << file.path;
    EXPECT_EQ(file.text.data()[file.text.size()], '\0') << file.path;
  }
}

TEST(Embedded, SchemaIsThatOfTheStore) {
  ASSERT_EQ(embedded_schema().size(), 1u);
  EXPECT_EQ(embedded_schema()[0].text, read(fs::path(HGEMM_SOURCE_DIR) / "src/store/schema.sql"));
}

TEST(Revision, IsAHashOrSaysThatItIsUnknown) {
  const std::string revision(git_revision());
  const std::string hash = revision.substr(0, revision.find('-'));
  EXPECT_TRUE(revision == "unknown" ||
              (hash.size() == 12 && std::all_of(hash.begin(), hash.end(),
                                                [](unsigned char c) { return std::isxdigit(c); })))
      << revision;
}

}  // namespace
}  // namespace hgemm
