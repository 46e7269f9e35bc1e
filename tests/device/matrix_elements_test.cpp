// Which places in memory the matrices of a batch have, against all of them in a list; and how
// operands of the accuracy study grow.
#include "device/matrix_elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "device/exact_kernels.h"

namespace hgemm {
namespace {

/// The place of every value, by definition.
std::vector<long long> listed(const StoredMatrices& all) {
  std::vector<long long> places;
  for (long long product = 0; product < all.count; ++product) {
    for (long long row = 0; row < all.rows; ++row) {
      for (long long column = 0; column < all.cols; ++column) {
        places.push_back(product * all.stride + row * all.leading + column);
      }
    }
  }
  return places;
}

/// Compares everything that is said of the matrices with the list.
void expect_as_listed(const StoredMatrices& all) {
  SCOPED_TRACE(::testing::Message() << all.count << " of " << all.rows << "x" << all.cols << " by "
                                    << all.leading << ", " << all.stride << " apart");
  const std::vector<long long> places = listed(all);
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(place_of(all, static_cast<long long>(i)), places[i]) << "value " << i;
  }
  const std::set<long long> in_matrices(places.begin(), places.end());
  const Arrangement arrangement = arrangement_of(all);
  const long long span = spanned_elements(all);
  ASSERT_LT(*in_matrices.rbegin(), span);
  for (long long place = 0; place < span; ++place) {
    const bool expected = arrangement == Arrangement::kOverlapping || in_matrices.contains(place);
    ASSERT_EQ(is_in_matrix(all, arrangement, place), expected) << "place " << place;
  }
  const auto count = static_cast<long long>(places.size());
  ASSERT_EQ(are_one_piece(all),
            std::ranges::is_sorted(places) && in_matrices.size() == places.size() && count == span);
  if (are_disjoint(all)) {
    ASSERT_NE(arrangement, Arrangement::kOverlapping);
    ASSERT_EQ(in_matrices.size(), places.size());
  }
}

TEST(MatrixElements, OfScalesOfBlocksArePaddedRows) {
  const auto expect_same = [](const StoredMatrices& scales, long long rows, long long cols,
                              long long leading) {
    EXPECT_EQ(scales.count, 1);
    EXPECT_EQ(scales.rows, rows);
    EXPECT_EQ(scales.cols, cols);
    EXPECT_EQ(scales.leading, leading);
    expect_as_listed(scales);
  };
  expect_same(scales_of_rows(6, 384), 3, 6, 8);
  expect_same(scales_of_rows(1, 16), 1, 1, 4);
  expect_same(scales_of_rows(200, 144), 2, 200, 200);
  expect_same(scales_of_row_blocks(200, 384), 2, 3, 4);
  expect_same(scales_of_row_blocks(128, 512), 1, 4, 4);
  expect_same(scales_of_row_blocks(129, 640), 2, 5, 8);
  expect_same(scales_of_b(Scaling::kBlocks, 129, 640), 2, 5, 8);
  expect_same(scales_of_b(Scaling::kPackedBlocks, 129, 640), 2, 5, 5);
  expect_same(scales_of_b(Scaling::kRowBlocks, 129, 640), 5, 129, 132);
}

TEST(MatrixElements, OfOneMatrixAreItsRows) {
  for (long long rows = 1; rows <= 4; ++rows) {
    for (long long cols = 1; cols <= 4; ++cols) {
      for (long long padding = 0; padding <= 3; ++padding) {
        const StoredMatrices one{{rows, cols, cols + padding}, 1, 0};
        EXPECT_EQ(arrangement_of(one), Arrangement::kInTurn);
        EXPECT_EQ(values_to_fill(one), rows * cols);
        expect_as_listed(one);
      }
    }
  }
}

// In turn, with gaps, side by side, and overlapping in every way that fits.
TEST(MatrixElements, OfEveryBatchAreThoseOfItsProducts) {
  std::set<Arrangement> seen;
  for (long long rows = 1; rows <= 4; ++rows) {
    for (long long cols = 1; cols <= 3; ++cols) {
      for (long long leading = cols; leading <= 10; ++leading) {
        for (long long count = 2; count <= 4; ++count) {
          for (long long stride = 1; stride <= 45; ++stride) {
            const StoredMatrices all{{rows, cols, leading}, count, stride};
            seen.insert(arrangement_of(all));
            expect_as_listed(all);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(MatrixElements, AreAskedForByTheWordsOfTheProblem) {
  // 4 heads of 16 in rows of 64; 8 tokens.
  ProblemExtents p{8, 8, 16, 64, 16, 8};
  p.batch = {4, 16, 0, 64};
  EXPECT_EQ(arrangement_of(all_of_a(p)), Arrangement::kSideBySide);
  EXPECT_EQ(spanned_elements(all_of_a(p)), 3 * 16 + 8 * 64);
  EXPECT_EQ(values_to_fill(all_of_a(p)), 3 * 16 + 8 * 64) << "not like one matrix";
  EXPECT_EQ(all_of_b(p).count, 1) << "shared";
  EXPECT_EQ(values_to_fill(all_of_b(p)), 8 * 16);
  EXPECT_TRUE(are_one_piece(all_of_d(p)));
  EXPECT_EQ(values_to_fill(all_of_d(p)), 4 * 64);
  expect_as_listed(all_of_a(p));
  expect_as_listed(all_of_b(p));
  expect_as_listed(all_of_d(p));
}

TEST(MatrixElements, OfTheLargestBatchHavePlacesWithoutOverflow) {
  const StoredMatrices all{{1LL << 15, 1LL << 15, 1LL << 20}, 1LL << 25, 1LL << 36};
  const long long last = spanned_elements(all) - 1;
  EXPECT_EQ(arrangement_of(all), Arrangement::kInTurn);
  EXPECT_FALSE(is_in_matrix(all, arrangement_of(all), last)) << "padding of the last row";
  EXPECT_TRUE(is_in_matrix(all, arrangement_of(all), last - (1LL << 20) + (1LL << 15)));
  EXPECT_EQ(place_of(all, all.count * all.rows * all.cols - 1), last - (1LL << 20) + (1LL << 15));
}

// ---- Operands of the accuracy study ----

TEST(OperandShape, GrowsFromTheFirstBlockToTheLast) {
  const OperandShape growing{.block = 128, .lowest = -7, .rise = 10};
  EXPECT_EQ(growing.exponent(0, 32), -7);
  EXPECT_EQ(growing.exponent(31, 32), 3);
  for (std::int64_t i = 1; i < 32; ++i) {
    EXPECT_GE(growing.exponent(i, 32), growing.exponent(i - 1, 32)) << i;
  }
  EXPECT_EQ(growing.exponent(0, 1), -7) << "one block has nowhere to grow";
  const OperandShape peaked{.block = 128, .lowest = -7, .rise = 10, .peak = 16};
  EXPECT_EQ(peaked.exponent(15, 32), -7);
  EXPECT_EQ(peaked.exponent(16, 32), 3);
  EXPECT_EQ(OperandShape{}.exponent(0, 1), 0);
}

}  // namespace
}  // namespace hgemm
