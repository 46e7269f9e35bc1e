// Files that are read whole, and files that are replaced whole.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hgemm {

/// All of a regular file of at most `max_bytes`. Throws InputError that names the path and says
/// what is wrong: it is not there, may not be read, is larger, or is no regular file (to read a
/// pipe may wait forever).
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

/// Makes `path` a file with this text, or leaves what is there as it is: the text is written to a
/// temporary file beside it, synchronised to disk and renamed. A process that is killed between
/// leaves a file "<name>.XXXXXX". Its permissions are `mode`, or what the umask leaves of 0666.
/// Throws Error that names the path and the cause.
void replace_file(const std::filesystem::path& path, std::string_view text,
                  std::optional<mode_t> mode = {});

}  // namespace hgemm
