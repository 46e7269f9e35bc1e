#include "output/axes.h"

#include <fmt/format.h>

#include <vector>

#include "families/family.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

Json json_of(std::string_view family, const AxisText& axis) {
  return {{"family", family},
          {"axis", axis.name},
          {"field", axis.form},
          {"values", axis.values},
          {"domain", axis.domain},
          {"default", axis.otherwise.empty() ? Json() : Json(axis.otherwise)},
          {"in_spaces", axis.in_spaces},
          {"help", axis.help}};
}

/// The condition under which a label has the field.
std::string field_text(const AxisText& axis) {
  const bool always = axis.in_label == AxisText::InLabel::kAlways;
  return fmt::format("{}{}", axis.form, always ? "" : " (where it is not the default)");
}

std::string block_of(std::string_view family, const Style& style) {
  Table table;
  table.columns = {{"axis", false},    {"field of a label", false},
                   {"values", false},  {"in the whole space", false},
                   {"default", false}, {"meaning", false}};
  for (const AxisText& axis : axes_of(family)) {
    table.rows.push_back({std::string(axis.name), field_text(axis), std::string(axis.values),
                          std::string(axis.domain),
                          axis.in_spaces ? std::string(axis.otherwise) : "not in spaces",
                          std::string(axis.help)});
  }
  const std::vector<Piece> pieces{fmt::format("{}{}\n", style.markdown() ? "## " : "", family),
                                  render(table, style)};
  return joined(pieces, style);
}

}  // namespace

std::string format_axes(const Style& style) {
  std::vector<Json> rows;
  for (const std::string_view family : family_names()) {
    for (const AxisText& axis : axes_of(family)) rows.push_back(json_of(family, axis));
  }
  if (style.format == Format::kJson) return dump(Json(rows));
  if (style.format == Format::kCsv) return as_csv(rows.front(), rows);
  std::string text;
  if (style.markdown()) {
    text =
        "# Axes of the kernel families\n\n"
        "A config is a point of one family's axes. Its label has the fields below, joined with "
        "dots, "
        "in this order; labels of all families but tiled begin with the family's name. Space files "
        "(configs/spaces) name a grid's `family` (tiled if left out) and give each axis a value, a "
        "list, or for numbers a range `start:end:step`; an axis without a default must be there. "
        "The whole space, which a tune searches unless it is told otherwise, is the product of the "
        "values in the column `in the whole space`, as far as the rules allow it. "
        "This page is written by `hgemm-tune plan --axes --format md`.\n\n";
  }
  for (bool first = true; const std::string_view family : family_names()) {
    if (!std::exchange(first, false)) text += '\n';
    text += block_of(family, style);
  }
  return text;
}

}  // namespace hgemm
