#include "compile/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/cpp_text.h"
#include "base/hash.h"
#include "base/source_hash.h"
#include "compile/compiler.h"

namespace hgemm {
namespace {

/// Part of every key: a change of how the source is made changes all keys.
constexpr std::string_view kFormat = "hgemm-tune source 1";

}  // namespace

std::string kernel_source(const Kernel& kernel) {
  std::string source;
  for (const std::string& header : kernel_headers(kernel)) {
    source += fmt::format("#include \"{}\"\n", header);
  }
  source += '\n' + kernel_definition(kernel, "kKernel", "extern \"C\"");
  // The plain kernel is built too, so that the cost of the cycle stamps can be measured.
  return source + probed_definition(kernel, "kKernel", "extern \"C\"");
}

JobMaker::JobMaker(std::span<const EmbeddedFile> files, std::span<const std::string> flags)
    : flags_(flags.begin(), flags.end()), compiler_(nvrtc_identity()) {
  constexpr std::string_view kFolder = "kernels/";
  for (const EmbeddedFile& file : files) {
    std::string_view name = file.path;
    if (name.starts_with(kFolder)) name.remove_prefix(kFolder.size());
    const std::string code = without_comments(file.text);
    headers_[std::string(name)] = {std::string(file.text), content_hash(code),
                                   included_by(file.text)};
  }
}

std::set<std::string> JobMaker::reached_from(std::vector<std::string> names) const {
  std::set<std::string> reached;
  while (!names.empty()) {
    const auto header = headers_.find(names.back());
    names.pop_back();
    // A missing header is for the compiler to report.
    if (header == headers_.end() || !reached.insert(header->first).second) continue;
    std::ranges::copy(header->second.includes, std::back_inserter(names));
  }
  return reached;
}

CompileJob JobMaker::job(const std::string& source) const {
  CompileJob job{source, {}, flags_};
  for (const std::string& name : reached_from(included_by(source))) {
    job.headers.emplace(name, headers_.at(name).text);
  }
  return job;
}

std::string JobMaker::source_key(const std::string& source) const {
  const std::string code = without_comments(source);
  const std::set<std::string> names = reached_from(included_by(source));
  std::vector<std::string_view> texts{kFormat, compiler_, code};
  for (const std::string& name : names) {
    texts.insert(texts.end(), {name, headers_.at(name).code_hash});
  }
  texts.insert(texts.end(), flags_.begin(), flags_.end());
  return content_hash(texts);
}

std::vector<std::string> default_compile_flags() {
  // --no-cache: NVRTC would return a kernel from the driver's own cache (~/.nv) without ptxas'
  // report of registers and spills, by which kernels are judged. No line tables: a cubin then does
  // not depend on edits of comments, which move lines. HGEMM_WAIT_LIMIT_NS: a kernel that deadlocks
  // traps after 2 s (common/ptx.cuh), before its worker is killed; so a deadlock can be
  // distinguished from an endless loop.
  return {"--gpu-architecture=sm_90a", "-std=c++20", "--ptxas-options=-v", "--no-cache",
          "-DHGEMM_WAIT_LIMIT_NS=2000000000"};
}

std::string kernel_source_hash(std::span<const EmbeddedFile> kernel_files) {
  return source_hash(kernel_files);
}

}  // namespace hgemm
