#include "output/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "output/escape.h"

namespace hgemm {
namespace {

/// Characters, not bytes: tags may hold any UTF-8.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t to, bool right) {
  const std::string fill(to - std::min(to, width(text)), ' ');
  return right ? fill + text : text + fill;
}

std::string as_text(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t widest = width(table.columns[c].name);
    for (const auto& row : table.rows) widest = std::max(widest, width(one_line(row[c])));
    widths.push_back(widest);
  }
  std::string out;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      line += (c > 0 ? "  " : "") + padded(one_line(cell(c)), widths[c], table.columns[c].right);
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

std::string as_markdown(const Table& table) {
  std::string out = "|";
  for (const Table::Column& column : table.columns)
    out += fmt::format(" {} |", markdown_cell(column.name));
  out += "\n|";
  for (const Table::Column& column : table.columns) out += column.right ? "---:|" : "---|";
  for (const auto& row : table.rows) {
    out += "\n|";
    for (const std::string& text : row) out += fmt::format(" {} |", markdown_cell(text));
  }
  return out + "\n";
}

}  // namespace

std::string render(const Table& table, bool markdown) {
  return markdown ? as_markdown(table) : as_text(table);
}

}  // namespace hgemm
