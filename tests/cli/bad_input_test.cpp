// Bad usage and bad input: one clear line, the right exit code, and nothing left behind.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class BadInput : public ProgramTest {
 protected:
  BadInput() {
    write_file(folder() / "broken.yaml", "shapes:\n  - {m: 1, n: [8\n");
    write_file(folder() / "key.yaml", "shapes:\n  - {m: 8, n: 8, k: 8, tga: x}\n");
    write_file(folder() / "zero.yaml", "shapes:\n  - {m: 0, n: 8, k: 8}\n");
    write_file(folder() / "word.yaml", "shapes:\n  - {m: many, n: 8, k: 8}\n");
    write_file(folder() / "space.yaml", "grids:\n  - {bm: 128, bn: 128, schedules: coop2}\n");
    write_file(folder() / "tall.yaml", "grids:\n  - {bm: [128, 256], bn: 128, schedule: coop2}\n");
    write_file(folder() / "text.db", "this is no database, however long it may be");
    record(folder() / "good.db", {});
    std::string bytes = read_file(folder() / "good.db");
    bytes[63] = 99;  // user_version: bytes 60 to 63, big-endian (SQLite file format, 1.3)
    write_file(folder() / "newer.db", bytes);
    write_file(folder() / "cut.db", read_file(folder() / "good.db").substr(0, 5000));
  }

  void expect_refused(const std::string& arguments, int exit_code,
                      const std::vector<std::string>& words) {
    SCOPED_TRACE("hgemm-tune " + arguments);
    const auto before = files();
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("hgemm-tune: "));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    for (const std::string& word : words) EXPECT_THAT(outcome.err, HasSubstr(word));
    EXPECT_EQ(files(), before);
  }
};

// A build with stamps is slower than what it is a build of: it must never be in a race.
TEST_F(BadInput, ProbedBuilds) {
  const std::string label = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist";
  expect_refused("--shapes 8x8x8 --config " + label + ".probe1", 2,
                 {"cycle stamps", "hgemm-tune probe", ".probe1"});
  expect_refused("probe", 2, {"--shapes"});
  expect_refused("probe --shapes 8x8x8", 2, {"8x8x8", "--config"});
  expect_refused("probe --shapes 8x8x12 --config " + label, 2, {"multiples of 8"});
  expect_refused("probe --shapes 8x8x8.fp32", 2, {"8x8x8.fp32", "fp32 is for the ladder"});
  expect_refused("probe --shapes 512x512x512.e4m3", 2,
                 {"no configuration is known to be the best at 512x512x512.e4m3", "--config"});
  expect_refused("probe --recorded --db none.db --shapes 8x8x8", 2, {"none.db"});
  expect_refused("probe --shapes 8x8x8.dfp32 --config " + std::string(kNotForFp32), 2,
                 {"8x8x8.dfp32", "must leave a consumer thread"});
  expect_refused("probe --shapes 8x8x8 --config bm100", 2, {"config label"});
  expect_refused("probe --shapes 8x8x8,16x16x16 --trace t.json --config " + label, 2,
                 {"--trace", "one shape"});
  expect_refused("probe --shapes 8x8x8 --trace nowhere/t.json --config " + label, 2,
                 {"--trace", "nowhere"});
}

TEST_F(BadInput, DataOfUnknownKindsAndFiles) {
  write_file(folder() / "text.npy", "no array");
  write_file(folder() / "two.safetensors",
             std::string("\x70\0\0\0\0\0\0\0", 8) +
                 R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},)" +
                 R"("b":{"dtype":"I32","shape":[1],"data_offsets":[2,6]}})" + std::string(16, ' '));
  const std::string plan = "plan --space smoke --shapes 512x512x512 --data ";
  expect_refused(plan + "ones", 2, {"--data \"ones\"", "integers", ".safetensors"});
  expect_refused(plan + "nowhere.npy", 2, {"nowhere.npy", "cannot be read"});
  expect_refused(plan + "text.npy", 2, {"--data text.npy", "no .npy file"});
  expect_refused(plan + "two.safetensors", 2, {"2 tensors", "\"a\", \"b\""});
  expect_refused(plan + "two.safetensors:c", 2, {"no tensor \"c\""});
  expect_refused(plan + "two.safetensors:b", 2, {"\"I32\"", "F16, BF16, F32, F64, F8_E4M3"});
  expect_refused("plan --shapes 8x8x8.ones", 2, {"whose \"ones\" is not supported"});
  expect_refused("plan --data zeros", 2, {"--shapes"});
  expect_refused("plan --accumulate fast", 2, {"--shapes"});
  expect_refused("plan --shapes 512x512x512.e4m3 --accumulate fp32", 2,
                 {"--accumulate fp32", "promoted, fast or any"});
  expect_refused("best --data zeros", 2, {"which shapes?"});
  expect_refused("--shapes 512x512x512.file-0123456789abcdef --budget all", 2,
                 {"its data is from a file", "--data"});
  expect_refused(
      "chain --shapes 16x64x64 --data zeros --config "
      "swap_ab.bm16.bn64.bk128.q5.d1.tma.csplit2.p128",
      2, {"16x64x64.zeros", "normal data only"});
}

