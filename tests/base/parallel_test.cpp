#include "base/parallel.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace hgemm {
namespace {

TEST(Parallel, ValuesAreUsedInOrder) {
  std::vector<std::size_t> used;
  make_in_parallel(
      200, [](std::size_t i) { return i * i; }, [&](std::size_t value) { used.push_back(value); });
  ASSERT_EQ(used.size(), 200u);
  for (std::size_t i = 0; i < used.size(); ++i) EXPECT_EQ(used[i], i * i);
  make_in_parallel(
      0, [](std::size_t i) { return i; }, [](std::size_t) { FAIL() << "there is none"; });
}

TEST(Parallel, WhatMakingThrowsIsThrownAfterTheValuesBefore) {
  std::vector<std::size_t> used;
  const auto make = [](std::size_t i) {
    if (i == 5) throw std::runtime_error("the sixth");
    return i;
  };
  EXPECT_THROW(make_in_parallel(100, make, [&](std::size_t i) { used.push_back(i); }),
               std::runtime_error);
  EXPECT_EQ(used, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(Parallel, WhatUsingThrowsEndsTheMaking) {
  std::atomic<int> made = 0;
  const auto make = [&](std::size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ++made;
  };
  EXPECT_THROW(make_in_parallel(10'000, make, [](int) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  EXPECT_LT(made, 5'000);
}

}  // namespace
}  // namespace hgemm
