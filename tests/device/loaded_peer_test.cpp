// Loading of peers: everything that needs no GPU.
#include "device/peer.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "gemm/codec.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A library that was built beside this program.
std::filesystem::path library(const std::string& name = "libnaive_peer.so") {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}
Peer peer(const std::string& options, const std::filesystem::path& file = library()) {
  return {.name = "naive",
          .file = file,
          .hash = content_hash(read_file(file, kLongestPeerBytes)),
          .options = options};
}

const GemmProblem kProblem{.m = 64, .n = 64, .k = 64, .tag = ""};

TEST(LoadedPeer, SaysWhatItIsAndWhatItCanDo) {
  const LoadedPeer loaded(peer("good"));
  EXPECT_EQ(loaded.variants(kProblem), 1);
  EXPECT_EQ(loaded.describe(kProblem, 0), "naive 1.0, naive, variant 0");
  EXPECT_EQ(loaded.workspace_bytes(kProblem, 0), 256u);
  EXPECT_EQ(loaded.variants({.m = 64,
                             .n = 64,
                             .k = 64,
                             .a_type = DataType::kFp32,
                             .b_type = DataType::kFp32,
                             .d_type = DataType::kFp32,
                             .tag = ""}),
            0);
}

TEST(LoadedPeer, IsAskedOnlyAboutWhatItKnows) {
  const LoadedPeer of_16_bits(peer("anything"));
  const LoadedPeer of_8_bits(peer("anything", library("libnaive_8_bit_peer.so")));
  const auto both = [&](const char* key) {
    const GemmProblem problem = parse_problem(key);
    return std::pair(of_16_bits.variants(problem), of_8_bits.variants(problem));
  };
  EXPECT_EQ(both("64x64x256.fp16"), std::pair(1, 1));
  EXPECT_EQ(both("64x64x256.dfp32"), std::pair(1, 1));
  for (const char* key : {"64x64x256.e4m3", "64x64x256.e5m2.be4m3", "64x64x256.e4m3.accfast"}) {
    EXPECT_EQ(both(key), std::pair(0, 1)) << key;
  }
  for (const char* key :
       {"64x64x256.e4m3.scaling-tensor", "64x64x256.e4m3.scaling-rows",
        "64x64x256.e4m3.scaling-blocks", "64x64x256.e4m3.scaling-row_blocks", "64x64x256.relu",
        "64x64x256.layoutNN", "64x64x256.batch2", "64x64x256.e4m3.de4m3"}) {
    EXPECT_EQ(both(key), std::pair(0, 0)) << key;
  }
  const auto why = [&](const LoadedPeer& loaded, const char* key) {
    const char* const reason = loaded.why_not_asked(parse_problem(key));
    return std::string(reason == nullptr ? "" : reason);
  };
  EXPECT_THAT(why(of_16_bits, "64x64x256.e4m3.scaling-rows"), HasSubstr("no 8-bit operands"));
  EXPECT_THAT(why(of_8_bits, "64x64x256.e4m3.scaling-rows"), HasSubstr("no scales"));
  EXPECT_THAT(why(of_8_bits, "64x64x256.layoutNN"), HasSubstr("layout TN"));
  EXPECT_EQ(why(of_8_bits, "64x64x256.e4m3"), "");
}

TEST(LoadedPeer, TheExampleKnowsEveryKindOfScales) {
  const LoadedPeer example(peer("", library("libexample_peer.so")));
  for (const char* key :
       {"64x64x256.fp16", "64x64x256.e4m3", "64x64x256.e4m3.accfast.scaling-tensor",
        "64x64x256.e4m3.scaling-rows", "64x64x256.e4m3.scaling-blocks",
        "64x64x256.e4m3.scaling-row_blocks", "64x64x256.e4m3.scaling-packed_blocks"}) {
    EXPECT_EQ(example.variants(parse_problem(key)), 1) << key;
  }
  for (const char* key : {"64x64x256", "64x64x256.e5m2", "64x64x256.e4m3.dfp32"}) {
    EXPECT_EQ(example.variants(parse_problem(key)), 0) << key;
  }
}

TEST(LoadedPeer, OneOfAnOlderInterfaceIsRefused) {
  EXPECT_THAT([] { LoadedPeer(peer("good", library("libnaive_old_peer.so"))); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("version 1 of hgemm_peer.h"), HasSubstr("build it again"))));
}

TEST(LoadedPeer, ItsOwnReasonIsTold) {
  EXPECT_THAT([] { LoadedPeer(peer("refuses-to-open")); },
              ThrowsMessage<Error>(AllOf(HasSubstr("open() of peer naive"),
                                         HasSubstr("the options say that it must fail"))));
}

TEST(LoadedPeer, AFileThatChangedIsRefused) {
  Peer changed = peer("good");
  changed.hash = "0";
  EXPECT_THAT([&] { LoadedPeer{changed}; }, ThrowsMessage<Error>(HasSubstr("has changed")));
}

TEST(LoadedPeer, AFileThatIsNoPeerIsRefused) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "text.so";
  std::ofstream(file) << "no library";
  EXPECT_THAT([&] { LoadedPeer(peer("", file)); },
              ThrowsMessage<Error>(HasSubstr("cannot be loaded")));
  // Every process has a C library.
  EXPECT_THAT([&] { LoadedPeer(peer("", "/proc/self/exe")); },
              ThrowsMessage<Error>(HasSubstr("cannot be loaded")));
}

TEST(LoadedPeers, AreLoadedOnce) {
  LoadedPeers loaded;
  EXPECT_EQ(loaded.get(peer("good")), loaded.get(peer("good")));
  EXPECT_NE(loaded.get(peer("good")), loaded.get(peer("none"))) << "options are a part of it";
}

}  // namespace
}  // namespace hgemm
