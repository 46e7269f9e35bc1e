#pragma once

#include <string_view>

namespace hgemm {

/// Git revision that this program was built from, "-dirty" appended for uncommitted changes.
std::string_view git_revision();

}  // namespace hgemm
