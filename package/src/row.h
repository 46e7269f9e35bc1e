// What table.h lists.
#pragma once

#include "families/kernel.h"

namespace hgemm_tuned_table {

struct TunedKernel {
  const char* label;  ///< of its config
  hgemm::Kernel kernel;
  const void* function;
  const void* pack_function;  ///< null unless it packs
};

/// A tuned problem. Times in microseconds; ratios are cublasGemmEx's time over the kernel's, with
/// the 95 % interval of the median (NaN: too few rounds for one).
struct Row {
  hgemm::ProblemExtents problem;
  hgemm::DataType input, output;
  int kernel;          ///< index in kKernels
  int general_kernel;  ///< for other problems, which a kernel made for one cannot compute; -1: none
  bool gain;           ///< the whole interval is above 1
  double time_us, ratio, ratio_low, ratio_high;
};

constexpr double kUnknown = __builtin_nan("");

}  // namespace hgemm_tuned_table
