#include "compile/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "compile/compiler.h"
#include "space/definition.h"
#include "space/label.h"

namespace hgemm {

std::string kernel_source(const KernelConfig& config) {
  std::string source;
  for (const std::string& header : kernel_headers(config)) {
    source += fmt::format("#include \"{}\"\n", header);
  }
  source += '\n' + kernel_definition(config, "kConfig", "extern \"C\"");
  if (!config.probe) return source;
  const std::string cluster_dims =
      cluster_size(config) > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", cluster_size(config))
                               : "";
  // Beside the plain kernel, so that what the stamps cost can be measured.
  return source + fmt::format(R"(
inline constexpr hgemm::KernelConfig kProbed = hgemm::with_probe(kConfig);

extern "C" __global__ void {}__launch_bounds__({}, {})
    {}(const __grid_constant__ hgemm::KernelParams params,
       const __grid_constant__ hgemm::ProbeRecords records) {{
  hgemm::hgemm<kProbed>(params, hgemm::CtaProbe<kProbed>(records));
}}
)",
                              cluster_dims, threads_per_cta(config), config.ctas_per_sm,
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
