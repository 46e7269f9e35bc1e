// Readers beside writers, and on file systems that other hosts write to.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "store/network.h"
#include "store/open.h"
#include "store/rest.h"
#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

/// More than SQLite keeps in memory (2 MB), so that it goes back to the file.
std::vector<Trial> many_trials() {
  std::vector<Trial> trials;
  for (int bn = 8; bn <= 256; bn += 8) {
    Trial one = trial(tiled({.bn = bn}));
    one.message = std::string(100'000, 'x');
    for (int round = 0; round < 20; ++round) one.samples.push_back(sample(round, 5 + round));
    trials.push_back(std::move(one));
  }
  return trials;
}

class ReadingTest : public StoreTest {
 protected:
  void add_a_race() const {
    Store store = open();
    store.record(race(store), many_trials());
  }
};

TEST_F(ReadingTest, WhatWasOpenedStaysAsItWasWhateverIsWrittenMeanwhile) {
  add_a_race();
  const Store reader = open(Store::Mode::kReadOnly);
  for (int i = 0; i < 5; ++i) add_a_race();
  EXPECT_THAT(reader.races(), SizeIs(1));
  // A file that is replaced, or gone, is as good.
  fs::remove(db_);
  EXPECT_THAT(reader.races(), SizeIs(1));
}

// Only the last milliseconds make a file fresh, not the same part of another second; and a host
// whose clock is ahead may have dated it.
TEST_F(ReadingTest, AFileThatIsDatedSecondsAgoOrAheadIsAtRest) {
  add_a_race();
  for (const time_t seconds : {-1, -3600, 1, 3600}) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const timespec time{.tv_sec = now.tv_sec + seconds, .tv_nsec = now.tv_nsec};
    const timespec times[] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, db_.c_str(), times, 0), 0);
    EXPECT_TRUE(copy_at_rest(db_)) << seconds;
  }
}

// Opening falls into every moment of a writer that comes and goes.
TEST_F(ReadingTest, AWholeDatabaseIsFoundAtEveryMomentOfAWriter) {
  std::vector<Trial> many = many_trials();
  for (Trial& one : many) one.message.resize(1000);
  const std::vector<Trial> trials(many.begin(), many.begin() + 4);
  {
    Store store = open();
    store.record(race(store), many);
  }
  const pid_t writer = fork();
  if (writer == 0) {
    run_and_exit([&] {
      for (;;) {
        Store store = open();
        store.record(race(store), trials);
      }
    });
  }
  std::size_t known = 0;
  for (int i = 0; i < 25; ++i) {
    const auto races = open(Store::Mode::kReadOnly).races();
    EXPECT_GE(races.size(), known);
    known = races.size();
    for (const RecordedRace& race : races) {
      const std::size_t size = race.race.trials.size();
      EXPECT_TRUE(size == 0 || size == trials.size() || size == many.size()) << size;
    }
  }
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  EXPECT_GE(open().races().size(), known);
}

TEST_F(ReadingTest, AFileWithARollbackJournalIsReadWithLocksAndLeavesNothing) {
  add_a_race();
  SQLite::Database(db_.string(), SQLite::OPEN_READWRITE).exec("PRAGMA journal_mode = DELETE");
  const Store reader = open(Store::Mode::kReadOnly);
  EXPECT_THAT(reader.races(), SizeIs(1));
  EXPECT_THAT(files(), ElementsAre("tune.db"));
}

TEST_F(ReadingTest, APipeIsNoDatabaseAndNobodyWaitsForIt) {
  ASSERT_EQ(mkfifo(db_.c_str(), 0600), 0);
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    EXPECT_THAT([&] { open(mode); },
                ThrowsMessage<InputError>(HasSubstr("tune.db: is no regular file")));
  }
  EXPECT_THAT(files(), ElementsAre("tune.db"));
}

TEST_F(ReadingTest, AHardLinkIsReadAndNotWritten) {
  add_a_race();
  fs::create_hard_link(db_, folder_ / "other.db");
  for (const char* name : {"tune.db", "other.db"}) {
    EXPECT_THAT(open(name, Store::Mode::kReadOnly).races(), SizeIs(1));
    EXPECT_THAT([&] { open(name); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("several names"), HasSubstr("copy"))));
  }
  EXPECT_THAT(files(), UnorderedElementsAre("tune.db", "other.db"));
}

// ---- Network file systems ----

TEST(NetworkTest, IsKnownByTheMagicNumberOfTheFileSystem) {
  EXPECT_EQ(network_name(0x6969), "NFS");
  EXPECT_EQ(network_name(0x0bd00bd0), "Lustre");
  EXPECT_EQ(network_name(static_cast<int>(0xff534d42)), "CIFS") << "f_type has a sign";
  for (const long local : {0xef53L, 0x58465342L, 0x9123683eL, 0x01021994L, 0x794c7630L}) {
    EXPECT_EQ(network_name(local), "") << local;
  }
  EXPECT_EQ(network_of("/proc"), "");
  EXPECT_EQ(network_of("/there is no such folder"), "");
}

class NetworkFileTest : public ReadingTest {
 protected:
  OpenDatabase open_on_network(Store::Mode mode) const {
    return open_database(db_, mode, [this](const std::string& folder) {
      EXPECT_EQ(folder, folder_);
      return "NFS";
    });
  }
};

TEST_F(NetworkFileTest, AWriterWarnsAndUsesNoLog) {
  for (const bool had_a_log : {false, true}) {
    fs::remove(db_);
    if (had_a_log) add_a_race();
    ::testing::internal::CaptureStderr();
    {
      OpenDatabase opened = open_on_network(Store::Mode::kReadWrite);
      EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                  AllOf(StartsWith("hgemm-tune: warning: database " + db_.string()),
                        HasSubstr("is on NFS"), HasSubstr("hgemm-tune merge")));
      EXPECT_THAT(lines(opened.db, "PRAGMA journal_mode"), ElementsAre("delete|"));
      EXPECT_THAT(lines(opened.db, "SELECT COUNT(*) FROM race"),
                  ElementsAre(had_a_log ? "1|" : "0|"));
      EXPECT_THAT(files(), UnorderedElementsAre("tune.db", "tune.db.lock"));
      // Between its commits others read.
      OpenDatabase reader = open_on_network(Store::Mode::kReadOnly);
      EXPECT_THAT(lines(reader.db, "SELECT COUNT(*) FROM race"), SizeIs(1));
      opened.db.exec("INSERT INTO candidate (label) VALUES ('x')");
    }
    EXPECT_THAT(files(), ElementsAre("tune.db"));
  }
}

TEST_F(NetworkFileTest, ALogThatIsBesideItIsTheOtherHostsToRead) {
  Store writer = open();
  race(writer);
  EXPECT_THAT([&] { open_on_network(Store::Mode::kReadOnly); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("is on NFS"), HasSubstr("log"), HasSubstr("read it there"))));
}

TEST_F(NetworkFileTest, AFileAtRestIsReadAsEverywhere) {
  add_a_race();
  OpenDatabase opened = open_on_network(Store::Mode::kReadOnly);
  EXPECT_THAT(lines(opened.db, "SELECT COUNT(*) FROM race"), ElementsAre("1|"));
  EXPECT_THAT(files(), ElementsAre("tune.db"));
}

}  // namespace
}  // namespace hgemm::test
