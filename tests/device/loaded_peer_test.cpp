// Loading of peers: everything that needs no GPU.
#include "device/peer.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::filesystem::path library() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libnaive_peer.so";
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
