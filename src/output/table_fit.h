// Chooses the columns that fit the terminal, and their widths.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "output/table.h"

namespace hgemm {

struct FittedColumn {
  std::size_t index;  ///< into Table::columns
  std::size_t width;
};

struct Fitted {
  std::vector<FittedColumn> line;     ///< side by side, from left to right
  std::vector<std::size_t> below;     ///< below each row, a line each
  std::vector<std::size_t> left_out;  ///< no room
};

inline constexpr std::size_t kColumnGap = 2;

/// Fits the columns `chosen` of the table, in this order, so that their total width stays within
/// `width` (nullopt: no limit).
///
/// First, cells are wrapped. Then, if the main columns (Table::kOptional) do not fit beside one
/// another, some columns go below their rows. Then columns are left out by rank. Of equal ranks the
/// last column goes first, together with the columns of other groups that have its key. If
/// `by_order`, the ranks are the positions in `chosen`.
Fitted fit(const Table& table, const std::vector<std::size_t>& chosen, bool by_order,
           std::optional<std::size_t> width);

}  // namespace hgemm
