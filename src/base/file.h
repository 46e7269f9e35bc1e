// Files that are read whole, and files that are replaced whole.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hgemm {

/// The whole content of a regular file of at most `max_bytes` bytes. Throws InputError with the
/// path and the cause: the file is missing, unreadable, too large, or not a regular file (reading a
/// pipe may wait forever).
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

/// A part of a file, and the size of the whole.
struct FilePart {
  std::string bytes;
  std::uint64_t file_bytes = 0;
};
/// At most `most_bytes` bytes from `offset` on; fewer if the file ends before. Throws InputError
/// like read_file().
FilePart read_part(const std::filesystem::path& path, std::uint64_t offset, std::size_t most_bytes);

/// Replaces `path` by a file with this text, atomically: the text is written to a temporary file
/// beside it, synchronised to disk and renamed. If that fails, the old file stays. A process that
/// is killed in between leaves a file "<name>.XXXXXX". The permissions are `mode`, or 0666 less the
/// umask. Throws Error with the path and the cause.
void replace_file(const std::filesystem::path& path, std::string_view text,
                  std::optional<mode_t> mode = {});

/// Copies a file to `to` in the same way: `to` appears complete, or stays as it was. Throws Error.
void copy_whole(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace hgemm
