#include "space/definition.h"

#include <fmt/format.h>

#include "space/label.h"

namespace hgemm {
namespace {

struct Body {
  const char* header;
  const char* function;
};
Body body_of(const KernelConfig& config) {
  if (is_vector(config)) return {"vector.cuh", "vector"};
  return is_swapped(config) ? Body{"stream.cuh", "stream"} : Body{"hgemm.cuh", "hgemm"};
}

}  // namespace

std::vector<std::string> kernel_headers(const KernelConfig& config) {
  std::vector<std::string> headers = {body_of(config).header};
  if (config.pack) headers.push_back("pack.cuh");
  return headers;
}

std::string kernel_definition(const KernelConfig& config, const std::string& constant,
                              const std::string& linkage) {
  // A structured binding names every member: one that is added does not compile until it is written
  // out below.
  const auto& [bm, bn, bk, stages, cluster_m, cluster_n, schedule, consumers, mma_depth, order,
               group, epilogue, walk, splits, dtype, a_hint, b_hint, d_hint, promotion, ctas_per_sm,
               pdl, pack, m, n, k, probe] = config;
  const std::string cluster_dims =
      cluster_size(config) > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", cluster_size(config))
                               : "";
  KernelConfig plain = config;
  plain.probe = false;
  std::string text = fmt::format(
      R"(inline constexpr hgemm::KernelConfig {}{{
    .bm = {},
    .bn = {},
    .bk = {},
    .stages = {},
    .cluster_m = {},
    .cluster_n = {},
    .schedule = hgemm::Schedule{{{}}},
    .consumers = {},
    .mma_depth = {},
    .order = hgemm::TileOrder{{{}}},
    .group = {},
    .epilogue = hgemm::Epilogue{{{}}},
    .walk = hgemm::Walk{{{}}},
    .splits = {},
    .dtype = hgemm::Dtype{{{}}},
    .a_hint = hgemm::CacheHint{{{}}},
    .b_hint = hgemm::CacheHint{{{}}},
    .d_hint = hgemm::CacheHint{{{}}},
    .promotion = {},
    .ctas_per_sm = {},
    .pdl = {},
    .pack = {},
    .m = {},
    .n = {},
    .k = {},
}};

{} __global__ void {}__launch_bounds__({}, {})
    {}(const __grid_constant__ hgemm::KernelParams params) {{
  hgemm::{}<{}>(params);
}}
)",
      constant, bm, bn, bk, stages, cluster_m, cluster_n, static_cast<int>(schedule), consumers,
      mma_depth, static_cast<int>(order), group, static_cast<int>(epilogue), static_cast<int>(walk),
      splits, static_cast<int>(dtype), static_cast<int>(a_hint), static_cast<int>(b_hint),
      static_cast<int>(d_hint), promotion, ctas_per_sm, pdl, pack, m, n, k, linkage, cluster_dims,
      threads_per_cta(config), ctas_per_sm, kernel_name(plain), body_of(config).function, constant);
  if (!pack) return text;
  return text + fmt::format(R"(
{} __global__ void __launch_bounds__(hgemm::kPackThreads)
    {}(const __grid_constant__ hgemm::PackParams params) {{
  hgemm::pack<{}.pdl>(params);
}}
)",
                            linkage, pack_kernel_name(config), constant);
}

}  // namespace hgemm
