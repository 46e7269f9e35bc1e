#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/emit.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

std::optional<double> gflops_per_joule(const BestRow& row) {
  if (!row.joules) return std::nullopt;
  return row.problem.flops() / *row.joules * 1e-9;
}

/// Bytes of A, B and D, each once, by time.
std::optional<double> memory_tbps(const BestRow& row) {
  if (!row.time_us) return std::nullopt;
  return row.problem.bytes() / *row.time_us * 1e-6;
}

// ---- For programs ----

Json row_json(const BestRow& row) {
  const auto value = [](const std::optional<Ratio>& r) { return r ? number(r->value) : Json(); };
  const auto low = [](const std::optional<Ratio>& r) {
    return r ? number(r->interval.low) : Json();
  };
  const auto high = [](const std::optional<Ratio>& r) {
    return r ? number(r->interval.high) : Json();
  };
  // A problem that was never recorded has no environment.
  const auto of_environment = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  Json json = problem_of(row.problem);
  json.update(Json{
      {"tag", row.problem.tag},
      {"regime", to_string(row.regime)},
      {"label", row.label ? Json(*row.label) : Json()},
      {"time_us", number(row.time_us)},
      {"tflops", number(row.tflops)},
      {"ratio_cublas", value(row.cublas)},
      {"ratio_cublas_low", low(row.cublas)},
      {"ratio_cublas_high", high(row.cublas)},
      {"ratio_cublaslt", value(row.cublaslt)},
      {"ratio_cublaslt_low", low(row.cublaslt)},
      {"ratio_cublaslt_high", high(row.cublaslt)},
      {"sm_mhz", number(row.sm_mhz)},
      {"peak_fraction", number(row.peak_fraction)},
      {"memory_tbps", number(memory_tbps(row))},
      {"joules", number(row.joules)},
      {"gflops_per_joule", number(gflops_per_joule(row))},
      {"verified", row.verified},
      {"ties", row.ties},
      {"cublas_time_us", number(row.cublas_time_us)},
      {"cublaslt_time_us", number(row.cublaslt_time_us)},
      {"cublaslt_label", row.cublaslt_label.empty() ? Json() : Json(row.cublaslt_label)},
      {"ratio_cublas_cycles", number(row.cublas_cycles)},
      {"cublas_joules", number(row.cublas_joules)},
      {"cublaslt_joules", number(row.cublaslt_joules)},
      {"clock_events", row.label ? Json(row.clock_events) : Json()},
      {"effort", row.label ? Json(row.brief ? "brief" : "full") : Json()},
      {"problem", to_string(row.problem)},
      {"a_dtype", to_string(row.problem.a_type)},
      {"b_dtype", to_string(row.problem.b_type)},
      {"d_dtype", to_string(row.problem.d_type)},
      {"batch", row.problem.batch},
      {"scaling", to_string(row.problem.scaling)},
      {"epilogue", to_string(row.problem.epilogue)},
      {"pdl", row.label ? Json(to_string(pdl_kind(parse_label(*row.label)))) : Json()},
      {"kernel_id", row.label ? Json(row.kernel_id) : Json()},
      {"gpu", of_environment(row.environment.gpu_name)},
      {"driver", of_environment(row.environment.driver)},
      {"cuda", of_environment(row.environment.cuda)},
      {"cublas", of_environment(row.environment.cublas)},
      {"date", of_environment(row.started_utc.substr(0, 10))},
  });
  return json;
}

// ---- For people ----

/// Below, memory bounds a GEMM on any Hopper GPU (whose two bounds meet above 200 FLOP per byte) so
/// far under the tensor peak that a share of it looks like a defect.
constexpr double kPeakAboveFlopsPerByte = 40;

using Rows = std::vector<const BestRow*>;

/// A problem, with a row for each regime of its block; null where there is none.
using Line = std::vector<const BestRow*>;

/// Results of one environment. Those of different ones never share a table, nor a mean those of
/// different regimes.
struct Block {
  std::vector<Regime> regimes;
  std::vector<Line> lines;
  Rows rows;
};

