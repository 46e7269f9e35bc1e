// libcupti knows a chip's metrics without a GPU: that ours exist, and what they cost.
#include "studies/counters/run_cupti.h"

#include <gmock/gmock.h>

#include <optional>

#include "studies/counters/counter_set.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHopper = "GH100";

std::vector<std::string> sources(DataType dtype) {
  std::vector<std::string> names;
  for (const CounterMetric& metric : counter_metrics(dtype)) names.push_back(metric.source);
  return names;
}

class CuptiHost : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cupti_.emplace();
    } catch (const CountersUnavailable& unavailable) {
      GTEST_SKIP() << unavailable.what();
    }
  }
  std::optional<Cupti> cupti_;
};

TEST_F(CuptiHost, KnowsEveryMetricAndTakesThePassesThatWeSay) {
  for (const DataType dtype :
       {DataType::kBf16, DataType::kFp16, DataType::kE4m3, DataType::kE5m2}) {
    const int passes = is_8_bit(dtype) ? kCounterPasses - 1 : kCounterPasses;
    EXPECT_EQ(cupti_->passes(kHopper, sources(dtype)), passes) << to_string(dtype);
  }
}

TEST_F(CuptiHost, NamesTheMetricThatAChipDoesNotHave) {
  std::vector<std::string> metrics = sources(DataType::kBf16);
  metrics.insert(metrics.begin() + 3, "sm__no_such_thing.sum");
  try {
    cupti_->passes(kHopper, metrics);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("sm__no_such_thing.sum"), HasSubstr(kHopper)));
  }
}

TEST_F(CuptiHost, IsOfTheVersionThatItWasWrittenFor) { EXPECT_GE(cupti_->version(), 130000u); }

TEST(CountersUnavailable, SaysWhyAndWhatToDo) {
  const CountersUnavailable error("no permission", "ask for it");
  EXPECT_THAT(error.what(), AllOf(StartsWith(std::string(kCountersUnavailable)),
                                  HasSubstr("no permission"), HasSubstr("ask for it")));
}

// What `doctor` prints must be something in every case, and without a GPU no exception.
TEST(CheckCounters, IsAFindingInAnyCase) {
  const Finding finding = check_counters();
  EXPECT_EQ(finding.part, "counters");
  EXPECT_FALSE(finding.required);
  EXPECT_FALSE(finding.detail.empty());
  EXPECT_EQ(finding.advice.empty(), finding.ok) << finding.detail;
}

}  // namespace
}  // namespace hgemm
