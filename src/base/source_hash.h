// The hash that identifies what source files say to a compiler.
#pragma once

#include <span>
#include <string>

#include "base/embedded.h"

namespace hgemm {

/// Hash of the files' paths and their text without comments; the order of files does not matter.
std::string source_hash(std::span<const EmbeddedFile> files);

}  // namespace hgemm
