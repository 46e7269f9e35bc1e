// Escapes free text (names of GPUs and drivers, tags, paths: anything from a database or a user)
// for text that others read or run. There is one function for each language. Its result cannot end
// the line, literal, field or cell that contains it.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "output/json.h"

namespace hgemm {

/// For a line comment of C++, shell, Python or CSV. Keeps letters, digits and a few marks without
/// meaning there; all else becomes "?". A backslash would extend a C++ comment to the next line.
std::string comment_text(std::string_view text);
/// "# name: value" for each member of an object; values other than strings are written as JSON.
std::string comment_lines(const Json& object);

/// A Python expression of the same value, indented as JSON is.
std::string python_literal(const Json& json);

/// On one line; quoted if it contains commas or quotes.
std::string csv_field(std::string_view text);

/// On one line, escaped so that Markdown shows it literally.
std::string markdown_text(std::string_view text);
/// The same for a cell of a table. Text between two backticks stays code.
std::string markdown_cell(std::string_view text);

}  // namespace hgemm
