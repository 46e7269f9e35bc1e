#include "output/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <compare>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "output/display_width.h"
#include "output/escape.h"
#include "output/table_fit.h"

namespace hgemm {
namespace {

constexpr std::string_view kBelowIndent = "  ";

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (is_letter_or_digit(c)) {
      key += lower(c);
    } else if (!key.empty() && key.back() != '_') {
      key += '_';
    }
  }
  while (key.ends_with('_')) key.pop_back();
  return key;
}

std::vector<std::string> keys_of(const Table& table) {
  std::vector<std::string> keys;
  for (const Table::Column& column : table.columns) {
    if (std::ranges::find(keys, column_key(column)) == keys.end()) {
      keys.push_back(column_key(column));
    }
  }
  return keys;
}

/// The columns of one name: a key, or the heading of the column.
std::vector<std::size_t> columns_named(const Table& table, const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (column_key(table.columns[c]) == name || table.columns[c].name == name) found.push_back(c);
  }
  return found;
}

std::vector<std::size_t> chosen_columns(const Table& table, const Style& style) {
  std::vector<std::size_t> chosen;
  if (style.columns.empty()) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) chosen.push_back(c);
    return chosen;
  }
  for (const std::string& name : style.columns) {
    const auto found = columns_named(table, name);
    if (found.empty()) throw_unknown_column("--columns", name, keys_of(table));
    for (const std::size_t c : found) {
      if (std::ranges::find(chosen, c) == chosen.end()) chosen.push_back(c);
    }
  }
  return chosen;
}

// ---- Order ----

/// The number that a cell is, or that it begins with before a space.
std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || (stop != end && *stop != ' ')) return std::nullopt;
  return value;
}

bool comes_before(std::string_view a, std::string_view b, bool descending) {
  const auto is_nothing = [](std::string_view text) { return text.empty() || text == "-"; };
  if (is_nothing(a) || is_nothing(b)) return !is_nothing(a) && is_nothing(b);
  if (descending) std::swap(a, b);
  const auto number_a = number_of(a), number_b = number_of(b);
  if (number_a && number_b) return *number_a < *number_b;
  return in_natural_order(a, b) < 0;
}

Table sorted(Table table, std::span<const SortKey> keys) {
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    const auto found = columns_named(table, key->column);
    if (found.empty()) throw_unknown_column("--sort", key->column, keys_of(table));
    std::ranges::stable_sort(table.rows, [&](const Table::Row& a, const Table::Row& b) {
      return comes_before(a[found.front()].text, b[found.front()].text, key->descending);
    });
  }
  return table;
}

// ---- For a terminal ----

std::string padded(const std::string& text, std::size_t to, bool right) {
  const std::string fill(to - std::min(to, display_width(text)), ' ');
  return right ? fill + text : text + fill;
}

class TextTable {
 public:
  TextTable(const Table& table, const Fitted& fitted, const Style& style)
      : table_(table), fitted_(fitted), style_(style) {}

  std::string text() {
    add_groups();
    add_line([&](std::size_t c) { return Cell(table_.columns[c].name); });
    for (const std::size_t c : fitted_.below) add_below(heading_of(c), Tone::kPlain);
    add_rule();
    for (const Table::Row& row : table_.rows) {
      add_line([&](std::size_t c) { return row[c]; });
      for (const std::size_t c : fitted_.below) {
        const Table::Column& column = table_.columns[c];
        const bool named = !column.group.empty() || fitted_.below.size() > 1;
        const std::string& name = column.group.empty() ? column.name : column.group;
        if (row[c].text.empty()) continue;
        add_below((named ? name + ": " : "") + one_line(row[c].text), row[c].tone);
      }
    }
    if (!table_.summaries.empty()) add_rule();
    for (const Table::Summary& summary : table_.summaries) add_summary(summary);
    return out_;
  }

