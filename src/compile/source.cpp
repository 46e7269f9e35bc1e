#include "compile/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "compile/compiler.h"

namespace hgemm {

std::string kernel_source(const KernelConfig& config) {
  // A structured binding names every member: one that is added does not compile until it is written
  // out below.
  const auto& [bm, bn, bk, stages, cluster_m, cluster_n, consumers, mma_depth, order, group,
               epilogue, persistent, dtype] = config;
  const std::string cluster_dims =
      cluster_size(config) > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", cluster_size(config))
                               : "";
  return fmt::format(
      R"(#include "hgemm.cuh"

inline constexpr hgemm::KernelConfig kConfig{{
    .bm = {},
    .bn = {},
    .bk = {},
    .stages = {},
    .cluster_m = {},
    .cluster_n = {},
    .consumers = {},
    .mma_depth = {},
    .order = hgemm::TileOrder{{{}}},
    .group = {},
    .epilogue = hgemm::Epilogue{{{}}},
    .persistent = {},
    .dtype = hgemm::Dtype{{{}}},
}};

extern "C" __global__ void {}__launch_bounds__({}, 1)
    hgemm_kernel(const __grid_constant__ hgemm::KernelParams params) {{
  hgemm::hgemm<kConfig>(params);
}}
)",
      bm, bn, bk, stages, cluster_m, cluster_n, consumers, mma_depth, static_cast<int>(order),
      group, static_cast<int>(epilogue), persistent, static_cast<int>(dtype), cluster_dims,
      threads_per_cta(config));
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
