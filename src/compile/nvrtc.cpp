#include "compile/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "compile/compiler.h"

namespace hgemm {
namespace {

void check(nvrtcResult result, const char* call) {
  if (result != NVRTC_SUCCESS) {
    throw Error(fmt::format("{}: {}", call, nvrtcGetErrorString(result)));
  }
}

struct DestroyProgram {
  void operator()(nvrtcProgram program) const { nvrtcDestroyProgram(&program); }
};
using Program = std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, DestroyProgram>;

Program create(const CompileJob& job) {
  std::vector<const char*> names, texts;
  for (const auto& [name, text] : job.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  nvrtcProgram program = nullptr;
  check(nvrtcCreateProgram(&program, job.source.c_str(), "hgemm_kernel.cu",
                           static_cast<int>(names.size()), texts.data(), names.data()),
        "nvrtcCreateProgram");
  return Program(program);
}

/// Returns false if the source does not compile.
bool compile(const Program& program, const std::vector<std::string>& flags) {
  std::vector<const char*> options;
  for (const std::string& flag : flags) options.push_back(flag.c_str());
  const nvrtcResult result =
      nvrtcCompileProgram(program.get(), static_cast<int>(options.size()), options.data());
  if (result == NVRTC_ERROR_COMPILATION) return false;
  check(result, "nvrtcCompileProgram");
  return true;
}

/// Calls the pair of functions with which NVRTC returns each text: its size, then the text.
template <typename GetSize, typename Get>
std::string fetch(const Program& program, GetSize get_size, Get get, const char* call) {
  std::size_t size = 0;
  check(get_size(program.get(), &size), call);
  std::string text(size, '\0');
  if (size > 0) check(get(program.get(), text.data()), call);
  return text;
}

std::string fetch_log(const Program& program) {
  std::string log =
      fetch(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog, "nvrtcGetProgramLog");
  while (log.ends_with('\0')) log.pop_back();  // the log may end in several NULs
  // The log quotes source text in any encoding; bytes that are not UTF-8 are replaced.
  using nlohmann::json;
  return json::parse(json(log).dump(-1, ' ', false, json::error_handler_t::replace));
}

double process_cpu_ms() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

}  // namespace

CompilerOutput run_nvrtc(const CompileJob& job) {
  const double start_ms = process_cpu_ms();
  const Program program = create(job);
  CompilerOutput output;
  output.succeeded = compile(program, job.flags);
  output.log = fetch_log(program);
  if (output.succeeded) {
    output.cubin = fetch(program, nvrtcGetCUBINSize, nvrtcGetCUBIN, "nvrtcGetCUBIN");
  }
  output.cpu_ms = process_cpu_ms() - start_ms;
  return output;
}

std::string nvrtc_ptx(const CompileJob& job) {
  // For a virtual architecture NVRTC stops at the PTX, which is the same: ptxas takes a third of
  // the time.
  constexpr std::string_view kReal = "--gpu-architecture=sm_";
  std::vector<std::string> flags = job.flags;
  for (std::string& flag : flags) {
    if (flag.starts_with(kReal)) {
      flag = "--gpu-architecture=compute_" + flag.substr(kReal.size());
    }
  }
  const Program program = create(job);
  if (!compile(program, flags)) throw Error(fetch_log(program));
  return fetch(program, nvrtcGetPTXSize, nvrtcGetPTX, "nvrtcGetPTX");
}

std::string nvrtc_version() {
  int major = 0, minor = 0;
  check(nvrtcVersion(&major, &minor), "nvrtcVersion");
  return fmt::format("{}.{}", major, minor);
}

std::string nvrtc_identity() {
  // The size of the library file distinguishes patch releases, and is equal on all machines.
  Dl_info info{};
  std::uintmax_t bytes = 0;
  if (dladdr(reinterpret_cast<const void*>(&nvrtcVersion), &info) != 0) {
    std::error_code ignored;
    bytes = std::filesystem::file_size(info.dli_fname, ignored);
  }
  return fmt::format("nvrtc {} ({} bytes)", nvrtc_version(), bytes);
}

}  // namespace hgemm