 private:
  std::string toned(const std::string& text, Tone tone) const {
    if (!style_.color || tone == Tone::kPlain || text.empty()) return text;
    return fmt::format("\x1b[{}m{}\x1b[0m", tone == Tone::kGood ? 32 : 31, text);
  }

  std::string heading_of(std::size_t c) const {
    const Table::Column& column = table_.columns[c];
    return column.group.empty() ? column.name : column.group + ": " + column.name;
  }

  void end_line(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + '\n';
  }

  template <class CellOf>
  void add_line(CellOf cell_of) {
    struct Part {
      std::vector<std::string> lines;
      Tone tone;
    };
    std::vector<Part> parts;
    std::size_t height = 1;
    for (const auto& [c, width] : fitted_.line) {
      const Cell cell = cell_of(c);
      parts.push_back({lines_of(one_line(cell.text), width), cell.tone});
      height = std::max(height, parts.back().lines.size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string line;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& [c, width] = fitted_.line[i];
        const std::string piece = l < parts[i].lines.size() ? parts[i].lines[l] : "";
        const std::string cell = padded(piece, width, table_.columns[c].right);
        const std::size_t before = std::min(cell.find_first_not_of(' '), cell.size());
        const std::size_t after = cell.find_last_not_of(' ') + 1;
        line += i > 0 ? std::string(kColumnGap, ' ') : "";
        if (after <= before) {
          line += cell;
          continue;
        }
        line += cell.substr(0, before) + toned(cell.substr(before, after - before), parts[i].tone) +
                cell.substr(after);
      }
      end_line(std::move(line));
    }
  }

  /// The heading of a group is above the first of its columns.
  void add_groups() {
    std::string line;
    std::size_t at = 0;
    std::string_view before;
    for (const auto& [c, width] : fitted_.line) {
      const std::string& group = table_.columns[c].group;
      if (group != before && !group.empty()) {
        const std::size_t used = display_width(line);
        line += std::string(at > used ? at - used : 1, ' ') + group;
      }
      before = group;
      at += width + kColumnGap;
    }
    if (!line.empty()) end_line(std::move(line));
  }

  void add_rule() {
    std::string line;
    for (const auto& [c, width] : fitted_.line) {
      line += (line.empty() ? "" : std::string(kColumnGap, ' ')) + std::string(width, '-');
    }
    end_line(std::move(line));
  }

  void add_below(const std::string& text, Tone tone) {
    const std::string line = std::string(kBelowIndent) + text;
    const bool limited = style_.width && !style_.all_columns;
    const std::string all = limited ? wrapped(line, *style_.width) : line;
    const std::size_t indent = kBelowIndent.size();
    out_ += all.substr(0, indent) + toned(all.substr(indent), tone) + '\n';
  }

  void add_summary(const Table::Summary& summary) {
    const std::string title = one_line(summary.title);
    std::size_t room = 0;  // before the first value
    bool any = false;
    for (const auto& [c, width] : fitted_.line) {
      if (!summary.cells[c].text.empty()) {
        const std::size_t value = display_width(one_line(summary.cells[c].text));
        room += table_.columns[c].right ? width - std::min(width, value) : 0;
        any = true;
        break;
      }
      room += width + kColumnGap;
    }
    const std::string before = std::exchange(out_, "");
    if (any) add_line([&](std::size_t c) { return summary.cells[c]; });
    std::string values = std::exchange(out_, before);
    const bool beside = any && display_width(title) + kColumnGap <= room;
    if (beside) values.replace(0, display_width(title), title);
    if (!beside) {
      const bool limited = style_.width && !style_.all_columns;
      out_ += (limited ? wrapped(title, *style_.width) : title) + '\n';
    }
    out_ += values;
  }

  const Table& table_;
  const Fitted& fitted_;
  const Style& style_;
  std::string out_;
};

// ---- Markdown ----

