#include "emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace hgemm {
namespace {

using Json = nlohmann::ordered_json;

// ---- For programs ----

template <class T>
Json number(const std::optional<T>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json to_json(const BestRow& row) {
  const auto value = [](const std::optional<Ratio>& r) {
    return r ? number(std::optional(r->value)) : Json();
  };
  const auto low = [](const std::optional<Ratio>& r) {
    return r ? number(std::optional(r->interval.low)) : Json();
  };
  const auto high = [](const std::optional<Ratio>& r) {
    return r ? number(std::optional(r->interval.high)) : Json();
  };
  return Json{
      {"m", row.shape.m},
      {"n", row.shape.n},
      {"k", row.shape.k},
      {"dtype", to_string(row.shape.dtype)},
      {"layout", to_string(row.shape.layout)},
      {"tag", row.shape.tag},
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
      {"joules", number(row.joules)},
      {"verified", row.verified},
      {"ties", row.ties},
      {"cublas_time_us", number(row.cublas_time_us)},
      {"cublaslt_time_us", number(row.cublaslt_time_us)},
      {"cublaslt_label", row.cublaslt_label.empty() ? Json() : Json(row.cublaslt_label)},
  };
}

std::string dump(const Json& json) {
  // A tag is a user's text: bytes that are not UTF-8 must not throw here.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_json(std::span<const BestRow> rows) {
  Json list = Json::array();
  for (const BestRow& row : rows) list.push_back(to_json(row));
  return dump(list);
}

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_array())
    return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " "));
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string as_csv(std::span<const BestRow> rows) {
  std::string out;
  const auto add_line = [&out](const Json& row, bool names) {
    const char* separator = "";
    for (const auto& [name, value] : row.items()) {
      out += separator + (names ? name : csv_field(value));
      separator = ",";
    }
    out += '\n';
  };
  add_line(to_json(BestRow{}), true);
  for (const BestRow& row : rows) add_line(to_json(row), false);
  return out;
}

// ---- For people ----

/// Below, memory bounds a GEMM on any Hopper GPU (whose two bounds meet above 200 FLOP per byte) so
/// far under the tensor peak that a share of it looks like a defect.
constexpr double kPeakAboveFlopsPerByte = 40;

/// Text cells; the last `footer` rows are set apart.
struct Table {
  struct Column {
    std::string name;
    bool right = true;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::size_t footer = 0;
};

/// Characters, not bytes: tags may hold any UTF-8.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t to, bool right) {
  const std::string fill(to - std::min(to, width(text)), ' ');
  return right ? fill + text : text + fill;
}

std::string render_table(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t widest = width(table.columns[c].name);
    for (const auto& row : table.rows) widest = std::max(widest, width(row[c]));
    widths.push_back(widest);
  }
  std::string out;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      line += (c > 0 ? "  " : "") + padded(cell(c), widths[c], table.columns[c].right);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  const auto add_rule = [&] {
    add_line([&](std::size_t c) { return std::string(widths[c], '-'); });
  };
  add_line([&](std::size_t c) { return table.columns[c].name; });
  add_rule();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (table.footer > 0 && r == table.rows.size() - table.footer) add_rule();
    add_line([&](std::size_t c) { return table.rows[r][c]; });
  }
  return out;
}

std::string render_markdown(const Table& table) {
  const auto cell = [](const std::string& text) {
    std::string escaped;
    for (const char c : text) {
      if (c == '|') escaped += '\\';
      escaped += c == '\n' ? ' ' : c;
    }
    return escaped;
  };
  std::string out = "|";
  for (const Table::Column& column : table.columns) out += fmt::format(" {} |", column.name);
  out += "\n|";
  for (const Table::Column& column : table.columns) out += column.right ? "---:|" : "---|";
  for (const auto& row : table.rows) {
    out += "\n|";
    for (const std::string& text : row) out += fmt::format(" {} |", cell(text));
  }
  return out + "\n\n";
}

std::string ratio_text(const std::optional<Ratio>& ratio, Stage stage) {
  if (!ratio) return "-";
  if (stage == Stage::kScreen) return fmt::format("{:.3f} [screened]", ratio->value);
  if (std::isnan(ratio->interval.low)) return fmt::format("{:.3f} [few rounds]", ratio->value);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio->value, ratio->interval.low,
                     ratio->interval.high);
}

std::string label_text(const BestRow& row) {
  if (!row.label) return fmt::format("none ok ({} recorded, {} failed)", row.trials, row.failed);
  return row.verified ? *row.label : *row.label + " (not verified)";
}

