// What is said to people: on a stderr that cannot be written, and with texts of others.
#include "base/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/file.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

/// The exit code of a child that does this, -1 if a signal ended it.
int in_child(const std::function<void()>& what) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      what();
    } catch (...) {
      _exit(99);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// What a child says that does this.
std::string said(const std::function<void()>& what) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "said";
  EXPECT_EQ(in_child([&] {
              dup2(open(path.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
              what();
            }),
            0);
  return read_file(path, 1 << 20);
}

TEST(Say, WritesFormattedTextToStderr) {
  EXPECT_EQ(said([] { say("{} of {}\n", 1, "two"); }), "1 of two\n");
}

TEST(Say, TextsOfOthersCannotRewriteTheTerminal) {
  EXPECT_EQ(said([] { say("gpu {}\n", "a\x1b[2Jb\rc\x07\xff"); }), "gpu a?[2Jb?c??\n");
}

TEST(Say, WritesTextThatLooksLikeAFormatAsItIs) {
  EXPECT_EQ(said([] { say_text("{} %s {0}\n"); }), "{} %s {0}\n");
}

TEST(Say, AFullDiskOrAClosedStderrIsNoError) {
  EXPECT_EQ(in_child([] {
              dup2(open("/dev/full", O_WRONLY), STDERR_FILENO);
              for (int i = 0; i < 1000; ++i) say("{}\n", std::string(1000, 'x'));
            }),
            0);
  EXPECT_EQ(in_child([] {
              close(STDERR_FILENO);
              say("lost\n");
            }),
            0);
}

TEST(ClosedStreams, AreOpenedSoThatNoFileGetsTheirNumber) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "file";
  EXPECT_EQ(in_child([&] {
              for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
              open_closed_streams();
              if (open(path.c_str(), O_WRONLY | O_CREAT, 0600) <= STDERR_FILENO) _exit(1);
              say("not for the file\n");
            }),
            0);
  EXPECT_EQ(read_file(path, 100), "");
}

TEST(ClosedStreams, OpenOnesStayAsTheyAre) {
  EXPECT_EQ(said([] {
              close(STDIN_FILENO);
              open_closed_streams();
              say("here\n");
            }),
            "here\n");
}

}  // namespace
}  // namespace hgemm
