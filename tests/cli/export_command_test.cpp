// export as a user runs it, with no GPU.
#include <gmock/gmock.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class ExportCommand : public ProgramTest {};

TEST_F(ExportCommand, WritesAPackageOfTheRecordedResults) {
  const Outcome done = run("export --format cpp -o tuned --recorded --shapes llama7b.yaml");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("tuned/src/table.h"));
  EXPECT_THAT(read_file(folder() / "tuned/README.md"), HasSubstr("2048x12288x4096"));
  const json table = json::parse(read_file(folder() / "tuned/hgemm_tuned.json"));
  ASSERT_THAT(table.at("rows"), SizeIs(25));
  const std::string command = table.at("rows").at(0).at("command");
  ASSERT_TRUE(command.starts_with("hgemm-tune "));
  const Outcome again = run(command.substr(command.find(' ')));
  EXPECT_EQ(again.exit_code, 0) << "a row's command is one: " << again.err;
  EXPECT_THAT(read_file(folder() / "tuned/src/table.h"), testing::Not(HasSubstr(".pdl = true")));
}

TEST_F(ExportCommand, FewKernelsForAllShapes) {
  const Outcome done =
      run("export --format cpp -o few --recorded --shapes llama7b.yaml --max-kernels 4");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(read_file(folder() / "few/src/table.h"), HasSubstr("kKernelCount = 4;"));
}

TEST_F(ExportCommand, SaysWhatItLacksOfTheTunedTable) {
  const Outcome off = run("export --format csv -o off --recorded");
  ASSERT_EQ(off.exit_code, 0) << off.err;
  EXPECT_THAT(off.err, AllOf(HasSubstr("not the fastest kernel at "), HasSubstr("--pdl"),
                             HasSubstr("of its speed (geomean")));
  EXPECT_THAT(run("export --format csv -o on --recorded --pdl weights").err,
              Not(HasSubstr("which --pdl")));
  const Outcome few = run("export --format csv -o few --recorded --pdl weights --max-kernels 2");
  EXPECT_THAT(few.err, AllOf(HasSubstr("(--max-kernels)"), HasSubstr("left out: "),
                             HasSubstr("without --max-kernels")));
}

TEST_F(ExportCommand, ExportsADatabaseOfMyOwn) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  const Outcome done = run("export --format triton -o configs --db mine.db");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(fs::exists(folder() / "configs/hgemm_tuned_triton.py"));
}

TEST_F(ExportCommand, HasCublasLtWhereItIsFaster) {
  Race lost = race(problem(512, 512, 512), Regime::kSustained, 9.7);
  lost.trials.at(2).message =
      "algo 66, tile 23, stages 16, cluster 3, split-K 1, reduction 0, swizzle 0, custom 1, "
      "inner 0, workspace 0 B";
  Race old = race(problem(512, 512, 1024), Regime::kSustained, 9.7);
  old.trials.at(2).message = "algo 66, tile 23, stages 16, cluster 3, split-K 1, workspace 0 B";
  record(folder() / "mine.db", {lost, old, race(problem(1024, 512, 512))});
  const Outcome done = run("export --format json -o tuned --db mine.db --with-cublaslt");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, AllOf(HasSubstr("cuBLASLt runs at 2 of them"),
                              HasSubstr("1 of 3 shapes (512x512x1024)")));
  const json rows = json::parse(read_file(folder() / "tuned/hgemm_tuned.json")).at("rows");
  EXPECT_EQ(rows.at(0).at("fastest"), "cublaslt.0");
  EXPECT_EQ(rows.at(0).at("cublaslt_algorithm"), lost.trials.at(2).message);
  EXPECT_TRUE(rows.at(1).at("cublaslt_algorithm").is_null());
  EXPECT_EQ(rows.at(2).at("fastest"), kLabel);
  const json best = json::parse(run("best --db mine.db --with-libraries --format json").out);
  EXPECT_EQ(best.at(0).at("label"), "cublaslt.0");
  EXPECT_EQ(best.at(0).at("cublaslt_algorithm"), lost.trials.at(2).message);
  EXPECT_EQ(best.at(2).at("label"), kLabel);
  const Outcome refused = run("export --format csv -o other --db mine.db --with-cublaslt");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--format cpp and json"));
  EXPECT_FALSE(fs::exists(folder() / "other"));
}

