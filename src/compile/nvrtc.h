// Compiles one translation unit with NVRTC, in this process. The compile workers use it.
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

/// The compiler's output. Equal jobs give equal output, except for cpu_ms.
struct CompilerOutput {
  bool succeeded = false;
  std::string log;    ///< UTF-8: errors, or with --ptxas-options=-v the resources used
  std::string cubin;  ///< bytes; empty if failed
  double cpu_ms = 0;  ///< CPU time of the compiler
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CompilerOutput, succeeded, log, cubin, cpu_ms)

/// Throws Error if the compiler itself fails (out of memory, internal error): such a failure says
/// nothing about the source.
CompilerOutput run_nvrtc(const CompileJob& job);

/// PTX of the same job, for inspection.
std::string nvrtc_ptx(const CompileJob& job);

/// Identifies the compiler in cache keys; patch releases that share an nvrtc_version() differ in
/// it.
std::string nvrtc_identity();

}  // namespace hgemm
