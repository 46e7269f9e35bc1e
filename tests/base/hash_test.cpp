#include "base/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace hgemm {
namespace {

using Texts = std::vector<std::string_view>;

// Computed with libxxhash from the texts, each behind its length in 8 little-endian bytes.
TEST(ContentHash, IsXxh3OfLengthsAndTexts) {
  EXPECT_EQ(content_hash(Texts{}), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(content_hash("a"), "ea7daf8b8b8e0899adea399fbae36cb2");
  EXPECT_EQ(content_hash(Texts{"ab", "c"}), "f2eda2708bcfd51cc05c0ee4c9f60440");
}

TEST(ContentHash, DependsOnBoundariesAndOrder) {
  EXPECT_NE(content_hash(Texts{"ab", "c"}), content_hash(Texts{"a", "bc"}));
  EXPECT_NE(content_hash(Texts{"ab", "c"}), content_hash(Texts{"c", "ab"}));
  EXPECT_NE(content_hash(Texts{"", "a"}), content_hash(Texts{"a", ""}));
}

}  // namespace
}  // namespace hgemm
