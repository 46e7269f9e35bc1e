// Hardware counters as text.
#pragma once

#include <span>
#include <string>

#include "output/emit.h"
#include "record/study.h"

namespace hgemm {

/// json: a list of objects with m n k dtype layout tag label status message gpu driver started_utc
/// counters; counters is a list of objects with metric unit value source. csv: a line for each
/// counter, with the columns m n k dtype layout tag label status message gpu driver started_utc
/// metric unit value source; a study without counters has one line, with the last four columns
/// empty.
///
/// Counters are in the order of counter_metrics(), then of derived_counters(), then unknown ones by
/// name, whatever their order in `studies`. In tables the stall reasons come last.
///
/// table and md: for each session (card, environment, state of the kernels) and problem a table
/// with a line for each metric and a column for each candidate: our kernels first, then cublas,
/// then cublaslt. The line of a stall reason is left out if it is below kShownStall for every
/// candidate. Failed candidates are listed below, with the cause.
std::string format_counters(std::span<const RecordedStudy> studies, const Style& style);

/// % of warp cycles. Most of the 19 reasons are near zero.
inline constexpr double kShownStall = 1;

}  // namespace hgemm
