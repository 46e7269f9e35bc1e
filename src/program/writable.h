#pragma once

#include <filesystem>

namespace hgemm::cli {

/// Whether files can be created in `folder`, which need not exist yet. Creates nothing.
bool can_write_into(const std::filesystem::path& folder);

}  // namespace hgemm::cli
