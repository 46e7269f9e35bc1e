// What is computed from counters, and that every figure can be shown.
#include "studies/counters/counter_set.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace hgemm {
namespace {

using testing::IsEmpty;

const GemmProblem kShape = [] {
  GemmProblem problem;
  problem.m = 1024;
  problem.n = 2048;
  problem.k = 512;
  return problem;
}();

double value_of(const std::vector<Figure>& figures, const std::string& metric) {
  const auto found = std::ranges::find(figures, metric, &Figure::metric);
  EXPECT_NE(found, figures.end()) << metric;
  return found == figures.end() ? -1 : found->value;
}

TEST(CounterSet, NamesAreUniqueAndHaveTitles) {
  for (const DataType dtype : {DataType::kBf16, DataType::kFp16, DataType::kE4m3}) {
    std::set<std::string> names;
    std::set<std::string> sources;
    std::set<std::string> titles;
    for (const CounterMetric& metric : counter_metrics(dtype)) {
      EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
      EXPECT_TRUE(sources.insert(metric.source).second) << metric.source;
      EXPECT_TRUE(titles.insert(counter_title(metric.name)).second) << metric.name;
      EXPECT_NE(counter_title(metric.name), metric.name);
    }
  }
}

TEST(CounterSet, CountsTheTensorOperationsOfEightBitOperands) {
  for (const DataType dtype : {DataType::kE4m3, DataType::kE5m2}) {
    const auto metrics = counter_metrics(dtype);
    const auto ops = std::ranges::find(metrics, "tensor_flop", &CounterMetric::name);
    ASSERT_NE(ops, metrics.end());
    EXPECT_EQ(ops->source, "sm__ops_path_tensor_src_fp8.sum");
    for (const CounterMetric& other : counter_metrics(DataType::kBf16)) {
      EXPECT_NE(ops->source, other.source);
    }
    for (const CounterMetric& other : counter_metrics(DataType::kFp16)) {
      EXPECT_NE(ops->source, other.source);
    }
  }
}

TEST(CounterSet, EightBitOperandsHaveHalfAsManyBytesAndTheSameOperations) {
  GemmProblem problem = kShape;
  problem.a_type = DataType::kE4m3;
  problem.b_type = DataType::kE5m2;
  const std::vector<Figure> measured = {
      counter_figure("dram_read", "B", 4e6, ""),
      counter_figure("tensor_flop", "FLOP", 2 * 1024.0 * 2048 * 512 * 1.25, ""),
  };
  const std::vector<Figure> derived = derived_counters(measured, problem, 132);
  EXPECT_DOUBLE_EQ(value_of(derived, "dram_read_per_input"), 4e6 / ((1024 + 2048) * 512));
  EXPECT_DOUBLE_EQ(value_of(derived, "tensor_work"), 1.25);
}

TEST(CounterSet, DerivesByItsFormulas) {
  const std::vector<Figure> measured = {
      counter_figure("sm_active_cycles_max", "clk", 20'000, ""),
      counter_figure("sm_clock", "Hz", 1.6e9, ""),
      counter_figure("dram_read", "B", 4e6, ""),
      counter_figure("dram_written", "B", 1e6, ""),
      counter_figure("l2_to_sm", "B", 64e6, ""),
      counter_figure("l2_to_sm_tma", "B", 60e6, ""),
      counter_figure("l2_to_sm_multicast", "B", 45e6, ""),
      counter_figure("l2_sectors_read", "sectors", 1e6, ""),
      counter_figure("tensor_flop", "FLOP", 2 * 1024.0 * 2048 * 512 * 1.25, ""),
      counter_figure("wgmma_warp_instructions", "instructions", 4000, ""),
      counter_figure("wgmma_wavefronts", "wavefronts", 64'000, ""),
      counter_figure("wgmma_bank_conflicts", "conflicts", 640, ""),
  };
  const std::vector<Figure> derived = derived_counters(measured, kShape, 132);
  EXPECT_DOUBLE_EQ(value_of(derived, "active_time"), 12.5);
  EXPECT_DOUBLE_EQ(value_of(derived, "flop_per_clk"), 2147483648.0 / 132 / 20'000);
  EXPECT_DOUBLE_EQ(value_of(derived, "tensor_work"), 1.25);
  EXPECT_DOUBLE_EQ(value_of(derived, "dram_read_per_input"), 4e6 / (2 * (1024 + 2048) * 512));
  EXPECT_DOUBLE_EQ(value_of(derived, "dram_per_kflop"), 5e9 / 2147483648.0);
  EXPECT_DOUBLE_EQ(value_of(derived, "l2_to_sm_per_kflop"), 64e9 / 2147483648.0);
  EXPECT_DOUBLE_EQ(value_of(derived, "multicast_share"), 75);
  EXPECT_DOUBLE_EQ(value_of(derived, "l2_fanout"), 2);
  EXPECT_DOUBLE_EQ(value_of(derived, "wavefronts_per_wgmma"), 64);
  EXPECT_DOUBLE_EQ(value_of(derived, "wgmma_conflict_share"), 1);
  for (const Figure& figure : derived) {
    EXPECT_NE(counter_title(figure.metric), figure.metric);
    EXPECT_FALSE(figure.point.empty());
  }
}

// A kernel without TMA or wgmma (naive, cp.async) has zeros where others have divisors.
TEST(CounterSet, LeavesOutWhatCannotBeComputed) {
  EXPECT_THAT(derived_counters({}, kShape, 132), testing::SizeIs(0));
  const std::vector<Figure> derived = derived_counters(
      std::vector<Figure>{counter_figure("l2_to_sm_tma", "B", 0, ""),
                          counter_figure("l2_to_sm_multicast", "B", 0, ""),
                          counter_figure("wgmma_warp_instructions", "instructions", 0, ""),
                          counter_figure("wgmma_wavefronts", "wavefronts", 0, "")},
      kShape, 132);
  EXPECT_THAT(derived, IsEmpty());
}

TEST(CounterSet, ShowsUnknownMetricsByTheirName) {
  EXPECT_EQ(counter_title("of_a_newer_version"), "of_a_newer_version");
  EXPECT_EQ(counter_title("stall_of_a_newer_version"), "stall_of_a_newer_version");
  EXPECT_TRUE(is_stall("stall_wait"));
  EXPECT_FALSE(is_stall("l2_hit_rate"));
}

}  // namespace
}  // namespace hgemm