const GemmProblem& shape_of(const Line& line) {
  return (*std::ranges::find_if(line, [](const BestRow* row) { return row != nullptr; }))->problem;
}

Block block_of(const Rows& rows) {
  Block block{.regimes = {}, .lines = {}, .rows = rows};
  for (const Regime regime : {Regime::kSustained, Regime::kBurst}) {
    const auto has_it = [regime](const BestRow* row) { return row->regime == regime; };
    if (std::ranges::any_of(rows, has_it)) block.regimes.push_back(regime);
  }
  for (const BestRow* row : rows) {
    const auto column = static_cast<std::size_t>(std::ranges::find(block.regimes, row->regime) -
                                                 block.regimes.begin());
    auto line = std::ranges::find_if(block.lines, [row, column](const Line& other) {
      return other[column] == nullptr && shape_of(other).same_problem(row->problem);
    });
    if (line == block.lines.end()) {
      line = block.lines.insert(line, Line(block.regimes.size()));
    }
    (*line)[column] = row;
  }
  return block;
}

std::vector<Block> blocks_of(std::span<const BestRow> rows) {
  std::vector<Rows> by_environment;
  for (const BestRow& row : rows) {
    if (row.trials == 0) continue;
    const auto known = std::ranges::find_if(by_environment, [&row](const Rows& other) {
      return other.front()->environment == row.environment;
    });
    if (known != by_environment.end()) {
      known->push_back(&row);
    } else {
      by_environment.push_back({&row});
    }
  }
  std::vector<Block> blocks;
  std::ranges::transform(by_environment, std::back_inserter(blocks), block_of);
  return blocks;
}

std::string geomean_text(const std::vector<double>& values) {
  return values.empty() ? "-" : fmt::format("{:.3f}", geomean(values));
}

std::string geomean_of(const Rows& rows, std::optional<Ratio> BestRow::*ratio) {
  std::vector<double> values;
  for (const BestRow* row : rows) {
    if (row->*ratio) values.push_back((row->*ratio)->value);
  }
  return geomean_text(values);
}

double weighted_time_us(const Rows& rows) {
  double sum_us = 0;
  for (const BestRow* row : rows) sum_us += row->problem.weight * *row->time_us;
  return sum_us;
}

/// What a model gains that runs each shape as often as its weight says.
std::string total_of(const Rows& rows, std::optional<Ratio> BestRow::*ratio) {
  double theirs_us = 0;
  for (const BestRow* row : rows) {
    if (!(row->*ratio)) return "-";
    theirs_us += row->problem.weight * *row->time_us * (row->*ratio)->value;
  }
  return fmt::format("{:.3f}", theirs_us / weighted_time_us(rows));
}

std::string text_of(const std::optional<Ratio>& ratio, Stage stage) {
  return ratio ? ratio_text(ratio->value, ratio->interval, stage) : "-";
}

std::optional<double> joules_ratio(const BestRow& row) {
  if (!row.joules || !row.cublas_joules) return std::nullopt;
  return *row.cublas_joules / *row.joules;
}

/// A column of numbers that every regime has. `mean` and `total` are over rows of one regime; null:
/// there is none.
struct Field {
  const char* name;
  std::string (*cell)(const BestRow&);
  std::string (*mean)(const Rows&) = nullptr;
  std::string (*total)(const Rows&) = nullptr;
};

constexpr Field kTime{
    "time us", [](const BestRow& row) { return optional_text(row.time_us, "{:.2f}"); }, nullptr,
    [](const Rows& rows) { return fmt::format("{:.2f}", weighted_time_us(rows)); }};
constexpr Field kTflops{"TFLOP/s",
                        [](const BestRow& row) { return optional_text(row.tflops, "{:.1f}"); }};
constexpr Field kCublas{"x cuBLAS",
                        [](const BestRow& row) { return text_of(row.cublas, row.stage); },
                        [](const Rows& rows) { return geomean_of(rows, &BestRow::cublas); },
                        [](const Rows& rows) { return total_of(rows, &BestRow::cublas); }};