TEST_F(ExportCommand, BadUsageSaysWhatToDo) {
  EXPECT_EQ(run("export -o somewhere --recorded").exit_code, 2);
  EXPECT_EQ(run("export --format json --recorded").exit_code, 2);
  const Outcome format = run("export --format jsn -o somewhere --recorded");
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_THAT(format.err, HasSubstr("did you mean json"));
  EXPECT_EQ(run("export --format vllm -o somewhere --recorded").exit_code, 2)
      << "vLLM opens no such file for dense layers of 16 bits";
  const Outcome database = run("export --format json -o somewhere");
  EXPECT_EQ(database.exit_code, 2);
  EXPECT_THAT(database.err, HasSubstr("--recorded"));
  EXPECT_EQ(run("export --format json -o somewhere --recorded --regime both").exit_code, 2);
  EXPECT_EQ(run("export --format json -o somewhere --recorded --shapes 5x6x7").exit_code, 2);
  write_file(folder() / "file", "");
  EXPECT_EQ(run("export --format json -o file --recorded --shapes 512x512x512").exit_code, 2);
  EXPECT_FALSE(fs::exists(folder() / "somewhere"));
}

TEST_F(ExportCommand, OnAFullDiskThePreviousExportStays) {
  record(folder() / "old.db", {race(problem(512, 512, 512))});
  std::vector<Race> many;
  for (int i = 1; i <= 100; ++i) many.push_back(race(problem(512, 512, 64 * i)));
  record(folder() / "new.db", many);
  for (const std::string format : {"json", "cpp"}) {
    fs::remove_all(folder() / "out");
    const std::string command = "export -o out --format " + format;
    ASSERT_EQ(run(command + " --db old.db").exit_code, 0);
    ASSERT_EQ(run(command + " --db new.db --shapes 512x512x512").exit_code, 0);
    const auto all = files();
    const std::string json = read_file(folder() / "out/hgemm_tuned.json");
    const std::string table = read_file(folder() / "out/src/table.h");
    const Outcome full = run(command + " --db new.db", "trap '' XFSZ; ulimit -f 80");
    EXPECT_EQ(full.exit_code, 1) << format;
    EXPECT_THAT(full.err, testing::AllOf(testing::StartsWith("hgemm-tune: out/hgemm_tuned."),
                                         HasSubstr("cannot be written: File too large")));
    EXPECT_EQ(std::ranges::count(full.err, '\n'), 1) << full.err;
    EXPECT_EQ(files(), all) << format << ": nothing is left behind";
    EXPECT_EQ(read_file(folder() / "out/hgemm_tuned.json"), json);
    EXPECT_EQ(read_file(folder() / "out/src/table.h"), table);
  }
}

TEST_F(ExportCommand, WritesABundleThatBundleShows) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  const Outcome done = run("export --format bundle -o tuned.hgb --db mine.db");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "tuned.hgb\n");
  EXPECT_THAT(done.err, HasSubstr("1 kernels, "));
  const std::string bytes = read_file(folder() / "tuned.hgb");
  const Outcome again = run("export --format bundle -o again.hgb --db mine.db");
  EXPECT_EQ(read_file(folder() / "again.hgb"), bytes) << "the kernels are from the cache";

  const Outcome shown = run("bundle tuned.hgb");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("512x512x512"), HasSubstr(kLabel)));
  const json manifest = json::parse(run("bundle tuned.hgb --format json").out);
  EXPECT_EQ(manifest.at("rows").at(0).at("label"), kLabel);
  EXPECT_EQ(manifest.at("kernels").at(0).at("label"), kLabel);

  std::string changed = bytes;
  changed[bytes.size() - 100] ^= 1;
  write_file(folder() / "tuned.hgb", changed);
  const Outcome damaged = run("bundle tuned.hgb");
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.err, AllOf(HasSubstr("tuned.hgb is damaged: bytes "), HasSubstr(kLabel)));
  EXPECT_EQ(run("bundle missing.hgb").exit_code, 2);
}

TEST_F(ExportCommand, ABundleIsAFile) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  const Outcome folder_named = run("export --format bundle -o . --db mine.db");
  EXPECT_EQ(folder_named.exit_code, 2);
  EXPECT_THAT(folder_named.err, HasSubstr("a bundle is one file"));
  EXPECT_EQ(run("export --format bundle -o a.hgb --db mine.db --with-cublaslt").exit_code, 2);
}

TEST_F(ExportCommand, AFullStdoutIsSaidAndTheExportComplete) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  run("export --format json -o out --db mine.db >/dev/full 2>err.txt; echo $? "
      ">code.txt; true");
  EXPECT_EQ(read_file(folder() / "code.txt"), "1\n");
  EXPECT_THAT(read_file(folder() / "err.txt"), HasSubstr("the export in out is complete"));
  EXPECT_NO_THROW(json::parse(read_file(folder() / "out/hgemm_tuned.json")));
}

TEST_F(ExportCommand, AFullStderrIsNoFailure) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  run("export --format json -o out --db mine.db 2>/dev/full; echo $? "
      ">code.txt; true");
  EXPECT_EQ(read_file(folder() / "code.txt"), "0\n");
}

TEST_F(ExportCommand, APathCannotRewriteTheTerminal) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  const Outcome done = run("export --format json -o \"$(printf 'a\\033[2Jb')\" --db mine.db");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "a?[2Jb/hgemm_tuned.json\n");
}

}  // namespace
}  // namespace hgemm
