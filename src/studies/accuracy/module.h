#pragma once

#include <memory>

#include "studies/module.h"

namespace hgemm {

std::unique_ptr<StudyModule> accuracy_module();

}  // namespace hgemm
