// What names the code of a cubin, whatever else the file holds.
#pragma once

#include <string>
#include <string_view>

namespace hgemm {

/// Hash of the executable sections of a cubin (64-bit ELF): the same whatever kernels are called in
/// it, in whatever order they stand, and whatever comments, line tables or headers that nothing is
/// used of their source had. 32 hex digits. Throws Error if `cubin` is no such file.
std::string code_hash(std::string_view cubin);

}  // namespace hgemm
