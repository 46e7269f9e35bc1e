#include "studies/counters/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "studies/counters/counter_set.h"

namespace hgemm {
namespace {

using Studies = std::vector<const RecordedStudy*>;

/// All known metrics in display order. Derived metrics have no list of their own: they are computed
/// here from measured metrics that are all present and not zero.
std::vector<std::string> known_metrics() {
  std::vector<Figure> measured;
  for (const CounterMetric& metric : counter_metrics(DataType::kBf16)) {
    measured.push_back(counter_figure(metric.name, metric.unit, 1, metric.source));
  }
  std::vector<std::string> known;
  for (const Figure& figure : measured) known.push_back(figure.metric);
  const GemmProblem one{.m = 1, .n = 1, .k = 1, .tag = ""};
  for (const Figure& figure : derived_counters(measured, one, 1)) {
    known.push_back(figure.metric);
  }
  return known;
}

/// Restores the display order, because databases return figures by name: first measured metrics,
/// then derived ones, then by name those that another version of the program measured.
void put_in_order(std::vector<Figure>& figures) {
  const std::vector<std::string> known = known_metrics();
  const auto place = [&](const Figure& figure) {
    return std::pair(std::ranges::find(known, figure.metric) - known.begin(), figure.metric);
  };
  std::ranges::stable_sort(figures, {}, place);
}

// ---- For programs ----

Json described(const RecordedStudy& recorded) {
  const GemmProblem problem = recorded.study.problem.value_or(GemmProblem{});
  Json json = problem_of(problem);
  json.update(Json{{"tag", problem.tag},
                   {"label", recorded.study.label},
                   {"status", to_string(recorded.study.status)},
                   {"message", recorded.study.message},
                   {"gpu", recorded.environment.gpu_name},
                   {"driver", recorded.environment.driver},
                   {"started_utc", recorded.started_utc}});
  return json;
}

Json to_json(const Figure& figure) {
  return Json{{"metric", figure.metric},
              {"unit", figure.unit},
              {"value", number(figure.value)},
              {"source", figure.point}};
}

std::string json_of(std::span<const RecordedStudy> studies) {
  Json list = Json::array();
  for (const RecordedStudy& recorded : studies) {
    Json object = described(recorded);
    object["counters"] = Json::array();
    for (const Figure& figure : recorded.study.figures) {
      object["counters"].push_back(to_json(figure));
    }
    list.push_back(std::move(object));
  }
  return dump(list);
}

std::string csv_of(std::span<const RecordedStudy> studies) {
  const auto line = [](const RecordedStudy& recorded, const Json& figure) {
    Json object = described(recorded);
    object.update(figure);
    return object;
  };
  Json nothing = to_json(Figure{});
  nothing["value"] = nullptr;  // not a zero that was counted
  std::vector<Json> lines;
  for (const RecordedStudy& recorded : studies) {
    if (recorded.study.figures.empty()) lines.push_back(line(recorded, nothing));
    for (const Figure& figure : recorded.study.figures) {
      lines.push_back(line(recorded, to_json(figure)));
    }
  }
  return as_csv(line(RecordedStudy{}, nothing), lines);
}

// ---- For people ----

struct Scaled {
  double divisor = 1;
  std::string unit;
};
/// The unit in which the largest value of a line is easy to read; a line has one unit.
Scaled scaled(const std::string& unit, double largest) {
  if (unit == "Hz") return {1e6, "MHz"};
  const bool counts = unit == "B" || unit == "FLOP" || unit == "instructions" ||
                      unit == "wavefronts" || unit == "conflicts" || unit == "sectors";
  if (!counts) return {1, unit};
  struct Prefix {
    double factor;
    const char* letter;
  };
  const bool symbol = unit == "B" || unit == "FLOP";  // otherwise a word: "M instructions"
  for (const Prefix prefix : {Prefix{1e12, "T"}, Prefix{1e9, "G"}, Prefix{1e6, "M"}}) {
    if (largest >= prefix.factor) {
      return {prefix.factor, fmt::format("{}{}{}", prefix.letter, symbol ? "" : " ", unit)};
    }
  }
  return {1, unit};
}

std::string value_text(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (value == 0 || size >= 1000) return fmt::format("{:.0f}", value);
  return size >= 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

const Figure* find(const Study& study, const std::string& metric) {
  const auto found = std::ranges::find(study.figures, metric, &Figure::metric);
  return found == study.figures.end() ? nullptr : &*found;
}

/// The metrics of all candidates, each once. Derived metrics come before the stall reasons, of
/// which there are many.
std::vector<Figure> metrics_of(const Studies& studies) {
  std::vector<Figure> metrics;
  for (const RecordedStudy* recorded : studies) {
    for (const Figure& figure : recorded->study.figures) {
      if (std::ranges::find(metrics, figure.metric, &Figure::metric) == metrics.end()) {
        metrics.push_back(figure);
      }
    }
  }
  put_in_order(metrics);  // sorted again, because a candidate may lack a metric that another has
  std::ranges::stable_partition(metrics, [](const Figure& f) { return !is_stall(f.metric); });
  return metrics;
}

/// Our candidates first, in their order; then cublas, then cublaslt.
int rank(const RecordedStudy* recorded) {
  const std::string& label = recorded->study.label;
  if (label == kCublasLabel) return 1;
  return is_baseline(label) ? 2 : 0;
}

/// Column heads. Labels are long, and usually there is one of our candidates; more are lettered.
std::vector<std::string> heads_of(const Studies& studies) {
  const auto own =
      std::ranges::count_if(studies, [](const RecordedStudy* s) { return rank(s) == 0; });
  std::vector<std::string> heads;
  char letter = 'A';
  for (const RecordedStudy* recorded : studies) {
    if (rank(recorded) > 0) {
      heads.push_back(recorded->study.label);
    } else {
      heads.push_back(own == 1 ? std::string("ours") : fmt::format("ours {}", letter++));
    }
  }
  return heads;
}

Piece table_of(const Studies& studies, const std::vector<std::string>& heads, const Style& style) {
  Table table;
  table.columns = {{"counter", false}, {"unit", false}};
  for (const std::string& head : heads) table.columns.push_back({head});
  for (const Figure& metric : metrics_of(studies)) {
    double largest = 0;
    for (const RecordedStudy* recorded : studies) {
      const Figure* figure = find(recorded->study, metric.metric);
      if (figure != nullptr) largest = std::max(largest, std::abs(figure->value));
    }
    if (is_stall(metric.metric) && largest < kShownStall) continue;
    const auto [divisor, unit] = scaled(metric.unit, largest);
    Table::Row row = {counter_title(metric.metric), unit};
    for (const RecordedStudy* recorded : studies) {
      const Figure* figure = find(recorded->study, metric.metric);
      row.push_back(figure != nullptr ? value_text(figure->value / divisor) : "-");
    }
    table.rows.push_back(std::move(row));
  }
  return render(table, style);
}

/// A table of all studies of one problem in one session.
std::string block_of(Studies studies, const Style& style) {
  std::ranges::stable_sort(studies, {}, rank);
  const RecordedStudy& first = *studies.front();
  std::vector<Piece> pieces;
  pieces.push_back(fmt::format("{}{}, {}, {}\n", style.markdown() ? "## " : "",
                               shape_text(first.study.problem.value_or(GemmProblem{})),
                               environment_text(first.environment),
                               first.started_utc.substr(0, first.started_utc.find('T'))));
  Studies good;
  std::vector<std::string> failures;
  for (const RecordedStudy* recorded : studies) {
    const Study& study = recorded->study;
    if (study.status == Status::kOk) {
      good.push_back(recorded);
    } else {
      failures.push_back(
          fmt::format("{}: {}: {}", study.label, to_string(study.status), study.message));
    }
  }
  if (!good.empty()) {
    const std::vector<std::string> heads = heads_of(good);
    std::vector<std::string> legend;
    for (std::size_t i = 0; i < good.size(); ++i) {
      const Study& study = good[i]->study;
      if (rank(good[i]) == 0) {
        legend.push_back(fmt::format("{}: {}", heads[i], study.label));
      } else if (!study.message.empty()) {
        legend.push_back(fmt::format("{}: {}", heads[i], study.message));
      }
    }
    for (const std::string& line : legend)
      pieces.push_back((style.markdown() ? "- " : "") + line + '\n');
    pieces.push_back(table_of(good, heads, style));
  }
  if (!failures.empty()) pieces.push_back(list_text("Failed:", failures, style));
  return joined(pieces, style);
}

std::string text_of(std::span<const RecordedStudy> studies, const Style& style) {
  std::vector<Studies> blocks;
  for (const RecordedStudy& recorded : studies) {
    const auto same = [&](const Studies& block) {
      const RecordedStudy& other = *block.front();
      return other.study.problem && recorded.study.problem &&
             other.study.problem->same_problem(*recorded.study.problem) &&
             same_session(other, recorded);
    };
    const auto block = std::ranges::find_if(blocks, same);
    if (block != blocks.end()) {
      block->push_back(&recorded);
    } else {
      blocks.push_back({&recorded});
    }
  }
  std::string text;
  for (const Studies& block : blocks) {
    if (!text.empty()) text += '\n';
    text += block_of(block, style);
  }
  return text;
}

}  // namespace

std::string format_counters(std::span<const RecordedStudy> as_stored, const Style& style) {
  std::vector<RecordedStudy> studies(as_stored.begin(), as_stored.end());
  for (RecordedStudy& recorded : studies) put_in_order(recorded.study.figures);
  switch (style.format) {
    case Format::kJson:
      return json_of(studies);
    case Format::kCsv:
      return csv_of(studies);
    case Format::kTable:
    case Format::kMarkdown:
      break;
  }
  return text_of(studies, style);
}

}  // namespace hgemm
