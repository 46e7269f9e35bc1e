// The fields that programs read, as a reference.
#pragma once

#include <string>

#include "output/style.h"

namespace hgemm {

/// One row for each field of each answer (best, compare, plan), in the order of JSON: name, type,
/// unit, meaning, when it is null, and its heading in tables. json: a list of objects with of field
/// type unit meaning null_if heading. csv: the same columns.
///
/// docs/reference/fields.md is the Markdown of this (scripts/write_reference.sh).
std::string format_fields(const Style& style);

}  // namespace hgemm
