#pragma once

#include <memory>

#include "studies/module.h"

namespace hgemm {

std::unique_ptr<StudyModule> micro_module();

}  // namespace hgemm
