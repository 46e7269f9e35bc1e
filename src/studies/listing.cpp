#include "studies/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "gemm/codec.h"
#include "output/emit.h"
#include "output/fields.h"
#include "output/json.h"
#include "output/table.h"

namespace hgemm {

namespace {

struct Listed {
  const RecordedStudy* recorded;
  bool has_timeline;

  std::string shape() const {
    return recorded->study.problem ? to_string(*recorded->study.problem) : "";
  }
};

std::span<const Field<Listed>> listed_fields() {
  using F = Field<Listed>;
  static const std::vector<F> kFields = {
      F::of("label", "text", "", "what was studied", "",
            [](const Listed& row) { return Json(row.recorded->study.label); }),
      F::of("problem", "text", "", "the problem's key", "the study has no problem",
            [](const Listed& row) {
              return row.recorded->study.problem ? Json(row.shape()) : Json();
            }),
      F::of("gpu", "text", "", "model of the GPU", "",
            [](const Listed& row) { return Json(row.recorded->environment.gpu_name); }),
      F::of("date", "text", "", "day of the study, UTC", "",
            [](const Listed& row) {
              const std::string& start = row.recorded->started_utc;
              return Json(start.substr(0, start.find('T')));
            }),
      F::of("status", "text", "", "how the study ended", "",
            [](const Listed& row) { return Json(to_string(row.recorded->study.status)); }),
      F::of("timeline", "true or false", "", "whether a timeline was recorded", "",
            [](const Listed& row) { return Json(row.has_timeline); }),
  };
  return kFields;
}

bool has_timeline(const Study& study, std::span<const RecordedStudy> all) {
  return study.problem && std::ranges::any_of(all, [&study](const RecordedStudy& other) {
           return !other.study.spans.empty() && other.study.label == study.label &&
                  other.study.problem && other.study.problem->same_problem(*study.problem);
         });
}

Table table_of(std::span<const Listed> rows) {
  Table table;
  for (const auto& field : listed_fields()) table.columns.push_back(column_of(field));
  for (const Listed& row : rows) {
    Table::Row cells;
    for (const auto& field : listed_fields()) cells.push_back(cell_of(field, row));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

void list_recorded(const cli::StudyOptions& options, const std::string& kind) {
  const Style style = cli::style_of(options.tables, parse_format(options.format));
  std::vector<RecordedStudy> all = cli::recorded_studies(options, kind);
  std::ranges::reverse(all);
  const std::vector<RecordedStudy> newest = cli::newest_of(all);
  std::vector<Listed> rows;
  for (const RecordedStudy& one : newest) rows.push_back({&one, has_timeline(one.study, all)});
  if (!for_programs(style.format)) {
    fmt::print("{}", newest.empty()
                         ? fmt::format("Nothing is recorded of {}.\n", kind)
                         : joined(std::vector<Piece>{render(table_of(rows), style)}, style));
    return;
  }
  const auto fields = fields_of(listed_fields(), style);
  std::vector<Json> objects;
  for (const Listed& row : rows) objects.push_back(object_of(fields, row));
  fmt::print("{}", style.format == Format::kJson ? dump(Json(objects))
                                                 : csv_of(fields, std::span<const Json>(objects)));
}

}  // namespace hgemm
