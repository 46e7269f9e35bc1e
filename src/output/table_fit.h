// Which columns of a table a terminal has room for, and how wide they are.
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

/// `chosen` columns of the table, in this order. The widths of all of them together stay within
/// `width`, if there is one: first cells are wrapped, then, where the columns that matter most
/// (Table::kOptional) have no room beside one another, some go below their rows, then columns are
/// left out by rank: of equal ones the last, and with it those of other groups that have its key.
/// If `by_order`, ranks are the places in `chosen`.
Fitted fit(const Table& table, const std::vector<std::size_t>& chosen, bool by_order,
           std::optional<std::size_t> width);

}  // namespace hgemm
