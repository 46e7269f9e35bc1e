// What the tests of study kernels share.
#pragma once

#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compile/nvrtc.h"
#include "compile/source.h"

namespace hgemm::test {

/// PTX of a study's source, compiled as the studies' kernels are.
inline std::string ptx_of(const std::string& source) {
  static const JobMaker jobs = [] {
    const Toolchain shipped;
    std::vector<EmbeddedFile> files(shipped.kernel_files.begin(), shipped.kernel_files.end());
    files.insert(files.end(), shipped.study_files.begin(), shipped.study_files.end());
    return JobMaker(files, shipped.flags);
  }();
  return nvrtc_ptx(jobs.job(source));
}

}  // namespace hgemm::test
