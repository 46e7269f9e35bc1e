#include "output/escape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hgemm {
namespace {

bool is_one_of(std::string_view marks, char c) { return marks.find(c) != std::string_view::npos; }

/// The result of printable() is valid UTF-8. All of it except these characters may appear in a
/// Python string.
std::string python_string(std::string_view text) {
  std::string literal = "\"";
  for (const char c : one_line(text)) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + '"';
}

std::string python_value(const Json& json, int depth) {
  if (json.is_string()) return python_string(json.get_ref<const std::string&>());
  if (json.is_null()) return "None";
  if (json.is_boolean()) return json.get<bool>() ? "True" : "False";
  if (!json.is_structured()) return compact(json);
  const std::string outer(static_cast<std::size_t>(4 * depth), ' ');
  std::string members;
  for (const auto& [name, value] : json.items()) {
    members += fmt::format("{}\n{}    {}{}", members.empty() ? "" : ",", outer,
                           json.is_object() ? python_string(name) + ": " : "",
                           python_value(value, depth + 1));
  }
  if (!members.empty()) members += '\n' + outer;
  return json.is_object() ? '{' + members + '}' : '[' + members + ']';
}

}  // namespace

std::string comment_text(std::string_view text) {
  constexpr std::string_view kMarks = " ._+-:,/()[]{}\"";
  std::string comment = one_line(text);
  std::ranges::replace_if(
      comment, [&](char c) { return !is_letter_or_digit(c) && !is_one_of(kMarks, c); }, '?');
  return comment;
}

std::string comment_lines(const Json& object) {
  std::string lines;
  for (const auto& [name, value] : object.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : compact(value);
    lines += fmt::format("# {}: {}\n", comment_text(name), comment_text(text));
  }
  return lines;
}

std::string python_literal(const Json& json) { return python_value(json, 0); }

std::string csv_field(std::string_view text) {
  const std::string line = one_line(text);
  if (line.find_first_of(",\"") == std::string::npos) return line;
  std::string quoted = "\"";
  for (const char c : line) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`<&";
  std::string escaped;
  for (const char c : one_line(text)) {
    // "[x](y)" is a link. With "!" before it, it is an image that viewers fetch.
    const bool links = c == '(' && escaped.ends_with(']');
    if (links || is_one_of(kMarkup, c)) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string markdown_cell(std::string_view text) {
  const auto is_code = [](std::string_view cell) {
    return cell.size() > 2 && cell.front() == '`' && cell.find('`', 1) == cell.size() - 1;
  };
  std::string cell;
  for (const char c : is_code(text) ? one_line(text) : markdown_text(text)) {
    cell += c == '|' ? "\\|" : std::string(1, c);
  }
  return cell;
}

}  // namespace hgemm
