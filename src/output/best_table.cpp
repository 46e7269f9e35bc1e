#include "output/best_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "output/best_fields.h"
#include "output/best_totals.h"
#include "output/text.h"
#include "results/without_pdl.h"

namespace hgemm {
namespace {

using Rows = BestField::Rows;
using Fields = std::vector<const BestField*>;

const GemmProblem& problem_of(const BestLine& line) {
  return (*std::ranges::find_if(line, [](const BestRow* row) { return row != nullptr; }))->problem;
}

BestBlock block_of(const Rows& rows) {
  BestBlock block{.regimes = {}, .lines = {}, .rows = rows};
  for (const Regime regime : kRegimes) {
    const auto has_it = [regime](const BestRow* row) { return row->regime == regime; };
    if (std::ranges::any_of(rows, has_it)) block.regimes.push_back(regime);
  }
  for (const BestRow* row : rows) {
    const auto column = static_cast<std::size_t>(std::ranges::find(block.regimes, row->regime) -
                                                 block.regimes.begin());
    auto line = std::ranges::find_if(block.lines, [row, column](const BestLine& other) {
      return other[column] == nullptr && problem_of(other).same_problem(row->problem);
    });
    if (line == block.lines.end()) {
      line = block.lines.insert(line, BestLine(block.regimes.size()));
    }
    (*line)[column] = row;
  }
  return block;
}

/// The columns of one regime that are shown by default.
Fields fields_in(const BestBlock& block, Regime regime, const Style& style) {
  Fields fields = fields_of(best_fields(), style);
  if (!style.columns.empty()) return fields;
  const bool alone = block.regimes.size() == 1;
  const bool energy = std::ranges::any_of(
      block.rows, [regime](const BestRow* row) { return row->regime == regime && row->joules; });
  const bool second = std::ranges::any_of(
      block.rows, [](const BestRow* row) { return row->second_card.has_value(); });
  // Where all winners are without PDL, their columns would only be repeated.
  const bool pdl = std::ranges::any_of(block.rows, [regime](const BestRow* row) {
    return row->regime == regime && has_other_without_pdl(*row);
  });
  const bool price = std::ranges::any_of(block.rows, [regime](const BestRow* row) {
    return row->regime == regime && row->price.has_value();
  });
  const bool one_card = std::ranges::all_of(block.rows, [&block](const BestRow* row) {
    return row->run.gpu_uuid == block.rows.front()->run.gpu_uuid;
  });
  const bool of_8_bits = std::ranges::any_of(
      block.rows, [](const BestRow* row) { return row->problem.has_8_bit_operands(); });
  const bool calls = std::ranges::any_of(
      block.rows, [regime](const BestRow* row) { return row->regime == regime && row->calls; });
  std::erase_if(fields, [&](const BestField* field) {
    const std::string_view name = field->name;
    if (name == "card") return one_card || !alone;
    if (name == "confirmed") return !second;
    if (name == "host_us" || name == "kernel_us") return !calls;
    if (name.starts_with("pdl_off_")) return !pdl;
    if (name == "price") return !price;
    if (name == "error" || name == "cublas_error") return !of_8_bits || !alone;
    // Side by side, not all columns fit.
    if (name == "peak_or_tbps" || name == "ties") return !alone;
    return !energy && name.find("joule") != name.npos;
  });
  return fields;
}

// ---- What stands below the rows ----

std::string tag_group(const GemmProblem& problem) {
  return problem.tag.substr(0, problem.tag.find('/'));
}

/// Shapes that one line below the table covers.
struct Group {
  std::string name;  ///< "" for shapes without a tag
  std::vector<BestLine> lines;