std::string optional_text(const std::optional<double>& value, const char* format,
                          double scale = 1) {
  return value ? fmt::format(fmt::runtime(format), *value * scale) : "-";
}

std::vector<std::string> cells(const BestRow& row) {
  return {to_string(row.shape),
          row.shape.tag,
          label_text(row),
          optional_text(row.time_us, "{:.2f}"),
          optional_text(row.tflops, "{:.1f}"),
          ratio_text(row.cublas, row.stage),
          ratio_text(row.cublaslt, row.stage),
          row.shape.flops() < kPeakAboveFlopsPerByte * row.shape.bytes()
              ? "-"
              : optional_text(row.peak_fraction, "{:.1f}", 100),
          optional_text(row.sm_mhz, "{:.0f}"),
          row.stage == Stage::kFinal ? fmt::format("{}", row.ties.size()) : "-"};
}

std::string tag_group(const BestRow& row) {
  return row.shape.tag.substr(0, row.shape.tag.find('/'));
}

using Rows = std::vector<const BestRow*>;

/// "3 shapes, 1 only screened": what a line below the table is over.
std::string extent(const Rows& rows) {
  const auto screened = std::count_if(
      rows.begin(), rows.end(), [](const BestRow* row) { return row->stage == Stage::kScreen; });
  const auto timed = std::count_if(rows.begin(), rows.end(),
                                   [](const BestRow* row) { return row->label.has_value(); });
  std::string text = fmt::format("{} shape{}", timed, timed == 1 ? "" : "s");
  if (screened > 0) text += fmt::format(", {} only screened", screened);
  return text;
}

std::vector<std::string> geomean_cells(const std::string& name, const Rows& rows) {
  const auto over = [&rows](std::optional<Ratio> BestRow::*ratio) -> std::string {
    std::vector<double> values;
    for (const BestRow* row : rows) {
      if (row->*ratio) values.push_back((row->*ratio)->value);
    }
    return values.empty() ? "-" : fmt::format("{:.3f}", geomean(values));
  };
  return {
      "geomean", name, extent(rows), "", "", over(&BestRow::cublas), over(&BestRow::cublaslt), "",
      "",        ""};
}

/// What a model gains that runs each shape as often as its weight says.
std::vector<std::string> total_cells(const std::string& name, const Rows& rows) {
  double ours_us = 0;
  for (const BestRow* row : rows) ours_us += row->shape.weight * *row->time_us;
  const auto against = [&](std::optional<Ratio> BestRow::*ratio) -> std::string {
    double theirs_us = 0;
    for (const BestRow* row : rows) {
      if (!(row->*ratio)) return "-";
      theirs_us += row->shape.weight * *row->time_us * (row->*ratio)->value;
    }
    return fmt::format("{:.3f}", theirs_us / ours_us);
  };
  return {"weighted total",
          name,
          extent(rows),
          fmt::format("{:.2f}", ours_us),
          "",
          against(&BestRow::cublas),
          against(&BestRow::cublaslt),
          "",
          "",
          ""};
}

struct TagGroup {
  std::string name;
  Rows rows;
};

/// In the order of their first rows.
std::vector<TagGroup> tag_groups(const Rows& rows) {
  std::vector<TagGroup> groups;
  for (const BestRow* row : rows) {
    const auto known = std::find_if(groups.begin(), groups.end(), [row](const TagGroup& group) {
      return group.name == tag_group(*row);
    });
    if (known != groups.end()) {
      known->rows.push_back(row);
    } else {
      groups.push_back({tag_group(*row), {row}});
    }
  }
  return groups;
}

/// A sum over part of a model would pass for the model. `all` are the rows of every block.
bool has_total(const TagGroup& group, std::span<const BestRow> all) {
  const auto wanted = std::count_if(all.begin(), all.end(), [&group](const BestRow& row) {
    return tag_group(row) == group.name;
  });
  const double weight = group.rows.front()->shape.weight;
  return std::cmp_equal(wanted, group.rows.size()) &&
         std::all_of(group.rows.begin(), group.rows.end(),
                     [](const BestRow* row) { return row->time_us && row->cublas; }) &&
         std::any_of(group.rows.begin(), group.rows.end(),
                     [weight](const BestRow* row) { return row->shape.weight != weight; });
}

