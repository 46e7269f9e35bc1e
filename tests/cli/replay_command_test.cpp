// replay and plan --explain as a user runs them, with no GPU.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class ReplayCommand : public ProgramTest {
 protected:
  /// Whether a tune with these options would begin where there is a GPU.
  bool is_understood(const std::string& options) const {
    return run("--shapes 512x512x512 --recorded " + options).exit_code == 0;
  }
};

TEST_F(ReplayCommand, AnswersFromTheRecordedTruth) {
  const Outcome replay = run("replay --shapes 512x512x512 --budget 3% --format json");
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  const json rows = json::parse(replay.out);
  ASSERT_THAT(rows, SizeIs(2)) << "both regimes";
  for (const json& row : rows) {
    EXPECT_EQ(row.at("m"), 512);
    EXPECT_LE(row.at("measured_fraction"), 0.03);
    EXPECT_EQ(row.at("measured"), 104);
    EXPECT_GE(row.at("best_fraction"), 0.97);
  }
}

TEST_F(ReplayCommand, ComparesStrategiesOnADatabaseOfMyOwn) {
  record(folder() / "mine.db", {race(problem(512, 512, 512))});
  const Outcome replay =
      run("replay --db mine.db --strategy model,random --budget 1configs --seeds 3");
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.out, AllOf(HasSubstr("512x512x512"), HasSubstr("random"), HasSubstr("geomean"),
                                HasSubstr("least")));
}

TEST_F(ReplayCommand, FewKernelsForManyShapes) {
  const auto portfolio = [this](const std::string& kernels) {
    const Outcome best =
        run("best --recorded --regime sustained --shapes llama7b.yaml "
            "--format json --max-kernels " +
            kernels);
    EXPECT_EQ(best.exit_code, 0) << best.err;
    return json::parse(best.out);
  };
  const json few = portfolio("12");
  EXPECT_LE(few.at("kernels").size(), 12u);
  EXPECT_GE(few.at("geomean"), 0.98);
  for (const json& row : few.at("shapes")) {
    EXPECT_THAT(few.at("kernels"), testing::Contains(row.at("label")));
    EXPECT_LE(row.at("best_fraction"), 1);
  }
  EXPECT_LT(portfolio("4").at("geomean"), few.at("geomean"));
  EXPECT_EQ(run("best --recorded --max-kernels 0").exit_code, 2);
  EXPECT_EQ(run("best --recorded --max-kernels 4 --objective energy").exit_code, 2);
}

TEST_F(ReplayCommand, PredictsShapesThatWereNeverMeasured) {
  const Outcome best =
      run("best --recorded --predict --shapes 6144x6144x6144,24x8192x4096 --regime sustained "
          "--pdl weights --format json");
  ASSERT_EQ(best.exit_code, 0) << best.err;
  const json answer = json::parse(best.out);
  ASSERT_THAT(answer.at("predictions"), SizeIs(2));
  for (const json& row : answer.at("predictions")) {
    EXPECT_EQ(row.at("source"), "predicted");
    EXPECT_GT(row.at("ratio_cublas"), 0.9);
    EXPECT_LT(row.at("ratio_cublas_low"), row.at("ratio_cublas"));
    EXPECT_GT(row.at("ratio_cublas_high"), row.at("ratio_cublas"));
    EXPECT_EQ(row.at("confidence"), 0.8);
  }
  EXPECT_THAT(answer.at("predictions")[1].at("label").get<std::string>(),
              testing::AnyOf(HasSubstr("swap_ab"), HasSubstr("bm64")));  // for few rows
  for (const json& errors : answer.at("leave_one_out")) {
    if (errors.at("factor").is_null()) continue;  // too few rows to predict by
    EXPECT_GE(errors.at("geomean"), 0.93) << errors;
  }
  EXPECT_EQ(run("best --recorded --predict").exit_code, 2) << "for which shapes?";
  EXPECT_EQ(run("best --recorded --predict --shapes 64x64x64 --max-kernels 2").exit_code, 2);
}

