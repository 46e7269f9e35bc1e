// Files that only a trusted user can have written. Owner and permissions are read from the open
// descriptor, so that nobody can replace the file between the check and the reading.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hgemm {

/// The whole content of a regular file of at most `max_bytes` bytes that `owner` or root owns and
/// nobody else may write, in a folder with the same properties. None for any other file: one that
/// is missing, belongs to another user, is a link or a pipe, is too large, or cannot be read. (An
/// ACL that lets others write shows up in the group's permissions.)
std::optional<std::string> read_trusted_file(const std::filesystem::path& path,
                                             std::size_t max_bytes, uid_t owner);

/// Writes `text` to a file of this user that read_trusted_file() accepts; everyone who may enter
/// its folder may read it. Makes the folder if its parent exists; if the folder is this user's,
/// removes the permission of others to write there. Throws Error with the cause if this fails, also
/// where the file system does not give new files to this user.
void write_trusted_file(const std::filesystem::path& path, std::string_view text);

/// The owner of a folder that nobody else may write; links are followed. Throws InputError for any
/// other folder.
uid_t owner_of_trusted_folder(const std::filesystem::path& folder);

}  // namespace hgemm
