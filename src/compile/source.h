// Makes the compiler's input from a kernel or a study's source, and the key that identifies it.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.h"
#include "compile/nvrtc.h"
#include "families/family.h"

namespace hgemm {

/// The translation unit that instantiates the kernel as
///   extern "C" __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams)
/// If the kernel packs, there is before it
///   extern "C" __global__ void <pack_kernel_name>(const __grid_constant__ hgemm::PackParams)
/// If it is probed, the definition of the plain kernel, and as its own
///   extern "C" __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams,
///                                            const __grid_constant__ hgemm::ProbeRecords)
std::string kernel_source(const Kernel& kernel);

/// Compile jobs that share one set of files. Each job contains only the headers that its source
/// includes, directly or indirectly, so that an edit of a header changes only the jobs that include
/// it.
class JobMaker {
 public:
  /// Headers are named by their path below kernels/, as the kernels include each other.
  JobMaker(std::span<const EmbeddedFile> files, std::span<const std::string> flags);

  CompileJob job(const std::string& source) const;
  /// Identifies what the job of this source compiles: the hash of its flags, the compiler, and the
  /// source and its headers without comments.
  std::string source_key(const std::string& source) const;

 private:
  struct Header {
    std::string text;
    std::string code_hash;  ///< of the text without comments
    std::vector<std::string> includes;
  };
  /// All headers that are included, directly or indirectly, from these names.
  std::set<std::string> reached_from(std::vector<std::string> names) const;

  std::map<std::string, Header> headers_;  ///< by name
  std::vector<std::string> flags_;
  std::string compiler_;
};

}  // namespace hgemm
