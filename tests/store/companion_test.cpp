// Files beside a database that SQLite reads, writes and removes: those of others may lead it to
// files of other names.
#include <sqlite3.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "tests/store/support.h"

namespace hgemm {
namespace {

using test::StoreTest;
using testing::HasSubstr;
namespace fs = std::filesystem;

class CompanionTest : public StoreTest {
 protected:
  void SetUp() override {
    Store store = open();
    race(store);
    std::ofstream(victim_) << kContent;
  }
  std::string companion(const char* suffix) const { return db_.string() + suffix; }

  void expect_refused(const char* word) {
    for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
      try {
        open(mode);
        ADD_FAILURE() << "it was opened";
      } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr(word));
      }
      std::ifstream file(victim_);
      EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kContent);
    }
  }

  static constexpr const char* kContent = "nothing for a database";
  const fs::path victim_ = folder_ / "victim";
};

TEST_F(CompanionTest, LinksAreNotFollowed) {
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    SCOPED_TRACE(suffix);
    for (const std::function<void()>& make :
         {std::function<void()>([&] { fs::create_symlink(victim_, companion(suffix)); }),
          std::function<void()>([&] { fs::create_hard_link(victim_, companion(suffix)); })}) {
      make();
      expect_refused("link");
      fs::remove(companion(suffix));
    }
  }
  EXPECT_EQ(open(Store::Mode::kReadOnly).races().size(), 1U);
}

/// As SQLite writes the journal of a write to several databases, `other` being the journal of all.
void name_another(const std::string& journal, const std::string& other, unsigned page_of_lock) {
  unsigned checksum = 0;
  for (const char c : other) checksum += static_cast<unsigned>(c);
  std::ofstream file(journal, std::ios::binary | std::ios::app);
  const auto put = [&](unsigned value) {
    for (const int shift : {24, 16, 8, 0}) file.put(static_cast<char>(value >> shift & 0xff));
  };
  put(page_of_lock);
  file << other;
  put(static_cast<unsigned>(other.size()));
  put(checksum);
  file.write("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
}

TEST_F(CompanionTest, AJournalThatNamesAnotherFileIsNotTakenBack) {
  const std::string journal = companion("-journal");
  const std::string kept = companion("-kept");
  {
    SQLite::Database db(db_.string(), SQLite::OPEN_READWRITE);
    db.exec("PRAGMA journal_mode = DELETE");
    const unsigned page_bytes = db.execAndGet("PRAGMA page_size").getUInt();
    db.exec("BEGIN IMMEDIATE");
    db.exec("UPDATE run SET host = 'elsewhere'");
    sqlite3_db_cacheflush(db.getHandle());
    fs::copy_file(journal, kept);
    db.exec("COMMIT");
    name_another(kept, victim_.string(), 0x40000000 / page_bytes + 1);
  }
  fs::rename(kept, journal);
  expect_refused("names another file");
}

}  // namespace
}  // namespace hgemm