TEST_F(ReplayCommand, WhatWasMeasuredIsNotPredicted) {
  const Outcome best =
      run("best --recorded --predict --shapes 1x32000x4096,4097x4097x4097 --format json");
  ASSERT_EQ(best.exit_code, 0) << best.err;
  const json rows = json::parse(best.out).at("predictions");
  ASSERT_THAT(rows, SizeIs(4)) << "two shapes in two regimes";
  const json tuned = json::parse(
      run("best --recorded --shapes 1x32000x4096 --regime sustained --format json").out);
  EXPECT_EQ(rows[0].at("source"), "measured");
  EXPECT_EQ(rows[0].at("label"), tuned.at(0).at("label"));
  EXPECT_EQ(rows[0].at("ratio_cublas"), tuned.at(0).at("ratio_cublas"));
  EXPECT_EQ(rows[0].at("ratio_cublas_low"), tuned.at(0).at("ratio_cublas_low"));
  // One row in burst was 1.095 and was predicted as 1.503, from squares of 512 and more rows.
  EXPECT_EQ(rows[1].at("regime"), "burst");
  EXPECT_NE(rows[1].at("source"), "predicted");
}

TEST_F(ReplayCommand, WhatCannotBePredictedIsSaid) {
  const Outcome best = run(
      "best --recorded --predict --regime sustained --shapes 1x32000x8192.fp16,1x64x64,3x17x19");
  ASSERT_EQ(best.exit_code, 0) << best.err;
  EXPECT_THAT(best.out, AllOf(HasSubstr("Not predicted:"),
                              HasSubstr("1x32000x8192.fp16 sustained: "), HasSubstr("tune it")));
}

TEST_F(ReplayCommand, FiveHundredPredictionsAreNoLongWait) {
  std::string shapes =
      "shapes:\n  - {m: [24, 48, 96, 3000, 5000], n: \"4096:13824:512\", k: "
      "[4096, 5120, 6144, 8192, 11008]}\n";
  write_file(folder() / "many.yaml", shapes);
  const Outcome best =
      run("best --recorded --predict --shapes many.yaml --format json --regime sustained "
          "--pdl weights",
          "ulimit -t 10");  // seconds of a CPU; half of that on an idle machine
  ASSERT_EQ(best.exit_code, 0) << best.err;
  const json rows = json::parse(best.out).at("predictions");
  EXPECT_THAT(rows, SizeIs(500));
  EXPECT_GE(std::ranges::count(rows, "predicted",
                               [](const json& row) {
                                 return row.at("source").is_null()
                                            ? ""
                                            : row.at("source").get<std::string>();
                               }),
            400);
}

TEST_F(ReplayCommand, SaysWhatIsWrong) {
  const Outcome unknown = run("replay --strategy bayes");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("expected one of model, staged, adaptive, local, random"));
  for (const std::string budget :
       {"0", "-1", "0%", "101%", "3.5", "many", "3%%", "3", "3.5configs"}) {
    const Outcome bad = run("replay --budget=" + budget);
    EXPECT_EQ(bad.exit_code, 2) << budget;
    EXPECT_THAT(bad.err, HasSubstr("--budget " + budget + ": expected")) << budget;
  }
  const Outcome nothing = run("replay --shapes 513x512x512");
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("nothing to replay"));
}

