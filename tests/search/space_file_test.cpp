// Space files of other people: what is said of each, and that none is read without end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/error.h"
#include "search/space.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kConfigs = HGEMM_SOURCE_DIR "/configs";

class SpaceText : public ::testing::Test {
 protected:
  /// The complaint about a file, without the file's name.
  std::string complaint_about(const std::string& text) {
    const std::string path = files_.write("space.yaml", text);
    try {
      load_space(path, kConfigs);
    } catch (const InputError& error) {
      const std::string message = error.what();
      if (!message.starts_with(path + ":")) return message;  // of a file that it includes
      return message.substr(path.size() + 1);
    }
    return "accepted";
  }

  ScratchFiles files_;
};

TEST_F(SpaceText, Complaints) {
  EXPECT_THAT(complaint_about("grids:\n  - {bm: 64, bn: 64, schedule: coop1, clusters: 2x1}\n"),
              AllOf(StartsWith("2:39: unknown key \"clusters\" in a grid"),
                    EndsWith("did you mean \"cluster\"?")));
  EXPECT_THAT(
      complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, order: hilbret}]"),
      AllOf(StartsWith("1:50: found \"hilbret\" for order"), HasSubstr("did you mean hilbert?")));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, order: []}]"),
              HasSubstr("an empty list for order"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, cluster: 2}]"),
              HasSubstr("found \"2\" for cluster; expected 1x1, 2x1"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: {}}]"),
              HasSubstr("found a map for schedule"));
  // What belongs to another axis.
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: single}]"),
              HasSubstr("found \"single\" for schedule; expected coop1 to coop3, cols2"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, a_hint: lats}]"),
              AllOf(HasSubstr("found \"lats\" for a_hint"), HasSubstr("none, first, last")));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, q: most}]"),
              AllOf(HasSubstr("found \"most\" for q"), HasSubstr("max")));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 5000, schedule: coop1}]"),
              StartsWith("1:22: found \"5000\" for bn"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, pdl: 2}]"),
              StartsWith("1:48: found \"2\" for pdl; expected 0, 1"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, pdl: [0, yes]}]"),
              StartsWith("1:52: found \"yes\" for pdl"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64}]"), StartsWith("1:9: no \"schedule\""));
  EXPECT_THAT(complaint_about("grids: []"), HasSubstr("an empty list for grids"));
  EXPECT_THAT(complaint_about("name: mine"), StartsWith("1:1: no \"grids\" in a space file"));
  EXPECT_THAT(complaint_about("grids: [{bm: 1:1024:1, bn: 1:1024:1, schedule: coop1}]"),
              HasSubstr("more than 1000000 points"));
}

TEST_F(SpaceText, FamiliesHaveTheirOwnAxes) {
  EXPECT_THAT(complaint_about("grids: [{family: swap_ba, bm: 8, bn: 64}]"),
              AllOf(StartsWith("1:18: found \"swap_ba\" for family"),
                    HasSubstr("tiled or swap_ab or gemv")));
  EXPECT_THAT(complaint_about("grids: [{family: swap_ab, bm: 8, bn: 64, cluster: 1x1}]"),
              StartsWith("1:42: unknown key \"cluster\" in a grid"));
  EXPECT_THAT(complaint_about("grids: [{family: swap_ab, bm: 8, bn: 64, store: direct}]"),
              AllOf(HasSubstr("found \"direct\" for store"), HasSubstr("tma, staged")));
  EXPECT_THAT(complaint_about("grids: [{family: gemv, vectors: 1, rows: 8}]"),
              StartsWith("1:9: no \"step\" in a grid"));
  EXPECT_THAT(complaint_about("grids: [{family: gemv, vectors: 1, rows: 8, step: 256, q: 2}]"),
              StartsWith("1:56: unknown key \"q\" in a grid"));
  // Builds with stamps are not searched.
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, schedule: coop1, probe: 1}]"),
              StartsWith("1:43: unknown key \"probe\" in a grid"));
}

TEST_F(SpaceText, MissingSpacesNameTheKnownOnes) {
  try {
    load_space("qick", kConfigs);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("did you mean quick?"), HasSubstr("full, quick, rows, smoke")));
  }
}

