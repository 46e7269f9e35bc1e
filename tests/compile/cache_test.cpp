// What is taken from a compile cache, and from whom.
#include "compile/cache.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/hash.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string kKey = content_hash("a source");
const std::string kOther = content_hash("another source");
constexpr uid_t kStranger = 12345;

/// The smallest file that has code: an ELF header, one section header, four bytes of code.
std::string cubin(const std::string& code = "code") {
  std::string file(64 + 64, '\0');
  file.replace(0, 4,
               "\x7f"
               "ELF");
  file[40] = 64;                           // e_shoff
  file[58] = 64;                           // e_shentsize
  file[60] = 1;                            // e_shnum
  file[64 + 4] = 1;                        // SHT_PROGBITS
  file[64 + 8] = 4;                        // SHF_EXECINSTR
  file[64 + 24] = static_cast<char>(128);  // sh_offset
  file[64 + 32] = 4;                       // sh_size
  return file + code;
}

CompilerOutput output(const std::string& code = "code") {
  return {.succeeded = true, .log = "used 40 registers", .cubin = cubin(code), .cpu_ms = 12.5};
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CacheTest : public testing::Test {
 protected:
  Cache cache(const fs::path& shared = {}) const { return {dir(), shared, overflow_}; }
  fs::path dir() const { return folder_.path() / "own"; }
  static fs::path entry(const fs::path& dir, const std::string& key, const char* extension) {
    return dir / key.substr(0, 2) / (key + extension);
  }
  fs::path entry(const char* extension) const { return entry(dir(), kKey, extension); }

  void expect_found(const Cache& cache, const std::string& code = "code") const {
    const Cache::Found found = cache.find(kKey);
    ASSERT_TRUE(found.output);
    EXPECT_EQ(found.output->cubin, cubin(code));
    EXPECT_EQ(read_cubin(found.cubin), cubin(code));
  }
  void expect_missing(const Cache& cache) const {
    const Cache::Found found = cache.find(kKey);
    EXPECT_FALSE(found.output);
  }

  TemporaryFolder folder_;
  std::shared_ptr<TemporaryFolders> overflow_ = std::make_shared<TemporaryFolders>();
};

// ---- Entries ----

TEST(CacheEntry, IsReadAsItWasWritten) {
  const auto read = parse_entry(kKey, entry_text(kKey, output()), cubin());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->succeeded);
  EXPECT_EQ(read->log, "used 40 registers");
  EXPECT_EQ(read->cubin, cubin());
  EXPECT_EQ(read->cpu_ms, 12.5);
}

TEST(CacheEntry, OfAnotherKeyIsDamaged) {
  EXPECT_FALSE(parse_entry(kOther, entry_text(kKey, output()), cubin()));
}

TEST(CacheEntry, WithAnotherCubinIsDamaged) {
  EXPECT_FALSE(parse_entry(kKey, entry_text(kKey, output()), cubin("evil")));
}

TEST(CacheEntry, WithoutCodeIsDamaged) {
  CompilerOutput none = output();
  none.cubin = "no ELF file";
  EXPECT_FALSE(parse_entry(kKey, entry_text(kKey, none), none.cubin));
}

TEST(CacheEntry, OfAnyContentIsDamagedAndNoError) {
  for (const char* member : {"succeeded", "log", "cpu_ms", "checksum"}) {
    for (const json& odd : {json(), json(42), json("text"), json::array(), json(-1e308)}) {
      json entry = json::parse(entry_text(kKey, output()));
      entry[member] = odd;
      EXPECT_FALSE(parse_entry(kKey, entry.dump(), cubin())) << entry;
    }
    json entry = json::parse(entry_text(kKey, output()));
    entry.erase(member);
    EXPECT_FALSE(parse_entry(kKey, entry.dump(), cubin())) << entry;
  }
  const std::string text = entry_text(kKey, output());
  for (std::size_t size = 0; size < text.size() - 2; ++size) {
    EXPECT_FALSE(parse_entry(kKey, text.substr(0, size), cubin())) << size;
  }
  for (const std::string& odd :
       {std::string(), std::string("null"), std::string("[]"), std::string("\xff\xfe"),
        std::string(4, '\0'), std::string(1 << 20, '['), std::string(R"({"cpu_ms": 1e999})"),
        std::string(R"({"succeeded": true, "log": ")") + "\xff\"}"}) {
    EXPECT_FALSE(parse_entry(kKey, odd, cubin()));
  }
}

