// Results that ship with the program: what is known without a GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "emit/emit.h"
#include "store/store.h"

namespace hgemm::cli {

/// The races of every database in results/.
std::vector<RecordedRace> shipped_races();

/// Answers from them, on stdout, why nothing is measured (`why_no_gpu`) in the first line: which
/// GPU, driver and date the numbers are from, and what is missing. json and csv are for programs
/// and stand alone; that line then goes to stderr.
void answer_from_records(std::span<const Shape> shapes, Format format,
                         const std::string& why_no_gpu);

}  // namespace hgemm::cli
