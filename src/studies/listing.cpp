#include "studies/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "gemm/codec.h"
#include "output/emit.h"
#include "output/json.h"
#include "output/table.h"

namespace hgemm {

void list_recorded(const cli::StudyOptions& options, const std::string& kind) {
  const Format format = parse_format(options.format);
  const Style style = cli::style_of(options.tables, format);
  std::vector<RecordedStudy> all = cli::recorded_studies(options, kind);
  std::ranges::reverse(all);
  const std::vector<RecordedStudy> newest = cli::newest_of(all);
  Table table{.columns = {{"label", false},
                          {"shape", false},
                          {"GPU", false},
                          {"date", false},
                          {"status", false},
                          {"timeline", false}},
              .rows = {}};
  std::vector<Json> objects;
  for (const RecordedStudy& recorded : newest) {
    const Study& study = recorded.study;
    const std::string shape = study.problem ? to_string(*study.problem) : "";
    const std::string date = recorded.started_utc.substr(0, recorded.started_utc.find('T'));
    const bool has_timeline = std::ranges::any_of(all, [&](const RecordedStudy& other) {
      const bool same_shape =
          study.problem && other.study.problem && other.study.problem->same_problem(*study.problem);
      return same_shape && other.study.label == study.label && !other.study.spans.empty();
    });
    table.rows.push_back({study.label, shape, recorded.environment.gpu_name, date,
                          std::string(to_string(study.status)), has_timeline ? "yes" : "-"});
    objects.push_back({{"label", study.label},
                       {"problem", study.problem ? Json(shape) : Json()},
                       {"gpu", recorded.environment.gpu_name},
                       {"date", date},
                       {"status", to_string(study.status)},
                       {"timeline", has_timeline}});
  }
  if (format == Format::kJson) {
    fmt::print("{}", dump(Json(objects)));
  } else if (format == Format::kCsv) {
    const Json names = {{"label", nullptr}, {"problem", nullptr}, {"gpu", nullptr},
                        {"date", nullptr},  {"status", nullptr},  {"timeline", nullptr}};
    fmt::print("{}", as_csv(names, objects));
  } else if (newest.empty()) {
    fmt::print("Nothing is recorded of {}.\n", kind);
  } else {
    fmt::print("{}", joined(std::vector<Piece>{render(table, style)}, style));
  }
}

}  // namespace hgemm
