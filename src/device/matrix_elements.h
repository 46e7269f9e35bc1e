// Which elements in memory belong to the matrices of an operand (StoredMatrices), and where their
// values lie. Device code includes it too.
#pragma once

#include <cstdint>

#include "kernels/common/extents.h"

namespace hgemm {

/// Whether the values of all matrices follow one another without padding and gaps.
HGEMM_HOST_DEVICE constexpr bool are_one_piece(const StoredMatrices& all) {
  return are_one_matrix(all) && all.leading == all.cols;
}

/// The place of a value, counted from the first one in memory. Values are numbered product by
/// product and row by row.
HGEMM_HOST_DEVICE constexpr long long place_of(const StoredMatrices& all, long long value) {
  const long long row = value / all.cols;  // of all products
  const long long product = all.count == 1 ? 0 : row / all.rows;
  return product * all.stride + (row - product * all.rows) * all.leading + (value - row * all.cols);
}

/// What decides whether a place belongs to a matrix.
enum class Arrangement : std::uint8_t {
  kInTurn,      ///< whether it belongs to the last matrix that begins there or before
  kSideBySide,  ///< the same within its row: the rows of equal number lie side by side
  kOverlapping  ///< matrices that overlap in another way: there is no short answer
};

HGEMM_HOST_DEVICE constexpr Arrangement arrangement_of(const StoredMatrices& all) {
  // No matrix begins within another one; or what follows the beginning of each is a range without
  // padding, or whole rows of padding and values in turn. The last one then reaches furthest.
  const bool in_turn = all.count == 1 || all.rows == 1 || all.leading == all.cols ||
                       all.stride % all.leading == 0 ||
                       all.stride >= (all.rows - 1) * all.leading + all.cols;
  if (in_turn) return Arrangement::kInTurn;
  return (all.count - 1) * all.stride + all.cols <= all.leading ? Arrangement::kSideBySide
                                                                : Arrangement::kOverlapping;
}

/// Whether a place belongs to a matrix, and not to the padding of rows or to a gap between
/// matrices. `arrangement` is theirs. True for every place where matrices overlap in a way that
/// leaves no short answer, which only those of A and B can (are_disjoint).
HGEMM_HOST_DEVICE constexpr bool is_in_matrix(const StoredMatrices& all, Arrangement arrangement,
                                              long long place) {
  const auto product_at = [&all](long long distance) {
    const long long product = distance / all.stride;
    return product < all.count ? product : all.count - 1;
  };
  if (arrangement == Arrangement::kOverlapping) return true;
  if (arrangement == Arrangement::kInTurn && all.count > 1) {
    place -= product_at(place) * all.stride;
  }
  const long long row = place / all.leading;
  long long column = place - row * all.leading;
  if (arrangement == Arrangement::kSideBySide) column -= product_at(column) * all.stride;
  return row < all.rows && column < all.cols;
}

/// The number of different values that data from elsewhere fills the matrices with: all of them, or
/// where they do not lie like one matrix, as many as there are places. (There values may overlap.)
HGEMM_HOST_DEVICE constexpr long long values_to_fill(const StoredMatrices& all) {
  return are_one_matrix(all) ? all.count * all.rows * all.cols : spanned_elements(all);
}

}  // namespace hgemm
