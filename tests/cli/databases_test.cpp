// compare, merge and verify: commands about whole databases, driven end to end.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "studies/micro/points.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class Databases : public ProgramTest {
 protected:
  Databases() {
    record(folder() / "a.db", {race(problem(512, 512, 512)), race(problem(1024, 512, 512))});
    record(folder() / "slower.db",
           {race(problem(512, 512, 512), Regime::kSustained, 9.5), race(problem(1024, 512, 512))});
    Machine other = machine();
    other.environment.driver = "590.2";
    record(folder() / "other.db", {race(problem(2048, 512, 512))}, other);
  }

  json best(const std::string& database) const {
    return json::parse(run("best --format json --db " + database).out);
  }
};

TEST_F(Databases, ShippedResultsComparedWithACopyAreTheSame) {
  const fs::path results = fs::path(HGEMM_SOURCE_DIR) / "results";
  int devices = 0;
  for (const auto& device : fs::directory_iterator(results)) {
    if (!fs::exists(device.path() / "tune.db")) continue;
    SCOPED_TRACE(device.path().string());
    ++devices;
    for (const char* name : {"x.db", "y.db"}) {
      fs::copy_file(device.path() / "tune.db", folder() / name,
                    fs::copy_options::overwrite_existing);
    }
    const auto before = files();
    const Outcome same = run("compare x.db y.db --fail-on-regression --format json");
    ASSERT_EQ(same.exit_code, 0) << same.err;
    EXPECT_EQ(files(), before) << "it only reads";
    const json comparison = json::parse(same.out);
    EXPECT_FALSE(comparison.at("rows").empty());
    EXPECT_THAT(comparison.at("environment_changes"), IsEmpty());
    EXPECT_THAT(comparison.at("only_in_a"), IsEmpty());
    for (const json& row : comparison.at("rows")) {
      EXPECT_NE(row.at("verdict"), "slower");
      EXPECT_NE(row.at("verdict"), "faster");
    }
  }
  EXPECT_GT(devices, 0);
}

TEST_F(Databases, CompareShowsARegressionAndFailsOnItIfAsked) {
  const Outcome report = run("compare a.db slower.db");
  EXPECT_EQ(report.exit_code, 0) << "it is a report";
  EXPECT_THAT(report.out, AllOf(HasSubstr("512x512x512"), HasSubstr("slower"), HasSubstr("same")));
  EXPECT_THAT(report.err, IsEmpty());

  const Outcome gate = run("compare a.db slower.db --fail-on-regression");
  EXPECT_EQ(gate.exit_code, 1);
  EXPECT_EQ(gate.out, report.out);
  EXPECT_THAT(gate.err, HasSubstr("1 of 2 rows are slower in slower.db than in a.db"));

  EXPECT_EQ(run("compare slower.db a.db --fail-on-regression").exit_code, 0) << "faster";
  EXPECT_EQ(run("compare a.db slower.db --fail-on-regression --shapes 1024x512x512").exit_code, 0);
  const json rows = json::parse(run("compare a.db slower.db --format json").out).at("rows");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].at("verdict"), "slower") << "the worst comes first";
  EXPECT_THAT(run("compare a.db slower.db --format md").out, HasSubstr("| 512x512x512 |"));
  EXPECT_THAT(run("compare a.db slower.db --format csv").out, HasSubstr("slower"));
}

TEST_F(Databases, CompareSaysThatThereIsNothingInCommon) {
  const Outcome nothing = run("compare a.db other.db");
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.out, IsEmpty());
  EXPECT_THAT(nothing.err,
              AllOf(HasSubstr("nothing to compare"), HasSubstr("a.db"), HasSubstr("other.db")));
  EXPECT_EQ(run("compare a.db slower.db --shapes 8x8x8").exit_code, 1);
}

TEST_F(Databases, MergeTakesStudiesOverAndSaysSo) {
  {
    Store store = Store::open(folder() / "a.db", Store::Mode::kReadWrite);
    Study study;
    study.kind = kMicroStudy;
    study.label = "wgmma";
    store.record_study(store.begin_run(machine(), "hgemm-tune micro"), study);
  }
  EXPECT_THAT(run("merge a.db -o all.db").out,
              HasSubstr("a.db: 2 races, 6 trials, 54 samples and 1 studies added"));
  EXPECT_THAT(run("merge a.db -o all.db").out, HasSubstr("nothing that all.db does not have"));
  const Store all = Store::open(folder() / "all.db", Store::Mode::kReadOnly);
  EXPECT_THAT(all.studies(kMicroStudy), SizeIs(1));
}

TEST_F(Databases, MergingIsSafeToRepeat) {
  record(folder() / "b.db", {race(problem(2048, 512, 512))});
  const Outcome first = run("merge a.db b.db -o all.db");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("a.db: 2 races, 6 trials and 54 samples added"),
                               HasSubstr("b.db: 1 races, 3 trials and 27 samples added")));
  const json merged = best("all.db");
  EXPECT_THAT(merged, SizeIs(3));

  const Outcome second = run("merge b.db a.db --output all.db");
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.out, AllOf(HasSubstr("a.db: nothing"), HasSubstr("b.db: nothing"),
                                Not(HasSubstr("added"))));
  EXPECT_EQ(best("all.db"), merged);
}

