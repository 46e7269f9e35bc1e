#include "program/cache.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/trusted_file.h"
#include "program/help.h"
#include "program/writable.h"

namespace hgemm::cli {
namespace fs = std::filesystem;
namespace {

/// Empty if there is no shared cache.
std::string shared_cache(const CacheOptions& options) {
  if (options.shared) return *options.shared;
  const char* variable = std::getenv("HGEMM_TUNE_SHARED_CACHE");
  return variable != nullptr ? variable : "";
}

}  // namespace

void add_cache(CLI::App& command, CacheOptions& options) {
  command.add_option("--cache-dir", options.dir, help_text("common", "--cache-dir"))
      ->type_name("FOLDER");
  command.add_option("--shared-cache", options.shared, help_text("common", "--shared-cache"))
      ->type_name("FOLDER");
}

void check_cache(const CacheOptions& options) {
  std::error_code not_there;
  if (options.dir && !fs::is_directory(*options.dir, not_there) && !can_write_into(*options.dir)) {
    throw InputError(fmt::format("the cache {} cannot be written; choose another with --cache-dir",
                                 *options.dir));
  }
  const std::string shared = shared_cache(options);
  if (shared.empty()) return;
  try {
    owner_of_trusted_folder(shared);
  } catch (const InputError& error) {
    throw InputError(fmt::format(
        "the shared cache (--shared-cache, or HGEMM_TUNE_SHARED_CACHE): {}", error.what()));
  }
}

void use_cache(const CacheOptions& options, CompileOptions& compile) {
  compile.cache_dir = options.dir ? fs::path(*options.dir) : default_cache_dir();
  compile.shared_cache = shared_cache(options);
}

}  // namespace hgemm::cli
