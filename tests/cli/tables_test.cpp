// How tables come to the terminal of whoever runs the program.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A database with a clear win, a clear loss, and a config whose label is long.
class Tables : public ProgramTest {
 protected:
  Tables() {
    record(folder() / "some.db",
           {race(problem(4096, 4096, 4096)), race(problem(512, 512, 512), Regime::kSustained, 12)});
  }
  static std::size_t widest(const std::string& text) {
    std::size_t widest = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
    return widest;
  }
};

TEST_F(Tables, AreAsWideAsTheTerminalSays) {
  const auto expect_fits = [this](const std::string& command, std::size_t width) {
    const Outcome outcome = run(command, "export COLUMNS=" + std::to_string(width));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_LE(widest(outcome.out), width) << command << outcome.out;
  };
  for (const std::size_t width : {80u, 120u, 200u}) {
    for (const char* command : {"best --db some.db", "compare some.db some.db", "plan --axes",
                                "best --fields", "plan --space smoke --shapes 512x512x512"}) {
      expect_fits(command, width);
    }
  }
  for (const char* command :
       {"best --recorded", "plan --explain --space smoke --shapes 512x512x512", "ladder --recorded",
        "chain --recorded --shapes llama7b-decode.yaml", "micro --recorded",
        "advise --shapes 4096x4096x4096", "--shapes 512x512x512,8x8x8"}) {
    expect_fits(command, 80);
  }
}

TEST_F(Tables, AreInFullInAPipe) {
  const Outcome outcome = run("best --recorded", "unset COLUMNS");
  EXPECT_GT(widest(outcome.out), 200u);
  EXPECT_THAT(outcome.out, Not(HasSubstr("Left out")));
  const Outcome narrow = run("best --recorded", "export COLUMNS=80");
  EXPECT_THAT(narrow.out, HasSubstr("\nLeft out at 80 columns: "));
  const Outcome wide = run("best --recorded --regime sustained --wide", "export COLUMNS=80");
  EXPECT_THAT(wide.out, HasSubstr("% peak or TB/s"));
}

TEST_F(Tables, TakeTheColumnsAndTheOrderThatAreAskedFor) {
  const Outcome csv =
      run("best --db some.db --format csv --columns problem,time_us --sort time_us:desc");
  EXPECT_EQ(csv.out, "problem,time_us\n512x512x512,12.0\n4096x4096x4096,9.0\n") << csv.err;
  EXPECT_EQ(run("best --db some.db --format csv --columns problem --sort m").out,
            "problem\n512x512x512\n4096x4096x4096\n");
  const json object =
      json::parse(run("best --db some.db --format json --columns label,gpu").out)[0];
  EXPECT_EQ(object, (json{{"label", kLabel}, {"gpu", "NVIDIA H200"}}));
  EXPECT_THAT(run("best --db some.db --columns kernel_id,shape --sort shape").out,
              HasSubstr("\nfedcba9876543210fedcba9876543210  512x512x512\n"));
  for (const char* command : {"best --db some.db", "best --db some.db --format json",
                              "compare some.db some.db", "--shapes 512x512x512"}) {
    const Outcome wrong = run(std::string(command) + " --columns verdic,tim_us");
    EXPECT_EQ(wrong.exit_code, 2) << command;
    EXPECT_THAT(wrong.err, AllOf(HasSubstr("there is no such column"), HasSubstr("ratio_cublas")))
        << command;
    EXPECT_EQ(run(std::string(command) + " --sort tim_us").exit_code, 2) << command;
  }
  EXPECT_THAT(run("best --db some.db --columns tim_us").err, HasSubstr("did you mean time_us?"));
  EXPECT_EQ(run("replay --columns shape --format json").exit_code, 2);
}

TEST_F(Tables, HaveColourOnlyWhereItIsWanted) {
  const std::string green = "\x1b[32m", red = "\x1b[31m";
  const auto out = [&](const std::string& arguments, const std::string& before = ":") {
    return run("best --db some.db " + arguments, before).out;
  };
  EXPECT_THAT(out(""), Not(HasSubstr("\x1b"))) << "a pipe";
  EXPECT_THAT(out("--color always"), AllOf(HasSubstr(green + "1.111"), HasSubstr(red + "0.833")));
  EXPECT_THAT(out("", "export CLICOLOR_FORCE=1"), HasSubstr(green));
  EXPECT_THAT(out("", "export CLICOLOR_FORCE=1 NO_COLOR=1"), Not(HasSubstr("\x1b")));
  EXPECT_THAT(out("--color always", "export NO_COLOR=1"), HasSubstr(green));
  EXPECT_THAT(out("--color never", "export CLICOLOR_FORCE=1"), Not(HasSubstr("\x1b")));
  for (const char* format : {"json", "csv", "md"}) {
    EXPECT_THAT(out(std::string("--color always --format ") + format), Not(HasSubstr("\x1b")));
  }
  const Outcome wrong = run("best --db some.db --color blue");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("auto, always or never"));
}

TEST_F(Tables, FitARealTerminal) {
  const Outcome outcome = run("--version >/dev/null; script -qec \"stty cols 90; '" HGEMM_PROGRAM
                              "' best --db some.db\" /dev/null",
                              "unset COLUMNS NO_COLOR; export TERM=xterm");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\x1b[32m1.111"), HasSubstr("\r\n  config\r\n")));
}

}  // namespace
}  // namespace hgemm
