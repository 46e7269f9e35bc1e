// Exports of results whose texts try to become code: of a GPU, a driver, a tag, a revision that
// somebody else recorded.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>

#include "base/file.h"
#include "tests/output/export/fixture.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using namespace test;

/// Each would create the file "leaked" if it ran as shell, C++ or Python.
const std::string kHostile =
    "H200\ntouch leaked\n#error leaked\nopen('leaked', 'w')\n$(touch leaked)`touch leaked`\"'\\\n"
    "*/ ../../x |a|<script>\x1b[2J\xff\r\t\xe2\x80\xae";

ExportPlan hostile_plan() {
  std::vector<RecordedRace> races = recordings();
  for (RecordedRace& race : races) {
    race.environment.gpu_name = kHostile;
    race.environment.driver = race.environment.cuda = race.environment.cublas = kHostile;
    race.run.kernel_sources = race.run.git_revision = race.run.gpu_uuid = kHostile;
    race.started_utc = kHostile;
    race.race.problem.tag = kHostile;
    for (Trial& trial : race.race.trials) trial.kernel_id = kHostile;
  }
  return plan_export(races, {});
}

class HostileExport : public testing::TestWithParam<ExportFormat> {
 protected:
  /// The exit code of a shell command in the export's folder.
  int run(const std::string& command) const {
    const int status = std::system(("cd '" + folder_.string() + "' && " + command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
  const fs::path folder_ = root_ / "out";
};

TEST_P(HostileExport, HasNoControlCharactersAndNoFileElsewhere) {
  const ExportPlan plan = hostile_plan();
  const auto files = export_files(plan, validity_of(plan, "fedc", kHostile), GetParam());
  write_export(folder_, files);
  for (const auto& entry : fs::directory_iterator(root_)) {
    EXPECT_EQ(entry.path(), folder_) << "written outside of its folder";
  }
  for (const ExportFile& file : files) {
    EXPECT_THAT(file.path.string(), Not(ContainsRegex("\\.\\.|[^A-Za-z0-9._+()/,=-]")));
    EXPECT_THAT(file.text, Not(ContainsRegex("\n *touch leaked|\n *#error|\n *open\\(")))
        << file.path;
    EXPECT_THAT(file.text, Not(ContainsRegex("[\x1b\xff\r\t]"))) << file.path;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, HostileExport,
                         testing::Values(ExportFormat::kCpp, ExportFormat::kJson,
                                         ExportFormat::kCsv, ExportFormat::kMarkdown,
                                         ExportFormat::kTriton, ExportFormat::kCutlass));

class HostileCode : public HostileExport {
 protected:
  void write(ExportFormat format) const {
    const ExportPlan plan = hostile_plan();
    write_export(folder_, export_files(plan, validity_of(plan, "fedc", kHostile), format));
  }
  void expect_no_leak() const {
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      EXPECT_NE(entry.path().filename(), "leaked");
    }
  }
};

TEST_F(HostileCode, TheProfilersScriptRunsTheProfilerAndNothingElse) {
  write(ExportFormat::kCutlass);
  EXPECT_EQ(run("bash profile.sh \"$(command -v true)\""), 0);
  expect_no_leak();
}

TEST_F(HostileCode, TheTableIsCxx) {
  write(ExportFormat::kCpp);
  // The comments alone: what they let out would not be one any more.
  EXPECT_EQ(run("grep -v '^#include' src/table.h | g++ -fpreprocessed -dD -E -P -x c++ - -o "
                "stripped && grep -q kKernelCount stripped && ! grep -n 'touch\\|leaked' stripped"),
            0);
}

TEST_F(HostileCode, TheModuleIsPython) {
  write(ExportFormat::kTriton);
  EXPECT_EQ(run("mkdir stub && echo 'class Config:\n  def __init__(*a, **k): pass' > "
                "stub/triton.py && PYTHONPATH=stub python3 -B hgemm_tuned_triton.py"),
            0);
  EXPECT_EQ(run("PYTHONPATH=stub python3 -B -c 'import hgemm_tuned_triton as t; "
                "assert t.VALID_FOR[\"gpu\"].startswith(\"H200?touch leaked?\")'"),
            0);
  expect_no_leak();
}

TEST_F(HostileCode, ATableHasItsLines) {
  write(ExportFormat::kMarkdown);
  const std::string page = read_file(folder_ / "hgemm_tuned.md", 1 << 20);
  write(ExportFormat::kCsv);
  const std::string table = read_file(folder_ / "hgemm_tuned.csv", 1 << 20);
  const ExportPlan tame = planned();
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  EXPECT_EQ(lines(page),
            lines(export_files(tame, valid_for(tame), ExportFormat::kMarkdown).front().text));
  EXPECT_EQ(lines(table),
            lines(export_files(tame, valid_for(tame), ExportFormat::kCsv).front().text));
  EXPECT_THAT(page, Not(HasSubstr(" |a|"))) << "a cell ends where it should not";
  EXPECT_THAT(page, Not(ContainsRegex("[^\\]<script>")));
}

}  // namespace
}  // namespace hgemm
