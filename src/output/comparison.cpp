#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "output/comparison_fields.h"
#include "output/emit.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

using Verdict = ComparedRow::Verdict;

// ---- For programs ----

std::string as_json(const Comparison& comparison, const std::vector<Json>& rows) {
  Json object{{"rows", rows}};
  object.update(object_of(fields_of(comparison_fields(), Format::kJson), comparison));
  return dump(object);
}

// ---- For people ----

/// The environments of one side, each with its dates.
std::string context_of(const char* name, const Comparison& comparison, BestRow ComparedRow::*side,
                       const Style& style) {
  std::vector<std::vector<const BestRow*>> groups;
  for (const ComparedRow& row : comparison.rows) {
    const BestRow& best = row.*side;
    const auto known = std::ranges::find_if(groups, [&best](const auto& group) {
      return group.front()->environment == best.environment;
    });
    if (known != groups.end()) {
      known->push_back(&best);
    } else {
      groups.push_back({&best});
    }
  }
  std::vector<std::string> texts;
  for (const auto& group : groups) {
    texts.push_back(
        for_reader(environment_text(group.front()->environment) + ", " + dates_text(group), style));
  }
  return fmt::format("{}: {}\n", name, fmt::join(texts, "; "));
}

Table table_of(const Comparison& comparison, const std::vector<const ComparedField*>& fields) {
  Table table;
  for (const ComparedField* field : fields) table.columns.push_back(column_of(*field));
  for (const ComparedRow& row : comparison.rows) {
    Table::Row& cells = table.rows.emplace_back();
    for (const ComparedField* field : fields) cells.push_back(cell_of(*field, row));
  }
  return table;
}

std::vector<std::string> names_of(std::span<const GemmProblem> problems) {
  std::vector<std::string> names;
  for (const GemmProblem& problem : problems) names.push_back(to_string(problem));
  return names;
}

std::string verdicts_line(const Comparison& comparison) {
  std::vector<std::string> counts;
  for (const Verdict verdict :
       {Verdict::kSlower, Verdict::kUnknown, Verdict::kSame, Verdict::kFaster}) {
    const auto count = std::ranges::count(comparison.rows, verdict, &ComparedRow::verdict);
    if (count > 0) counts.push_back(fmt::format("{} {}", count, to_string(verdict)));
  }
  return fmt::format(
      "B against A: {}. Above 1, B is faster; the change is of the ratio to cuBLAS.\n",
      fmt::join(counts, ", "));
}

std::string repeatability_line(const Repeatability& r) {
  std::string line = fmt::format(
      "{}: {} shape{}; same winner {}, agreeing (same or each in the other's tie set) {} "
      "({:.0f} %)",
      to_string(r.regime), r.problems, r.problems == 1 ? "" : "s", r.same_winner, r.agreeing,
      100.0 * r.agreeing / r.problems);
  if (r.candidates > 0) {
    line += fmt::format(
        "; {} candidate{} measured to the end in both: ratio to cuBLAS moved by {:.2f} % (median), "
        "{:.2f} % (largest)",
        r.candidates, r.candidates == 1 ? "" : "s", 100 * r.median_moved, 100 * r.largest_moved);
  }
  if (std::isfinite(r.median_winner_moved)) {
    line += fmt::format("; the winner's by {:.2f} % (median), {:.2f} % (largest)",
                        100 * r.median_winner_moved, 100 * r.largest_winner_moved);
  }
  return line + "\n";
}

std::string environment_line(const Comparison& comparison, const Style& style) {
  return comparison.environment_changes.empty()
             ? "The environments are the same.\n"
             : for_reader(
                   fmt::format("Different: {}", fmt::join(comparison.environment_changes, ", ")),
                   style) +
                   '\n';
}

std::string for_people(const Comparison& comparison,
                       const std::vector<const ComparedField*>& fields, const Style& style) {
  Style of_table = style;
  of_table.sort.clear();  // the rows are already sorted
  std::vector<Piece> pieces;
  if (comparison.rows.empty()) {
    pieces.push_back("Nothing to compare: no shape has a winner in both, in one regime.\n");
  } else {
    pieces = {context_of("A", comparison, &ComparedRow::a, style),
              context_of("B", comparison, &ComparedRow::b, style),
              environment_line(comparison, style), render(table_of(comparison, fields), of_table),
              verdicts_line(comparison)};
  }
  for (const Repeatability& repeats : comparison.repeatability) {
    pieces.push_back(repeatability_line(repeats));
  }
  const auto add_missing = [&pieces](const char* where, std::span<const GemmProblem> problems) {
    if (problems.empty()) return;
    pieces.push_back(fmt::format("Only in {}: {}\n", where, fmt::join(names_of(problems), ", ")));
  };
  for (const BestRow& row : comparison.lost) {
    pieces.push_back(fmt::format("Lost in B: {} {}: none of {} configs is ok any more\n",
                                 to_string(row.problem), to_string(row.regime), row.trials));
  }
  add_missing("A", comparison.only_in_a);
  add_missing("B", comparison.only_in_b);
  return joined(pieces, style);
}

}  // namespace

std::string format_comparison(const Comparison& given, const Style& style) {
  const std::span<const ComparedField> known = compared_fields();
  const auto fields = fields_of(known, style);
  Comparison comparison = given;
  sort_rows(comparison.rows, known, style);
  if (!for_programs(style.format)) return for_people(comparison, fields, style);
  std::vector<Json> rows;
  for (const ComparedRow& row : comparison.rows) rows.push_back(object_of(fields, row));
  return style.format == Format::kJson ? as_json(comparison, rows) : csv_of(fields, rows);
}

void check_comparison_columns(const Style& style) { check_columns(compared_fields(), style); }

}  // namespace hgemm
