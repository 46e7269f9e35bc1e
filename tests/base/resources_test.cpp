#include "base/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

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
  EXPECT_EQ(recorded_databases("tune.db"), expected);
}

/// Paths of the files below a folder of the source tree, sorted. `extensions`: all if there are
/// none.
std::vector<std::string> files_below(const std::string& folder,
                                     const std::set<std::string>& extensions = {}) {
  const fs::path root = HGEMM_SOURCE_DIR;
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const fs::path& path = entry.path();
    if (!entry.is_regular_file()) continue;
    if (!extensions.empty() && !extensions.contains(path.extension())) continue;
    paths.push_back(path.lexically_relative(root).string());
  }
  std::ranges::sort(paths);
  return paths;
}

void expect_embedded(std::span<const EmbeddedFile> files, const std::vector<std::string>& paths) {
  std::vector<std::string> embedded;
  for (const EmbeddedFile& file : files) {
    embedded.emplace_back(file.path);
    EXPECT_EQ(file.text, read(fs::path(HGEMM_SOURCE_DIR) / file.path)) << file.path;
    EXPECT_EQ(file.text.data()[file.text.size()], '\0') << file.path;
  }
  EXPECT_THAT(embedded, testing::UnorderedElementsAreArray(paths));
}

const std::set<std::string> kKernelExtensions = {".h", ".cuh"};

TEST(Embedded, KernelsAreThoseOfTheSourceTree) {
  std::vector<std::string> paths = files_below("kernels", kKernelExtensions);
  std::erase_if(paths,
                [](const std::string& path) { return path.starts_with("kernels/studies/"); });
  EXPECT_FALSE(paths.empty());
  expect_embedded(embedded_kernels(), paths);
}

TEST(Embedded, StudyKernelsAreThoseOfTheSourceTree) {
  const auto paths = files_below("kernels/studies", kKernelExtensions);
  EXPECT_FALSE(paths.empty());
  expect_embedded(embedded_study_kernels(), paths);
}

TEST(Embedded, SchemaAndMigrationsAreThoseOfTheStore) {
  expect_embedded(embedded_schema(), {"src/store/schema.sql"});
  const auto migrations = files_below("src/store/migrations");
  EXPECT_FALSE(migrations.empty());
  expect_embedded(embedded_migrations(), migrations);
}

TEST(Embedded, HelpIsThatOfTheProgram) {
  const auto texts = files_below("src/program/help");
  EXPECT_FALSE(texts.empty());
  expect_embedded(embedded_help(), texts);
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
