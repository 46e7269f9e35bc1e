// What the statuses mean, in packages and in the library that loads bundles.
#pragma once

#include "hgemm_tuned_types.h"

namespace hgemm_tuned_problems {

/// The meaning of a hgemm_tuned_status, for any number.
inline const char* text_of(int status) {
  switch (status) {
    case HGEMM_TUNED_OK:
      return "ok";
    case HGEMM_TUNED_NULL_POINTER:
      return "a pointer that is needed is null";
    case HGEMM_TUNED_BAD_PROBLEM:
      return "M, N, K, a leading dimension, the layout, the epilogue or the batch is out of range";
    case HGEMM_TUNED_BAD_DTYPE:
      return "the type or the output is unknown, or fast sums, scales or two types of A and B are "
             "asked for without 8-bit ones";
    case HGEMM_TUNED_MISALIGNED:
      return "no kernel here takes an operand at this address: all must be at multiples "
             "of 16 bytes, and arrays of addresses at multiples of 8";
    case HGEMM_TUNED_NO_KERNEL:
      return "no kernel here computes this problem, and cuBLAS was not given or has no "
             "such epilogue";
    case HGEMM_TUNED_SMALL_WORKSPACE:
      return "the workspace has fewer bytes than hgemm_tuned_workspace_bytes() says";
    case HGEMM_TUNED_MISALIGNED_WORKSPACE:
      return "the workspace is not at a multiple of 256 bytes";
    case HGEMM_TUNED_NO_HOPPER_GPU:
      return "there is no driver or no GPU, or the current device is not a Hopper GPU (sm_90)";
    case HGEMM_TUNED_CUDA_ERROR:
      return "CUDA refused a call: see hgemm_tuned_last_cuda_error()";
    case HGEMM_TUNED_WORKSPACE_NOT_INITIALISED:
      return "the workspace did not go through hgemm_tuned_init_workspace(), or not since its "
             "device was reset";
    case HGEMM_TUNED_CUBLAS_ERROR:
      return "cuBLAS refused the call, or its handle has another stream";
  }
  return "an unknown status";
}

}  // namespace hgemm_tuned_problems
