// The axes of all kernel families as a reference.
#pragma once

#include <string>

#include "output/emit.h"

namespace hgemm {

/// A block for each family: how its labels begin, and a row for each axis, in the order of a
/// label's fields: its name in space files, its field in labels, its values, the value where a
/// space file leaves it out, and what it means. json: a list of objects with family axis field
/// values default in_spaces help. csv: the same columns.
///
/// docs/reference/axes.md is the Markdown of this (scripts/write_reference.sh).
std::string format_axes(const Style& style);

}  // namespace hgemm