constexpr Field kCublasLt{"x cuBLASLt",
                          [](const BestRow& row) { return text_of(row.cublaslt, row.stage); },
                          [](const Rows& rows) { return geomean_of(rows, &BestRow::cublaslt); },
                          [](const Rows& rows) { return total_of(rows, &BestRow::cublaslt); }};
constexpr Field kPeak{"% peak or TB/s", [](const BestRow& row) {
                        return row.problem.flops() < kPeakAboveFlopsPerByte * row.problem.bytes()
                                   ? optional_text(memory_tbps(row), "{:.2f} TB/s")
                                   : optional_text(row.peak_fraction, "{:.1f}", 100);
                      }};
constexpr Field kClock{"SM MHz",
                       [](const BestRow& row) { return optional_text(row.sm_mhz, "{:.0f}"); }};
constexpr Field kJoules{"J/GEMM",
                        [](const BestRow& row) { return optional_text(row.joules, "{:.4g}"); }};
constexpr Field kFlopsPerJoule{
    "GFLOP/J", [](const BestRow& row) { return optional_text(gflops_per_joule(row), "{:.1f}"); }};
constexpr Field kCublasJoules{
    "x cuBLAS J", [](const BestRow& row) { return optional_text(joules_ratio(row), "{:.3f}"); },
    [](const Rows& rows) {
      std::vector<double> values;
      for (const BestRow* row : rows) {
        if (const auto ratio = joules_ratio(*row)) values.push_back(*ratio);
      }
      return geomean_text(values);
    }};
constexpr Field kTies{"ties", [](const BestRow& row) {
                        return row.stage == Stage::kFinal ? fmt::format("{}", row.ties.size())
                                                          : "-";
                      }};

/// Side by side there is no room for all.
std::vector<Field> fields_of(const Block& block, Regime regime) {
  const bool alone = block.regimes.size() == 1;
  std::vector<Field> fields = {kTime, kTflops, kCublas, kCublasLt};
  if (alone) fields.push_back(kPeak);
  fields.push_back(kClock);
  if (std::ranges::any_of(block.rows, [regime](const BestRow* row) {
        return row->regime == regime && row->joules;
      })) {
    fields.insert(fields.end(), {kJoules, kFlopsPerJoule, kCublasJoules});
  }
  if (alone) fields.push_back(kTies);
  return fields;
}

std::string config_text(const BestRow& row, const BestRow* before) {
  if (!row.label) return fmt::format("none ok ({} recorded, {} failed)", row.trials, row.failed);
  const bool same = before != nullptr && before->label == row.label;
  return (same ? "same" : *row.label) + (row.verified ? "" : " (not verified)");
}

/// "3 shapes, 1 only screened": what a line below the table is over.
std::string extent(const Rows& rows) {
  const auto screened = std::ranges::count(rows, Stage::kScreen, &BestRow::stage);
  const auto timed =
      std::ranges::count_if(rows, [](const BestRow* row) { return row->label.has_value(); });
  std::string text = fmt::format("{} shape{}", timed, timed == 1 ? "" : "s");
  if (screened > 0) text += fmt::format(", {} only screened", screened);
  return text;
}

std::string tag_group(const GemmProblem& problem) {
  return problem.tag.substr(0, problem.tag.find('/'));
}

struct TagGroup {
  std::string name;
  std::vector<Line> lines;

  Rows rows(std::size_t column) const {
    Rows rows;
    for (const Line& line : lines) {
      if (line[column] != nullptr) rows.push_back(line[column]);
    }
    return rows;
  }
};

/// In the order of their first lines.
std::vector<TagGroup> tag_groups(const std::vector<Line>& lines) {
  std::vector<TagGroup> groups;
  for (const Line& line : lines) {
    const std::string name = tag_group(shape_of(line));
    const auto known = std::ranges::find(groups, name, &TagGroup::name);
    if (known != groups.end()) {
      known->lines.push_back(line);
    } else {
      groups.push_back({name, {line}});
    }
  }
  return groups;
}

