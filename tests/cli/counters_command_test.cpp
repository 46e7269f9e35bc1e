// `counters` where there is no GPU: what was recorded, and what a user got wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "studies/counters/counter_set.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using CountersCommand = ProgramTest;

constexpr const char* kShapes = " --shapes 2048x2048x2048 ";

Study counted(const std::string& label, double hit_rate) {
  Study study;
  study.kind = kCountersStudy;
  study.label = label;
  study.problem = problem(2048, 2048, 2048);
  study.figures = {counter_figure("l2_hit_rate", "%", hit_rate, "lts__t_sector_hit_rate.pct")};
  return study;
}

void record_studies(const fs::path& path, const Machine& machine,
                    const std::vector<Study>& studies) {
  Store store = Store::open(path.string(), Store::Mode::kReadWrite);
  const auto run = store.begin_run(machine, "hgemm-tune counters");
  for (const Study& study : studies) store.record_study(run, study);
}

TEST_F(CountersCommand, AnswersFromRecordsForTheBestKnownConfig) {
  install_with_recorded({race(problem(2048, 2048, 2048))});
  record_studies(recorded("h200").parent_path() / "study.db", machine(),
                 {counted("cublas", 70), counted(kLabel, 83), counted(kOtherLabel, 11)});
  const Outcome outcome = run("counters" + std::string(kShapes));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("No Hopper GPU here"), HasSubstr("Recorded on NVIDIA H200"),
                    HasSubstr(kLabel), HasSubstr("83.00"), HasSubstr("70.00")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("11.00"))) << "not the best config, and not asked for";
  EXPECT_TRUE(files().empty() || !files().contains("work/hgemm-tune.db")) << "nothing was measured";

  const Outcome named = run("counters" + std::string(kShapes) + "--config " + kOtherLabel);
  EXPECT_THAT(named.out, AllOf(HasSubstr("11.00"), Not(HasSubstr("83.00"))));
}

TEST_F(CountersCommand, NamesWhatWasNotRecorded) {
  install_with_recorded({race(problem(2048, 2048, 2048))});
  const Outcome outcome = run("counters --cublaslt" + std::string(kShapes));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("To measure on a Hopper GPU: hgemm-tune counters"));
}

TEST_F(CountersCommand, AsksForAConfigWhereNoneIsKnown) {
  install_with_recorded({});
  const Outcome outcome = run("counters" + std::string(kShapes));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("name one with --config"));
}

TEST_F(CountersCommand, TakesTheBestConfigFromTheUsersDatabaseUnlessRecordsAreAskedFor) {
  install_with_recorded({race(problem(2048, 2048, 2048))});
  record_studies(recorded("h200").parent_path() / "study.db", machine(),
                 {counted(kLabel, 83), counted(kOtherLabel, 11)});
  Race own = race(problem(2048, 2048, 2048));
  own.trials.front().label = kOtherLabel;
  for (const char* name : {"hgemm-tune.db", "own.db"}) record(folder() / name, {own});
  const auto answer = [&](const std::string& arguments) {
    return run("counters --format csv" + std::string(kShapes) + arguments).out;
  };
  EXPECT_THAT(answer(""), AllOf(HasSubstr(kOtherLabel), Not(HasSubstr(kLabel))));
  EXPECT_THAT(answer("--recorded"), AllOf(HasSubstr(kLabel), Not(HasSubstr(kOtherLabel))));
  EXPECT_THAT(answer("--recorded --db own.db"),
              AllOf(HasSubstr(kOtherLabel), Not(HasSubstr(kLabel))));
}

TEST_F(CountersCommand, AnotherConfigThatWasRecordedAnswersForAChoiceOfItsOwnOnly) {
  install_with_recorded({race(problem(2048, 2048, 2048))});
  record_studies(recorded("h200").parent_path() / "study.db", machine(),
                 {counted("cublas", 70), counted(kOtherLabel, 11)});
  EXPECT_THAT(run("counters" + std::string(kShapes)).out, HasSubstr("11.00"));
  const Outcome named = run("counters" + std::string(kShapes) + "--config " + kLabel);
  EXPECT_THAT(named.out, AllOf(Not(HasSubstr("11.00")), HasSubstr("1 of 2 is missing")));
}

