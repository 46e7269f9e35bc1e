// Compiled kernels as files, and the hash that identifies their code.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace hgemm {

/// A file that holds a compiled kernel.
struct Cubin {
  std::filesystem::path path;  ///< empty: no cubin
  std::string hash;            ///< content_hash() of the file as it was compiled
  uid_t owner = 0;             ///< owner of the file (base/trusted_file.h)
};

inline constexpr std::size_t kMaxCubinBytes = std::size_t{1} << 26;

/// Reads the bytes to load. Their hash is checked after reading, so that the loaded code is the
/// compiled code, whatever happened to the file since. Throws InputError if they differ, or if the
/// file is missing or does not belong to `owner` any more.
std::string read_cubin(const Cubin& cubin);

/// Hash of the executable sections of a cubin (64-bit ELF), 32 hex digits. It does not depend on
/// the names of kernels, on their order, or on comments, line tables and unused headers of their
/// source. Throws Error if `cubin` is not such a file.
std::string code_hash(std::string_view cubin);

}  // namespace hgemm