/// The shapes of a tag group in all blocks, and those that were never recorded.
std::size_t shapes_in(const std::string& group, std::span<const BestRow> all) {
  std::vector<GemmProblem> problems;
  for (const BestRow& row : all) {
    const auto same = [&row](const GemmProblem& problem) {
      return problem.same_problem(row.problem);
    };
    if (tag_group(row.problem) == group && std::ranges::none_of(problems, same)) {
      problems.push_back(row.problem);
    }
  }
  return problems.size();
}

/// A sum over part of a model would pass for the model. `rows` are those of one regime.
bool has_total(const std::string& group, const Rows& rows, std::span<const BestRow> all) {
  return !rows.empty() && rows.size() == shapes_in(group, all) &&
         std::ranges::all_of(rows,
                             [](const BestRow* row) { return row->time_us && row->cublas; }) &&
         std::ranges::any_of(rows, [&rows](const BestRow* row) {
           return row->problem.weight != rows.front()->problem.weight;
         });
}

class BestTable {
 public:
  BestTable(const Block& block, std::span<const BestRow> all) : block_(block) {
    for (const Regime regime : block.regimes) fields_.push_back(fields_of(block, regime));
    add_columns();
    for (const Line& line : block.lines) add_line(line);
    add_footer(all);
  }

  const Table& table() const { return table_; }

 private:
  void add_columns() {
    table_.columns = {{"shape", false}, {"tag", false}};
    for (std::size_t c = 0; c < fields_.size(); ++c) {
      const bool alone = fields_.size() == 1;
      table_.columns.push_back(
          {alone ? "config" : fmt::format("{}: config", to_string(block_.regimes[c])), false});
      for (const Field& field : fields_[c]) table_.columns.push_back({field.name});
    }
  }

  void add_line(const Line& line) {
    std::vector<std::string> cells = {to_string(shape_of(line)), shape_of(line).tag};
    for (std::size_t c = 0; c < fields_.size(); ++c) {
      const BestRow* row = line[c];
      cells.push_back(row == nullptr ? "-" : config_text(*row, c > 0 ? line[c - 1] : nullptr));
      for (const Field& field : fields_[c]) {
        cells.push_back(row == nullptr ? "-" : field.cell(*row));
      }
    }
    table_.rows.push_back(std::move(cells));
  }

  /// `over` is Field::mean or Field::total, `counts` says for which rows of a regime it is known.
  template <class Counts>
  void add_summary(const char* what, const TagGroup& group,
                   std::string (*Field::*over)(const Rows&), Counts counts) {
    std::vector<std::string> cells = {what, group.name.empty() ? "(no tag)" : group.name};
    for (std::size_t c = 0; c < fields_.size(); ++c) {
      const Rows rows = group.rows(c);
      const bool known = counts(rows);
      cells.push_back(known ? extent(rows) : "");
      for (const Field& field : fields_[c]) {
        cells.push_back(known && field.*over ? (field.*over)(rows) : "");
      }
    }
    table_.rows.push_back(std::move(cells));
  }

  /// A geomean per tag group of two shapes or more, if there are several groups; then over all;
  /// then the weighted totals.
  void add_footer(std::span<const BestRow> all) {
    const std::vector<TagGroup> groups = tag_groups(block_.lines);
    const auto always = [](const Rows&) { return true; };
    for (const TagGroup& group : groups) {
      if (groups.size() > 1 && group.lines.size() > 1) {
        add_summary("geomean", group, &Field::mean, always);
      }
    }
    add_summary("geomean", {"all", block_.lines}, &Field::mean, always);
    for (const TagGroup& group : groups) {
      const auto counts = [&](const Rows& rows) { return has_total(group.name, rows, all); };
      bool any = false;
      for (std::size_t c = 0; c < fields_.size(); ++c) any |= counts(group.rows(c));
      if (any) add_summary("weighted total", group, &Field::total, counts);
    }
    table_.footer = table_.rows.size() - block_.lines.size();
  }

  const Block& block_;
  std::vector<std::vector<Field>> fields_;  ///< by regime
  Table table_;
};