TEST_F(ReplayCommand, JudgesWhatTunesFoundAndNamesWhatItCannotJudge) {
  const std::string results = HGEMM_SOURCE_DIR "/results/h200/";
  const Outcome judged =
      run("replay --format json --found " + results + "budget-20s.db," + results + "random-20s.db");
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  const json rows = json::parse(judged.out);
  ASSERT_THAT(rows, SizeIs(50));
  double log_model = 0, log_random = 0;
  for (const json& row : rows) {
    const double log_fraction = std::log(row.at("best_fraction").get<double>());
    (row.at("strategy") == "budget-20s" ? log_model : log_random) += log_fraction / 25;
  }
  EXPECT_GT(std::exp(log_model), 0.99);
  EXPECT_LT(std::exp(log_random), std::exp(log_model));

  const Outcome beyond = run("replay --format json --found " + results + "sustained-again.db");
  EXPECT_EQ(beyond.exit_code, 0) << beyond.err;
  EXPECT_THAT(beyond.err, HasSubstr("4096x4096x1024 sustained"));
  EXPECT_EQ(run("replay --found " + results + "budget-20s.db --seeds 3").exit_code, 2);
  const Outcome strange = run("replay --found " + results + "odd.md");
  EXPECT_EQ(strange.exit_code, 2);
}

TEST_F(ReplayCommand, ATuneTakesEveryStrategyWithANumberAndInAListWithAShare) {
  for (const char* name : {"model", "staged", "adaptive", "local", "random", "exhaustive"}) {
    for (const char* budget : {"--budget 3%", "--budget 100configs"}) {
      EXPECT_TRUE(is_understood(fmt::format("--space quick --strategy {} {}", name, budget)))
          << name << " " << budget;
    }
    if (name == std::string("exhaustive")) continue;
    for (const char* budget : {"", "--budget 60s", "--budget 100configs"}) {
      EXPECT_TRUE(is_understood(fmt::format("--strategy {} {}", name, budget))) << name << budget;
    }
  }
  EXPECT_TRUE(is_understood("--space quick --strategy exhaustive")) << "all";
  EXPECT_TRUE(is_understood("--space quick --strategy exhaustive --budget all"));
  EXPECT_TRUE(is_understood("--strategy staged --energy")) << "100 configs";
  EXPECT_TRUE(is_understood("--space quick --strategy staged --energy")) << "3 %";
  EXPECT_THAT(run("--shapes 512x512x512 --strategy bayes").err, HasSubstr("staged, adaptive"));
  for (const char* name : {"staged", "adaptive", "local"}) {
    EXPECT_THAT(
        run(fmt::format("--shapes 512x512x512 --space quick --strategy {} --budget all", name)).err,
        HasSubstr("would change nothing"));
  }
}

TEST_F(ReplayCommand, OfTheWholeSpaceATuneTakesNoShareAndNotAll) {
  for (const char* options : {"--budget 3%", "--budget all", "--strategy exhaustive",
                              "--strategy random --budget 100%", "--space whole --budget 1%"}) {
    const Outcome refused = run(fmt::format("--shapes 512x512x512 {}", options));
    EXPECT_EQ(refused.exit_code, 2) << options;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("--budget 100configs"), HasSubstr("--space full")))
        << options;
  }
  const Outcome replay = run("replay --space whole --budget 3%");
  EXPECT_EQ(replay.exit_code, 2);
  EXPECT_THAT(replay.err, HasSubstr("--budget 100configs"));
  EXPECT_EQ(run("replay --space quick").exit_code, 2);
}

TEST_F(ReplayCommand, ReplaysTheWholeSpaceOnWhatWasRecorded) {
  const Outcome replay = run(
      "replay --space whole --shapes 2048x2048x2048 --strategy model,adaptive --budget 60configs "
      "--seeds 1 --format json");
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  const json rows = json::parse(replay.out);
  ASSERT_THAT(rows, SizeIs(4)) << "two regimes";
  for (const json& row : rows) {
    EXPECT_EQ(row.at("measured"), 60);
    EXPECT_GT(row.at("known"), 0);
    EXPECT_LE(row.at("known"), 60);
    EXPECT_GT(row.at("configs"), 500) << "proposals";
    EXPECT_LE(row.at("best_fraction"), 1);
    EXPECT_LE(row.at("reached"), 60);
  }
  EXPECT_THAT(run("replay --space whole --shapes 2048x2048x2048 --seeds 1").out,
              HasSubstr("within 1 % after"));
  const json of_list = json::parse(run("replay --shapes 2048x2048x2048 --format json").out);
  EXPECT_TRUE(of_list[0].at("known").is_null());
}

