// Files that only someone who is trusted can have written. What decides is read from the open
// descriptor, so that nobody can put another file there between the check and the reading.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hgemm {

/// All of a regular file of at most `max_bytes` that `owner` or root owns and that nobody else may
/// write, in a folder of which the same is true. None for any other: it is not there, is someone
/// else's, a link, a pipe, too large, or cannot be read. (An ACL that lets others write shows in
/// the group's permissions.)
std::optional<std::string> read_trusted_file(const std::filesystem::path& path,
                                             std::size_t max_bytes, uid_t owner);

/// Makes `path` such a file of this user's, with this text; everyone may read it who may enter its
/// folder. Makes the folder, if only that is missing, and takes from one of this user's the
/// permission of others to write. Throws Error that says why if it cannot be done, also where the
/// file system does not give this user's files to this user.
void write_trusted_file(const std::filesystem::path& path, std::string_view text);

/// The owner of a folder that nobody else may write, links followed. Throws InputError otherwise.
uid_t owner_of_trusted_folder(const std::filesystem::path& folder);

}  // namespace hgemm
