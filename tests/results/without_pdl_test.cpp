#include "results/without_pdl.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using namespace test;
using ::testing::DoubleNear;
using ::testing::SizeIs;

const std::string kPdl = label(TiledConfig{.bn = 64, .pdl = true});

BestRow only_row(const std::vector<RecordedRace>& races) {
  const auto rows = best_rows(races);
  EXPECT_THAT(rows, SizeIs(1));
  return rows.at(0);
}

RecordedRace race_of(double pdl_us, double off_us) {
  return race({ok("cublas", samples(100, 0, 15)), ok("cublaslt.1", samples(97, 3, 12, 5)),
               ok(kPdl, samples(pdl_us, 3, 12, 1)), ok(kB, samples(off_us, 3, 12, 2)),
               ok(kC, samples(120, 3, 12, 3))});
}

TEST(WithoutPdl, IsTheBestOfThoseThatHaveNone) {
  const BestRow row = only_row({race_of(90, 98)});
  EXPECT_EQ(row.label, kPdl);
  ASSERT_TRUE(row.without_pdl.has_value());
  EXPECT_EQ(row.without_pdl->label, kB);
  EXPECT_EQ(row.without_pdl->stage, Stage::kFinal);
  EXPECT_THAT(*row.without_pdl->time_us, DoubleNear(98 * 1.17, 0.3));
  EXPECT_THAT(row.without_pdl->cublas->value, DoubleNear(100.0 / 98, 0.002));
  EXPECT_THAT(row.without_pdl->cublaslt->value, DoubleNear(97.0 / 98, 0.002));
  EXPECT_LE(row.without_pdl->cublaslt->interval.low, row.without_pdl->cublaslt->value);
  EXPECT_TRUE(has_other_without_pdl(row));
  EXPECT_TRUE(is_lead_by_pdl(row)) << "cuBLASLt is ahead of it";
  EXPECT_FALSE(is_lead_by_pdl(only_row({race_of(90, 95)}))) << "ahead without it, too";
  EXPECT_FALSE(is_lead_by_pdl(only_row({race_of(98, 99)}))) << "no lead";
}

TEST(WithoutPdl, IsTheWinnerWhereThatHasNone) {
  const BestRow row = only_row({race_of(95, 90)});
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.without_pdl->label, kB);
  EXPECT_EQ(row.without_pdl->time_us, row.time_us);
  EXPECT_EQ(row.without_pdl->cublas->value, row.cublas->value);
  EXPECT_EQ(row.without_pdl->cublaslt->value, row.cublaslt->value);
  EXPECT_FALSE(has_other_without_pdl(row));
  EXPECT_FALSE(is_lead_by_pdl(row));
}

TEST(WithoutPdl, ComesFromAnyRaceOfThePool) {
  RecordedRace first = race({ok("cublas", samples(100, 0, 15)), ok(kB, samples(99, 3, 12, 2))});
  RecordedRace second = race({ok("cublas", samples(100, 0, 15)), ok(kPdl, samples(90, 3, 12, 1))});
  second.started_utc = "2026-11-21T10:00:00Z";
  EXPECT_EQ(only_row({first, second}).without_pdl->label, kB);
  second.environment.driver = "590";
  EXPECT_FALSE(only_row({first, second}).without_pdl.has_value()) << "another driver";
}

TEST(WithoutPdl, HasNoIntervalAndNoTimeWhereItWasOnlyScreened) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 15)), ok(kPdl, samples(90, 3, 12, 1)),
                      ok(kB, samples(105, 0, 3, 2), Stage::kScreen)})});
  EXPECT_EQ(row.label, kPdl);
  ASSERT_TRUE(row.without_pdl.has_value());
  EXPECT_EQ(row.without_pdl->label, kB);
  EXPECT_EQ(row.without_pdl->stage, Stage::kScreen);
  EXPECT_FALSE(row.without_pdl->time_us.has_value()) << "screening is not at full load";
  EXPECT_THAT(row.without_pdl->cublas->value, DoubleNear(100.0 / 105, 0.003));
  EXPECT_TRUE(std::isnan(row.without_pdl->cublas->interval.low));
  const BestRow* all[] = {&row};
  const LeadsByPdl leads = count_leads_by_pdl(all);
  EXPECT_EQ(leads.rows, 1);
  EXPECT_EQ(leads.by_pdl, 1);
  EXPECT_EQ(leads.screened, 1);
  EXPECT_EQ(leads.unknown, 0);
}

TEST(WithoutPdl, IsNoneWhereNoSuchConfigEndedOk) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 15)), ok(kPdl, samples(90, 3, 12, 1)),
                      failed(kB, Status::kWrongResult)})});
  EXPECT_EQ(row.label, kPdl);
  EXPECT_FALSE(row.without_pdl.has_value());
  EXPECT_FALSE(is_lead_by_pdl(row)) << "not known";
  EXPECT_TRUE(is_lead_of_unknown_kind(row));
  EXPECT_FALSE(is_lead_of_unknown_kind(BestRow{}));
}

TEST(WithoutPdl, ALabelThatNoFamilyReadsHasNoKind) {
  EXPECT_EQ(find_pdl_kind(kB), PdlKind::kOff);
  EXPECT_EQ(find_pdl_kind(kPdl), PdlKind::kSafe);
  EXPECT_EQ(find_pdl_kind("from.another.version"), std::nullopt);
}

}  // namespace
}  // namespace hgemm
