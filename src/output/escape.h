// Free text (names of GPUs and drivers, tags, paths: whatever a database or a user brought) in what
// others read or run. Each language has one function here; what it returns can end neither the
// line nor the literal, field or cell that it stands in.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "output/json.h"

namespace hgemm {

/// For a line comment of C++, shell, Python or CSV: letters, digits and a few marks that mean
/// nothing there, "?" for all else. A backslash would carry a C++ comment into the next line.
std::string comment_text(std::string_view text);
/// "# name: value" for each member of an object; what is no string is written as JSON.
std::string comment_lines(const Json& object);

/// A Python expression of the same value, indented as JSON is.
std::string python_literal(const Json& json);

/// On one line; in quotes where commas or quotes need them.
std::string csv_field(std::string_view text);

/// On one line, as it is and not as markup.
std::string markdown_text(std::string_view text);
/// The same as a table's cell. A text between two backticks stays code.
std::string markdown_cell(std::string_view text);

}  // namespace hgemm
