#include "output/fields_page.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "output/best_fields.h"
#include "output/comparison_fields.h"
#include "output/contest_fields.h"
#include "output/fields.h"
#include "output/plan.h"
#include "output/table.h"

namespace hgemm {
namespace {

struct Section {
  const char* of;     ///< for programs
  const char* title;  ///< for people
  const char* about;
  std::vector<FieldText> fields;
};

std::vector<Section> sections() {
  return {
      {"best", "best",
       "`hgemm-tune best --format json` is a list of objects with these fields, and so is that of "
       "a "
       "tune; `--format csv` has them as columns.",
       texts_of(best_fields())},
      {"compare", "compare",
       "`hgemm-tune compare A.db B.db --format json` is an object: `rows` is a list of objects "
       "with "
       "these fields. `--format csv` has them as columns.",
       texts_of(compared_fields())},
      {"compare.object", "compare: beside the rows", "The other members of the object.",
       texts_of(comparison_fields())},
      {"compare.repeatability", "compare: repeatability",
       "An object of the list `repeatability` has these fields.", texts_of(repeatability_fields())},
      {"race", "race: bouts",
       "`hgemm-tune race --format json` is an object: `bouts`, `scores` and `exclusions` are lists "
       "of objects. An object of `bouts` has these fields; `--format csv` has them as columns.",
       texts_of(bout_fields())},
      {"race.scores", "race: scores", "An object of the list `scores` has these fields.",
       texts_of(score_fields())},
      {"race.exclusions", "race: exclusions",
       "An object of the list `exclusions` has these fields.", texts_of(exclusion_fields())},
      {"plan", "plan", "`hgemm-tune plan --format json` is an object with these fields.",
       texts_of(plan_fields())},
      {"plan.shapes", "plan: shapes", "An object of the list `shapes` has these fields.",
       texts_of(planned_shape_fields())},
  };
}

std::string words_or_none(std::string_view text) { return std::string(text.empty() ? "-" : text); }

Table table_of(const Section& section, const Style& style) {
  const bool markdown = style.markdown();
  Table table;
  table.columns = {{"field", false},
                   {"type", false},
                   {"unit", false},
                   {.name = "meaning", .right = false, .fit = Table::Fit::kWrapped},
                   {.name = "null if", .right = false, .fit = Table::Fit::kWrapped},
                   {"in tables", false}};
  for (const FieldText& field : section.fields) {
    table.rows.push_back({markdown ? fmt::format("`{}`", field.name) : std::string(field.name),
                          field.type, words_or_none(field.unit), field.meaning,
                          field.null_if.empty() ? "never" : field.null_if,
                          words_or_none(field.heading)});
  }
  return table;
}

}  // namespace

std::string format_fields(const Style& style) {
  if (for_programs(style.format)) {
    std::vector<Json> rows;
    for (const Section& section : sections()) {
      for (const FieldText& field : section.fields) {
        rows.push_back({{"of", section.of},
                        {"field", field.name},
                        {"type", field.type},
                        {"unit", field.unit.empty() ? Json() : Json(field.unit)},
                        {"meaning", field.meaning},
                        {"null_if", field.null_if.empty() ? Json() : Json(field.null_if)},
                        {"heading", field.heading.empty() ? Json() : Json(field.heading)}});
      }
    }
    return style.format == Format::kJson ? dump(Json(rows)) : as_csv(rows.front(), rows);
  }
  std::vector<Piece> pieces;
  if (style.markdown()) {
    pieces.emplace_back(
        "# Fields of JSON and CSV\n\n"
        "What programs read of `best` (and of a tune), `compare` and `plan`. Numbers are in full. "
        "A "
        "field that is not known is null in JSON and empty in CSV. `--columns` and `--sort` take "
        "the "
        "names of fields, or the headings that tables have for them. This page is written by "
        "`hgemm-tune best --fields --format md`.\n");
  }
  for (bool first = true; const Section& section : sections()) {
    if (!std::exchange(first, false) && !style.markdown()) pieces.emplace_back("\n");
    pieces.emplace_back(style.markdown()
                            ? fmt::format("## {}\n\n{}\n", section.title, section.about)
                            : fmt::format("{}\n", section.title));
    pieces.push_back(render(table_of(section, style), style));
  }
  return joined(pieces, style);
}

}  // namespace hgemm
