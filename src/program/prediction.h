// Answers about shapes without a GPU: measured results where they exist, else predictions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "output/emit.h"
#include "program/aim.h"

namespace hgemm::cli {

/// Prints the answer for each problem in each regime of the aim, from the database `db` or, if that
/// is nullopt, from the results that ship with the program. Throws InputError if there are no
/// problems and for an objective other than time.
void print_predictions(const std::optional<std::string>& db, const Aim& aim,
                       std::span<const GemmProblem> problems, const Style& style);

}  // namespace hgemm::cli
