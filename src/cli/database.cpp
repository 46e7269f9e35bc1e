#include "cli/database.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"

namespace hgemm::cli {
namespace {

/// Enough to tell two hashes apart.
std::string short_hash(const std::string& hash) { return hash.substr(0, 12); }

}  // namespace

void require_database(const std::string& path) {
  if (std::filesystem::exists(path)) return;
  throw InputError(
      fmt::format("there is no database {}; check the name, or create it by tuning "
                  "(hgemm-tune --shapes FILE --db {})",
                  path, path));
}

std::vector<std::string> differences(const Environment& from, const Environment& to) {
  std::vector<std::string> all;
  const auto add = [&all](const char* what, const auto& a, const auto& b) {
    if (a != b) all.push_back(fmt::format("{} {} -> {}", what, a, b));
  };
  add("GPU", from.gpu_name, to.gpu_name);
  add("GPU UUID", from.gpu_uuid, to.gpu_uuid);
  add("compute capability", fmt::format("{}.{}", from.compute_major, from.compute_minor),
      fmt::format("{}.{}", to.compute_major, to.compute_minor));
  add("SMs", from.sm_count, to.sm_count);
  add("L2 bytes", from.l2_bytes, to.l2_bytes);
  add("memory bytes", from.memory_bytes, to.memory_bytes);
  add("max SM MHz", from.max_sm_mhz, to.max_sm_mhz);
  add("power limit W", from.power_limit_w, to.power_limit_w);
  add("driver", from.driver, to.driver);
  add("CUDA", from.cuda, to.cuda);
  add("cuBLAS", from.cublas, to.cublas);
  add("NVRTC", from.nvrtc, to.nvrtc);
  add("kernel sources", short_hash(from.kernel_hash), short_hash(to.kernel_hash));
  return all;
}

std::string in_words(const Environment& environment) {
  return fmt::format("{} ({}), driver {}, kernel sources {}", environment.gpu_name,
                     environment.gpu_uuid, environment.driver, short_hash(environment.kernel_hash));
}

}  // namespace hgemm::cli
