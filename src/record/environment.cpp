#include "record/environment.h"

#include <fmt/format.h>

namespace hgemm {

std::vector<std::string> differences(const Environment& from, const Environment& to) {
  std::vector<std::string> all;
  const auto add = [&all](const char* what, const auto& a, const auto& b, const char* unit = "") {
    if (a != b) all.push_back(fmt::format("{} {}{} -> {}{}", what, a, unit, b, unit));
  };
  add("GPU", from.gpu_name, to.gpu_name);
  add("compute capability", fmt::format("{}.{}", from.compute_major, from.compute_minor),
      fmt::format("{}.{}", to.compute_major, to.compute_minor));
  add("SMs", from.sm_count, to.sm_count);
  add("L2", from.l2_bytes, to.l2_bytes, " bytes");
  add("memory", from.memory_bytes, to.memory_bytes, " bytes");
  add("highest SM clock", from.max_sm_mhz, to.max_sm_mhz, " MHz");
  add("power limit", from.power_limit_w, to.power_limit_w, " W");
  add("driver", from.driver, to.driver);
  add("CUDA", from.cuda, to.cuda);
  add("cuBLAS", from.cublas, to.cublas);
  return all;
}

}  // namespace hgemm