// Stamps are for kernels whose consumers share each tile.
TEST_F(BadInput, ProbesOfWhatHasNoStamps) {
  const std::string turns = "bm128.bn176.bk64.q4.c2x1.pp2.d1.group8.tma.persist";
  const std::string cut = "bm256.bn192.bk64.q3.c2x1.coop2.d0.group8.tma.stream";
  for (const std::string& label : {turns, cut, cut + ".probe1"}) {
    expect_refused(
        "probe --shapes 8x8x8 --config " + label, 2,
        {"--config " + label, "(rule probe)", "another one with --config", "hgemm-tune counters"});
  }
  expect_refused("counters --shapes 8x8x8 --config " + turns + ".probe1", 2, {"(rule probe)"});
  Race won = race(problem(8, 8, 8));
  won.trials.front().label = turns;
  record(folder() / "won.db", {won});
  expect_refused("probe --shapes 8x8x8 --db won.db", 2,
                 {"the best known config at 8x8x8, " + turns, "(rule probe)"});
}

TEST_F(BadInput, Usage) {
  expect_refused("", 2, {"--shapes"});
  expect_refused("--shapes", 2, {"--shapes"});
  expect_refused("--shaeps 8x8x8", 2, {"--shaeps", "--shapes"});
  expect_refused("plan --shapse 8x8x8", 2, {"--shapse", "--shapes"});
  expect_refused("dcotor", 2, {"dcotor", "doctor"});
  expect_refused("--shapes 8x8x8 tune", 2, {"hgemm-tune tune --shapes"});
  expect_refused("--shapes 8x8x8 --seed -1", 2, {"--seed", "-1"});
  expect_refused("--shapes 8x8x8 --seed 18446744073709551616", 2,
                 {"--seed", "18446744073709551615"});
  expect_refused("--shapes 8x8x8 --seed=-1", 2, {"--seed", "-1"});
  expect_refused("--shapes 8x8x8 --format xml", 2, {"xml", "json"});
  expect_refused("--shapes 8x8x8 --jobs 0", 2, {"--jobs"});
  expect_refused("--shapes 8x8x8 --seed x", 2, {"--seed"});
  expect_refused("--space full plan", 2, {"plan --space"});
  expect_refused("plan --format csv", 2, {"csv", "json"});
  expect_refused("best --recorded --db good.db", 2, {"--recorded", "--db"});
  expect_refused("worker", 2, {"fd"});
  for (const std::string command : {"--shapes 8x8x8", "best --db good.db", "verify --db good.db"}) {
    expect_refused(command + " --regime idle", 2,
                   {"idle", "use sustained, burst, single, chain, both"});
    expect_refused(command + " --objective money", 2, {"money", "time or energy"});
    expect_refused(command + " --regime burst --objective energy", 2,
                   {"--objective energy", "full load", "sustained or both"});
  }
  expect_refused("--shapes 8x8x8 --regime burst --energy", 2, {"--energy", "full load"});
  expect_refused("--shapes 8x8x8 --energy --confirm 2", 2, {"--confirm 2", "--energy", "brief"});
  expect_refused("verify --db good.db --draws 0", 2, {"--draws"});
  expect_refused("verify --db good.db --seed -1", 2, {"--seed", "-1"});
  expect_refused("compare good.db", 2, {"B.db"});
  expect_refused("compare good.db good.db --format xml", 2, {"xml", "json"});
  expect_refused("compare good.db good.db good.db", 2, {"good.db", "compare --help"});
  expect_refused("merge good.db", 2, {"--output"});
  expect_refused("merge -o out.db", 2, {"IN.db"});
}

TEST_F(BadInput, NothingIsSuggestedThatWasHardlyMeant) {
  const Outcome outcome = run("frobnicate");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("frobnicate"), HasSubstr("--help"),
                                 testing::Not(HasSubstr("did you mean"))));
}

TEST_F(BadInput, Shapes) {
  expect_refused("--shapes nowhere.yaml", 2, {"nowhere.yaml"});
  expect_refused("--shapes broken.yaml", 2, {"broken.yaml:"});
  expect_refused("--shapes key.yaml", 2, {"key.yaml:2:", "tga", "tag"});
  expect_refused("--shapes zero.yaml", 2, {"zero.yaml:2:", "0"});
  expect_refused("--shapes word.yaml", 2, {"word.yaml:2:", "many"});
  expect_refused("--shapes 0x8x8", 2, {"0x8x8"});
  expect_refused("--shapes=-8x8x8", 2, {"-8x8x8"});
  expect_refused("--shapes 8x8", 2, {"8x8"});
  for (const std::string command : {"", "plan ", "best --db good.db "}) {
    expect_refused(command + "--shapes 8x8x8,1000000x1000000x8", 2,
                   {"1000000x1000000x8", "absurd", "1 TB"});
  }
  expect_refused("--shapes 99999999999999999999x8x8", 2, {"99999999999999999999x8x8"});
}

