// Measures whether busy neighbours move a ratio: cards of one host share power and air. Private to
// the module.
#pragma once

#include <optional>

#include "compile/compiler.h"
#include "tune/choice.h"
#include "tune/stage.h"

namespace hgemm {

/// Times the likeliest config of the race against cublas on the first GPU: alone, then while all
/// others run cublas on the same problem at full load. The finding is recorded as a study of the
/// kind "pace". None: no config of the race could be measured, and a warning says why.
std::optional<PaceFinding> check_pace(Gpus& gpus, const Missing& race, const Compiler& compiler);

}  // namespace hgemm