/// What every number below it depends on.
std::string context_line(const Block& block, bool markdown) {
  std::set<std::string_view> cards, sources;
  for (const BestRow* row : block.rows) {
    cards.insert(row->run.gpu_uuid);
    sources.insert(row->run.kernel_sources);
  }
  std::vector<std::string_view> regimes;
  for (const Regime regime : block.regimes) regimes.push_back(to_string(regime));
  return fmt::format(
      "{}{}, {}, {}{}\n", for_reader(environment_text(block.rows.front()->environment), markdown),
      cards.size() > 1 ? fmt::format(", {} cards", cards.size()) : "",
      for_reader(dates_text(block.rows), markdown), fmt::join(regimes, " and "),
      sources.size() > 1 ? fmt::format(", {} states of the kernel sources", sources.size()) : "");
}

bool is_tie(const BestRow& row, const std::string& label) {
  return std::ranges::find(row.ties, label) != row.ties.end();
}

/// "0.985x the winner in burst", of a config that won in another regime.
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

/// Where the regimes of a block disagree; empty for a block of one.
std::string regimes_note(const Block& block, bool markdown) {
  if (block.regimes.size() < 2) return "";
  int problems = 0, ties = 0;
  std::vector<std::string> different;
  for (const Line& line : block.lines) {
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
                   different, markdown);
}

std::string faults_note(const Block& block, bool markdown) {
  std::vector<std::string> faults;
  for (const BestRow* row : block.rows) {
    const std::uint64_t events = row->clock_events & clock_event::kFault;
    if (events == 0) continue;
    faults.push_back(fmt::format("{} in {} ({})", for_reader(shape_text(row->problem), markdown),
                                 to_string(row->regime), clock_event_names(events)));
  }
  if (faults.empty()) return "";
  return fmt::format(
      "Cooling or power supply slowed the GPU down, so these times are not what it can do: {}\n",
      fmt::join(faults, ", "));
}

std::string brief_note(const Block& block) {
  const auto count = std::ranges::count_if(
      block.rows, [](const BestRow* row) { return row->label && row->brief; });
  if (count == 0) return "";
  return fmt::format(
      "{} of {} were measured in brief, within a time budget: good enough to choose by, but before "
      "the clock had settled, so that times and ratios may be some percent off those of `--budget "
      "all` or a share.\n",
      count, block.rows.size());
}

std::string for_people(std::span<const BestRow> rows, bool markdown) {
  std::string out;
  const auto blocks = blocks_of(rows);
  for (const Block& block : blocks) {
    std::vector<std::string> pieces = {context_line(block, markdown),
                                       render(BestTable(block, rows).table(), markdown)};
    for (const std::string& note :
         {regimes_note(block, markdown), brief_note(block), faults_note(block, markdown)}) {
      if (!note.empty()) pieces.push_back(note);
    }
    if (!out.empty()) out += '\n';
    out += joined(pieces, markdown);
  }
  std::vector<std::string> missing;
  for (const BestRow& row : rows) {
    if (row.trials == 0) missing.push_back(to_string(row.problem));
  }
  if (!missing.empty()) {
    if (!out.empty() && markdown) out += '\n';
    out += fmt::format("Never recorded: {}\n", fmt::join(missing, ", "));
  }
  if (!out.empty()) return out;
  return "Nothing is recorded yet. To measure on a Hopper GPU: hgemm-tune --shapes llama7b.yaml\n";
}

}  // namespace

std::string format_best(std::span<const BestRow> rows, Format format) {
  std::vector<Json> objects;
  switch (format) {
    case Format::kTable:
      return for_people(rows, false);
    case Format::kMarkdown:
      return for_people(rows, true);
    case Format::kJson:
      std::ranges::transform(rows, std::back_inserter(objects), row_json);
      return dump(Json(objects));
    case Format::kCsv:
      std::ranges::transform(rows, std::back_inserter(objects), row_json);
      return as_csv(row_json(BestRow{}), objects);
  }
  throw Error("an output format outside its enumeration");
}

}  // namespace hgemm
