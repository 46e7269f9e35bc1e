// Numbers of clusters by the GPC on which they run.
#include "families/gpcs.h"

#include <gtest/gtest.h>

#include <set>

namespace hgemm {
namespace {

TEST(Gpcs, ClustersOfAGpcGetConsecutiveNumbers) {
  const ClusterNumbers numbers = numbers_by_gpc({2, 5, 7, 2, 5, 7, 2, 5});
  const std::vector<int> expected = {0, 3, 6, 1, 4, 7, 2, 5};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(numbers[i], expected[i]) << i;
  for (std::size_t i = expected.size(); i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i);
}

TEST(Gpcs, NumbersArePermutations) {
  std::vector<int> gpcs(kMostNumbered);
  for (std::size_t i = 0; i < gpcs.size(); ++i) gpcs[i] = static_cast<int>(i * i % 13);
  const ClusterNumbers numbers = numbers_by_gpc(gpcs);
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), numbers.size());
}

TEST(Gpcs, MoreClustersThanTheTableHoldsKeepTheirNumbers) {
  EXPECT_EQ(numbers_by_gpc(std::vector<int>(kMostNumbered + 1, 3)), unnumbered());
}

// As clusters of two sizes show it: {0, 1, 2, 3} and {4, 5}, then {2, 3, 6}.
TEST(Gpcs, SmsThatWereSeenTogetherShareAGpc) {
  Gpcs gpcs;
  for (const unsigned sm : {1u, 2u, 3u}) gpcs.join(sm, 0);
  gpcs.join(5, 4);
  gpcs.join(3, 2);
  gpcs.join(6, 2);
  for (const unsigned sm : {1u, 2u, 3u, 6u}) EXPECT_EQ(gpcs.of(sm), gpcs.of(0)) << sm;
  EXPECT_EQ(gpcs.of(5), gpcs.of(4));
  EXPECT_NE(gpcs.of(4), gpcs.of(0));
}

// An SM that was never seen is a GPC of its own, whatever its number.
TEST(Gpcs, UnknownSmsStandAlone) {
  Gpcs gpcs;
  gpcs.join(1, 0);
  EXPECT_NE(gpcs.of(9), gpcs.of(0));
  EXPECT_NE(gpcs.of(9), gpcs.of(10));
}

}  // namespace
}  // namespace hgemm
