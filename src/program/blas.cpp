#include "program/blas.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "device/device.h"

namespace hgemm::cli {
namespace fs = std::filesystem;

std::string blas_folder(const std::optional<std::string>& option) {
  const char* const variable = std::getenv("HGEMM_TUNE_BLAS");
  const std::string given = option ? *option : variable != nullptr ? variable : "";
  if (given.empty()) return {};
  for (const std::string& library : cublas_libraries()) {
    if (fs::is_regular_file(fs::path(given) / library)) continue;
    throw InputError(fmt::format(
        "--blas {}: there is no {}; name the folder that holds it, as lib64 of a CUDA toolkit, or "
        "nvidia/cu13/lib of the wheel nvidia-cublas",
        given, library));
  }
  return fs::absolute(given).string();
}

std::vector<std::string> variables_for_blas(const std::string& folder) {
  if (folder.empty()) return {};
  // The loader looks there before it looks where the program was linked (RUNPATH).
  const char* const others = std::getenv("LD_LIBRARY_PATH");
  const bool has_others = others != nullptr && *others != '\0';
  return {fmt::format("LD_LIBRARY_PATH={}{}{}", folder, has_others ? ":" : "",
                      has_others ? others : "")};
}

}  // namespace hgemm::cli
