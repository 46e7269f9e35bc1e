#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace hgemm {
namespace {

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> words = {"bm", "cluster", "consumers", "order"};
  EXPECT_EQ(nearest("clusters", words), "cluster");
  EXPECT_EQ(nearest("consumer", words), "consumers");
  EXPECT_EQ(nearest("odrer", words), "order");
  EXPECT_EQ(nearest("BM", words), "bm");
}

TEST(Nearest, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(nearest("kitten", std::vector<std::string>{"mittens!!", "sitting"}),
            "sitting");  // 3 < 4
  EXPECT_EQ(nearest("", std::vector<std::string>{"abc", "a"}), "a");
}

TEST(Nearest, TakesTheFirstOfEquals) {
  EXPECT_EQ(nearest("x", std::vector<std::string>{"m", "n", "k"}), "m");
}

TEST(DidYouMean, SaysNothingWhereNothingIsNear) {
  const std::vector<std::string> words = {"plan", "best", "doctor"};
  EXPECT_EQ(did_you_mean("dcotor", words), "did you mean doctor? ");
  EXPECT_EQ(did_you_mean("frobnicate", words), "");
  EXPECT_EQ(did_you_mean("plan", {}), "");
  // A third of a long word may be wrong.
  EXPECT_EQ(did_you_mean("--requiregpus", std::vector<std::string>{"--required-gpu"}),
            "did you mean --required-gpu? ");
}

TEST(Nearest, IsEmptyWithoutCandidates) { EXPECT_EQ(nearest("word", {}), ""); }

}  // namespace
}  // namespace hgemm
