#include "program/database.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"

namespace hgemm::cli {

void require_database(const std::string& path) {
  if (std::filesystem::exists(path)) return;
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
