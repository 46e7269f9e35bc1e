// The price of batch invariance in tables and JSON.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "families/family.h"
#include "output/emit.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPlain = label(TiledConfig{});
const std::string kCut = label(SwapAbConfig{.splits = 2});

BestRow measured(std::int64_t m, double time_us, std::optional<InvariancePrice> price) {
  BestRow row;
  row.problem = {.m = m, .n = 4096, .k = 4096, .tag = ""};
  row.environment.gpu_name = "NVIDIA H200";
  row.environment.sm_count = 132;
  row.started_utc = "2026-11-20T10:00:00Z";
  row.label = kPlain;
  row.stage = Stage::kFinal;
  row.time_us = time_us;
  row.tflops = 600;
  row.cublas = Ratio{1.1, {1.09, 1.12}};
  row.cublaslt = row.cublas;
  row.verified = true;
  row.trials = 250;
  row.price = std::move(price);
  return row;
}
std::vector<BestRow> two() {
  return {measured(16, 100, InvariancePrice{kCut, 1.25}),
          measured(256, 300, InvariancePrice{kPlain, 1.0})};
}

TEST(BestPrice, HasAColumnAndAGeomean) {
  const std::string text = format_best(two(), Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| time us | price | TFLOP/s |"));
  EXPECT_THAT(text, HasSubstr("| 100.00 | 1.250 | 600.0 |"));
  EXPECT_THAT(text, HasSubstr("| 300.00 | 1.000 | 600.0 |"));
  EXPECT_THAT(text, testing::ContainsRegex("geomean.*\\| 1\\.118 \\|"));
  EXPECT_THAT(text, Not(HasSubstr("not known")));
  auto json = nlohmann::json::parse(format_best(two(), Format::kJson));
  EXPECT_EQ(json.at(0).at("price"), 1.25);
  EXPECT_EQ(json.at(0).at("any_kind_label"), kCut);
}

TEST(BestPrice, IsNotShownWhereAnyConfigMayAnswer) {
  auto rows = two();
  for (BestRow& row : rows) row.price.reset();
  EXPECT_THAT(format_best(rows, Format::kMarkdown), Not(HasSubstr("price")));
  EXPECT_TRUE(nlohmann::json::parse(format_best(rows, Format::kJson)).at(0).at("price").is_null());
}

TEST(BestPrice, SaysWhereItIsUnknownAndHowToKnowIt) {
  auto rows = two();
  rows[1].price = InvariancePrice{};
  const std::string text = format_best(rows, Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| 300.00 | - | 600.0 |"));
  EXPECT_THAT(text, HasSubstr("The price of batch invariance is not known at 1 of 2 shapes: only "
                              "batch-invariant configs were measured there. A tune without "
                              "--batch-invariant into the same database measures the others."));
}

TEST(BestPrice, OfAModelIsWeighted) {
  auto rows = two();
  rows[0].problem.weight = 3;
  rows[1].problem.m = rows[0].problem.m;
  rows[1].problem.n = 8192;
  // 3 x 100 + 300 by 3 x 80 + 300
  EXPECT_THAT(format_best(rows, Format::kMarkdown),
              testing::ContainsRegex("weighted total.*\\| 600\\.00 \\| 1\\.111 \\|"));
}

}  // namespace
}  // namespace hgemm