TEST_F(BadInput, Configs) {
  expect_refused("--shapes 8x8x8 --space nowhere", 2, {"nowhere"});
  expect_refused("plan --space space.yaml", 2, {"space.yaml:2:", "\"schedules\"", "\"schedule\""});
  expect_refused("--shapes 2048x8x8,16x8x8 --space tall.yaml", 2,
                 {"16x8x8", "16 rows", "--config"});
  expect_refused("--shapes 8x8x8 --config bm128", 2, {"bm128"});
  expect_refused("--shapes 8x8x8 --config bm128.bn256.bk64.q9.c1x1.coop2.d1.linear.tma.persist", 2,
                 {"shared_memory"});
  expect_refused("--shapes 8x8x8.dfp32 --config " + std::string(kNotForFp32), 2,
                 {"8x8x8.dfp32", "must leave a consumer thread"});
  expect_refused("--shapes 8x8x8,8x8x8.fp32", 2, {"8x8x8.fp32", "bf16 and fp16", "PTX ISA"});
  expect_refused("--shapes 8x8x8 --space smoke --config " + std::string(kLabel), 2,
                 {"--space", "--config"});
}

// These were the texts of exceptions, or no end of memory.
TEST_F(BadInput, WhatNobodyMeantIsStillToldInOneLine) {
  write_file(folder() / "comma.yaml", "[64x64x64], [64x64x64]\n");
  write_file(folder() / "escape.yaml", "shapes: [{m: 8, n: 8, k: 8, tag: \"\\e[2J\"}]\n");
  write_file(folder() / "bytes.yaml", "shapes: [8x8x8]\n\x04 lost");
  expect_refused("plan --shapes comma.yaml", 2, {"comma.yaml:1:11: found \", [64x64x64]\""});
  expect_refused("plan --space comma.yaml", 2, {"comma.yaml:1:11: found \", [64x64x64]\""});
  expect_refused("plan --shapes escape.yaml", 2, {"escape.yaml:1:34: ", "one short line of text"});
  expect_refused("plan --shapes bytes.yaml", 2, {"bytes.yaml:2:1: found a byte that is no text"});
  expect_refused("plan --shapes /dev/zero", 2, {"/dev/zero", "not a regular file"});
  expect_refused("plan --space /dev/null", 2, {"/dev/null", "not a regular file"});
  const std::string name(5000, 'a');
  for (const std::string command :
       {"best --db ", "doctor --db ", "verify --db ", "--shapes 8x8x8 --db "}) {
    expect_refused(command + name, 2, {"aaa...", "\n"});
  }
  expect_refused("plan --space " + name, 2, {"no such space file"});
}

TEST_F(BadInput, Databases) {
  const std::string good = read_file(folder() / "good.db");
  for (const std::string command :
       {"best --db ", "--shapes 8x8x8 --db ", "compare good.db ", "verify --db ",
        "merge -o out.db good.db ", "merge good.db -o "}) {
    expect_refused(command + "text.db", 2, {"text.db", "not a hgemm-tune database"});
    expect_refused(command + "newer.db", 2, {"newer.db", "99"});
    expect_refused(command + "cut.db", 2, {"cut.db"});
    expect_refused(command + ".", 2, {"is a folder"});
  }
  expect_refused("best --db nowhere.db", 2, {"nowhere.db", "--db"});
  expect_refused("verify --db nowhere.db", 2, {"nowhere.db", "tuning"});
  expect_refused("compare good.db nowhere.db", 2, {"nowhere.db"});
  expect_refused("merge good.db nowhere.db -o out.db", 2, {"nowhere.db"});
  expect_refused("merge good.db -o nowhere/out.db", 2, {"nowhere"});
  expect_refused("merge good.db -o good.db", 2, {"good.db", "--output"});
  expect_refused("merge good.db -o ./good.db", 2, {"good.db", "--output"});
  expect_refused("--shapes 8x8x8 --db nowhere/x.db", 2, {"nowhere", "--db"});
  EXPECT_EQ(read_file(folder() / "good.db"), good);
}

TEST_F(BadInput, CacheThatCannotBeWritten) {
  // A file where the folder should be: that stops root too.
  expect_refused("--shapes 8x8x8 --cache-dir text.db/cache", 2, {"text.db/cache", "--cache-dir"});
}

TEST_F(BadInput, SharedCacheThatCannotBeTrusted) {
  expect_refused("--shapes 8x8x8 --shared-cache nowhere", 2, {"nowhere", "--shared-cache"});
  std::filesystem::create_directory(folder() / "open");
  std::filesystem::permissions(folder() / "open", std::filesystem::perms::all);
  expect_refused("--shapes 8x8x8 --shared-cache open", 2, {"open", "--shared-cache", "go-w"});
  expect_refused("micro --recorded --shared-cache open", 2, {"open", "--shared-cache", "go-w"});
  const char* named = "export HGEMM_TUNE_SHARED_CACHE=open";
  EXPECT_THAT(run("--shapes 8x8x8", named).err, HasSubstr("go-w"));
  EXPECT_EQ(run("best --recorded", named).exit_code, 0) << "it compiles nothing";
}

}  // namespace
}  // namespace hgemm
