// What the hardware counted, as text.
#pragma once

#include <span>
#include <string>

#include "output/emit.h"
#include "record/study.h"

namespace hgemm {

/// json: a list of objects with m n k dtype layout tag label status message gpu driver started_utc
/// counters, the last one a list of objects with metric unit value source. csv: a line for each
/// counter, with all of these columns: m n k dtype layout tag label status message gpu driver
/// started_utc metric unit value source; a study without counters has one line, the last four
/// empty.
///
/// Counters come in the order of counter_metrics(), then of derived_counters(), then unknown ones
/// by name, whatever their order in `studies`; in tables the reasons to wait come last.
///
/// table and md: for each session (card, environment, state of the kernels) and problem a table
/// with a line for each metric and a column for each candidate: ours first, cublas, then cublaslt.
/// A line of one of the reasons that warps wait for is left out where no candidate loses
/// kShownStall to it. Candidates that failed are listed below, with why.
std::string format_counters(std::span<const RecordedStudy> studies, Format format);

/// % of warp cycles. Of the 19 reasons most are near zero.
inline constexpr double kShownStall = 1;

}  // namespace hgemm
