// Labels as they were written before kernels had families: one set of fields for all, with the type
// and, where they were constants, the extents of the problem among them. Old databases, commands
// and notes have such labels; the table in legacy_labels.cpp says what each field is now.
#pragma once

#include <string>
#include <string_view>

namespace hgemm {

/// What label() writes today for the config of an old label; any other text as it is.
std::string modern_label(std::string_view text);

/// What build_name() writes today for the build of an old label: its type and extents were in the
/// label. Any other text as it is.
std::string modern_build_name(std::string_view text);

}  // namespace hgemm
