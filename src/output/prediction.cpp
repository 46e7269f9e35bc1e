#include "output/prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gemm/codec.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

constexpr double kMeasuredConfidence = 0.95;  ///< the confidence of Ratio::interval

std::vector<std::string> keys_of(std::span<const GemmProblem> problems) {
  std::vector<std::string> keys;
  for (const GemmProblem& problem : problems) keys.push_back(to_string(problem));
  return keys;
}

/// The known data about the ratio to cublas.
struct Known {
  const char* source;
  std::string label;
  std::optional<double> ratio;
  Interval interval;
  std::optional<double> confidence;  ///< nullopt: there is no interval
};

std::optional<Known> known_of(const Outlook& outlook) {
  if (outlook.measured) {
    const BestRow& row = *outlook.measured;
    Known known{"measured", *row.label, std::nullopt, {NAN, NAN}, std::nullopt};
    if (!row.cublas) return known;
    known.ratio = row.cublas->value;
    known.interval = row.cublas->interval;
    if (!std::isnan(known.interval.low)) known.confidence = kMeasuredConfidence;
    return known;
  }
  const Prediction& prediction = outlook.prediction;
  if (prediction.label.empty()) return std::nullopt;
  return Known{"predicted", prediction.label, prediction.ratio, prediction.interval, kCoverage};
}

Json json_of(const Outlook& outlook) {
  const std::optional<Known> known = known_of(outlook);
  Json json = problem_of(outlook.problem());
  json["regime"] = to_string(outlook.regime);
  json["gpu"] = outlook.gpu_name.empty() ? Json() : Json(outlook.gpu_name);
  json["source"] = known ? Json(known->source) : Json();
  json["label"] = known ? Json(known->label) : Json();
  json["ratio_cublas"] = known ? number(known->ratio) : Json();
  json["ratio_cublas_low"] = known ? number(known->interval.low) : Json();
  json["ratio_cublas_high"] = known ? number(known->interval.high) : Json();
  json["confidence"] = known ? number(known->confidence) : Json();
  json["class"] = class_name(outlook.problem());
  json["from"] = keys_of(outlook.prediction.from);
  json["refusal"] = known ? Json() : Json(outlook.prediction.refusal);
  return json;
}

struct Fractions {
  double geomean = 1, least = 1;
};
/// Share of the best speed that the predicted configs reached.
Fractions fractions_of(std::span<const LeftOut> rows) {
  std::vector<double> values;
  for (const LeftOut& row : rows) values.push_back(row.fraction);
  return {geomean(values), std::ranges::min(values)};
}

Json json_of(const OutlookErrors& errors) {
  const auto& rows = errors.of_class.rows;
  const Fractions fractions = fractions_of(rows);
  return {{"regime", to_string(errors.regime)},
          {"gpu", errors.gpu_name},
          {"class", errors.of_class.name},
          {"rows", rows.size()},
          {"geomean", number(fractions.geomean)},
          {"least", number(fractions.least)},
          {"factor", number(std::exp(half_width(rows)))}};
}

std::string error_line(const OutlookErrors& errors) {
  const auto& rows = errors.of_class.rows;
  const Fractions fractions = fractions_of(rows);
  const double factor = std::exp(half_width(rows));
  return fmt::format("{}, {}, {}: {} rows came to {:.3f} of their best (geomean; least {:.3f}); {}",
                     errors.gpu_name, to_string(errors.regime), errors.of_class.name, rows.size(),
                     fractions.geomean, fractions.least,
                     std::isfinite(factor)
                         ? fmt::format("{:.0f} % of the ratios are within a factor of {:.3f}",
                                       100 * kCoverage, factor)
                         : "too few for an interval");
}

std::string people_text(std::span<const Outlook> outlooks, std::span<const OutlookErrors> errors,
                        const Style& style) {
  Table table{.columns = {{"shape", false},
                          {"regime", false},
                          {"source", false},
                          {"config", false},
                          {"x cuBLAS"},
                          {"from", false}},
              .rows = {}};
  std::vector<std::string> refused;
  bool any_predicted = false;
  for (const Outlook& outlook : outlooks) {
    const std::optional<Known> known = known_of(outlook);
    if (!known) {
      refused.push_back(fmt::format("{} {}: {}", to_string(outlook.problem()),
                                    to_string(outlook.regime), outlook.prediction.refusal));
      continue;
    }
    any_predicted = any_predicted || !outlook.measured;
    const Stage stage = outlook.measured ? outlook.measured->stage : Stage::kFinal;
    table.rows.push_back(
        {to_string(outlook.problem()), std::string(to_string(outlook.regime)), known->source,
         known->label, known->ratio ? ratio_text(*known->ratio, known->interval, stage) : "-",
         outlook.measured ? outlook.measured->started_utc.substr(0, 10)
                          : fmt::format("{}", fmt::join(keys_of(outlook.prediction.from), " "))});
  }
  std::vector<Piece> pieces;
  if (!table.rows.empty()) pieces.push_back(render(table, style));
  if (any_predicted) {
    std::vector<std::string> lines;
    for (const OutlookErrors& one : errors) {
      if (!one.of_class.rows.empty()) lines.push_back(error_line(one));
    }
    pieces.push_back(list_text(
        fmt::format("Intervals: 95 % where measured; where predicted they hold {:.0f} % of what "
                    "was measured at recorded rows, each predicted from the others of its class:",
                    100 * kCoverage),
        lines, style));
  }
  if (!refused.empty()) pieces.push_back(list_text("Not predicted:", refused, style));
  return joined(pieces, style);
}

}  // namespace

std::string format_outlooks(std::span<const Outlook> outlooks,
                            std::span<const OutlookErrors> errors, const Style& style) {
  if (!for_programs(style.format)) return people_text(outlooks, errors, style);
  std::vector<Json> objects;
  for (const Outlook& outlook : outlooks) objects.push_back(json_of(outlook));
  if (style.format == Format::kCsv) {
    Json names = json_of(Outlook{});
    names.erase("from");
    for (Json& object : objects) object.erase("from");
    return as_csv(names, objects);
  }
  std::vector<Json> left_out;
  for (const OutlookErrors& one : errors) {
    if (!one.of_class.rows.empty()) left_out.push_back(json_of(one));
  }
  return dump({{"predictions", objects}, {"leave_one_out", left_out}});
}

}  // namespace hgemm
