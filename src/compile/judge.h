// Judges a build by the compiler's log. This is separate from compiling, and the cache keeps logs
// rather than verdicts, so that a changed rule also applies to cached builds.
#pragma once

#include <string>
#include <string_view>

namespace hgemm {

struct Judgement {
  /// Why the kernel must not be used, with the compiler's text; empty if it may be.
  std::string objection;
  int registers = 0;    ///< per thread, at entry; the maximum of several kernels
  int spill_bytes = 0;  ///< bytes of spill stores and loads
  int static_smem_bytes = 0;
};

/// `log` must come from one translation unit compiled with --ptxas-options=-v.
Judgement judge(bool succeeded, std::string_view log);

}  // namespace hgemm
