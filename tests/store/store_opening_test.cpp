#include "store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "families/family.h"
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

TEST_F(StoreTest, AnEmptyFileIsANewDatabase) {
  write("");
  Store store = open();
  EXPECT_EQ(store.path(), db_.string());
  EXPECT_THAT(store.races(), SizeIs(0));
}

TEST_F(StoreTest, AFileNameIsOnlyEverAFileName) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  { Store store = Store::open(":memory:", Store::Mode::kReadWrite); }
  { Store store = Store::open("a?b#c%41.db", Store::Mode::kReadWrite); }
  EXPECT_THAT(Store::open("a?b#c%41.db", Store::Mode::kReadOnly).races(), SizeIs(0));
  fs::current_path(before);
  EXPECT_THAT(files(), UnorderedElementsAre(":memory:", "a?b#c%41.db"));
}

TEST_F(StoreTest, ReadingLeavesNoFilesBehind) {
  { Store store = open(); }
  { EXPECT_THAT(open(Store::Mode::kReadOnly).races(), SizeIs(0)); }
  EXPECT_THAT(files(), ElementsAre("tune.db"));
}

/// run_and_exit() as a user whom file permissions bind.
template <class Work>
[[noreturn]] void as_ordinary_user(const Work& work) {
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(3);
  run_and_exit(work);
}

TEST_F(StoreTest, ReadsInAReadOnlyFolder) {
  {
    Store store = open();
    store.record(race(store), std::vector{trial(kLabel)});
  }
  fs::permissions(db_, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_EXIT(as_ordinary_user([&] {
                if (open(Store::Mode::kReadOnly).races().at(0).race.trials.size() != 1) _exit(4);
              }),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(StoreTest, SaysThatAFileOrFolderCannotBeWritten) {
  { Store store = open(); }
  fs::permissions(db_, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0777));
  EXPECT_EXIT(as_ordinary_user([&] { open(); }), ::testing::ExitedWithCode(2),
              "tune.db: cannot be written; check its permissions");
  fs::permissions(db_, fs::perms(0666));
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_EXIT(as_ordinary_user([&] { open(); }), ::testing::ExitedWithCode(2),
              "tune.db: cannot be locked for writing; check the permissions of its folder.*"
              "tune.db.lock: Permission denied");
  EXPECT_EXIT(as_ordinary_user([&] { open("new.db"); }), ::testing::ExitedWithCode(2),
              "new.db: cannot be locked for writing");
  fs::permissions(db_, fs::perms(0));
  EXPECT_EXIT(as_ordinary_user([&] { open(Store::Mode::kReadOnly); }), ::testing::ExitedWithCode(2),
              "tune.db: cannot be read; check its permissions");
}

TEST_F(StoreTest, SaysWhatIsMissing) {
  EXPECT_THAT([&] { open(Store::Mode::kReadOnly); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("tune.db: does not exist"), HasSubstr("hgemm-tune --shapes"))));
  EXPECT_THAT([&] { Store::open(folder_ / "no" / "a.db", Store::Mode::kReadWrite); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("folder"), HasSubstr("does not exist"))));
  EXPECT_THAT([&] { Store::open(folder_, Store::Mode::kReadWrite); },
              ThrowsMessage<InputError>(HasSubstr("is a folder")));
  EXPECT_THAT([&] { Store::open("", Store::Mode::kReadWrite); },
              ThrowsMessage<InputError>(HasSubstr("name a file")));
  write("");
  EXPECT_THAT([&] { open(Store::Mode::kReadOnly); },
              ThrowsMessage<InputError>(HasSubstr("is empty")));
  EXPECT_THAT(files(), ElementsAre("tune.db")) << "nothing may be created on the way";
}

TEST_F(StoreTest, RefusesAnotherFileAndLeavesItAlone) {
  for (const std::string text : {"x", "shapes:\n  - {m: 1, n: 2, k: 3}\n"}) {
    write(text);
    for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
      EXPECT_THAT([&] { open(mode); },
                  ThrowsMessage<InputError>(HasSubstr("tune.db: is not a hgemm-tune database")));
      EXPECT_EQ(bytes(), text);
    }
  }
}

TEST_F(StoreTest, RefusesAnotherProgramsDatabaseAndLeavesItAlone) {
  {
    SQLite::Database other(db_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE run (id INTEGER); PRAGMA user_version = 2");
  }
  const std::string before = bytes();
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    EXPECT_THAT([&] { open(mode); },
                ThrowsMessage<InputError>(HasSubstr("is a database of another program")));
  }
  EXPECT_EQ(bytes(), before);
}

TEST_F(StoreTest, RefusesANewerSchema) {
  { Store store = open(); }
  SQLite::Database(db_.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 11");
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    EXPECT_THAT([&] { open(mode); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("schema version 11"),
                                                HasSubstr("versions up to 10"),
                                                HasSubstr("use a newer hgemm-tune"))));
  }
}

TEST_F(StoreTest, SaysThatATruncatedOrOverwrittenDatabaseIsDamaged) {
  {
    Store store = open();
    std::vector<Trial> trials;
    for (int bn = 8; bn <= 256; bn += 8) trials.push_back(trial(tiled({.bn = bn})));
    store.record(race(store), trials);
  }
  const std::string whole = bytes();
  ASSERT_GT(whole.size(), 40'000u);
  std::string overwritten = whole;
  overwritten.replace(8 * 4096, 20'000, std::string(20'000, '\x5a'));
  const std::vector<std::string> broken = {whole.substr(0, 50), whole.substr(0, 5000),
                                           whole.substr(0, whole.size() / 2), overwritten};
  for (const std::string& content : broken) {
    write(content);
    for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
      EXPECT_THAT([&] { open(mode); },
                  ThrowsMessage<InputError>(AllOf(StartsWith("database " + db_.string()),
                                                  HasSubstr("is damaged"), HasSubstr("copy"))))
          << content.size() << " of " << whole.size() << " bytes";
      EXPECT_EQ(bytes(), content);
    }
  }
}

}  // namespace
}  // namespace hgemm::test
