// The children of these tests are this program, run again with the name of a role.
#include "base/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/command.h"

namespace hgemm {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

int play(const std::string& role, int socket_fd) {
  Channel channel(socket_fd);
  if (role == "echo") {
    try {
      for (;;) {
        if (!channel.send(channel.receive().value())) return 1;
      }
    } catch (const ChannelClosed&) {
      return 3;
    }
  }
  if (role == "segfault") raise(SIGSEGV);
  if (role == "stop") raise(SIGSTOP);
  if (role == "close and hang" || role == "close and end") {
    close(socket_fd);
    if (role == "close and end") {
      usleep(50'000);
      _exit(7);
    }
    for (;;) pause();
  }
  if (role == "hang") {
    for (;;) pause();
  }
  if (role == "list files") {
    int open_files = 0;
    for (int fd = 3; fd < 1024; ++fd) open_files += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return channel.send(open_files) ? 0 : 1;
  }
  if (role == "die as a parent") {
    Child grandchild({kThisProgram, "hang"});
    if (!channel.send(grandchild.channel().fd())) return 1;
    std::quick_exit(0);  // no destructor runs
  }
  return 2;
}

TEST(Child, AnswersOnItsSocketAndEndsWhenItIsClosed) {
  Child child({kThisProgram, "echo"});
  ASSERT_TRUE(child.channel().send("hello"));
  EXPECT_EQ(child.channel().receive().value(), "hello");
  { Channel closed = std::move(child.channel()); }
  EXPECT_EQ(child.wait(), "exit code 3");
}

TEST(Child, TellsACrashInWords) {
  Child child({kThisProgram, "segfault"});
  EXPECT_THROW(static_cast<void>(child.channel().receive()), ChannelClosed);
  EXPECT_EQ(child.wait(), "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(child.wait(), "killed by signal 11 (Segmentation fault)");
}

TEST(Child, AHungOneIsKilledAtOnce) {
  const auto start = steady_clock::now();
  {
    Child child({kThisProgram, "hang"});
    EXPECT_EQ(child.channel().receive(steady_clock::now() + 50ms), std::nullopt);
    child.kill();
    EXPECT_EQ(child.wait(), "killed by signal 9 (Killed)");
    Child killed_by_its_destructor({kThisProgram, "hang"});
  }
  EXPECT_LT(steady_clock::now() - start, 10s);
}

TEST(Child, AHungOneIsWaitedForWithinABoundOnly) {
  Child child({kThisProgram, "close and hang"});
  EXPECT_THROW(static_cast<void>(child.channel().receive()), ChannelClosed);
  EXPECT_EQ(child.wait(100ms), "it did not end by itself within 100 ms and was killed");
}

TEST(Child, AStoppedOneIsKilledToo) {
  Child child({kThisProgram, "stop"});
  EXPECT_EQ(child.channel().receive(steady_clock::now() + 100ms), std::nullopt);
  EXPECT_EQ(child.wait(0ms), "it did not end by itself within 0 ms and was killed");
}

TEST(Child, OneThatClosedItsSocketHasTimeToEndByItself) {
  Child child({kThisProgram, "close and end"});
  EXPECT_THROW(static_cast<void>(child.channel().receive()), ChannelClosed);
  EXPECT_EQ(child.wait(), "exit code 7");
}

TEST(Child, InheritsNoFileButItsSocket) {
  const int file = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(file, 0);
  Child child({kThisProgram, "list files"});
  EXPECT_EQ(child.channel().receive().value(), 1);
  close(file);
}

TEST(Child, DiesWithItsParent) {
  // The pipe's read end sees the end of file only when every process that holds the write end,
  // standard error of parent and grandchild, is gone.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int standard_error = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  Child parent({kThisProgram, "die as a parent"});
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  EXPECT_TRUE(parent.channel().receive().has_value());
  EXPECT_EQ(parent.wait(), "exit code 0");
  std::jthread too_late([](std::stop_token stop) {
    for (int i = 0; i < 100 && !stop.stop_requested(); ++i) std::this_thread::sleep_for(100ms);
    if (!stop.stop_requested()) std::abort();
  });
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(Child, AProgramThatCannotRunIsAnError) {
  try {
    Child child({"/no/such/program", "serve"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/no/such/program: No such file or directory"));
  }
}

// ---- Programs that run to their end ----

CommandResult shell(const std::string& text, ErrorStream errors = ErrorStream::kCaptured) {
  return run_command({"sh", "-c", text}, errors, 30s);
}

TEST(Command, OutputAndExitCodeAreTheProgramsOwn) {
  const CommandResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(shell("kill -TERM $$").exit_code, 128 + SIGTERM);
  EXPECT_EQ(shell("cat").out, "") << "stdin is empty";
  EXPECT_EQ(shell("echo err >&2; echo out", ErrorStream::kDropped).err, "");
}

TEST(Command, MuchOutputOnBothStreamsIsRead) {
  const CommandResult result = shell("head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2");
  EXPECT_EQ(result.out.size(), 300'000u);
  EXPECT_EQ(result.err.size(), 200'000u);
}

TEST(Command, AProgramThatIsGivenUpEndsWithItsChildren) {
  const auto begin = steady_clock::now();
  const CommandResult result =
      run_command({"sh", "-c", "sleep 1000 & sleep 1000"}, ErrorStream::kCaptured,
                  [&] { return steady_clock::now() - begin > 50ms; });
  EXPECT_FALSE(result.exit_code);
  EXPECT_LT(steady_clock::now() - begin, 100s);
}

TEST(Command, AMissingProgramIsNamed) {
  EXPECT_THROW(run_command({"no-such-program"}, ErrorStream::kDropped, 1s), ProgramMissing);
  EXPECT_THROW(run_command({"/"}, ErrorStream::kDropped, 1s), Error);
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);  // takes its own arguments away
  return argc == 3 ? hgemm::play(argv[1], std::atoi(argv[2])) : RUN_ALL_TESTS();
}
