#include "program/database.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace hgemm::cli {

void require_database(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return;
  if (error)
    throw InputError(fmt::format("database {}: cannot be read: {}", path, error.message()));
  throw InputError(
      fmt::format("there is no database {}; check the name, or create it by tuning "
                  "(hgemm-tune --shapes FILE --db {})",
                  path, path));
}

std::string in_words(const Environment& environment) {
  return fmt::format("{}, driver {}, CUDA {}, cuBLAS {}", environment.gpu_name, environment.driver,
                     environment.cuda, environment.cublas);
}

}  // namespace hgemm::cli
