#include "results/contest.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using namespace test;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

BestRow row_of(const std::vector<RecordedRace>& races) { return best_rows(races).at(0); }

/// A race in which a peer with two variants takes part.
RecordedRace race_with_peer(double ours_us, double peer_us, double cublas_us = 100) {
  return race({ok("cublas", samples(cublas_us, 0, 15)),
               ok("cublaslt.0", samples(cublas_us * 0.95, 3, 12, 1)),
               ok("peer.other.0", samples(peer_us * 1.2, 3, 12, 2)),
               ok("peer.other.1", samples(peer_us, 3, 12, 3)), ok(kA, samples(ours_us, 3, 12, 4))});
}

TEST(BestWithPeers, TheFastestVariantCounts) {
  const BestRow row = row_of({race_with_peer(90, 80)});
  EXPECT_EQ(row.label, kA) << "a peer is no config";
  ASSERT_THAT(row.peers, SizeIs(1));
  const PeerResult& peer = row.peers[0];
  EXPECT_EQ(peer.name, "other");
  EXPECT_EQ(peer.label, "peer.other.1");
  EXPECT_THAT(peer.time_us.value_or(0) / *row.time_us, DoubleNear(80.0 / 90, 0.003));
  EXPECT_THAT(peer.winner->value, DoubleNear(80.0 / 90, 0.003));
  EXPECT_THAT(peer.cublas->value, DoubleNear(100.0 / 80, 0.004));
  EXPECT_THAT(peer.cublaslt->value, DoubleNear(95.0 / 80, 0.004));
}

TEST(BestWithPeers, OneThatFailedSaysWhy) {
  const BestRow row = row_of({race({ok("cublas", samples(100, 0, 15)), ok(kA, samples(90, 3, 12)),
                                    failed("peer.bad.0", Status::kWrongResult)})});
  ASSERT_THAT(row.peers, SizeIs(1));
  EXPECT_EQ(row.peers[0].label, "");
  EXPECT_THAT(row.peers[0].message, HasSubstr("wrong_result"));
  const Contest contest = contest_of(std::span(&row, 1), {});
  ASSERT_THAT(contest.exclusions, SizeIs(1));
  EXPECT_EQ(contest.exclusions[0].peer, "bad");
}

const Score& score(const Contest& contest, std::string_view contestant, std::string_view opponent,
                   std::string_view size = "all") {
  for (const Score& one : contest.scores) {
    if (one.contestant == contestant && one.opponent == opponent && one.size == size) return one;
  }
  throw std::out_of_range("no such score");
}

TEST(Contest, OnlyRacesThatThePeersTookPartInCount) {
  std::vector<RecordedRace> races = {
      race({ok("cublas", samples(100, 0, 15)), ok(kB, samples(85, 3, 12))}),
      race_with_peer(90, 80)};
  EXPECT_EQ(row_of(races).label, kB);
  keep_races_with_peers(races);
  ASSERT_THAT(races, SizeIs(1));
  EXPECT_EQ(row_of(races).label, kA);
  // Races without any peer stay where there is no other.
  std::vector<RecordedRace> none = {
      race({ok("cublas", samples(100, 0, 15)), ok(kA, samples(90, 3, 12))})};
  keep_races_with_peers(none);
  EXPECT_THAT(none, SizeIs(1));
}

TEST(Contest, CountsWinsTiesAndLossesOfEachPair) {
  const std::vector<BestRow> rows = {row_of({race_with_peer(90, 80)}),
                                     row_of({race_with_peer(80, 90)}),
                                     row_of({race_with_peer(90, 90.1)})};
  const Contest contest = contest_of(rows, {});
  const Score& ours = score(contest, kOurs, "other");
  EXPECT_THAT((std::vector{ours.wins, ours.ties, ours.losses}), ElementsAre(1, 1, 1));
  EXPECT_THAT(ours.geomean, DoubleNear(std::cbrt(80.0 / 90 * 90 / 80 * 90.1 / 90), 0.003));
  EXPECT_TRUE(std::isnan(ours.interval.low)) << "three problems are too few";
  EXPECT_EQ(score(contest, "other", kBestLibrary).wins, 3);
  EXPECT_THAT(score(contest, "other", kBestLibrary).geomean,
              DoubleNear(score(contest, "other", kCublasLt).geomean, 1e-12))
      << "cuBLASLt is the faster library in all of them";
}

TEST(Contest, TheTwoPdlKindsAreToldApart) {
  const std::vector<BestRow> all = {row_of({race_with_peer(80, 90)})};
  const std::vector<BestRow> off = {row_of({race_with_peer(94.9, 90)})};
  const Contest contest = contest_of(all, off);
  EXPECT_EQ(score(contest, kOurs, kBestLibrary).wins, 1);
  EXPECT_EQ(score(contest, kOursWithoutPdl, kBestLibrary).ties, 1);
  EXPECT_EQ(score(contest, kOursWithoutPdl, "other").losses, 1);
}

TEST(Contest, SizesAreClassesOfTheTimeOfCublas) {
  EXPECT_EQ(size_class(9.9), "< 10 us");
  EXPECT_EQ(size_class(10), "10 to 50 us");
  EXPECT_EQ(size_class(1e9), "> 500 us");
  std::vector<BestRow> rows;
  for (int i = 0; i < 7; ++i) rows.push_back(row_of({race_with_peer(9, 10, i < 3 ? 8 : 12)}));
  const Contest contest = contest_of(rows, {});
  EXPECT_EQ(score(contest, kOurs, kCublas, "< 10 us").problems(), 3);
  EXPECT_EQ(score(contest, kOurs, kCublas, "10 to 50 us").problems(), 4);
  const Score& all = score(contest, kOurs, kCublas);
  EXPECT_EQ(all.problems(), 7);
  EXPECT_LT(all.interval.low, all.geomean);
  EXPECT_GT(all.interval.high, all.geomean);
}

TEST(Contest, ARowThatWasOnlyScreenedHasNoBout) {
  const BestRow row =
      row_of({race({ok("cublas", samples(100, 0, 3)), ok(kA, samples(90, 0, 3), Stage::kScreen)})});
  EXPECT_THAT(contest_of(std::span(&row, 1), {}).bouts, IsEmpty());
}

TEST(Contest, ATieIsWhatTheIntervalCannotTellFromOne) {
  EXPECT_EQ(result_of({1.02, {0.99, 1.05}}), Bout::Result::kTie);
  EXPECT_EQ(result_of({1.004, {1.003, 1.005}}), Bout::Result::kTie) << "below the margin";
  EXPECT_EQ(result_of({1.02, {1.01, 1.03}}), Bout::Result::kWin);
  EXPECT_EQ(result_of({0.98, {0.97, 0.99}}), Bout::Result::kLoss);
  EXPECT_EQ(result_of({2, {NAN, NAN}}), Bout::Result::kTie);
}

}  // namespace
}  // namespace hgemm
