// Compiled kernels as files, and what names their code, whatever else the file holds.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace hgemm {

/// A file that holds a compiled kernel.
struct Cubin {
  std::filesystem::path path;  ///< empty: there is none
  std::string hash;            ///< content_hash() of what was compiled
  uid_t owner = 0;             ///< whose file it is (base/trusted_file.h)
};

inline constexpr std::size_t kMaxCubinBytes = std::size_t{1} << 26;

/// The bytes to be loaded. They are checked after they were read, so that what runs is what was
/// compiled, whatever became of the file since. Throws InputError if that is not so, or if the file
/// is gone or not `owner`'s any more.
std::string read_cubin(const Cubin& cubin);

/// Hash of the executable sections of a cubin (64-bit ELF): the same whatever kernels are called in
/// it, in whatever order they stand, and whatever comments, line tables or headers that nothing is
/// used of their source had. 32 hex digits. Throws Error if `cubin` is no such file.
std::string code_hash(std::string_view cubin);

}  // namespace hgemm
