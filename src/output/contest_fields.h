// The output fields of a contest.
#pragma once

#include <span>

#include "output/fields.h"
#include "results/contest.h"

namespace hgemm {

using BoutField = Field<Bout>;
std::span<const BoutField> bout_fields();

using ScoreField = Field<Score>;
std::span<const ScoreField> score_fields();

using ExclusionField = Field<Exclusion>;
std::span<const ExclusionField> exclusion_fields();

}  // namespace hgemm
