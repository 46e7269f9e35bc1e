// Files that are read whole and replaced whole.
#include "base/file.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  std::string why_unreadable(const fs::path& path, std::size_t max_bytes = 100) const {
    try {
      read_file(path, max_bytes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "it was read";
  }

  int entries() const { return static_cast<int>(std::distance(fs::directory_iterator(root_), {})); }

  const test::TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
  const fs::path path_ = root_ / "file.txt";
};

TEST_F(Files, AreReadAsTheyAre) {
  for (const std::string& text : {std::string(), std::string("a\0b\r\n\xff", 6)}) {
    write(text);
    EXPECT_EQ(read_file(path_, 100), text);
  }
}

TEST_F(Files, MayHaveAsManyBytesAsTheLimitAndNoMore) {
  write(std::string(100, 'x'));
  EXPECT_EQ(read_file(path_, 100).size(), 100u);
  EXPECT_THAT(why_unreadable(path_, 99),
              AllOf(HasSubstr(path_.string()), HasSubstr("larger than 99 bytes")));
}

// Their size is said to be 0.
TEST_F(Files, OfTheKernelAreReadToTheirEnd) {
  EXPECT_THAT(read_file("/proc/self/status", 1 << 20), HasSubstr("Name:"));
  EXPECT_THAT(why_unreadable("/proc/self/status", 10), HasSubstr("larger than 10 bytes"));
}

TEST_F(Files, ThatAreNoneSayWhy) {
  EXPECT_THAT(why_unreadable(path_), AllOf(HasSubstr(path_.string()), HasSubstr("No such file")));
  EXPECT_THAT(why_unreadable(root_), HasSubstr("a folder"));
  EXPECT_THAT(why_unreadable("/dev/zero"), HasSubstr("not a regular file"));
}

TEST_F(Files, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(why_unreadable(path_), HasSubstr("not a regular file"));
}

TEST_F(Files, AreReplacedWhole) {
  replace_file(path_, "one");
  replace_file(path_, std::string("two\0", 4));
  EXPECT_EQ(read_file(path_, 100), std::string("two\0", 4));
  EXPECT_EQ(entries(), 1) << "nothing is left beside it";
}

TEST_F(Files, ThatAreNewMayBeReadAsTheUmaskSays) {
  const mode_t mask = umask(027);
  replace_file(path_, "text");
  umask(mask);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(Files, OnAFullDiskStayAsTheyWere) {
  write("old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message = "it was written";
  try {
    replace_file(path_, std::string(2000, 'x'));
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, AllOf(HasSubstr(path_.string()), HasSubstr("File too large")));
  EXPECT_EQ(read_file(path_, 100), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, ThatCannotBeReplacedSayWhy) {
  EXPECT_THROW(replace_file(root_ / "gone/file", "text"), Error);
  fs::create_directory(path_);
  EXPECT_THROW(replace_file(path_, "text"), Error);
  EXPECT_TRUE(fs::is_directory(path_));
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace hgemm
