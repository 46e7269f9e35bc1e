// Labels from before kernels had families: one set of fields for all, including the type and, if
// they were constants, the extents of the problem. Old databases, commands and notes have such
// labels; the table in legacy_labels.cpp maps each field to its present form.
#pragma once

#include <string>
#include <string_view>

namespace hgemm {

/// The present label of an old label's config; any other text is returned unchanged.
std::string modern_label(std::string_view text);

/// The present build_name() of an old label's build (the label had its type and extents). Any other
/// text is returned unchanged.
std::string modern_build_name(std::string_view text);

}  // namespace hgemm
