// One process at a time has a database open for writing.
#include "store/lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

namespace fs = std::filesystem;

class LockTest : public StoreTest {
 protected:
  const fs::path lock_ = db_.string() + ".lock";
};

TEST_F(LockTest, ASecondWriterIsToldWhoIsThereWhileReadersGoOn) {
  Store writer = open();
  const auto id = race(writer);
  writer.record(id, std::vector{trial(kLabel)});
  EXPECT_THAT([&] { open(); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("database " + db_.string() + " is in use by another hgemm-tune"),
                        ContainsRegex("\\(process " + std::to_string(getpid()) +
                                      " since 20..-..-..T..:..:..Z\\)"),
                        HasSubstr("name another file with --db"))));
  EXPECT_EXIT(run_and_exit([&] { open(); }), ::testing::ExitedWithCode(1),
              "in use by another hgemm-tune .process " + std::to_string(getpid()));

  const Store reader = open(Store::Mode::kReadOnly);
  EXPECT_THAT(reader.races().at(0).race.trials, SizeIs(1));
  writer.record(id, std::vector{trial(kOther)});
  EXPECT_THAT(reader.races().at(0).race.trials, SizeIs(2));
}

TEST_F(LockTest, TheNextWriterGetsInAfterTheLastOneLeft) {
  {
    Store first = open();
    race(first);
    EXPECT_TRUE(fs::exists(lock_));
  }
  EXPECT_THAT(files(), ElementsAre("tune.db"));
  Store second = open();
  race(second);
  EXPECT_THAT(second.races(), SizeIs(2));
}

TEST_F(LockTest, AFailedOpenLeavesNoLock) {
  write("this is no database");
  EXPECT_THROW(open(), InputError);
  EXPECT_THAT(files(), ElementsAre("tune.db"));
}

TEST_F(LockTest, AKilledWriterLeavesNoLock) {
  EXPECT_EXIT(
      {
        Store store = open();
        race(store);
        raise(SIGKILL);
      },
      ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_TRUE(fs::exists(lock_)) << "its file is left, and means nothing";
  {
    Store store = open();
    EXPECT_THAT(store.races(), SizeIs(1));
    EXPECT_THAT([&] { open(); },
                ThrowsMessage<Error>(HasSubstr("process " + std::to_string(getpid()) + " since")));
  }
  EXPECT_THAT(files(), ElementsAre("tune.db"));
}

// The workers that a killed run may leave behind for a moment must not keep its lock.
TEST_F(LockTest, ProgramsThatAWriterStartsDoNotInheritTheLock) {
  const Store store = open();
  int found = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code closed_meanwhile;
    if (fs::read_symlink(entry.path(), closed_meanwhile) != lock_) continue;
    ++found;
    EXPECT_TRUE((fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC) != 0);
  }
  EXPECT_EQ(found, 1);
}

/// What this process has open.
std::size_t open_files() {
  const fs::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(fs::begin(entries), fs::end(entries)));
}

// A run of hours may be refused many times.
TEST_F(LockTest, ARefusedWriterLeavesNothingOpen) {
  const Store writer = open();
  const std::size_t before = open_files();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(open(), Error);
  EXPECT_EQ(open_files(), before);
}

// The next file that a process opens is descriptor 0 then (`hgemm-tune ... <&-`).
TEST_F(LockTest, StandardInputMayBeClosed) {
  EXPECT_EXIT(run_and_exit([&] {
                close(STDIN_FILENO);
                Store store = open();
                race(store);
              }),
              ::testing::ExitedWithCode(0), "");
  EXPECT_THAT(open(Store::Mode::kReadOnly).races(), SizeIs(1));
  std::ofstream(folder_ / "other") << "dear";
  fs::create_hard_link(folder_ / "other", lock_);
  EXPECT_EXIT(run_and_exit([&] {
                close(STDIN_FILENO);
                try {
                  open();
                } catch (const InputError&) {  // its lock is a link
                  if (fcntl(STDIN_FILENO, F_GETFD) >= 0) _exit(4);
                }
              }),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(LockTest, ASymbolicLinkIsTheSameDatabase) {
  { Store store = open(); }
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink(db_, folder_ / "elsewhere" / "link.db");
  Store store = open();
  const auto id = race(store);
  EXPECT_THAT([&] { open("elsewhere/link.db"); }, ThrowsMessage<Error>(HasSubstr("in use")));
  const Store reader = open("elsewhere/link.db", Store::Mode::kReadOnly);
  store.record(id, std::vector{trial(kLabel)});
  EXPECT_THAT(reader.races().at(0).race.trials, SizeIs(1));
}

// A lock is written to: what is not a file of its own is somebody else's.
TEST_F(LockTest, ALinkOrAPipeInPlaceOfTheLockIsLeftAlone) {
  { Store store = open(); }
  const fs::path other = folder_ / "other";
  std::ofstream(other) << "dear";
  const auto content = [&] {
    std::ifstream file(other);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::vector<std::function<void()>> traps = {
      [&] { fs::create_symlink(other, lock_); }, [&] { fs::create_hard_link(other, lock_); },
      [&] { fs::create_symlink(folder_ / "not there", lock_); },
      [&] { ASSERT_EQ(mkfifo(lock_.c_str(), 0600), 0); }};
  for (const auto& set_trap : traps) {
    set_trap();
    EXPECT_THAT([&] { open(); }, ThrowsMessage<InputError>(AllOf(
                                     HasSubstr("database " + db_.string()),
                                     HasSubstr("tune.db.lock is a link or no regular file"))));
    EXPECT_EQ(content(), "dear");
    EXPECT_FALSE(fs::exists(folder_ / "not there"));
    EXPECT_THAT(open(Store::Mode::kReadOnly).races(), SizeIs(0)) << "reading needs no lock";
    fs::remove(lock_);
  }
}

// Somebody who removes a lock by hand may have let another writer in: the file is now that one's.
TEST_F(LockTest, AnotherFileInPlaceOfItsOwnIsNotRemoved) {
  {
    Store store = open();
    fs::remove(lock_);
    std::ofstream(lock_) << "of another";
  }
  EXPECT_TRUE(fs::exists(lock_));
}

TEST_F(LockTest, IsIndependentOfTheLockOfAnotherDatabase) {
  Store a = open("a.db");
  Store b = open("b.db");
  race(a);
  race(b);
  EXPECT_THAT(b.races(), SizeIs(1));
}

// Holders remove the file as they leave: whoever has opened it by then must not believe that it
// still locks anything.
TEST_F(LockTest, TwoNeverHoldItAtOnceWhileMoreComeAndGo) {
  constexpr int kProcesses = 3, kTurns = 100;
  const std::string inside = folder_ / "inside";
  const auto take_turns = [&] {
    for (int turn = 0; turn < kTurns;) {
      try {
        const WriterLock lock(db_, db_);
        const int file = ::open(inside.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
        if (file < 0) _exit(9);  // another one is inside
        std::this_thread::yield();
        unlink(inside.c_str());
        close(file);
        ++turn;
      } catch (const Error&) {  // taken
      }
    }
  };
  std::vector<pid_t> processes;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t pid = fork();
    if (pid == 0) run_and_exit(take_turns);
    processes.push_back(pid);
  }
  for (const pid_t pid : processes) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(files(), SizeIs(0));
}

}  // namespace
}  // namespace hgemm::test