  Rows rows(std::size_t column) const {
    Rows rows;
    for (const BestLine& line : lines) {
      if (line[column] != nullptr) rows.push_back(line[column]);
    }
    return rows;
  }
};

/// Groups lines, in the order of the first line of each group. `same` tells which lines belong
/// together.
template <class Same>
std::vector<Group> groups_of(const std::vector<BestLine>& lines, Same same) {
  std::vector<Group> groups;
  for (const BestLine& line : lines) {
    const auto known = std::ranges::find_if(groups, [&](const Group& group) {
      return same(problem_of(group.lines.front()), problem_of(line));
    });
    if (known != groups.end()) {
      known->lines.push_back(line);
    } else {
      groups.push_back({tag_group(problem_of(line)), {line}});
    }
  }
  return groups;
}

bool of_one_tag(const GemmProblem& a, const GemmProblem& b) { return tag_group(a) == tag_group(b); }
bool of_one_m(const GemmProblem& a, const GemmProblem& b) { return of_one_tag(a, b) && a.m == b.m; }

/// The shapes of a group in all blocks, and those that were never recorded.
std::size_t shapes_like(const GemmProblem& one, std::span<const BestRow> all) {
  std::vector<GemmProblem> problems;
  for (const BestRow& row : all) {
    const auto same = [&row](const GemmProblem& problem) {
      return problem.same_problem(row.problem);
    };
    if (of_one_m(row.problem, one) && std::ranges::none_of(problems, same)) {
      problems.push_back(row.problem);
    }
  }
  return problems.size();
}

/// A sum over part of a model could be taken for the whole model. `rows` are those of one regime.
bool has_total(const Rows& rows, std::span<const BestRow> all) {
  return !rows.empty() && rows.size() == shapes_like(rows.front()->problem, all) &&
         std::ranges::all_of(rows,
                             [](const BestRow* row) { return row->time_us && row->cublas; }) &&
         std::ranges::any_of(rows, [&rows](const BestRow* row) {
           return row->problem.weight != rows.front()->problem.weight;
         });
}

/// "3 shapes (1 only screened)"
std::string extent_of(const Rows& rows) {
  const auto screened = std::ranges::count(rows, Stage::kScreen, &BestRow::stage);
  const auto timed =
      std::ranges::count_if(rows, [](const BestRow* row) { return row->label.has_value(); });
  std::string text = fmt::format("{} shape{}", timed, timed == 1 ? "" : "s");
  if (screened > 0) text += fmt::format(" ({} only screened)", screened);
  return text;
}

/// "M = 2048", "M = 1, 16, 64", "M = 1 to 16384".
std::string extents_of_m(const Group& group) {
  constexpr std::size_t kNamed = 4;
  std::set<std::int64_t> all;
  for (const BestLine& line : group.lines) {
    const auto is_timed = [](const BestRow* row) { return row != nullptr && row->label; };
    if (std::ranges::any_of(line, is_timed)) all.insert(problem_of(line).m);
  }
  if (all.empty()) return "no M";
  if (all.size() > kNamed) return fmt::format("M = {} to {}", *all.begin(), *all.rbegin());
  return fmt::format("M = {}", fmt::join(all, ", "));
}

class Builder {
 public:
  Builder(const BestBlock& block, std::span<const BestRow> all, const Style& style)
      : block_(block), all_(all) {
    const bool both = block.regimes.size() > 1;
    for (std::size_t r = 0; r < block.regimes.size(); ++r) {
      const std::string group(both ? to_string(block.regimes[r]) : "");
      const Fields fields = fields_in(block, block.regimes[r], style);
      // Columns of the problem are shown once. They come first unless the user gave another order.
      for (const BestField* field : fields) {
        if (r == 0 && field->of_problem) add_column(*field, r, "");
      }
      for (const BestField* field : fields) {
        if (!field->of_problem) add_column(*field, r, group);
      }
    }
    for (const BestLine& line : block.lines) add_line(line);
    add_summaries();
  }

  Table table() && { return std::move(table_); }

 private:
  struct Source {
    const BestField* field;
    std::size_t regime;  ///< index into a line
  };

  void add_column(const BestField& field, std::size_t regime, const std::string& group) {
    table_.columns.push_back(column_of(field, group));
    sources_.push_back({&field, regime});
  }

  void add_line(const BestLine& line) {
    Table::Row cells;
    for (const auto& [field, regime] : sources_) {
      const BestRow* row = line[regime];
      if (field->of_problem) row = *std::ranges::find_if(line, [](auto* one) { return one; });
      const BestRow* before = regime > 0 ? line[regime - 1] : nullptr;
      const bool same = field->name == "label" && row && before && row->label && row->verified &&
                        row->label == before->label && row->library == before->library;
      cells.push_back(row == nullptr ? Cell("-") : same ? Cell("same") : cell_of(*field, *row));
    }
    table_.rows.push_back(std::move(cells));
  }

