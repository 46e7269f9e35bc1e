// The functions of libcuda that a bundle needs, found at run time, so that the library loads on a
// machine without a driver.
#pragma once

#include <cuda.h>

#include <string>

#include "bundle/validity.h"

namespace hgemm_runtime {

struct Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) version = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;
  decltype(&cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) release_context = nullptr;
  decltype(&cuCtxGetCurrent) current_context = nullptr;
  decltype(&cuCtxPushCurrent) push_context = nullptr;
  decltype(&cuCtxPopCurrent) pop_context = nullptr;
  decltype(&cuCtxGetId) context_id = nullptr;
  decltype(&cuLibraryLoadData) load_library = nullptr;
  decltype(&cuLibraryUnload) unload_library = nullptr;
  decltype(&cuLibraryGetKernel) kernel = nullptr;
  decltype(&cuKernelSetAttribute) set_attribute = nullptr;
  decltype(&cuKernelGetFunction) function = nullptr;
  decltype(&cuFuncLoad) load_function = nullptr;
  decltype(&cuOccupancyMaxActiveClusters) most_clusters = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) most_ctas_per_sm = nullptr;
  decltype(&cuTensorMapEncodeTiled) encode_tensor_map = nullptr;
  decltype(&cuMemsetD8Async) fill = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;
  decltype(&cuLaunchKernelEx) launch = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;

  /// What a code means, in the driver's words.
  std::string text_of(CUresult code) const;
};

/// The driver, initialised; null if there is none, or none with all of these functions, or it finds
/// no GPU. `why_not` then gets the reason.
const Driver* find_driver(std::string* why_not);

/// What a device is. An empty driver version means that NVML is not there to tell.
CUresult facts_of(const Driver& driver, CUdevice device, hgemm::DeviceFacts* facts);

/// Makes a context current as long as it lives, unless it is that already.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext wanted) : driver_(driver) {
    CUcontext current = nullptr;
    code_ = driver.current_context(&current);
    if (code_ == CUDA_SUCCESS && current == wanted) return;
    code_ = driver.push_context(wanted);
    pushed_ = code_ == CUDA_SUCCESS;
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.pop_context(&popped);
  }
  CUresult code() const { return code_; }

 private:
  const Driver& driver_;
  CUresult code_ = CUDA_SUCCESS;
  bool pushed_ = false;
};

/// As long as it lives, a capture of another thread does not forbid this one to allocate and to
/// load.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) {
    driver_.exchange_capture_mode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { driver_.exchange_capture_mode(&mode_); }

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace hgemm_runtime
