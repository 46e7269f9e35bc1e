// The axes of all kernel families as a reference.
#pragma once

#include <string>

#include "output/emit.h"

namespace hgemm {

/// One block for each family: the prefix of its labels, and a row for each axis in the order of the
/// fields of a label. A row has the name of the axis in space files, its field in labels, its
/// values, those of the whole space, its default in space files, and its meaning. json: a list of
/// objects with family axis field values domain default in_spaces help. csv: the same
/// columns.
///
/// docs/reference/axes.md is the Markdown of this (scripts/write_reference.sh).
std::string format_axes(const Style& style);

}  // namespace hgemm
