#pragma once

#include <filesystem>

namespace hgemm::cli {

/// Whether files can be created in `folder`, which may itself have to be created. Creates nothing.
bool can_write_into(const std::filesystem::path& folder);

}  // namespace hgemm::cli