TEST_F(Databases, MergingAddsWhatTheOutputLacks) {
  record(folder() / "b.db", {race(problem(2048, 512, 512))});
  const Outcome merge = run("merge b.db -o a.db");
  EXPECT_EQ(merge.exit_code, 0) << merge.err;
  EXPECT_THAT(best("a.db"), SizeIs(3));
  EXPECT_THAT(best("b.db"), SizeIs(1)) << "inputs are only read";
}

TEST_F(Databases, DifferentEnvironmentsAreMergedOnRequestOnly) {
  const auto before = files();
  const Outcome refused = run("merge a.db other.db -o all.db");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, AllOf(HasSubstr("a.db"), HasSubstr("other.db"),
                                 HasSubstr("driver 580.1 -> 590.2"), HasSubstr("--mixed")));
  EXPECT_EQ(files(), before);

  const std::string bytes = read_file(folder() / "a.db");
  const Outcome into = run("merge other.db -o a.db");
  EXPECT_EQ(into.exit_code, 2);
  EXPECT_THAT(into.err, AllOf(HasSubstr("other.db"), HasSubstr("a.db"), HasSubstr("driver")));
  EXPECT_EQ(read_file(folder() / "a.db"), bytes);

  const Outcome mixed = run("merge a.db other.db -o all.db --mixed");
  EXPECT_EQ(mixed.exit_code, 0) << mixed.err;
  EXPECT_THAT(best("all.db"), SizeIs(3));

  const Outcome again = run("merge all.db -o copy.db");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("all.db holds results of several"), HasSubstr("driver")));
}

TEST_F(Databases, WhatAnotherProcessWritesCanBeReadOnly) {
  record(folder() / "b.db", {race(problem(2048, 512, 512))});
  const Store writer = Store::open((folder() / "a.db").string(), Store::Mode::kReadWrite);
  const auto before = files();
  const Outcome refused = run("merge b.db -o a.db");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, AllOf(StartsWith("hgemm-tune: "), HasSubstr("a.db"),
                                 HasSubstr(std::to_string(getpid()))))
      << "it names the other process";
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1);
  EXPECT_EQ(files(), before);

  EXPECT_THAT(best("a.db"), SizeIs(2)) << "reading needs no lock";
  EXPECT_EQ(run("compare a.db slower.db").exit_code, 0);
  EXPECT_EQ(run("merge a.db b.db -o all.db").exit_code, 0);
}

TEST_F(Databases, NamesOfOneFileAreNotMerged) {
  fs::create_hard_link(folder() / "a.db", folder() / "hard.db");
  fs::create_symlink("a.db", folder() / "soft.db");
  for (const char* output : {"a.db", "hard.db", "soft.db", "./a.db"}) {
    const Outcome same = run(std::string("merge a.db -o ") + output);
    EXPECT_EQ(same.exit_code, 2) << output;
    EXPECT_THAT(same.err, HasSubstr("a.db is both merged and merged into"));
  }
  EXPECT_THAT(best("hard.db"), SizeIs(2));
}

TEST_F(Databases, WhatIsNoFileIsSaidAndNotWaitedFor) {
  ASSERT_EQ(mkfifo((folder() / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder() / "folder");
  const auto before = files();
  for (const std::string what : {"pipe", "folder"}) {
    for (const std::string& command :
         {"best --db " + what, "merge a.db -o " + what, "merge " + what + " -o all.db",
          "compare a.db " + what, "export --format json -o e --db " + what}) {
      const Outcome refused = run(command);
      EXPECT_EQ(refused.exit_code, 2) << command << ": " << refused.err;
      EXPECT_THAT(refused.err, HasSubstr("database " + what + ": is ")) << command;
      EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    }
  }
  EXPECT_EQ(files(), before);
}

// A process that exceeds a limit of file sizes gets a signal, which would kill it.
TEST_F(Databases, AFullDiskIsAnErrorThatLosesNothing) {
  record(folder() / "into.db", {race(problem(2048, 512, 512))});
  std::vector<Race> many;
  for (int i = 1; i <= 200; ++i) many.push_back(race(problem(8 * i, 4096, 512)));
  record(folder() / "many.db", many);
  const Outcome full = run("merge many.db -o into.db", "ulimit -f 500");  // of 512 bytes
  EXPECT_EQ(full.exit_code, 1) << full.err;
  EXPECT_THAT(full.err, AllOf(HasSubstr("into.db"), HasSubstr("the disk is full or failing")));
  EXPECT_THAT(best("into.db"), SizeIs(1)) << "what was there";
  EXPECT_EQ(run("merge many.db -o into.db").exit_code, 0);
  EXPECT_THAT(best("into.db"), SizeIs(201));
}

TEST_F(Databases, VerifyNeedsAGpu) {
  const auto before = files();
  const Outcome verify = run("verify --db a.db");
  EXPECT_EQ(verify.exit_code, 1);
  EXPECT_THAT(verify.out, IsEmpty());
  EXPECT_THAT(verify.err, AllOf(HasSubstr("verify"), HasSubstr("Hopper GPU")));
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace hgemm