// ---- Whose they are ----

TEST_F(CacheTest, TakesWhatItStored) {
  const Cubin stored = cache().store(kKey, output());
  expect_found(cache());
  EXPECT_EQ(stored.path, entry(".cubin"));
  EXPECT_EQ(read_cubin(stored), cubin());
  EXPECT_FALSE(cache().find(kOther).output);
}

TEST_F(CacheTest, AnEntryUnderAnotherKeyIsDamaged) {
  cache().store(kOther, output());
  fs::create_directories(entry("").parent_path());
  chmod(entry("").parent_path().c_str(), 0700);
  for (const char* extension : {".json", ".cubin"}) {
    fs::copy(entry(dir(), kOther, extension), entry(extension));
  }
  const Cache::Found found = cache().find(kKey);
  EXPECT_FALSE(found.output);
  EXPECT_TRUE(found.damaged);
}

TEST_F(CacheTest, KeysThatAreNoHashesAreRefused) {
  for (const std::string& key : {std::string(), std::string("../../../etc/passwd"),
                                 "../" + kKey.substr(3), kKey + "0", "A" + kKey.substr(1)}) {
    EXPECT_THAT([&] { static_cast<void>(cache().find(key)); },
                ThrowsMessage<Error>(HasSubstr("is no key")));
    EXPECT_THROW(cache().store(key, output()), Error);
  }
}

TEST_F(CacheTest, FilesThatOthersMayWriteAreNotTaken) {
  for (const char* extension : {".json", ".cubin"}) {
    for (const mode_t mode : {0664, 0646}) {
      cache().store(kKey, output());
      chmod(entry(extension).c_str(), mode);
      expect_missing(cache());
    }
  }
  cache().store(kKey, output());
  expect_found(cache());
}

TEST_F(CacheTest, FoldersThatOthersMayWriteAreNotTakenFromUntilTheyAreOurs) {
  cache().store(kKey, output());
  const fs::path folder = entry("").parent_path();
  for (const mode_t mode : {0775, 0757, 01777}) {
    chmod(folder.c_str(), mode);
    expect_missing(cache());
    cache().store(kKey, output());
    EXPECT_EQ(fs::status(folder).permissions() & (fs::perms::group_write | fs::perms::others_write),
              fs::perms::none);
    expect_found(cache());
  }
}

TEST_F(CacheTest, AGroupsUmaskMakesNoFilesThatTheGroupMayWrite) {
  const mode_t before = umask(0002);
  cache().store(kKey, output());
  umask(before);
  expect_found(cache());
}

TEST_F(CacheTest, WhatAnotherUserPlantedIsMissing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  for (const fs::path& given : {entry(".json"), entry(".cubin"), entry("").parent_path()}) {
    fs::remove_all(dir());
    cache().store(kKey, output());
    ASSERT_EQ(chown(given.c_str(), kStranger, kStranger), 0);
    expect_missing(cache());
  }
}

TEST_F(CacheTest, LinksAndPipesAreMissing) {
  cache().store(kKey, output());
  for (const char* extension : {".json", ".cubin"}) {
    const fs::path elsewhere = folder_.path() / "elsewhere";
    fs::rename(entry(extension), elsewhere);
    fs::create_symlink(elsewhere, entry(extension));
    expect_missing(cache());
    fs::remove(entry(extension));
    ASSERT_EQ(mkfifo(entry(extension).c_str(), 0600), 0);
    expect_missing(cache());  // and does not wait for a writer
    fs::remove(entry(extension));
    fs::rename(elsewhere, entry(extension));
    expect_found(cache());
  }
}

