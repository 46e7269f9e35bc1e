// Folders of compiled kernels: --cache-dir and --shared-cache.
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

/// Throws InputError if a named path cannot be a cache: it is not a folder and cannot become one,
/// or it is the shared cache and users other than its owner may write to it. (A folder of another
/// user is not an error, it is not used: compile/cache.h.)
void check_cache(const CacheOptions& options);

/// Sets the folders in `compile`. Call check_cache() first. Folders that are not named get their
/// defaults; the shared cache's default is $HGEMM_TUNE_SHARED_CACHE.
void use_cache(const CacheOptions& options, CompileOptions& compile);

}  // namespace hgemm::cli
