// File systems that other hosts may write to. Internal to store.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hgemm {

/// The name of a network file system, such as "NFS", from its magic number (statfs(2), f_type);
/// empty for a file system of this host alone.
std::string_view network_name(long file_system_type);

/// The same for the file system of a folder; empty if it cannot be found out.
std::string network_of(const std::string& folder);

/// network_of() or, in tests, a substitute.
using FindNetwork = std::function<std::string(const std::string& folder)>;

}  // namespace hgemm
