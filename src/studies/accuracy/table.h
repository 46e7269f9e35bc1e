// The accuracy of sums as text.
#pragma once

#include <span>
#include <string>

#include "output/emit.h"
#include "record/study.h"

namespace hgemm {

/// json: a list of objects with problem m n k sums promote label data worst rms bias exact_rms
/// outputs status message gpu started_utc, one for each kind of data; a failed study is one object
/// without data. csv: the same columns. sums: "fp32" (of 16-bit operands), "promoted" or "fast";
/// promote: the interval, null for the library.
///
/// table and md: for each environment and shape a table with a row for each kind of data and
/// candidate. Shapes that differ in fast sums only share a table. Failed studies are listed below.
std::string format_accuracy(std::span<const RecordedStudy> studies, const Style& style);

}  // namespace hgemm
