#include "results/price.h"

#include <gmock/gmock.h>

#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using namespace test;
using ::testing::DoubleNear;
using ::testing::Optional;
using ::testing::SizeIs;

const std::string kCut =
    label(TiledConfig{.bn = 64, .scheduler = TileScheduler::kClusterSplitK, .splits = 2});
constexpr Allowed kInvariant{.pdl = PdlKind::kSafe, .batch_invariant = true};

/// The only row of the races' invariant configs, with its price.
BestRow priced(const std::vector<RecordedRace>& races, Allowed allowed = kInvariant) {
  std::vector<RecordedRace> kept = races;
  for (RecordedRace& race : kept) {
    std::erase_if(race.race.trials, [&](const Trial& trial) {
      return !is_baseline(trial.label) && !allows(allowed, parse_label(trial.label));
    });
  }
  auto rows = best_rows(kept);
  EXPECT_THAT(rows, SizeIs(1));
  set_prices(rows, races, allowed, {});
  return rows.at(0);
}

TEST(Price, IsTheTimeByThatOfTheBestOfAnyKind) {
  const BestRow row = priced({race({ok("cublas", samples(100, 0, 15)), ok(kCut, samples(80, 3, 12)),
                                    ok(kB, samples(88, 3, 12)), ok(kC, samples(120, 3, 12))})});
  EXPECT_EQ(row.label, kB);
  ASSERT_TRUE(row.price.has_value());
  EXPECT_EQ(row.price->label, kCut);
  EXPECT_THAT(row.price->ratio, Optional(DoubleNear(1.1, 1e-6)));
}

TEST(Price, IsOneWhereTheBestIsInvariant) {
  const BestRow row = priced({race({ok("cublas", samples(100, 0, 15)), ok(kCut, samples(95, 3, 12)),
                                    ok(kB, samples(88, 3, 12))})});
  EXPECT_EQ(row.price->label, kB);
  EXPECT_THAT(row.price->ratio, Optional(1.0));
}

TEST(Price, ComesFromAnotherRaceByWayOfCublas) {
  // The clock was another one there, so times say nothing.
  RecordedRace of_any = race({ok("cublas", samples(200, 0, 15)), ok(kCut, samples(160, 3, 12))});
  RecordedRace of_invariant = race({ok("cublas", samples(100, 0, 15)), ok(kB, samples(88, 3, 12))});
  of_invariant.started_utc = "2026-11-21T10:00:00Z";
  const BestRow row = priced({of_any, of_invariant});
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.price->label, kCut);
  EXPECT_THAT(row.price->ratio, Optional(DoubleNear(1.1, 0.005)));
}

TEST(Price, IsUnknownWhereOnlyInvariantConfigsWereMeasured) {
  RecordedRace only = race({ok("cublas", samples(100, 0, 15)), ok(kB, samples(88, 3, 12)),
                            failed(kCut, Status::kCompileFailed)});
  const BestRow row = priced({only});
  ASSERT_TRUE(row.price.has_value());
  EXPECT_EQ(row.price->label, "");
  EXPECT_EQ(row.price->ratio, std::nullopt);
  // What PDL rules out is no config of another kind.
  only.race.trials[2] =
      ok(label(SwapAbConfig{.bn = 64, .splits = 2, .pdl = true}), samples(70, 3, 12));
  EXPECT_EQ(priced({only}).price->ratio, std::nullopt);
  EXPECT_THAT(priced({only}, {.batch_invariant = true}).price->ratio,
              Optional(DoubleNear(88.0 / 70, 1e-6)));
  RecordedRace elsewhere =
      race({ok("cublas", samples(100, 0, 15)), ok(kCut, samples(80, 3, 12))}, "570");
  elsewhere.started_utc = "2026-11-19T10:00:00Z";
  EXPECT_EQ(
      priced({elsewhere, race({ok("cublas", samples(100, 0, 15)), ok(kB, samples(88, 3, 12))})})
          .price->ratio,
      std::nullopt)
      << "another driver";
}

}  // namespace
}  // namespace hgemm
