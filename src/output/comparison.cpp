#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "output/emit.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

using Verdict = ComparedRow::Verdict;

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSlower:
      return "slower";
    case Verdict::kSame:
      return "same";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kUnknown:
      return "unknown";
  }
  throw Error("a verdict outside its enumeration");
}

// ---- For programs ----

Json to_json(const ComparedRow& row) {
  const auto label = [](const BestRow& best) { return best.label ? Json(*best.label) : Json(); };
  const auto ratio = [](const BestRow& best) {
    return best.cublas ? number(best.cublas->value) : Json();
  };
  const GemmProblem& problem = row.a.problem;
  Json json = problem_of(problem);
  json.update(Json{
      {"tag", problem.tag},
      {"regime", hgemm::to_string(row.a.regime)},
      {"label_a", label(row.a)},
      {"label_b", label(row.b)},
      {"same_winner", row.same_winner},
      {"tied", row.tied},
      {"time_us_a", number(row.a.time_us)},
      {"time_us_b", number(row.b.time_us)},
      {"ratio_cublas_a", ratio(row.a)},
      {"ratio_cublas_b", ratio(row.b)},
  });
  const auto add_change = [&json](const std::string& name, const std::optional<Change>& change) {
    json[name] = change ? number(change->value) : Json();
    json[name + "_low"] = change ? number(change->interval.low) : Json();
    json[name + "_high"] = change ? number(change->interval.high) : Json();
  };
  add_change("change", row.ratio);
  add_change("time_change", row.time);
  add_change("cycles_change", row.cycles);
  json["verdict"] = to_string(row.verdict);
  return json;
}

Json to_json(const Repeatability& repeats) {
  return Json{{"regime", to_string(repeats.regime)},
              {"shapes", repeats.problems},
              {"same_winner", repeats.same_winner},
              {"agreeing", repeats.agreeing},
              {"candidates", repeats.candidates},
              {"median_moved", number(repeats.median_moved)},
              {"largest_moved", number(repeats.largest_moved)},
              {"median_winner_moved", number(repeats.median_winner_moved)},
              {"largest_winner_moved", number(repeats.largest_winner_moved)}};
}

std::vector<std::string> names_of(std::span<const GemmProblem> problems) {
  std::vector<std::string> names;
  for (const GemmProblem& problem : problems) names.push_back(to_string(problem));
  return names;
}

std::vector<Json> row_objects(const Comparison& comparison) {
  std::vector<Json> objects;
  for (const ComparedRow& row : comparison.rows) objects.push_back(to_json(row));
  return objects;
}

std::string as_json(const Comparison& comparison) {
  Json repeatability = Json::array();
  for (const Repeatability& repeats : comparison.repeatability) {
    repeatability.push_back(to_json(repeats));
  }
  Json lost = Json::array();
  for (const BestRow& row : comparison.lost) {
    lost.push_back(Json{{"shape", to_string(row.problem)}, {"regime", to_string(row.regime)}});
  }
  return dump(Json{{"rows", row_objects(comparison)},
                   {"repeatability", repeatability},
                   {"lost", lost},
                   {"only_in_a", names_of(comparison.only_in_a)},
                   {"only_in_b", names_of(comparison.only_in_b)},
                   {"environment_changes", comparison.environment_changes}});
}

// ---- For people ----

/// A side's environments, each with its dates.
std::string context_of(const char* name, const Comparison& comparison, BestRow ComparedRow::*side,
                       bool markdown) {
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
    texts.push_back(for_reader(
        environment_text(group.front()->environment) + ", " + dates_text(group), markdown));
  }
  return fmt::format("{}: {}\n", name, fmt::join(texts, "; "));
}

std::string change_text(const std::optional<Change>& change, const ComparedRow& row) {
  if (!change) return "-";
  const Stage stage = std::min(row.a.stage, row.b.stage);
  return ratio_text(change->value, change->interval, stage);
}

std::vector<std::string> cells(const ComparedRow& row) {
  const auto value = [](const auto& of) {
    return optional_text(of ? std::optional(of->value) : std::nullopt, "{:.3f}");
  };
  return {hgemm::to_string(row.a.problem),
          row.a.problem.tag,
          std::string(to_string(row.a.regime)),
          *row.a.label,
          row.same_winner ? "same" : *row.b.label,
          value(row.time),
          value(row.cycles),
          value(row.a.cublas),
          value(row.b.cublas),
          row.ratio ? change_text(row.ratio, row) : change_text(row.time, row) + " (time)",
          std::string(to_string(row.verdict))};
}

Table table_of(const Comparison& comparison) {
  Table table;
  table.columns = {{"shape", false},    {"tag", false}, {"regime", false}, {"config A", false},
                   {"config B", false}, {"time A/B"},   {"cycles A/B"},    {"A x cuBLAS"},
                   {"B x cuBLAS"},      {"change"},     {"verdict", false}};
  for (const ComparedRow& row : comparison.rows) table.rows.push_back(cells(row));
  return table;
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

std::string environment_line(const Comparison& comparison, bool markdown) {
  return comparison.environment_changes.empty()
             ? "The environments are the same.\n"
             : for_reader(
                   fmt::format("Different: {}", fmt::join(comparison.environment_changes, ", ")),
                   markdown) +
                   '\n';
}

std::string for_people(const Comparison& comparison, bool markdown) {
  std::vector<std::string> pieces;
  if (comparison.rows.empty()) {
    pieces.push_back("Nothing to compare: no shape has a winner in both, in one regime.\n");
  } else {
    pieces = {context_of("A", comparison, &ComparedRow::a, markdown),
              context_of("B", comparison, &ComparedRow::b, markdown),
              environment_line(comparison, markdown), render(table_of(comparison), markdown),
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
  return joined(pieces, markdown);
}

}  // namespace

std::string format_comparison(const Comparison& comparison, Format format) {
  switch (format) {
    case Format::kTable:
      return for_people(comparison, false);
    case Format::kMarkdown:
      return for_people(comparison, true);
    case Format::kJson:
      return as_json(comparison);
    case Format::kCsv:
      return as_csv(to_json(ComparedRow{}), row_objects(comparison));
  }
  throw Error("an output format outside its enumeration");
}

}  // namespace hgemm
