// The types of the rows in table.h.
#pragma once

#include "families/kernel.h"

namespace hgemm_tuned_table {

struct TunedKernel {
  const char* label;  ///< label of its config
  hgemm::Kernel kernel;
  const void* function;
  const void* pack_function;  ///< null if it does not pack
};

/// A tuned problem. Times are in microseconds. A ratio is the time of cublasGemmEx (for a batch
/// cublasGemmStridedBatchedEx or cublasGemmBatchedEx; and of a launch that computes the epilogue,
/// if there is one other than alpha) over the kernel's time, with the 95 % interval of the median
/// (NaN: too few rounds for one).
struct Row {
  hgemm::ProblemExtents problem;
  hgemm::GemmKind kind;  ///< its types, its epilogue, and whether it is a batch
  int kernel;            ///< index in kKernels
  int general_kernel;    ///< used for other problems if `kernel` is made for this one; -1: none
  bool gain;             ///< the whole interval is above 1
  double time_us, ratio, ratio_low, ratio_high;
};

constexpr double kUnknown = __builtin_nan("");

}  // namespace hgemm_tuned_table
