// Lists the recorded studies of one kind.
#pragma once

#include <string>

#include "studies/answer.h"

namespace hgemm {

/// Prints a line for each label, problem and GPU that was studied, the newest first, in the format
/// of `options`: json is a list of objects label problem gpu date status timeline (whether --trace
/// has one to write), csv the same columns.
void list_recorded(const cli::StudyOptions& options, const std::string& kind);

}  // namespace hgemm
