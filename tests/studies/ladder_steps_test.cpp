// The steps of the ladder by name, and what they say of themselves.
#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "studies/ladder/ladder.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr DataType kDtypes[] = {DataType::kBf16, DataType::kFp16, DataType::kFp32};

std::vector<std::string> ids(const std::vector<ladder::Step>& steps) {
  std::vector<std::string> all;
  for (const ladder::Step& step : steps) all.emplace_back(step.id);
  return all;
}

TEST(LadderSteps, LabelsRoundTripAndAreUnique) {
  std::set<std::string> labels;
  for (const ladder::Step& step : ladder_steps()) {
    for (const DataType dtype : kDtypes) {
      const std::string label = ladder_label({step, dtype});
      const auto parsed = parse_ladder_label(label);
      EXPECT_EQ(parsed.has_value(), supports(step, dtype)) << label;
      EXPECT_TRUE(labels.insert(label).second) << label;
      if (!parsed) continue;
      EXPECT_STREQ(parsed->step.function, step.function);
      EXPECT_EQ(parsed->dtype, dtype);
    }
  }
  EXPECT_TRUE(labels.contains("ladder.hopper.03_larger_tile.bf16"));
}

TEST(LadderSteps, OtherLabelsAreNotSteps) {
  for (const char* label :
       {"", "ladder.", "cublas", "ladder.hopper.03_larger_tile", "ladder.hopper.3_larger_tile.bf16",
        "ladder.hopper.03_larger_tile.bf16.x", "ladder.cuda_core.03_larger_tile.bf16",
        "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist"}) {
    EXPECT_FALSE(parse_ladder_label(label)) << label;
  }
  EXPECT_FALSE(parse_ladder_label("ladder.hopper.03_larger_tile.fp32")) << "wgmma has no fp32";
}

TEST(LadderSteps, AreChosenByNameInTheOrderOfTheLadder) {
  EXPECT_THAT(ids(chosen_ladder_steps("hopper.06b,hopper.03,hopper.06b")),
              ElementsAre("03", "06b"));
  EXPECT_EQ(ids(chosen_ladder_steps("hopper.03,hopper")), ids(chosen_ladder_steps("hopper")));
  EXPECT_THAT(ids(chosen_ladder_steps("hopper")),
              ElementsAre("01", "01b", "02", "03", "04", "05", "06", "06b", "07", "08", "09", "11",
                          "12", "13", "14"));
  EXPECT_THAT(ids(chosen_ladder_steps("hopper.14,hopper.12")), ElementsAre("12", "14"));
}

TEST(LadderSteps, AnUnknownNameIsToldFromThoseThereAre) {
  for (const char* names : {"hopper.3", "", "hopper,", "warp"}) {
    try {
      chosen_ladder_steps(names);
      FAIL() << names;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("hopper.03"), HasSubstr("hopper.06b"))) << names;
    }
  }
}

TEST(LadderSteps, TunedOnesAreTheBestConfigsOfTheShapeAndOfItsEightBits) {
  const std::string config = "bm128.bn128.bk128.q4.c1x1.coop2.d1.acc256.linear.tma.persist";
  const GemmProblem problem{.m = 512, .n = 256, .k = 128, .tag = ""};
  const auto& steps = tuned_ladder_steps();
  ASSERT_EQ(steps.size(), 2u);
  for (const ladder::Step& step : steps) {
    SCOPED_TRACE(step.name);
    EXPECT_TRUE(is_tuned(step));
    EXPECT_TRUE(supports(step, DataType::kBf16));
    EXPECT_TRUE(supports(step, DataType::kFp16));
    EXPECT_FALSE(supports(step, DataType::kFp32));
    EXPECT_FALSE(step.probed) << "its cycles are for hgemm-tune probe";
    EXPECT_EQ(ladder::why_unsupported(step, 1, 1, 1), nullptr) << "its config has rules of its own";
    const LadderPoint point{step, operand_type(step, DataType::kFp16), config};
    EXPECT_EQ(ladder_label(point), config);
    EXPECT_FALSE(parse_ladder_label(ladder_label(point)));
  }
  const auto of = [&](const ladder::Step& step) {
    return problem_of({step, operand_type(step, problem.a_type), config}, problem);
  };
  EXPECT_TRUE(of(steps[0]).same_problem(problem));
  EXPECT_EQ(of(steps[1]).a_type, DataType::kE4m3);
  EXPECT_EQ(of(steps[1]).d_type, DataType::kBf16);
  EXPECT_EQ(of(steps[1]).m, 512);
  for (const ladder::Step& step : ladder_steps()) EXPECT_FALSE(is_tuned(step)) << step.name;
}

TEST(LadderSteps, SayWhichShapesTheyCannotCompute) {
  const ladder::Step step = chosen_ladder_steps("hopper.08").front();  // 256 x 128, clusters of 2
  EXPECT_EQ(ladder::why_unsupported(step, 8192, 8192, 8192), nullptr);
  EXPECT_EQ(ladder::why_unsupported(step, 256, 256, 64), nullptr);
  EXPECT_THAT(ladder::why_unsupported(step, 128, 256, 64), HasSubstr("M must"));
  EXPECT_THAT(ladder::why_unsupported(step, 256, 128, 64), HasSubstr("N must"));
  EXPECT_THAT(ladder::why_unsupported(step, 256, 256, 32), HasSubstr("K must"));
  EXPECT_THAT(ladder::why_unsupported(step, 0, 256, 64), HasSubstr("at least 1"));
  EXPECT_THAT(ladder::why_unsupported(step, 1LL << 32, 256, 64), HasSubstr("at most"));
}

TEST(LadderSteps, FitTheMachine) {
  const DeviceLimits limits;
  for (const ladder::Step& step : ladder_steps()) {
    SCOPED_TRACE(step.function);
    EXPECT_LE(step.smem_bytes, limits.smem_bytes_per_cta);
    for (const ladder::Box& box : {step.a_box, step.b_box, step.d_box}) {
      EXPECT_LE(box.rows, kMaxBoxRows);
      EXPECT_EQ(box.rows == 0, box.cols == 0);
      EXPECT_TRUE(box.cols == 0 || box.cols * 2 == 128) << "a row of the swizzle";
    }
    EXPECT_EQ(ladder::why_unsupported(step, 8192, 8192, 8192), nullptr);
    EXPECT_EQ(step.tflops > 0, *step.source != '\0') << "a published figure has a source";
  }
}

TEST(LadderSteps, TheSourceNamesTheKernelItsTypeAndItsLaunch) {
  const ladder::Step clustered = chosen_ladder_steps("hopper.08").front();
  const std::string source = ladder_source({clustered, DataType::kFp16});
  EXPECT_THAT(source,
              AllOf(HasSubstr("#include \"studies/ladder/08_clusters.cuh\""),
                    HasSubstr("__cluster_dims__(2, 1, 1)"), HasSubstr("__launch_bounds__(384, 1)"),
                    HasSubstr("clusters<hgemm::ladder::Element{1}, false>")));
  EXPECT_NE(source, ladder_source({clustered, DataType::kFp16}, true));
  const ladder::Step alone = chosen_ladder_steps("hopper.03").front();
  EXPECT_THAT(ladder_source({alone, DataType::kBf16}),
              AllOf(Not(HasSubstr("__cluster_dims__")), HasSubstr("__launch_bounds__(128)")));
}

}  // namespace
}  // namespace hgemm