TEST_F(CountersCommand, ShowsTheNewestOfEachEnvironmentOnce) {
  install_with_recorded({race(problem(2048, 2048, 2048))});
  const fs::path path = recorded("h200").parent_path() / "study.db";
  Machine other = machine();
  other.environment.driver = "590.2";
  record_studies(path, machine(), {counted("cublas", 70), counted(kLabel, 83)});
  record_studies(path, other, {counted("cublas", 75)});
  const std::string problems = std::string(kShapes) + "--config cublas,cublas," + kLabel;
  const Outcome outcome = run("counters --format csv" + problems);
  for (const char* figure : {"70", "75", "83"}) {
    const auto at = outcome.out.find("," + std::string(figure));
    EXPECT_NE(at, std::string::npos) << figure << '\n' << outcome.out;
    EXPECT_EQ(outcome.out.find("," + std::string(figure), at + 1), std::string::npos) << figure;
  }
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("driver 580.1"), HasSubstr("driver 590.2")));
}

TEST_F(CountersCommand, SaysThatADatabaseIsNotThere) {
  install_with_recorded({race(problem(2048, 2048, 2048))});
  const Outcome asked = run("counters --recorded --db none.db" + std::string(kShapes));
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_THAT(asked.err, HasSubstr("none.db"));
  EXPECT_EQ(run("micro --recorded --db none.db").exit_code, 2);
  const Outcome no_gpu = run("counters --db none.db" + std::string(kShapes));
  EXPECT_EQ(no_gpu.exit_code, 0) << no_gpu.err;
  EXPECT_THAT(no_gpu.out, HasSubstr("none.db is not there."));
}

TEST_F(CountersCommand, RefusesWhatItCannotDo) {
  const Outcome bare = run("counters");
  EXPECT_EQ(bare.exit_code, 2);
  EXPECT_THAT(bare.err, HasSubstr("--shapes"));
  const Outcome fp32 = run("counters --shapes 2048x2048x2048.fp32");
  EXPECT_EQ(fp32.exit_code, 2);
  EXPECT_THAT(fp32.err, HasSubstr("fp32 is for the ladder"));
  EXPECT_EQ(run("micro --list --format csv").exit_code, 2) << "it is a list in any case";
  EXPECT_EQ(run("counters --config bm1.bn2" + std::string(kShapes)).exit_code, 2);
  EXPECT_EQ(run("counters --format xml" + std::string(kShapes)).exit_code, 2);
  const Outcome other_type =
      run("counters --shapes 2048x2048x2048.fp16 --config ladder.hopper.03_larger_tile.bf16");
  EXPECT_EQ(other_type.exit_code, 2);
  EXPECT_THAT(other_type.err, HasSubstr("none of --config is for its type"));
  const Outcome no_room =
      run(std::string("counters --shapes 2048x2048x2048.dfp32 --config ") + kNotForFp32);
  EXPECT_EQ(no_room.exit_code, 2);
  EXPECT_THAT(no_room.err, HasSubstr("cannot compute 2048x2048x2048.dfp32"));
  for (const char* command : {"counters", "probe", "--require-gpu"}) {
    const Outcome padded =
        run(fmt::format("{} --shapes 2048x2048x2048.lda2056 --config {}.fixed", command, kLabel));
    EXPECT_EQ(padded.exit_code, 2) << command;
    EXPECT_THAT(padded.err, HasSubstr("made for one problem without padding")) << command;
  }
  const Outcome required = run("counters --require-gpu" + std::string(kShapes));
  EXPECT_EQ(required.exit_code, 1);
  EXPECT_THAT(run("doctor").out, HasSubstr("counters"));
}

}  // namespace
}  // namespace hgemm
