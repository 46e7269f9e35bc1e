#pragma once

#include <memory>

#include "studies/module.h"

namespace hgemm {

std::unique_ptr<StudyModule> chain_module();

}  // namespace hgemm
