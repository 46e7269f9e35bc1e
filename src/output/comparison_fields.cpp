#include "output/comparison_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "output/problem_fields.h"
#include "output/text.h"

namespace hgemm {
namespace {

using F = ComparedField;

constexpr const char* kNoRatio = "cuBLAS was not measured beside the winner";
constexpr const char* kNoChange = "one of the two was not measured";
constexpr const char* kNoInterval = "there is no change, or too few rounds in A or B";

const GemmProblem& problem_of_compared(const ComparedRow& row) { return row.a.problem; }

Json value_of(const std::optional<Change>& change) {
  return change ? number(change->value) : Json();
}
Json low_of(const std::optional<Change>& change) {
  return change ? number(change->interval.low) : Json();
}
Json high_of(const std::optional<Change>& change) {
  return change ? number(change->interval.high) : Json();
}
Json label_of(const BestRow& row) { return row.label ? Json(*row.label) : Json(); }
Json ratio_of(const BestRow& row) { return row.cublas ? number(row.cublas->value) : Json(); }

Cell three_digits(const Json& value) {
  return value.is_null() ? Cell("-") : Cell(fmt::format("{:.3f}", value.get<double>()));
}

Json names_of(std::span<const GemmProblem> problems) {
  Json names = Json::array();
  for (const GemmProblem& problem : problems) names.push_back(to_string(problem));
  return names;
}

Tone tone_of(const ComparedRow& row) {
  if (row.verdict == ComparedRow::Verdict::kFaster) return Tone::kGood;
  return row.verdict == ComparedRow::Verdict::kSlower ? Tone::kBad : Tone::kPlain;
}

Cell change_cell(const ComparedRow& row) {
  const auto text = [&row](const std::optional<Change>& change) {
    if (!change) return std::string("-");
    return ratio_text(change->value, change->interval, std::min(row.a.stage, row.b.stage));
  };
  return {row.ratio ? text(row.ratio) : text(row.time) + " (time)", tone_of(row)};
}

std::vector<F> fields_of_sides() {
  return {
      F::of("regime", "text", "", "sustained, burst, single or chain", "",
            [](const ComparedRow& row) { return Json(to_string(row.a.regime)); })
          .at(10, 4, "regime"),
      F::of("label_a", "text", "", "the winner in A", "",
            [](const ComparedRow& row) { return label_of(row.a); })
          .at(20, 3, "config A")
          .giving_way(Table::Fit::kBelow),
      F::of("label_b", "text", "", "the winner in B", "",
            [](const ComparedRow& row) { return label_of(row.b); })
          .at(30, 3, "config B",
              [](const ComparedRow& row) -> Cell {
                return row.same_winner ? "same" : row.b.label.value_or("-");
              })
          .giving_way(Table::Fit::kBelow),
      F::of("same_winner", "true or false", "", "both have one label", "",
            [](const ComparedRow& row) { return Json(row.same_winner); }),
      F::of("tied", "true or false", "", "each winner is among the other's ties, or the same", "",
            [](const ComparedRow& row) { return Json(row.tied); }),
      F::of("time_us_a", "number", "us", "the winner's median time in A", kNoChange,
            [](const ComparedRow& row) { return number(row.a.time_us); }),
      F::of("time_us_b", "number", "us", "the winner's median time in B", kNoChange,
            [](const ComparedRow& row) { return number(row.b.time_us); }),
      F::of("ratio_cublas_a", "number", "", "the winner's ratio to cuBLAS in A", kNoRatio,
            [](const ComparedRow& row) { return ratio_of(row.a); })
          .at(60, 12, "A x cuBLAS",
              [](const ComparedRow& row) { return three_digits(ratio_of(row.a)); }),
      F::of("ratio_cublas_b", "number", "", "the winner's ratio to cuBLAS in B", kNoRatio,
            [](const ComparedRow& row) { return ratio_of(row.b); })
          .at(70, 12, "B x cuBLAS",
              [](const ComparedRow& row) { return three_digits(ratio_of(row.b)); }),
  };
}

std::vector<F> fields_of_change() {
  return {
      F::of("change", "number", "",
            "ratio_cublas_b by ratio_cublas_a; above 1 B is faster, whatever the clock", kNoChange,
            [](const ComparedRow& row) { return value_of(row.ratio); })
          .at(80, 1, "change", change_cell),
      F::of("change_low", "number", "", "lower end of its 95 % interval", kNoInterval,
            [](const ComparedRow& row) { return low_of(row.ratio); }),
      F::of("change_high", "number", "", "upper end of its 95 % interval", kNoInterval,
            [](const ComparedRow& row) { return high_of(row.ratio); }),
      F::of("time_change", "number", "", "time_us_a by time_us_b", kNoChange,
            [](const ComparedRow& row) { return value_of(row.time); })
          .at(40, 11, "time A/B",
              [](const ComparedRow& row) { return three_digits(value_of(row.time)); }),
      F::of("time_change_low", "number", "", "lower end of its 95 % interval", kNoInterval,
            [](const ComparedRow& row) { return low_of(row.time); }),
      F::of("time_change_high", "number", "", "upper end of its 95 % interval", kNoInterval,
            [](const ComparedRow& row) { return high_of(row.time); }),
      F::of("cycles_change", "number", "", "the same in cycles of the SM clock", kNoChange,
            [](const ComparedRow& row) { return value_of(row.cycles); })
          .at(50, 13, "cycles A/B",
              [](const ComparedRow& row) { return three_digits(value_of(row.cycles)); }),
      F::of("cycles_change_low", "number", "", "lower end of its 95 % interval", kNoInterval,
            [](const ComparedRow& row) { return low_of(row.cycles); }),
      F::of("cycles_change_high", "number", "", "upper end of its 95 % interval", kNoInterval,
            [](const ComparedRow& row) { return high_of(row.cycles); }),
      F::of("verdict", "text", "",
            "B against A: slower, same, faster or unknown; told apart where the interval of change "
            "(of time_change, if there is no change) excludes 1 and it is further from 1 than "
            "0.5 %",
            "", [](const ComparedRow& row) { return Json(to_string(row.verdict)); })
          .at(90, 2, "verdict",
              [](const ComparedRow& row) {
                return Cell(std::string(to_string(row.verdict)), tone_of(row));
              }),
      problem_key_of<ComparedRow, problem_of_compared>(),
  };
}

}  // namespace

std::string_view to_string(ComparedRow::Verdict verdict) {
  switch (verdict) {
    case ComparedRow::Verdict::kSlower:
      return "slower";
    case ComparedRow::Verdict::kSame:
      return "same";
    case ComparedRow::Verdict::kFaster:
      return "faster";
    case ComparedRow::Verdict::kUnknown:
      return "unknown";
  }
  throw Error("a verdict outside its enumeration");
}

std::span<const ComparedField> compared_fields() {
  static const std::vector<ComparedField> kFields = [] {
    std::vector<ComparedField> all = problem_fields_of<ComparedRow, problem_of_compared>();
    for (const auto& part : {fields_of_sides(), fields_of_change()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kFields;
}

std::span<const RepeatabilityField> repeatability_fields() {
  using R = RepeatabilityField;
  constexpr const char* kNoFinalist = "no candidate was measured to the end in both";
  constexpr const char* kNoBaseline = "no shape has both winners' ratios to cuBLAS";
  static const std::vector<R> kFields = {
      R::of("regime", "text", "", "sustained, burst, single or chain", "",
            [](const Repeatability& r) { return Json(to_string(r.regime)); }),
      R::of("shapes", "integer", "", "shapes that both databases have a winner of", "",
            [](const Repeatability& r) { return Json(r.problems); }),
      R::of("same_winner", "integer", "", "of these, shapes with one winner", "",
            [](const Repeatability& r) { return Json(r.same_winner); }),
      R::of("agreeing", "integer", "", "shapes whose winners are the same or each other's ties", "",
            [](const Repeatability& r) { return Json(r.agreeing); }),
      R::of("candidates", "integer", "", "finalists of both databases", "",
            [](const Repeatability& r) { return Json(r.candidates); }),
      R::of("median_moved", "number", "",
            "by how much their ratios to cuBLAS differ, |B / A - 1|: the median", kNoFinalist,
            [](const Repeatability& r) { return number(r.median_moved); }),
      R::of("largest_moved", "number", "", "the same: the largest", kNoFinalist,
            [](const Repeatability& r) { return number(r.largest_moved); }),
      R::of("median_winner_moved", "number", "", "the same of the winners' ratios: the median",
            kNoBaseline, [](const Repeatability& r) { return number(r.median_winner_moved); }),
      R::of("largest_winner_moved", "number", "", "the same: the largest", kNoBaseline,
            [](const Repeatability& r) { return number(r.largest_winner_moved); }),
  };
  return kFields;
}

std::span<const ComparisonField> comparison_fields() {
  using C = ComparisonField;
  static const std::vector<C> kFields = {
      C::of("repeatability", "list of objects", "", "how well results repeat, by regime", "",
            [](const Comparison& comparison) {
              const auto fields = fields_of(repeatability_fields(), Format::kJson);
              Json list = Json::array();
              for (const Repeatability& r : comparison.repeatability) {
                list.push_back(object_of(fields, r));
              }
              return list;
            }),
      C::of("lost", "list of objects", "",
            "shape and regime of what has a winner in A, while every config failed in B", "",
            [](const Comparison& comparison) {
              Json list = Json::array();
              for (const BestRow& row : comparison.lost) {
                list.push_back(
                    {{"shape", to_string(row.problem)}, {"regime", to_string(row.regime)}});
              }
              return list;
            }),
      C::of("only_in_a", "list of texts", "", "problems of which B has nothing", "",
            [](const Comparison& comparison) { return names_of(comparison.only_in_a); }),
      C::of("only_in_b", "list of texts", "", "problems of which A has nothing", "",
            [](const Comparison& comparison) { return names_of(comparison.only_in_b); }),
      C::of("environment_changes", "list of texts", "",
            "how the environments of the rows differ: \"driver 580.1 -> 590.2\"", "",
            [](const Comparison& comparison) { return Json(comparison.environment_changes); }),
  };
  return kFields;
}

}  // namespace hgemm
