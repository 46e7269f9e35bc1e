#pragma once

#include <string_view>

namespace hgemm {

/// Git revision from which this program was built, with "-dirty" appended for uncommitted changes.
std::string_view git_revision();

}  // namespace hgemm
