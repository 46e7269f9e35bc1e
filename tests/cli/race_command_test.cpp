// The race command where no GPU is: arguments, and verdicts of a database.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "program.h"
#include "program/peers.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class PeersTest : public testing::Test {
 protected:
  std::string file(const std::string& name) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << name;
    return path.string();
  }
  Peer parse(const std::string& text) { return parse_peers(std::span(&text, 1)).at(0); }

  test::TemporaryFolder folder_;
};

TEST_F(PeersTest, AFileNamesItsPeer) {
  const std::string path = file("libMy Cutlass.so.3");
  const Peer peer = parse(path);
  EXPECT_EQ(peer.name, "my_cutlass");
  EXPECT_EQ(peer.file, path);
  EXPECT_EQ(peer.options, "");
  EXPECT_EQ(peer.hash.size(), 32u);
}

TEST_F(PeersTest, ANameAndOptionsMayBeGiven) {
  const std::string path = file("one.so");
  const Peer peer = parse("fast=" + path + ":tiles=128x256:a");
  EXPECT_EQ(peer.name, "fast");
  EXPECT_EQ(peer.file, path);
  EXPECT_EQ(peer.options, "tiles=128x256:a");
  EXPECT_NE(peer.identity(), parse(path).identity()) << "other options may choose other kernels";
}

TEST_F(PeersTest, APathMayContainColonsAndEqualSigns) {
  std::filesystem::create_directory(folder_.path() / "a:b=c");
  const std::string path = file("a:b=c/one.so");
  EXPECT_EQ(parse(path).file, path);
  EXPECT_EQ(parse(path + ":x").options, "x");
}

TEST_F(PeersTest, WhatIsWrongIsSaid) {
  EXPECT_THAT([&] { parse("/nowhere/one.so:fast"); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("--peer /nowhere/one.so:fast"), HasSubstr("/nowhere/one.so"))));
  EXPECT_THAT([&] { parse("Fast=" + file("one.so")); },
              ThrowsMessage<InputError>(HasSubstr("cannot be the name of a peer")));
  const std::vector<std::string> twice = {file("one.so"), file("libone.so")};
  EXPECT_THAT([&] { parse_peers(twice); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("two peers are called one"), HasSubstr("--peer NAME="))));
}

using RaceCommand = ProgramTest;

TEST_F(RaceCommand, PrintsTheVerdictOfADatabase) {
  const std::string db = std::string(HGEMM_SOURCE_DIR) + "/results/h200/headline-safe.db";
  const auto [code, out, err] = run("race --recorded --db " + db + " --shapes 4096x4096x4096");
  EXPECT_EQ(code, 0) << err;
  EXPECT_THAT(out, AllOf(HasSubstr("best library"), HasSubstr("wins"), HasSubstr("hgemm-tune")));
}

TEST_F(RaceCommand, ADatabaseMustBeNamedForAVerdictWithoutMeasuring) {
  const auto result = run("race --recorded");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("name the database with --db"));
}

}  // namespace
}  // namespace hgemm::cli