TEST_F(SpaceText, IncludesOtherSpaces) {
  const std::string one =
      files_.write("one.yaml", "grids: [{bm: 64, bn: [64, 72], schedule: coop1}]\n");
  const std::string both = files_.write(
      "both.yaml", "include: [smoke, " + one + "]\ngrids: [{bm: 64, bn: 80, schedule: coop1}]\n");
  const auto count = [](const std::string& name) {
    return enumerate(load_space(name, kConfigs)).valid.size();
  };
  EXPECT_EQ(count(both), count("smoke") + 3);
  EXPECT_EQ(load_space(both, kConfigs).name, "both");

  EXPECT_THAT(complaint_about("include: qick\ngrids: [{bm: 64, bn: 64, schedule: coop1}]"),
              AllOf(StartsWith("1:10: "), HasSubstr("did you mean quick?")));
  // The same twice, by two ways, is no circle; files beside this one are found by their names.
  files_.write("left.yaml", "include: one.yaml");
  files_.write("right.yaml", "include: [one.yaml]");
  EXPECT_EQ(count(files_.write("diamond.yaml", "include: [left.yaml, right.yaml]")), 2u);
  files_.write("bare.yaml", "include: one");
  EXPECT_EQ(count((files_.folder() / "bare.yaml").string()), 2u) << "without .yaml";
  files_.write("sub/one.yaml", "grids: [{bm: 64, bn: 64, schedule: coop1}]\n");
  EXPECT_EQ(count(files_.write("sub/own.yaml", "include: one")), 1u) << "its own neighbour";
  files_.write("sub/quick.yaml", "include: one");
  EXPECT_EQ(count(files_.write("sub/mine.yaml", "include: quick")), 1u)
      << "a neighbour comes before a space of the program";
  files_.write("a.yaml", "include: b.yaml");
  const std::string circle = files_.write("b.yaml", "include: a.yaml");
  try {
    load_space(circle, kConfigs);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.yaml:1:10: found include b.yaml, which leads back"));
  }
}

TEST_F(SpaceText, DoesNotIncludeWhatLiesInTheWorkingFolderByChance) {
  const std::filesystem::path before = std::filesystem::current_path();
  files_.write("work/stray.yaml", "grids: [{bm: 64, bn: 64, schedule: coop1}]\n");
  const std::string space = files_.write("spaces/mine.yaml", "include: stray");
  std::filesystem::current_path(files_.folder() / "work");
  try {
    load_space(space, kConfigs);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("mine.yaml:1:10: found include stray, which is in the "
                                        "working folder"));
  }
  std::filesystem::current_path(before);
}

// Without care the first of these is a billion grids, and the second a stack that overflows.
TEST_F(SpaceText, IncludesAreReadOnceAndNotWithoutEnd) {
  const auto name = [](int i) { return "f" + std::to_string(i) + ".yaml"; };
  for (int i = 0; i < 30; ++i) {
    files_.write(name(i), "include: [" + name(i + 1) + ", " + name(i + 1) + "]\n");
  }
  files_.write(name(30), "grids: [{bm: 64, bn: 64, schedule: coop1}]\n");
  const std::string first = (files_.folder() / name(0)).string();
  EXPECT_EQ(load_space(first, kConfigs).grids.size(), 1u);
  for (int i = 30; i < 4000; ++i) files_.write(name(i), "include: " + name(i + 1) + "\n");
  EXPECT_THAT(complaint_about("include: f0.yaml"),
              AllOf(HasSubstr("f30.yaml:1:10: found include f31.yaml in the last of 32 files"),
                    HasSubstr("put their grids into one file")));
  std::string many = "include: [";
  for (int i = 0; i < 300; ++i) {
    files_.write("g" + std::to_string(i), "grids: [{bm: 64, bn: 64, schedule: coop1}]\n");
    many += "g" + std::to_string(i) + ", ";
  }
  EXPECT_THAT(complaint_about(many + "]"), HasSubstr("found include g255 in the last of 256"));
}

TEST_F(SpaceText, WhatIsNoRegularFileIsNotWaitedFor) {
  const auto pipe = files_.folder() / "pipe.yaml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(complaint_about("include: pipe.yaml"), HasSubstr("not a regular file"));
  try {
    load_space(pipe.string(), kConfigs);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith(pipe.string()), HasSubstr("not a regular file")));
  }
  EXPECT_THAT(complaint_about("include: [\"a\\0b\"]"), HasSubstr("one short line of text"));
}

TEST_F(SpaceText, ManyValuesAndGridsAreTold) {
  std::string values, aliases;
  for (int i = 0; i < 1000; ++i) values += "'1:4096:1', ";
  EXPECT_THAT(complaint_about("grids: [{bm: 64, schedule: coop1, bn: [" + values + "]}]"),
              HasSubstr("more than 1000000 values for bn"));
  for (int i = 0; i < 20'000; ++i) aliases += "*a, ";
  EXPECT_THAT(complaint_about("grids: [&a {bm: 64, bn: 64, schedule: coop1}, " + aliases + "]"),
              HasSubstr("more than 10000 grids"));
}

TEST_F(SpaceText, NameIsTheFilesIfNotGiven) {
  const std::string grids = "grids: [{bm: 64, bn: 64, schedule: coop1}]\n";
  EXPECT_EQ(load_space(files_.write("mine.yaml", grids), kConfigs).name, "mine");
  EXPECT_EQ(load_space(files_.write("mine.yaml", grids + "name: other\n"), kConfigs).name, "other");
}

}  // namespace
}  // namespace hgemm