TEST_F(ReplayCommand, ATuneSaysWhichBudgetsThereAre) {
  for (const char* budget : {"3kg", "0", "-1s", "0s", "60 s", "101%", "1e9h", "s", ""}) {
    const Outcome wrong = run(fmt::format("--shapes 512x512x512 --budget '{}'", budget));
    EXPECT_EQ(wrong.exit_code, 2) << budget;
    EXPECT_THAT(wrong.err, HasSubstr("--budget")) << budget;
  }
  for (const char* budget : {"20s", "1.5min", "1h", "100configs"}) {
    EXPECT_TRUE(is_understood(fmt::format("--budget {}", budget))) << budget;
  }
  for (const char* budget : {"20s", "3%", "100configs", "all"}) {
    EXPECT_TRUE(is_understood(fmt::format("--space quick --budget {}", budget))) << budget;
  }
  const Outcome weighed = run("--shapes 512x512x512 --objective energy --budget 60s");
  EXPECT_EQ(weighed.exit_code, 2);
  EXPECT_THAT(weighed.err, HasSubstr("energy of each finalist"));
  EXPECT_THAT(run("--shapes 512x512x512 --space quick --strategy random --budget all").err,
              HasSubstr("would change nothing"));
  const Outcome named = run("--shapes 512x512x512 --budget 3 --config bm128.bn128");
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, HasSubstr("excludes"));
}

TEST_F(ReplayCommand, ABudgetWithoutAUnitIsAskedBackForOne) {
  const Outcome tune = run("--shapes 512x512x512 --budget 60");
  EXPECT_EQ(tune.exit_code, 2);
  EXPECT_THAT(tune.err, AllOf(HasSubstr("60s, 60min or 60h (a time)"), HasSubstr("60% (a share"),
                              HasSubstr("60configs (so many")));
  const Outcome replay = run("replay --budget 60");
  EXPECT_EQ(replay.exit_code, 2);
  EXPECT_THAT(replay.err, AllOf(HasSubstr("60% (a share"), HasSubstr("60configs (so many"),
                                testing::Not(HasSubstr("60s"))));
}

TEST_F(ReplayCommand, PlanExplainsTermByTerm) {
  const Outcome plan =
      run("plan --explain --space full --shapes 16x4096x4096,4096x4096x4096 --top 3 --format json");
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const json rows = json::parse(plan.out);
  ASSERT_THAT(rows, SizeIs(6));
  for (const json& row : rows) {
    double sum = 0;
    for (const auto& [name, us] : row.at("terms").items()) sum += us.get<double>();
    EXPECT_NEAR(sum, row.at("predicted_us"), 1e-6);
  }
  EXPECT_EQ(rows[0].at("bound"), "memory");
  EXPECT_EQ(rows[5].at("bound"), "tensor cores");

  const std::string one = "bm128.bn256.bk64.q4.c2x1.coop2.d1.group8.tma.persist";
  const Outcome table = run("plan --explain --shapes 4096x4096x4096 --device H20 --config " + one);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr(one), HasSubstr("main loop"), HasSubstr("stores")));

  const Outcome both = run("plan --explain --shapes 64x64x60 --config " + one);
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, AllOf(HasSubstr(one), HasSubstr("64x64x60"), HasSubstr("multiples of 8")));
  EXPECT_EQ(run("plan --explain --shapes 64x64x64 --space full --config " + one).exit_code, 2);
  EXPECT_EQ(run("plan --explain").exit_code, 2) << "of which shapes?";
  EXPECT_EQ(run("plan --explain --shapes 64x64x64 --device all").exit_code, 2);
}

}  // namespace
}  // namespace hgemm
