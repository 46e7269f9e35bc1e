// What is said to people beside the results: on stderr.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace hgemm {

/// Writes `text` as it is. What cannot be written (a full disk, a closed terminal) is lost: nothing
/// that is said may end a run, and results go elsewhere.
void write_to(std::FILE* file, std::string_view text) noexcept;

/// Writes to stderr, without the control characters that files and databases of others may have
/// brought into the text (they could rewrite what stands on a terminal). Never throws for a
/// stderr that cannot be written.
void say_text(std::string_view text);

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_text(fmt::format(format, std::forward<Args>(args)...));
}

/// Opens /dev/null as each standard stream that is closed: else the next file that is opened would
/// get its number, and be written what is meant for people. For the start of the program.
void open_closed_streams();

}  // namespace hgemm
