// What a sweep is told to do: shards, and the files that hold the plan.
#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "base/error.h"
#include "gemm/codec.h"
#include "gemm/problem_list.h"
#include "sweep/plan.h"

namespace hgemm::sweep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;
using testing::ThrowsMessage;

std::vector<GemmProblem> problems(int count) {
  std::vector<GemmProblem> all;
  for (int i = 0; i < count; ++i) all.push_back({.m = 64 + i, .n = 512, .k = 128, .tag = ""});
  return all;
}

std::map<std::string, int> times_each(const std::vector<Shard>& shards) {
  std::map<std::string, int> times;
  for (const Shard& shard : shards) {
    for (const GemmProblem& problem : shard.problems) ++times[to_string(problem)];
  }
  return times;
}

TEST(Shards, HaveEveryProblemOnce) {
  for (const int count : {1, 2, 7, 200}) {
    for (const double seconds : {0.5, 30.0, 1e6}) {
      const auto all = problems(count);
      std::vector<double> costs;
      for (int i = 0; i < count; ++i) costs.push_back(1 + i % 13);
      const auto shards =
          make_shards(all, costs, {.longest_s = seconds, .shortest_s = seconds / 5, .tasks = 4});
      const auto times = times_each(shards);
      EXPECT_THAT(times, SizeIs(all.size()));
      for (const auto& [problem, often] : times) EXPECT_EQ(often, 1) << problem;
      for (std::size_t i = 0; i < shards.size(); ++i) {
        EXPECT_EQ(shards[i].number, static_cast<int>(i) + 1);
        EXPECT_THAT(shards[i].problems, SizeIs(Ge(1u)));
      }
    }
  }
}

TEST(Shards, ShrinkTowardsTheEnd) {
  const std::vector<double> costs(1000, 5.0);
  const auto shards =
      make_shards(problems(1000), costs, {.longest_s = 300, .shortest_s = 60, .tasks = 4});
  EXPECT_NEAR(shards.front().seconds, 300, 5);
  EXPECT_NEAR(shards[shards.size() - 2].seconds, 60, 5);
  for (std::size_t i = 1; i < shards.size(); ++i) {
    EXPECT_LE(shards[i].seconds, shards[i - 1].seconds);
  }
  // The last tasks that end at different times do so by little.
  EXPECT_THAT(shards, SizeIs(AllOf(Ge(25u), Le(40u))));
}

TEST(Shards, ALongRaceHasAShardOfItsOwn) {
  std::vector<double> costs(200, 10.0);
  costs[17] = 900;
  const auto shards =
      make_shards(problems(200), costs, {.longest_s = 300, .shortest_s = 60, .tasks = 4});
  EXPECT_THAT(shards.front().problems, SizeIs(1u));
  EXPECT_DOUBLE_EQ(shards.front().seconds, 900);
}

TEST(Shards, AreFewerWhereTheClusterAllowsFewer) {
  const std::vector<double> costs(200, 60.0);
  EXPECT_THAT(make_shards(problems(200), costs, {.longest_s = 60, .tasks = 100, .most = 16}),
              SizeIs(AllOf(Ge(12u), Le(16u))));
}

TEST(Shards, OfNothingKnownStillShareTheProblems) {
  const std::vector<double> costs(9, 0.0);
  const auto shards = make_shards(problems(9), costs, {.longest_s = 60});
  EXPECT_THAT(times_each(shards), SizeIs(9u));
}

TEST(Shards, AreFilesThatShapesReads) {
  Shard shard{3, problems(2), 90};
  shard.problems[0].tag = "a: \"b\", {c}";
  shard.problems[0].weight = 2.5;
  shard.problems[1].set_types(DataType::kFp16);
  shard.problems[1].d_type = DataType::kFp32;
  shard.problems[1].lda = 136;
  const auto read = parse_problems(shard_text(shard), "0003.yaml");
  ASSERT_THAT(read, SizeIs(2u));
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(to_string(read[i]), to_string(shard.problems[i]));
    EXPECT_EQ(read[i].tag, shard.problems[i].tag);
    EXPECT_EQ(read[i].weight, shard.problems[i].weight);
  }
}

SweepPlan plan() {
  SweepPlan plan;
  plan.created_utc = "2026-01-02T03:04:05Z";
  plan.program = "/opt/hgemm-tune";
  plan.version = "0.1.0";
  plan.command_line = "hgemm-tune --shapes \"a b\"";
  plan.options = {"--budget", "3%"};
  plan.regimes = {Regime::kSustained, Regime::kBurst};
  plan.gpus = 2;
  plan.array_limit = 8;
  plan.budget_s = 600;
  plan.shards = {{1, problems(2), 100}, {2, problems(1), 300}};
  plan.database = "/home/me/hgemm-tune.db";
  plan.order = {1, 2, 1};
  return plan;
}

TEST(Plan, IsReadAsItWasWritten) {
  const SweepPlan read = parse_plan(plan_text(plan()), "run.json");
  EXPECT_EQ(plan_text(read), plan_text(plan()));
  EXPECT_THAT(read.shards, SizeIs(2u));
  EXPECT_EQ(read.shard(2).seconds, 300);
  EXPECT_THAT(read.options, ElementsAre("--budget", "3%"));
}

TEST(Plan, OfAnotherVersionOrDamagedIsRefused) {
  const std::string text = plan_text(plan());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return [changed] { parse_plan(changed, "r/run.json"); };
  };
  EXPECT_THAT(with("\"version\": 1", "\"version\": 2"),
              ThrowsMessage<InputError>(AllOf(HasSubstr("r/run.json"), HasSubstr("version 2"))));
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"\"gpus_per_task\": 2", "\"gpus_per_task\": 0"},
           {"\"gpus_per_task\": 2", "\"gpus_per_task\": 1.5"},
           {"\"sustained\"", "\"warm\""},
           {"\"budget_gpu_seconds\": 600.0", "\"budget_gpu_seconds\": -1"},
           {"\"options\"", "\"optiona\""},
           {"true", "\"true\""}}) {
    EXPECT_THROW(with(from, to)(), InputError) << to;
  }
  for (std::size_t size = 0; size + 2 < text.size(); size += 11) {
    EXPECT_THROW(parse_plan(text.substr(0, size), "run.json"), InputError) << size;
  }
}

TEST(Plan, KeepsTheOrderOfTheUser) {
  const auto all = problems(9);
  SweepPlan plan;
  plan.shards = make_shards(all, std::vector<double>{1, 2, 9, 4, 5, 3, 7, 8, 6},
                            {.longest_s = 12, .shortest_s = 4});
  plan.order = order_of(all, plan.shards);
  std::vector<std::string> expected, found;
  for (const GemmProblem& problem : all) expected.push_back(to_string(problem));
  for (const GemmProblem& problem : plan.problems()) found.push_back(to_string(problem));
  EXPECT_EQ(found, expected);
}

TEST(Plan, SharesABudgetByWhatShardsTake) {
  EXPECT_EQ(plan().budget_of(plan().shard(1)), 150);
  EXPECT_EQ(plan().budget_of(plan().shard(2)), 450);
  EXPECT_THROW(plan().shard(3), InputError);
  EXPECT_THROW(plan().shard(0), InputError);
}

}  // namespace
}  // namespace hgemm::sweep
