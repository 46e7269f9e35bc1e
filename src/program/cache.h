// Where compiled kernels are kept: --cache-dir and --shared-cache.
#pragma once

#include <optional>
#include <string>

#include "compile/compiler.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

/// As given on the command line.
struct CacheOptions {
  std::optional<std::string> dir;
  std::optional<std::string> shared;
};

void add_cache(CLI::App& command, CacheOptions& options);

/// Throws InputError if a folder that was named cannot be a cache: one that is no folder and cannot
/// become one, or a shared one that others than its owner may write. (A folder of someone else's is
/// done without: compile/cache.h.)
void check_cache(const CacheOptions& options);

/// After check_cache(): the folders, the defaults where none are named ($HGEMM_TUNE_SHARED_CACHE is
/// that of the shared one).
void use_cache(const CacheOptions& options, CompileOptions& compile);

}  // namespace hgemm::cli