/// A geomean per tag group of two shapes or more, if there are several groups; then over all; then
/// the weighted totals.
void add_footer(Table& table, const Rows& rows, std::span<const BestRow> all) {
  const std::vector<TagGroup> groups = tag_groups(rows);
  const auto name = [](const TagGroup& group) {
    return group.name.empty() ? "(no tag)" : group.name;
  };
  const std::size_t before = table.rows.size();
  for (const TagGroup& group : groups) {
    if (groups.size() > 1 && group.rows.size() > 1) {
      table.rows.push_back(geomean_cells(name(group), group.rows));
    }
  }
  table.rows.push_back(geomean_cells("all", rows));
  for (const TagGroup& group : groups) {
    if (has_total(group, all)) table.rows.push_back(total_cells(name(group), group.rows));
  }
  table.footer = table.rows.size() - before;
}

/// What every number below it depends on.
std::string context_line(const Rows& rows) {
  const Environment& e = rows.front()->environment;
  const auto [first, last] = std::minmax_element(
      rows.begin(), rows.end(),
      [](const BestRow* a, const BestRow* b) { return a->started_utc < b->started_utc; });
  const std::string from = (*first)->started_utc.substr(0, 10);
  const std::string to = (*last)->started_utc.substr(0, 10);
  return fmt::format("{} ({} SMs), driver {}, CUDA {}, cuBLAS {}, {}, {}", e.gpu_name, e.sm_count,
                     e.driver, e.cuda, e.cublas, from == to ? from : from + " to " + to,
                     to_string(rows.front()->regime));
}

Table best_table(const Rows& rows, std::span<const BestRow> all) {
  Table table;
  table.columns = {{"shape", false}, {"tag", false}, {"config", false}, {"time us"}, {"TFLOP/s"},
                   {"x cuBLAS"},     {"x cuBLASLt"}, {"% peak"},        {"SM MHz"},  {"ties"}};
  for (const BestRow* row : rows) table.rows.push_back(cells(*row));
  add_footer(table, rows, all);
  return table;
}

/// Results of different environments or regimes never share a table, or a mean.
std::vector<Rows> blocks(std::span<const BestRow> rows) {
  std::vector<Rows> blocks;
  for (const BestRow& row : rows) {
    if (row.trials == 0) continue;
    const auto block = std::find_if(blocks.begin(), blocks.end(), [&row](const Rows& other) {
      return other.front()->regime == row.regime &&
             other.front()->environment.same_conditions(row.environment);
    });
    if (block != blocks.end()) {
      block->push_back(&row);
    } else {
      blocks.push_back({&row});
    }
  }
  return blocks;
}

std::string for_people(std::span<const BestRow> rows, bool markdown) {
  std::string out;
  for (const Rows& block : blocks(rows)) {
    if (!out.empty() && !markdown) out += '\n';
    out += context_line(block) + (markdown ? "\n\n" : "\n");
    const Table table = best_table(block, rows);
    out += markdown ? render_markdown(table) : render_table(table);
  }
  std::vector<std::string> missing;
  for (const BestRow& row : rows) {
    if (row.trials == 0) missing.push_back(to_string(row.shape));
  }
  if (!missing.empty()) {
    out += fmt::format("Never recorded: {}\n", fmt::join(missing, ", "));
  }
  if (!out.empty()) {
    if (markdown && missing.empty()) out.pop_back();
    return out;
  }
  return "Nothing is recorded yet. To measure on a Hopper GPU: hgemm-tune --shapes llama7b.yaml\n";
}

}  // namespace

Format parse_format(std::string_view text) {
  if (text == "table") return Format::kTable;
  if (text == "md") return Format::kMarkdown;
  if (text == "json") return Format::kJson;
  if (text == "csv") return Format::kCsv;
  throw InputError(fmt::format("unknown format '{}': use table, md, json or csv", text));
}

std::string format_best(std::span<const BestRow> rows, Format format) {
  switch (format) {
    case Format::kTable:
      return for_people(rows, false);
    case Format::kMarkdown:
      return for_people(rows, true);
    case Format::kJson:
      return as_json(rows);
    case Format::kCsv:
      return as_csv(rows);
  }
  throw Error("an output format outside its enumeration");
}

std::string format_environment(const Environment& e) {
  return dump(Json{{"gpu_name", e.gpu_name},
                   {"gpu_uuid", e.gpu_uuid},
                   {"compute_major", e.compute_major},
                   {"compute_minor", e.compute_minor},
                   {"sm_count", e.sm_count},
                   {"l2_bytes", e.l2_bytes},
                   {"memory_bytes", e.memory_bytes},
                   {"max_sm_mhz", e.max_sm_mhz},
                   {"power_limit_w", e.power_limit_w},
                   {"driver", e.driver},
                   {"cuda", e.cuda},
                   {"cublas", e.cublas},
                   {"nvrtc", e.nvrtc},
                   {"kernel_hash", e.kernel_hash},
                   {"git_revision", e.git_revision}});
}

}  // namespace hgemm
