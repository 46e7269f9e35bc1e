// From the compiler's log to a verdict on the build. Judging is apart from compiling, and the cache
// keeps logs rather than verdicts, so a changed rule applies to what is already compiled.
#pragma once

#include <string>
#include <string_view>

namespace hgemm {

struct Judgement {
  std::string objection;  ///< why the kernel must not be used, with the compiler's text; else empty
  int registers = 0;      ///< per thread, at entry; of several kernels the most
  int spill_bytes = 0;    ///< stores and loads
  int static_smem_bytes = 0;
};

/// `log` is of one translation unit compiled with --ptxas-options=-v.
Judgement judge(bool succeeded, std::string_view log);

}  // namespace hgemm