  /// The rows that a line covers, in each regime where it counts.
  template <class Counts>
  std::string extent_text(const Group& group, Counts counts) const {
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < block_.regimes.size(); ++r) {
      texts.push_back(counts(group.rows(r)) ? extent_of(group.rows(r)) : "");
    }
    const bool same = std::ranges::all_of(texts, [&](const auto& t) { return t == texts.front(); });
    if (same) return texts.front();
    std::vector<std::string> named;
    for (std::size_t r = 0; r < texts.size(); ++r) {
      if (texts[r].empty()) continue;
      named.push_back(fmt::format("{} {}", to_string(block_.regimes[r]), texts[r]));
    }
    return fmt::format("{}", fmt::join(named, ", "));
  }

  /// `over` is Field::mean or Field::total. `counts` tells for which rows of a regime the value is
  /// known.
  template <class Counts>
  void add_summary(std::string title, const Group& group, BestField::Over BestField::*over,
                   Counts counts) {
    Table::Summary summary{.title = std::move(title), .cells = {}};
    for (const auto& [field, regime] : sources_) {
      const Rows rows = group.rows(regime);
      const bool known = field->*over != nullptr && counts(rows);
      summary.cells.emplace_back(known ? (field->*over)(rows) : std::string());
    }
    table_.summaries.push_back(std::move(summary));
  }

  std::string title_of(const char* what, const std::string& of, const std::string& extent,
                       const Group& group) const {
    return fmt::format("{} of {}{}{}, {}", what, of, of.empty() ? "" : ", ", extent,
                       extents_of_m(group));
  }

  /// A geomean for each tag group of two shapes or more if there are several groups, then one over
  /// all. Then the weighted totals, each of one M.
  void add_summaries() {
    const auto always = [](const Rows&) { return true; };
    const auto add_mean = [&](const Group& group, const std::string& of) {
      add_summary(title_of("geomean", of, extent_text(group, always), group), group,
                  &BestField::mean, always);
    };
    const std::vector<Group> groups = groups_of(block_.lines, of_one_tag);
    for (const Group& group : groups) {
      if (groups.size() > 1 && group.lines.size() > 1) {
        add_mean(group, group.name.empty() ? "(no tag)" : group.name);
      }
    }
    add_mean({"", block_.lines}, groups.size() > 1 ? "all" : groups.front().name);
    const auto counts = [&](const Rows& rows) { return has_total(rows, all_); };
    for (const Group& group : groups_of(block_.lines, of_one_m)) {
      std::vector<std::string> cublas;
      for (std::size_t r = 0; r < block_.regimes.size(); ++r) {
        if (!counts(group.rows(r))) continue;
        cublas.push_back(
            fmt::format("{:.2f} us", weighted_baseline_us(group.rows(r), &BestRow::cublas)));
      }
      if (cublas.empty()) continue;
      add_summary(title_of("weighted total", group.name, extent_text(group, counts), group) +
                      fmt::format(" (cuBLAS {})", fmt::join(cublas, ", ")),
                  group, &BestField::total, counts);
    }
  }

  const BestBlock& block_;
  std::span<const BestRow> all_;
  std::vector<Source> sources_;  ///< by column
  Table table_;
};

}  // namespace

std::vector<BestBlock> blocks_of(std::span<const BestRow> rows) {
  const auto are_side_by_side = [](Regime a, Regime b) {
    return a == b || std::max(a, b) <= Regime::kBurst;
  };
  std::vector<Rows> of_blocks;
  for (const BestRow& row : rows) {
    if (row.trials == 0) continue;
    const auto known = std::ranges::find_if(of_blocks, [&](const Rows& other) {
      return other.front()->environment == row.environment &&
             are_side_by_side(other.front()->regime, row.regime);
    });
    if (known != of_blocks.end()) {
      known->push_back(&row);
    } else {
      of_blocks.push_back({&row});
    }
  }
  std::vector<BestBlock> blocks;
  std::ranges::transform(of_blocks, std::back_inserter(blocks), block_of);
  return blocks;
}

Table table_of(const BestBlock& block, std::span<const BestRow> all, const Style& style) {
  return Builder(block, all, style).table();
}

}  // namespace hgemm
