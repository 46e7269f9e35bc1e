// File systems that other hosts may write to. Internal to store.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hgemm {

/// "NFS", of the magic number of a file system (statfs(2), f_type); empty if it is of this host
/// alone.
std::string_view network_name(long file_system_type);

/// The same of the file system that a folder is on; empty if that cannot be found out.
std::string network_of(const std::string& folder);

/// network_of() or, in tests, what stands for it.
using FindNetwork = std::function<std::string(const std::string& folder)>;

}  // namespace hgemm
