#include "compile/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "compile/compiler.h"
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

std::string kernel_source(const KernelConfig& config) {
  // A structured binding names every member: one that is added does not compile until it is written
  // out below.
  const auto& [bm, bn, bk, stages, cluster_m, cluster_n, schedule, consumers, mma_depth, order,
               group, epilogue, walk, splits, dtype, a_hint, b_hint, d_hint, promotion, ctas_per_sm,
               pdl, pack, m, n, k, probe] = config;
  const std::string cluster_dims =
      cluster_size(config) > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", cluster_size(config))
                               : "";
  const Body body = body_of(config);
  KernelConfig plain = config;
  plain.probe = false;
  std::string source = fmt::format(
      R"(#include "{}"

inline constexpr hgemm::KernelConfig kConfig{{
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

extern "C" __global__ void {}__launch_bounds__({}, {})
    {}(const __grid_constant__ hgemm::KernelParams params) {{
  hgemm::{}<kConfig>(params);
}}
)",
      body.header, bm, bn, bk, stages, cluster_m, cluster_n, static_cast<int>(schedule), consumers,
      mma_depth, static_cast<int>(order), group, static_cast<int>(epilogue), static_cast<int>(walk),
      splits, static_cast<int>(dtype), static_cast<int>(a_hint), static_cast<int>(b_hint),
      static_cast<int>(d_hint), promotion, ctas_per_sm, pdl, pack, m, n, k, cluster_dims,
      threads_per_cta(config), ctas_per_sm, kernel_name(plain), body.function);
  if (pack) {
    source += fmt::format(R"(
#include "pack.cuh"

extern "C" __global__ void __launch_bounds__(hgemm::kPackThreads)
    {}(const __grid_constant__ hgemm::PackParams params) {{
  hgemm::pack<kConfig.pdl>(params);
}}
)",
                          pack_kernel_name(config));
  }
  if (!probe) return source;
  // Beside the plain kernel, so that what the stamps cost can be measured.
  return source + fmt::format(R"(
inline constexpr hgemm::KernelConfig kProbed = hgemm::with_probe(kConfig);

extern "C" __global__ void {}__launch_bounds__({}, {})
    {}(const __grid_constant__ hgemm::KernelParams params,
       const __grid_constant__ hgemm::ProbeRecords records) {{
  hgemm::hgemm<kProbed>(params, hgemm::CtaProbe<kProbed>(records));
}}
)",
                              cluster_dims, threads_per_cta(config), ctas_per_sm,
                              kernel_name(config));
}

namespace {

void add_headers(CompileJob& job, std::span<const EmbeddedFile> files) {
  constexpr std::string_view kFolder = "kernels/";
  for (const EmbeddedFile& file : files) {
    std::string_view name = file.path;
    if (name.starts_with(kFolder)) name.remove_prefix(kFolder.size());
    job.headers.emplace(name, file.text);
  }
}

}  // namespace

CompileJob kernel_job(const KernelConfig& config, std::span<const EmbeddedFile> kernel_files,
                      std::span<const std::string> flags) {
  CompileJob job{kernel_source(config), {}, {flags.begin(), flags.end()}};
  add_headers(job, kernel_files);
  return job;
}

CompileJob study_job(const std::string& source, std::span<const EmbeddedFile> kernel_files,
                     std::span<const EmbeddedFile> study_files,
                     std::span<const std::string> flags) {
  CompileJob job{source, {}, {flags.begin(), flags.end()}};
  add_headers(job, kernel_files);
  add_headers(job, study_files);
  return job;
}

std::vector<std::string> default_compile_flags() {
  // --no-cache: what NVRTC finds in the driver's own cache (~/.nv) comes without ptxas' report of
  // registers and spills, by which we judge a kernel.
  return {"--gpu-architecture=sm_90a", "-std=c++20", "-lineinfo", "--ptxas-options=-v",
          "--no-cache"};
}

std::string kernel_source_hash(std::span<const EmbeddedFile> kernel_files) {
  std::vector<EmbeddedFile> files(kernel_files.begin(), kernel_files.end());
  std::ranges::sort(files, {}, &EmbeddedFile::path);
  std::vector<std::string_view> texts;
  for (const EmbeddedFile& file : files) texts.insert(texts.end(), {file.path, file.text});
  return content_hash(texts);
}

}  // namespace hgemm
