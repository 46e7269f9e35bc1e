// One translation unit through NVRTC, in this process. Runs in the compile workers.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hgemm {

struct CompileJob {
  std::string source;
  std::map<std::string, std::string> headers;  ///< name as in #include -> text
  std::vector<std::string> flags;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CompileJob, source, headers, flags)

/// What the compiler said. The outcome is the same whenever the same job is run.
struct CompilerOutput {
  bool succeeded = false;
  std::string log;    ///< UTF-8: errors, or with --ptxas-options=-v the resources used
  std::string cubin;  ///< bytes; empty if failed
  double cpu_ms = 0;  ///< CPU time of the compiler
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CompilerOutput, succeeded, log, cubin, cpu_ms)

/// Throws Error if the compiler itself is at fault (out of memory, internal error), which says
/// nothing about the source.
CompilerOutput run_nvrtc(const CompileJob& job);

/// PTX of the same job.
std::string nvrtc_ptx(const CompileJob& job);

/// Version for cache keys: finer than nvrtc_version(), which patch releases share.
std::string nvrtc_identity();

}  // namespace hgemm
