// The fields that programs read, as a reference.
#pragma once

#include <string>

#include "output/style.h"

namespace hgemm {

/// For each answer (best, compare, plan) a row for each of its fields, in the order of JSON: name,
/// type, unit, meaning, when it is null, and what tables call it. json: a list of objects with of
/// field type unit meaning null_if heading. csv: the same columns.
///
/// docs/reference/fields.md is the Markdown of this (scripts/write_reference.sh).
std::string format_fields(const Style& style);

}  // namespace hgemm
