// The text of a cuBLASLt algorithm in a trial's message.
#include "record/lt_algorithm.h"

#include <gtest/gtest.h>

#include <limits>

namespace hgemm {
namespace {

TEST(LtAlgorithm, ItsTextMakesTheSameAlgorithmAgain) {
  const LtAlgorithm each_differs{.id = 66,
                                 .tile = 23,
                                 .stages = 16,
                                 .cluster = 3,
                                 .split_k = 4,
                                 .reduction = 2,
                                 .swizzle = 1,
                                 .custom = 7,
                                 .inner = 5,
                                 .workspace_bytes = 33554432};
  EXPECT_EQ(to_string(each_differs),
            "algo 66, tile 23, stages 16, cluster 3, split-K 4, reduction 2, swizzle 1, custom 7, "
            "inner 5, workspace 33554432 B");
  EXPECT_EQ(parse_lt_algorithm(to_string(each_differs)), each_differs);
  LtAlgorithm largest = each_differs;
  largest.split_k = std::numeric_limits<std::uint32_t>::max();
  largest.cluster = std::numeric_limits<std::uint16_t>::max();
  largest.workspace_bytes = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(parse_lt_algorithm(to_string(largest)), largest);
}

TEST(LtAlgorithm, OtherTextIsNone) {
  const std::string good = to_string(LtAlgorithm{.id = 66});
  ASSERT_TRUE(parse_lt_algorithm(good));
  // As databases have it that were written before all attributes were kept.
  EXPECT_FALSE(
      parse_lt_algorithm("algo 66, tile 23, stages 16, cluster 3, split-K 1, workspace 0 B"));
  EXPECT_FALSE(parse_lt_algorithm(""));
  EXPECT_FALSE(parse_lt_algorithm(good + " "));
  EXPECT_FALSE(parse_lt_algorithm(good.substr(0, good.size() - 1)));
  EXPECT_FALSE(parse_lt_algorithm("algo 066" + good.substr(7)));
  EXPECT_FALSE(parse_lt_algorithm("algo 99999999999" + good.substr(7)));
  EXPECT_FALSE(parse_lt_algorithm("algo x" + good.substr(7)));
}

}  // namespace
}  // namespace hgemm
