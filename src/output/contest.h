// A contest as text: for people (table, markdown) and for programs (json, csv).
#pragma once

#include <string>

#include "output/style.h"
#include "results/contest.h"

namespace hgemm {

/// json: an object with bouts, scores and exclusions (output/contest_fields.cpp). csv: the bouts.
/// table and md: the bouts against the best library and between peers and hgemm-tune, the scores,
/// and what is excluded and why. `style.columns` and `style.sort` are fields of the bouts.
std::string format_contest(const Contest& contest, const Style& style);

/// Throws InputError if the style names a column that format_contest() does not know.
void check_contest_columns(const Style& style);

}  // namespace hgemm
