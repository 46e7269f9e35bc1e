// The ladder command where there is no GPU, or no wish to use it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using LadderCommand = ProgramTest;

TEST_F(LadderCommand, HelpTeachesByExample) {
  EXPECT_THAT(run("--help").out, HasSubstr("\n  ladder "));
  EXPECT_THAT(run("ladder --help").out, AllOf(HasSubstr("Examples:\n  hgemm-tune ladder"),
                                              HasSubstr("--steps"), Not(HasSubstr("[bf16]"))))
      << "without --dtype it is the shape's type";
}

TEST_F(LadderCommand, RecordsAnswerWithEveryStepThatWasAskedFor) {
  const Outcome outcome =
      run("ladder --recorded --steps hopper.03,hopper.12 --shape 1024x1024x512 --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json steps = json::parse(outcome.out);
  ASSERT_GE(steps.size(), 2u);
  EXPECT_EQ(steps[0]["label"], "ladder.hopper.03_larger_tile.bf16");
  EXPECT_EQ(steps[1]["label"], "ladder.hopper.12_tma_store.bf16");
  EXPECT_EQ(steps[1]["m"], 1024);
  EXPECT_THAT(outcome.err, HasSubstr("Nothing is measured now"));
}

TEST_F(LadderCommand, NamesStepsThatAreLeftOutAndCountersThatAreMissing) {
  const Outcome outcome =
      run("ladder --recorded --steps hopper.03,cuda_core.08 --shape 1024x1024x512.fp32");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("left out: hopper.03: not for fp32"));
  EXPECT_THAT(outcome.out, HasSubstr("No counters of these steps were recorded."));
}

// The results that ship with the program are from before the tuned steps: they still print.
TEST_F(LadderCommand, RecordsWithoutTunedStepsStillPrint) {
  const Outcome outcome = run("ladder --recorded");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("hopper.01 naive"), HasSubstr("hopper.12 tma_store"),
                                 HasSubstr("hopper.13 tuned"), HasSubstr("hopper.14 e4m3")));
}

TEST_F(LadderCommand, TunedStepsNeedAKnownConfig) {
  const Outcome outcome =
      run("ladder --recorded --steps hopper.12,hopper.13,hopper.14 --shape 1024x1024x512");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* left_out : {"hopper.13: no config is known there; hgemm-tune tune --shapes "
                               "1024x1024x512 finds the best one",
                               "hopper.14: no config is known there; hgemm-tune tune --shapes "
                               "1024x1024x512.e4m3 finds the best one"}) {
    EXPECT_THAT(outcome.err, HasSubstr(left_out));
  }
  const Outcome odd = run("ladder --recorded --steps hopper.14 --shape 1024x1024x520");
  EXPECT_EQ(odd.exit_code, 2) << "K is no multiple of 16";
  EXPECT_THAT(odd.err, HasSubstr("hopper.14"));
}

TEST_F(LadderCommand, BadInputNamesWhatIsWrong) {
  const auto refused = [&](const std::string& arguments, const std::string& because) {
    const Outcome outcome = run("ladder --recorded " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(because)) << arguments;
  };
  refused("--steps hopper.99", "\"hopper.99\" is neither a step nor a family");
  refused("--shape 100x128x64 --steps hopper.03", "M must be a multiple");
  refused("--shape 100x128x64 --steps hopper.03,hopper.12", "hopper.03, hopper.12: M must be");
  refused("--shape 100x100x100 --dtype fp32 --steps hopper.03,cuda_core.08",
          "cuda_core.08: M must be a multiple of the tile's rows; hopper.03: not for fp32");
  refused("--shape 1024x1024x1024,2048x2048x2048", "one shape at a time");
  refused("--dtype fp32", "none of them is for fp32");
  refused("--dtype fp32 --steps hopper.14", "none of them is for fp32");
  refused("--format xml", "xml");
}

}  // namespace
}  // namespace hgemm
