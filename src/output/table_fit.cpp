#include "output/table_fit.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "output/display_width.h"

namespace hgemm {
namespace {

/// Minimum width of a column with wrapped cells, if its content is that wide.
constexpr std::size_t kLeastWrapped = 16;

class Fitter {
 public:
  Fitter(const Table& table, const std::vector<std::size_t>& chosen, bool by_order,
         std::size_t width)
      : table_(table), chosen_(chosen), by_order_(by_order), width_(width) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) natural_.push_back(widest(c));
  }

  Fitted fit() const {
    const auto everything = choose(chosen_);
    if (has_essentials(everything)) return with_widths(everything, {});
    std::vector<std::size_t> line, below;
    for (const std::size_t c : chosen_) {
      (table_.columns[c].fit == Table::Fit::kBelow ? below : line).push_back(c);
    }
    if (below.empty() || line.empty()) return with_widths(everything, {});
    return with_widths(choose(line), below);
  }

 private:
  std::size_t widest(std::size_t c) const {
    std::size_t width = display_width(one_line(table_.columns[c].name));
    for (const auto& row : table_.rows) {
      width = std::max(width, display_width(one_line(row[c].text)));
    }
    for (const auto& summary : table_.summaries) {
      width = std::max(width, display_width(one_line(summary.cells[c].text)));
    }
    return width;
  }

  std::size_t least(std::size_t c) const {
    const bool wraps = table_.columns[c].fit == Table::Fit::kWrapped;
    return std::min({natural_[c], wraps ? kLeastWrapped : natural_[c], width_});
  }

  int rank(std::size_t c) const {
    const int place = static_cast<int>(std::ranges::find(chosen_, c) - chosen_.begin());
    if (place == 0) return -1;
    if (by_order_) return place;
    const int rank = table_.columns[c].rank;
    return rank == Table::kByPlace ? Table::kOptional + place : rank;
  }

  bool is_by_place(std::size_t c) const {
    return by_order_ || table_.columns[c].rank == Table::kByPlace;
  }

  bool has_essentials(const std::vector<std::size_t>& line) const {
    return std::ranges::all_of(chosen_, [&](std::size_t c) {
      const bool matters = by_order_ || rank(c) < Table::kOptional;
      return !matters || std::ranges::find(line, c) != line.end();
    });
  }

  /// The `candidates` that fit side by side, the lowest ranks first.
  std::vector<std::size_t> choose(const std::vector<std::size_t>& candidates) const {
    // Columns with the same key are kept or dropped together, whatever their groups.
    std::vector<std::vector<std::size_t>> units;
    for (const std::size_t c : candidates) {
      const auto known = std::ranges::find_if(units, [&](const auto& unit) {
        return !is_by_place(c) &&
               column_key(table_.columns[unit.front()]) == column_key(table_.columns[c]);
      });
      if (known != units.end()) {
        known->push_back(c);
      } else {
        units.push_back({c});
      }
    }
    std::ranges::stable_sort(units, {}, [this](const auto& unit) { return rank(unit.front()); });
    std::vector<std::size_t> line;
    std::size_t used = 0;
    bool lacks_essential = false;
    bool lacks_by_place = false;
    for (const auto& unit : units) {
      std::size_t more = 0;
      for (const std::size_t c : unit) more += least(c) + kColumnGap;
      // A column never takes the place of one that matters more, or of an earlier one ranked by
      // place.
      const bool optional = rank(unit.front()) >= Table::kOptional;
      if (lacks_essential && optional) break;
      if (lacks_by_place && is_by_place(unit.front())) continue;
      if (!line.empty() && used + more > width_ + kColumnGap) {
        lacks_essential = lacks_essential || !optional;
        lacks_by_place = lacks_by_place || is_by_place(unit.front());
        continue;
      }
      used += more;
      line.insert(line.end(), unit.begin(), unit.end());
    }
    // In the original order, from left to right.
    std::vector<std::size_t> ordered;
    for (const std::size_t c : candidates) {
      if (std::ranges::find(line, c) != line.end()) ordered.push_back(c);
    }
    return ordered;
  }

  /// Wrapped columns share the remaining width.
  Fitted with_widths(const std::vector<std::size_t>& line,
                     const std::vector<std::size_t>& below) const {
    Fitted fitted{.line = {}, .below = below, .left_out = {}};
    std::size_t used = 0;
    for (const std::size_t c : line) {
      fitted.line.push_back({c, least(c)});
      used += least(c) + (fitted.line.size() > 1 ? kColumnGap : 0);
    }
    for (bool grown = true; grown && used < width_;) {
      grown = false;
      for (auto& [c, width] : fitted.line) {
        if (used >= width_ || width >= natural_[c]) continue;
        ++width;
        ++used;
        grown = true;
      }
    }
    for (const std::size_t c : chosen_) {
      const bool shown =
          std::ranges::find(line, c) != line.end() || std::ranges::find(below, c) != below.end();
      if (!shown) fitted.left_out.push_back(c);
    }
    return fitted;
  }

  const Table& table_;
  const std::vector<std::size_t>& chosen_;
  bool by_order_;
  std::size_t width_;
  std::vector<std::size_t> natural_;  ///< by column: the width of its widest cell
};

}  // namespace

Fitted fit(const Table& table, const std::vector<std::size_t>& chosen, bool by_order,
           std::optional<std::size_t> width) {
  constexpr std::size_t kUnlimited = std::size_t{1} << 30;
  return Fitter(table, chosen, by_order, width.value_or(kUnlimited)).fit();
}

}  // namespace hgemm