TEST_F(CacheTest, ACubinThatWasChangedSinceIsNotLoaded) {
  const Cubin stored = cache().store(kKey, output());
  const auto refusal = [&](const char* what) {
    EXPECT_THAT([&] { read_cubin(stored); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(stored.path.string()), HasSubstr(what),
                                                HasSubstr("run the same command again"))));
  };
  std::ofstream(stored.path, std::ios::binary) << cubin("evil");
  refusal("was changed");
  fs::remove(stored.path);
  refusal("was removed");
  cache().store(kKey, output());
  EXPECT_EQ(read_cubin(stored), cubin());
  chmod(stored.path.c_str(), 0666);
  refusal("permissions");
}

// ---- Where nothing can be written ----

TEST_F(CacheTest, AFolderOfAnotherUserIsDoneWithout) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  cache().store(kKey, output());
  ASSERT_EQ(chown(entry("").parent_path().c_str(), kStranger, kStranger), 0);
  testing::internal::CaptureStderr();
  const Cubin stored = cache().store(kKey, output("next"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(
      said, AllOf(HasSubstr(dir().string()), HasSubstr("another user"), HasSubstr("--cache-dir")));
  EXPECT_EQ(read(entry(".cubin")), cubin()) << "what is there is left alone";
  EXPECT_EQ(read_cubin(stored), cubin("next"));
  expect_found(cache(), "next");
}

TEST_F(CacheTest, ACacheThatIsFullInTheMidstOfARunIsDoneWithout) {
  const Cache full = cache();
  full.store(kOther, output());
  std::ofstream(entry("").parent_path()) << "in the way";  // as good as a full disk, for root too
  testing::internal::CaptureStderr();
  const Cubin stored = full.store(kKey, output());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("is done without"));
  EXPECT_EQ(read_cubin(stored), cubin());
  expect_found(full);
  testing::internal::CaptureStderr();
  full.store(kKey, output());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "said once";
  const fs::path temporary = stored.path.parent_path().parent_path();
  EXPECT_EQ(fs::status(temporary).permissions(), fs::perms::owner_all);
}

TEST(TemporaryFolders, GoAwayWithTheLastWhoHasThem) {
  const TemporaryFolder folder;
  auto overflow = std::make_shared<TemporaryFolders>();
  std::ofstream(folder.path() / "file");
  testing::internal::CaptureStderr();
  const Cubin stored = Cache(folder.path() / "file" / "cache", {}, overflow).store(kKey, output());
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fs::exists(stored.path));
  overflow.reset();
  EXPECT_FALSE(fs::exists(stored.path.parent_path().parent_path()));
}

// ---- Shared ----

class SharedCacheTest : public CacheTest {
 protected:
  SharedCacheTest() { Cache(shared(), {}, overflow_).store(kKey, output()); }
  fs::path shared() const { return folder_.path() / "shared"; }
};

TEST_F(SharedCacheTest, IsTakenFromAndNeverWritten) {
  expect_missing(cache());
  expect_found(cache(shared()));
  cache(shared()).store(kOther, output());
  EXPECT_FALSE(fs::exists(entry(shared(), kOther, ".json")));
  EXPECT_TRUE(fs::exists(entry(dir(), kOther, ".json")));
}

TEST_F(SharedCacheTest, TrustsTheOwnerOfItsFolderAndNobodyElse) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  for (const auto& entry : fs::recursive_directory_iterator(shared())) {
    ASSERT_EQ(chown(entry.path().c_str(), kStranger, kStranger), 0);
  }
  expect_missing(cache(shared()));
  ASSERT_EQ(chown(shared().c_str(), kStranger, kStranger), 0);
  expect_found(cache(shared()));
  ASSERT_EQ(chown(entry(shared(), kKey, ".cubin").c_str(), kStranger + 1, kStranger), 0);
  expect_missing(cache(shared()));
}

TEST_F(SharedCacheTest, EntriesThatOthersMayWriteAreMissing) {
  chmod(entry(shared(), kKey, ".cubin").c_str(), 0664);
  expect_missing(cache(shared()));
}

TEST_F(SharedCacheTest, AFolderThatOthersMayWriteIsRefused) {
  for (const mode_t mode : {0775, 01777}) {
    chmod(shared().c_str(), mode);
    EXPECT_THAT([&] { cache(shared()); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(shared().string()), HasSubstr("go-w"))));
  }
  EXPECT_THROW(cache(folder_.path() / "nowhere"), InputError);
}

}  // namespace
}  // namespace hgemm
