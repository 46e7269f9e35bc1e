// Messages for people, beside the results: on stderr.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace hgemm {

/// Writes `text` unchanged. Text that cannot be written (a full disk, a closed terminal) is lost: a
/// message must never end a run, and results are written elsewhere.
void write_to(std::FILE* file, std::string_view text) noexcept;

/// Writes to stderr without the control characters that foreign files and databases may have
/// brought into the text (they could rewrite lines of the terminal). Never throws if stderr cannot
/// be written.
void say_text(std::string_view text);

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_text(fmt::format(format, std::forward<Args>(args)...));
}

/// Opens /dev/null for each standard stream that is closed. Otherwise the next file to be opened
/// would get the stream's number, and messages would be written into it. Call it at the start of
/// the program.
void open_closed_streams();

}  // namespace hgemm
