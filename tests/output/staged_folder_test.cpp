// Folders that are replaced all or nothing.
#include "output/staged_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Content = std::map<std::string, std::string>;

/// All files below a folder, hidden ones too.
Content content_of(const fs::path& folder) {
  Content content;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    content[entry.path().lexically_relative(folder).string()] = read_file(entry.path(), 1 << 20);
  }
  return content;
}

void write(const fs::path& folder, const Content& content) {
  StagedFolder staged(folder);
  for (const auto& [name, text] : content) staged.write(name, text);
  staged.publish();
}

class StagedFolders : public testing::Test {
 protected:
  const test::TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
  const fs::path target_ = root_ / "out";
  const Content old_{{"a.txt", "old"}, {"sub/b.txt", "old"}};
  const Content new_{{"a.txt", "new"}, {"sub/b.txt", "new"}};
};

TEST_F(StagedFolders, AppearWithTheFoldersAboveThem) {
  write(root_ / "x/y/out/", old_);
  EXPECT_EQ(content_of(root_ / "x/y/out"), old_);
  struct stat status {};
  ASSERT_EQ(stat((root_ / "x/y/out").c_str(), &status), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 07777, 0777 & ~mask) << "as any folder that is made";
}

TEST_F(StagedFolders, ReplaceWhatTheyWrite) {
  write(target_, old_);
  fs::permissions(target_, fs::perms(0751));
  write(target_, new_);
  EXPECT_EQ(content_of(root_), (Content{{"out/a.txt", "new"}, {"out/sub/b.txt", "new"}}));
  EXPECT_EQ(fs::status(target_).permissions(), fs::perms(0751));
}

TEST_F(StagedFolders, OtherFilesStay) {
  write(target_, old_);
  write(target_, {{"mine", "mine"}, {"sub/mine", "mine"}});
  write(target_, new_);
  EXPECT_EQ(content_of(root_), (Content{{"out/a.txt", "new"},
                                        {"out/sub/b.txt", "new"},
                                        {"out/mine", "mine"},
                                        {"out/sub/mine", "mine"}}));
}

TEST_F(StagedFolders, TheWorkingFolderStaysTheSameFolder) {
  write(target_, old_);
  const fs::path before = fs::current_path();
  fs::current_path(target_);
  write(".", new_);
  EXPECT_EQ(content_of("."), new_) << "and not of a folder that was exchanged and removed";
  fs::current_path(before);
  EXPECT_EQ(content_of(target_), new_);
}

TEST_F(StagedFolders, ALinkToAFolderStaysOne) {
  write(target_, old_);
  fs::create_directory_symlink("out", root_ / "link");
  write(root_ / "link", new_);
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
  EXPECT_EQ(content_of(target_), new_);
}

TEST_F(StagedFolders, WhatIsNotPublishedLeavesNothing) {
  { StagedFolder(root_ / "x/y").write("a", "a"); }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(StagedFolders, AFolderWhereAFileBelongsChangesNothing) {
  write(target_, {{"a.txt", "old"}});
  fs::create_directory(target_ / "z.txt");
  EXPECT_THROW(write(target_, {{"a.txt", "new"}, {"z.txt", "new"}}), InputError);
  EXPECT_EQ(content_of(root_), (Content{{"out/a.txt", "old"}}));
  fs::remove(target_ / "z.txt");
  EXPECT_THROW(write(target_, {{"A.txt", "new"}, {"a.txt/z", "new"}}), InputError);
  EXPECT_EQ(content_of(root_), (Content{{"out/a.txt", "old"}}));
}

TEST_F(StagedFolders, AFileIsNoFolder) {
  write(target_, old_);
  EXPECT_THROW(StagedFolder(target_ / "a.txt"), InputError);
  EXPECT_THROW(StagedFolder(target_ / "a.txt/below"), InputError);
}

TEST_F(StagedFolders, AFullDiskLeavesTheOldContentAndNamesTheFile) {
  write(target_, old_);
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    write(target_, {{"a.txt", "new"}, {"sub/b.txt", std::string(5000, 'x')}});
  } catch (const InputError&) {
    message = "input error";
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr((target_ / "sub/b.txt").string() + " cannot be written"));
  EXPECT_EQ(content_of(root_), (Content{{"out/a.txt", "old"}, {"out/sub/b.txt", "old"}}));
}

TEST_F(StagedFolders, WhatAKilledProcessLeftIsRemovedAndWhatALivingOneHasIsNot) {
  write(target_, old_);
  fs::create_directories(root_ / ".out.hgemm-new.12345/sub");
  fs::create_directories(target_ / ".out.hgemm-new.12345");
  fs::create_directories(root_ / ".out.hgemm-new.mine");
  fs::create_directories(root_ / ".other.hgemm-new.1");
  const fs::path living = root_ / ".out.hgemm-new.777";
  fs::create_directories(living);
  const int lock = open(living.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  write(target_, new_);
  close(lock);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root_)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, UnorderedElementsAre("out", ".out.hgemm-new.mine", ".other.hgemm-new.1",
                                          ".out.hgemm-new.777"));
  EXPECT_EQ(content_of(target_), new_);
  EXPECT_FALSE(fs::exists(target_ / ".out.hgemm-new.12345"));
}

TEST_F(StagedFolders, AKillLeavesAllOfTheOldOrAllOfTheNew) {
  Content one, other;
  for (int i = 0; i < 4; ++i) {
    one["sub/" + std::to_string(i)] = "one";
    other["sub/" + std::to_string(i)] = "other";
  }
  write(target_, one);
  for (int kill_after_us = 0; kill_after_us < 50'000; kill_after_us += 1900) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (true) {
        write(target_, other);
        write(target_, one);
      }
    }
    usleep(static_cast<useconds_t>(kill_after_us));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const Content found = content_of(target_);
    ASSERT_TRUE(found == one || found == other) << kill_after_us;
  }
  write(target_, one);
  EXPECT_EQ(content_of(root_).size(), one.size()) << "nothing is left beside it";
}

}  // namespace
}  // namespace hgemm
