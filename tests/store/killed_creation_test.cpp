// A process that is killed while it creates a database leaves a file that is half written, with a
// journal beside it: nothing was recorded, so it is a new database. Found by scripts/kill_test.py.
#include <sqlite3.h>

#include "base/embedded.h"
#include "tests/store/support.h"

namespace hgemm {
namespace {

using test::StoreTest;
using testing::HasSubstr;

class KilledCreationTest : public StoreTest {
 protected:
  /// Leaves what a kill between the last page on the disk and the commit leaves: all of the file,
  /// and the journal that says that it was empty.
  void leave_half_written() const {
    const std::string journal = db_.string() + "-journal";
    const std::string kept = db_.string() + "-kept";
    {
      SQLite::Database db(db_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      db.exec("BEGIN IMMEDIATE");
      db.exec(embedded_schema().front().text.data());
      sqlite3_db_cacheflush(db.getHandle());
      std::filesystem::copy_file(journal, kept);
      db.exec("COMMIT");
    }
    std::filesystem::rename(kept, journal);
  }
};

TEST_F(KilledCreationTest, TheFileIsANewDatabase) {
  leave_half_written();
  Store store = open();
  race(store);
  EXPECT_EQ(store.environments().size(), 1U);
}

TEST_F(KilledCreationTest, ReadersSayThatItIsEmpty) {
  leave_half_written();
  try {
    open(Store::Mode::kReadOnly);
    FAIL() << "nothing is there to be read";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is empty"));
  }
}

}  // namespace
}  // namespace hgemm
