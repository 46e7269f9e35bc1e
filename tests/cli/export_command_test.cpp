// export as a user runs it, with no GPU.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::HasSubstr;
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

TEST_F(ExportCommand, ExportsADatabaseOfMyOwn) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  const Outcome done = run("export --format vllm -o configs --db mine.db");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(fs::exists(folder() / "configs/valid_for.json"));
}

TEST_F(ExportCommand, BadUsageSaysWhatToDo) {
  EXPECT_EQ(run("export -o somewhere --recorded").exit_code, 2);
  EXPECT_EQ(run("export --format json --recorded").exit_code, 2);
  const Outcome format = run("export --format jsn -o somewhere --recorded");
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_THAT(format.err, HasSubstr("did you mean json"));
  const Outcome database = run("export --format json -o somewhere");
  EXPECT_EQ(database.exit_code, 2);
  EXPECT_THAT(database.err, HasSubstr("--recorded"));
  EXPECT_EQ(run("export --format json -o somewhere --recorded --regime both").exit_code, 2);
  EXPECT_EQ(run("export --format json -o somewhere --recorded --shapes 5x6x7").exit_code, 2);
  write_file(folder() / "file", "");
  EXPECT_EQ(run("export --format json -o file --recorded --shapes 512x512x512").exit_code, 2);
  EXPECT_FALSE(fs::exists(folder() / "somewhere"));
}

}  // namespace
}  // namespace hgemm
