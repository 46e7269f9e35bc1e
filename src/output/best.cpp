#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "output/best_fields.h"
#include "output/best_table.h"
#include "output/emit.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "results/without_pdl.h"

namespace hgemm {
namespace {

/// The conditions that every number below depends on.
std::string context_line(const BestBlock& block, const Style& style) {
  std::set<std::string_view> cards, sources;
  for (const BestRow* row : block.rows) {
    cards.insert(row->run.gpu_uuid);
    sources.insert(row->run.kernel_sources);
  }
  std::vector<std::string_view> regimes;
  for (const Regime regime : block.regimes) regimes.push_back(to_string(regime));
  return fmt::format(
      "{}{}, {}, {}{}\n", for_reader(environment_text(block.rows.front()->environment), style),
      cards.size() > 1 ? fmt::format(", {} cards", cards.size()) : "",
      for_reader(dates_text(block.rows), style), fmt::join(regimes, " and "),
      sources.size() > 1 ? fmt::format(", {} states of the kernel sources", sources.size()) : "");
}

bool is_tie(const BestRow& row, const std::string& label) {
  return std::ranges::find(row.ties, label) != row.ties.end();
}

/// "0.985x the winner in burst", for a config that won in another regime.
std::string standing(const std::string& label, const BestRow& row) {
  const std::string in_regime = fmt::format(" in {}", to_string(row.regime));
  const auto finalist = std::ranges::find(row.finalists, label, &Finalist::label);
  if (finalist == row.finalists.end()) return "not measured to the end" + in_regime;
  const char* tie = is_tie(row, label) ? ", a tie" : "";
  if (finalist->winner) {
    return fmt::format("{:.3f}x the winner{}{}", finalist->winner->value, in_regime, tie);
  }
  if (finalist->cublas && row.cublas) {
    return fmt::format("in another race than the winner{}, by cuBLAS {:.3f}x it", in_regime,
                       finalist->cublas->value / row.cublas->value);
  }
  return "in another race than the winner" + in_regime;
}

/// Lists where the regimes of a block disagree; empty for a block of one regime.
std::string regimes_note(const BestBlock& block, const Style& style) {
  if (block.regimes.size() < 2) return "";
  int problems = 0, ties = 0;
  std::vector<std::string> different;
  for (const BestLine& line : block.lines) {
    const BestRow *first = line[0], *second = line[1];
    if (first == nullptr || second == nullptr || !first->label || !second->label) continue;
    ++problems;
    if (first->label == second->label) continue;
    ties += is_tie(*first, *second->label) && is_tie(*second, *first->label) ? 1 : 0;
    different.push_back(fmt::format("{}: {} {} ({}); {} {} ({})", shape_text(first->problem),
                                    to_string(first->regime), *first->label,
                                    standing(*first->label, *second), to_string(second->regime),
                                    *second->label, standing(*second->label, *first)));
  }
  if (problems == 0) return "";
  if (different.empty()) {
    return fmt::format("The winner is the same in both regimes at {} of {} shapes.\n", problems,
                       problems);
  }
  const std::string tied =
      ties == 0 ? "" : fmt::format(" (at {} of them each is in the other's tie set)", ties);
  return list_text(fmt::format("The winner differs between regimes at {} of {} shapes{}:",
                               different.size(), problems, tied),
                   different, style);
}

std::string faults_note(const BestBlock& block, const Style& style) {
  std::vector<std::string> faults;
  for (const BestRow* row : block.rows) {
    const std::uint64_t events = row->clock_events & clock_event::kFault;
    if (events == 0) continue;
    faults.push_back(fmt::format("{} in {} ({})", for_reader(shape_text(row->problem), style),
                                 to_string(row->regime), clock_event_names(events)));
  }
  if (faults.empty()) return "";
  return fmt::format(
      "Cooling or power supply slowed the GPU down, so these times are not what it can do: {}\n",
      fmt::join(faults, ", "));
}

std::string brief_note(const BestBlock& block) {
  const auto is_brief = [](const BestRow* row) { return row->label && row->brief; };
  const auto count = std::ranges::count_if(block.rows, is_brief);
  if (count == 0) return "";
  std::string note = fmt::format(
      "{} of {} were measured in brief, within a time budget: good enough to choose by, but before "
      "the clock had settled, so that times and ratios may be some percent off those of `--budget "
      "all` or a share.",
      count, block.rows.size());
  if (std::ranges::any_of(block.rows, [&](const BestRow* row) {
        return is_brief(row) && row->regime == Regime::kSustained;
      })) {
    note += " Sustained times of large shapes are too short (by 15 % at 2048 rows on an H100).";
  }
  return note + "\n";
}

/// Says at how many shapes of each regime the lead is by PDL; empty if at none.
std::string leads_note(const BestBlock& block) {
  std::string note;
  for (const Regime regime : block.regimes) {
    std::vector<const BestRow*> rows;
    std::ranges::copy_if(block.rows, std::back_inserter(rows),
                         [regime](const BestRow* row) { return row->regime == regime; });
    const LeadsByPdl leads = count_leads_by_pdl(rows);
    const std::string where =
        block.regimes.size() > 1 ? fmt::format(" in {}", to_string(regime)) : "";
    if (leads.by_pdl > 0) {
      const std::string screened =
          leads.screened == 0 ? "" : fmt::format(" ({} only screened without it)", leads.screened);
      note += fmt::format(
          "At {} of {} shapes{} the lead is by PDL: without it the best library is ahead{}.\n",
          leads.by_pdl, leads.rows, where, screened);
    }
    if (leads.unknown > 0) {
      note += fmt::format(
          "At {} of {} shapes{} the winner has PDL and no config without PDL was measured, so it "
          "is not known whether the lead is by PDL.\n",
          leads.unknown, leads.rows, where);
    }
  }
  return note;
}

/// Says where the price of batch invariance is not known, and how to know it.
std::string price_note(const BestBlock& block) {
  const auto is_asked = [](const BestRow* row) { return row->label && row->price; };
  const auto is_unknown = [&](const BestRow* row) {
    return is_asked(row) && row->price->label.empty();
  };
  const auto unknown = std::ranges::count_if(block.rows, is_unknown);
  if (unknown == 0) return "";
  return fmt::format(
      "The price of batch invariance is not known at {} of {} shapes: only batch-invariant configs "
      "were measured there. A tune without --batch-invariant into the same database measures the "
      "others.\n",
      unknown, std::ranges::count_if(block.rows, is_asked));
}

/// Fast sums are less exact, so a table with 8-bit operands says which rows have them.
std::string sums_note(const BestBlock& block) {
  std::ptrdiff_t fp32 = 0;
  std::ptrdiff_t fast = 0;
  for (const BestRow* row : block.rows) {
    if (!row->label || !row->problem.has_8_bit_operands()) continue;
    ++(row->problem.accumulator == Accumulator::kFast ? fast : fp32);
  }
  if (fp32 + fast == 0) return "";
  return fmt::format(
      "With 8-bit operands {} rows have fp32 sums, and {} (accfast) sums of about 14 bits, which "
      "stay in the tensor cores. In each the library adds up likewise, and x cuBLAS is the ratio "
      "to the "
      "first choice of cuBLASLt's heuristic.\n",
      fp32, fast);
}

std::string for_people(std::span<const BestRow> rows, const Style& style) {
  std::string out;
  Style of_table = style;
  of_table.sort.clear();  // the rows are already sorted
  const auto blocks = blocks_of(rows);
  for (const BestBlock& block : blocks) {
    std::vector<Piece> pieces = {context_line(block, style),
                                 render(table_of(block, rows, style), of_table)};
    for (const std::string& note :
         {regimes_note(block, style), leads_note(block), price_note(block), brief_note(block),
          sums_note(block), faults_note(block, style)}) {
      if (!note.empty()) pieces.emplace_back(note);
    }
    if (!out.empty()) out += '\n';
    out += joined(pieces, style);
  }
  std::vector<std::string> missing;
  for (const BestRow& row : rows) {
    if (row.trials == 0) missing.push_back(to_string(row.problem));
  }
  if (!missing.empty()) {
    if (!out.empty() && style.markdown()) out += '\n';
    out += joined(std::vector<Piece>{fmt::format("Never recorded: {}\n", fmt::join(missing, ", "))},
                  style);
  }
  if (!out.empty()) return out;
  return "Nothing is recorded yet. To measure on a Hopper GPU: hgemm-tune --shapes llama7b.yaml\n";
}

/// With --with-libraries `label` may be a library: the config, and what cuBLASLt ran.
Json library_json(const BestRow& row) {
  const bool is_cublaslt = !row.library.empty() && row.library == row.cublaslt_label;
  return {{"config", row.label ? Json(*row.label) : Json()},
          {"cublaslt_algorithm", is_cublaslt ? Json(row.cublaslt_algorithm) : Json()}};
}

}  // namespace

std::string format_best(std::span<const BestRow> given, const Style& style) {
  const std::span<const BestField> known = best_fields();
  const auto fields = fields_of(known, style);
  std::vector<BestRow> rows(given.begin(), given.end());
  sort_rows(rows, known, style);
  if (!for_programs(style.format)) return for_people(rows, style);
  std::vector<Json> objects;
  const bool libraries =
      std::ranges::any_of(rows, [](const BestRow& row) { return !row.library.empty(); });
  for (const BestRow& row : rows) {
    objects.push_back(object_of(fields, row));
    const bool whole = style.format == Format::kJson && style.columns.empty();
    if (libraries && whole) objects.back().update(library_json(row));
  }
  return style.format == Format::kJson ? dump(Json(objects)) : csv_of(fields, objects);
}

void check_best_columns(const Style& style) { check_columns(best_fields(), style); }

}  // namespace hgemm