std::string as_markdown(const Table& table, const std::vector<std::size_t>& chosen) {
  std::string out = "|";
  std::string_view group;
  for (const std::size_t c : chosen) {
    const Table::Column& column = table.columns[c];
    const bool begins = !column.group.empty() && column.group != group;
    group = column.group;
    out += fmt::format(" {} |",
                       markdown_cell(begins ? column.group + ": " + column.name : column.name));
  }
  out += "\n|";
  for (const std::size_t c : chosen) out += table.columns[c].right ? "---:|" : "---|";
  for (const Table::Row& row : table.rows) {
    out += "\n|";
    for (const std::size_t c : chosen) out += fmt::format(" {} |", markdown_cell(row[c].text));
  }
  for (const Table::Summary& summary : table.summaries) {
    out += "\n|";
    for (std::string title = summary.title; const std::size_t c : chosen) {
      const std::string& text = summary.cells[c].text;
      if (!title.empty() && !text.empty()) title += ": ";
      out += fmt::format(" {} |", markdown_cell(std::exchange(title, "") + text));
    }
  }
  return out + "\n";
}

std::string left_out_line(std::span<const std::string> keys, std::size_t width) {
  return fmt::format(
      "Left out at {} columns: {}. --wide shows all columns, --columns those that it names.\n",
      width, fmt::join(keys, ", "));
}

}  // namespace

std::string column_key(const Table::Column& column) {
  return column.key.empty() ? key_of(column.name) : column.key;
}

void throw_unknown_column(std::string_view option, const std::string& name,
                          std::span<const std::string> known) {
  throw InputError(fmt::format("{} {}: there is no such column; {}known are {}", option,
                               in_quotes(name), did_you_mean(name, known), fmt::join(known, ", ")));
}

std::strong_ordering in_natural_order(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const auto digits = [&](std::string_view& text) {
        const auto end = std::ranges::find_if_not(text, is_digit);
        std::string_view run = text.substr(0, static_cast<std::size_t>(end - text.begin()));
        text.remove_prefix(run.size());
        run.remove_prefix(std::min(run.find_first_not_of('0'), run.size()));
        return run;
      };
      const std::string_view run_a = digits(a), run_b = digits(b);
      if (run_a.size() != run_b.size()) return run_a.size() <=> run_b.size();
      if (run_a != run_b) return run_a <=> run_b;
    } else if (a[0] != b[0]) {
      return static_cast<unsigned char>(a[0]) <=> static_cast<unsigned char>(b[0]);
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() <=> b.size();
}

Piece render(const Table& given, const Style& style) {
  const Table table = sorted(given, style.sort);
  const std::vector<std::size_t> chosen = chosen_columns(table, style);
  Piece piece("");
  piece.is_table = true;
  if (style.markdown()) {
    piece.text = as_markdown(table, chosen);
    return piece;
  }
  const bool limited = style.width && !style.all_columns;
  const Fitted fitted =
      fit(table, chosen, !style.columns.empty(), limited ? style.width : std::nullopt);
  piece.text = TextTable(table, fitted, style).text();
  for (const std::size_t c : fitted.left_out) {
    const std::string key = column_key(table.columns[c]);
    if (std::ranges::find(piece.left_out, key) == piece.left_out.end()) {
      piece.left_out.push_back(key);
    }
  }
  return piece;
}

std::string joined(std::span<const Piece> pieces, const Style& style) {
  std::string text;
  std::vector<std::string> left_out;
  const bool limited = style.width && !style.markdown();
  for (const Piece& piece : pieces) {
    if (!text.empty() && style.markdown()) text += '\n';
    if (piece.is_table) {
      text += piece.text;
    } else {
      const std::string prose = printable(piece.text);
      text += limited ? wrapped(prose, *style.width) : prose;
    }
    for (const std::string& key : piece.left_out) {
      if (std::ranges::find(left_out, key) == left_out.end()) left_out.push_back(key);
    }
  }
  if (!left_out.empty()) text += wrapped(left_out_line(left_out, *style.width), *style.width);
  return text;
}

}  // namespace hgemm
