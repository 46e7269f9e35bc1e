// What can be said of shapes without a GPU: measured where it was, else predicted.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "output/emit.h"
#include "program/aim.h"

namespace hgemm::cli {

/// Prints what is known of each problem in each regime of the aim: from a database, or (none) from
/// the results that ship with the program. Throws InputError without problems, and for an objective
/// other than time.
void print_predictions(const std::optional<std::string>& db, const Aim& aim,
                       std::span<const GemmProblem> problems, const Style& style);

}  // namespace hgemm::cli
