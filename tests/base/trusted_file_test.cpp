#include "base/trusted_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/temporary_folders.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kMax = 100;

class TrustedFile : public testing::Test {
 protected:
  std::optional<std::string> read(std::size_t max_bytes = kMax) const {
    return read_trusted_file(path_, max_bytes, geteuid());
  }

  test::TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "below" / "file";
};

TEST_F(TrustedFile, IsReadAsItWasWritten) {
  EXPECT_EQ(read(), std::nullopt);
  const std::string bytes("text\0and\xff bytes", 14);
  write_trusted_file(path_, bytes);
  EXPECT_EQ(read(), bytes);
  write_trusted_file(path_, "");
  EXPECT_EQ(read(), "");
}

TEST_F(TrustedFile, IsOfABoundedSize) {
  write_trusted_file(path_, std::string(kMax, 'x'));
  EXPECT_EQ(read(), std::string(kMax, 'x'));
  EXPECT_EQ(read(kMax - 1), std::nullopt);
}

TEST_F(TrustedFile, IsNobodyElsesToWrite) {
  write_trusted_file(path_, "text");
  for (const mode_t mode : {0664, 0646, 0666}) {
    chmod(path_.c_str(), mode);
    EXPECT_EQ(read(), std::nullopt);
  }
  chmod(path_.c_str(), 0444);
  EXPECT_EQ(read(), "text");
  chmod(path_.parent_path().c_str(), 0770);
  EXPECT_EQ(read(), std::nullopt) << "others may put another file there";
  write_trusted_file(path_, "text");
  EXPECT_EQ(read(), "text");
}

TEST_F(TrustedFile, IsItsOwnersOrRoots) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write_trusted_file(path_, "text");
  const auto read_by = [&](uid_t owner) { return read_trusted_file(path_, kMax, owner); };
  EXPECT_EQ(read_by(1000), "text") << "root's";
  ASSERT_EQ(chown(path_.c_str(), 1000, 1000), 0);
  EXPECT_EQ(read_by(1000), "text");
  EXPECT_EQ(read_by(1001), std::nullopt);
  EXPECT_EQ(read_by(0), std::nullopt);
  ASSERT_EQ(chown(path_.parent_path().c_str(), 1001, 1001), 0);
  EXPECT_EQ(read_by(1000), std::nullopt);
  EXPECT_THAT([&] { write_trusted_file(path_, "other"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("below"), HasSubstr("another user"))));
}

TEST_F(TrustedFile, IsNoFolderAndNoLink) {
  fs::create_directories(path_);
  EXPECT_EQ(read(), std::nullopt);
  fs::remove(path_);
  write_trusted_file(path_, "text");
  const fs::path link = folder_.path() / "link";
  fs::create_symlink(path_, path_.parent_path() / "link");
  EXPECT_EQ(read_trusted_file(path_.parent_path() / "link", kMax, geteuid()), std::nullopt);
  fs::create_directory_symlink(path_.parent_path(), link);
  EXPECT_EQ(read_trusted_file(link / "file", kMax, geteuid()), std::nullopt);
}

TEST_F(TrustedFile, CannotBeWrittenWhereThereIsNoFolder) {
  std::ofstream(folder_.path() / "below") << "a file";
  EXPECT_THROW(write_trusted_file(path_, "text"), Error);
  EXPECT_THROW(write_trusted_file(folder_.path() / "not" / "there" / "file", "text"), Error);
}

TEST_F(TrustedFile, AFolderIsTrustedIfItsOwnerAloneMayWrite) {
  EXPECT_EQ(owner_of_trusted_folder(folder_.path()), geteuid());
  chmod(folder_.path().c_str(), 0770);
  EXPECT_THAT([&] { owner_of_trusted_folder(folder_.path()); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr(folder_.path().string()), HasSubstr("chmod -R go-w"))));
  EXPECT_THROW(owner_of_trusted_folder(folder_.path() / "nowhere"), InputError);
}

TEST(TemporaryFolders, AreThisUsersAloneAndGoAway) {
  fs::path made;
  {
    TemporaryFolders folders;
    EXPECT_TRUE(folders.made().empty());
    const auto first = folders.at(0);
    EXPECT_TRUE(first.is_new);
    EXPECT_FALSE(folders.at(0).is_new);
    EXPECT_EQ(folders.at(0).folder, first.folder);
    EXPECT_EQ(fs::status(first.folder).permissions(), fs::perms::owner_all);
    std::ofstream(first.folder / "file") << "text";
    EXPECT_EQ(folders.made().size(), 1u);
    made = first.folder;
  }
  EXPECT_FALSE(fs::exists(made));
}

}  // namespace
}  // namespace hgemm
