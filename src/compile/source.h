// From a kernel, or a study's source, to what the compiler is given, and what names it.
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

/// The translation unit that instantiates the kernel, as
///   extern "C" __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams)
/// if it packs, before it
///   extern "C" __global__ void <pack_kernel_name>(const __grid_constant__ hgemm::PackParams)
/// and, if it is probed, the plain one's beside it and in its own
///   extern "C" __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams,
///                                            const __grid_constant__ hgemm::ProbeRecords)
std::string kernel_source(const Kernel& kernel);

/// Compile jobs that share one set of files. Each job has the headers that its source includes, and
/// those that they include, and no others: so that an edit of a header changes what includes it
/// only.
class JobMaker {
 public:
  /// Headers are named by their path below kernels/, as the kernels include each other.
  JobMaker(std::span<const EmbeddedFile> files, std::span<const std::string> flags);

  CompileJob job(const std::string& source) const;
  /// Names what the job of this source compiles: the hash of its flags, of the compiler, and of the
  /// source and its headers without comments.
  std::string source_key(const std::string& source) const;

 private:
  struct Header {
    std::string text;
    std::string code_hash;  ///< of the text without comments
    std::vector<std::string> includes;
  };
  /// The headers that are reached from these names.
  std::set<std::string> reached_from(std::vector<std::string> names) const;

  std::map<std::string, Header> headers_;  ///< by name
  std::vector<std::string> flags_;
  std::string compiler_;
};

}  // namespace hgemm
