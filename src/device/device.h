// The GPU of this process: the first visible one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "families/family.h"

namespace hgemm {

/// Properties of the GPU. (search/devices.h has the known data of each GPU model.)
struct Gpu {
  std::string name;
  std::string uuid;        ///< "GPU-xxxxxxxx-..."
  std::string pci_bus_id;  ///< "0000:18:00.0"
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  int max_sm_mhz = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  DeviceLimits limits;
  std::string driver_cuda_version;  ///< the newest CUDA that the driver supports, e.g. "13.0"
};

/// A GPU that this process could use.
struct VisibleGpu {
  int index = 0;  ///< among the visible ones, as CUDA_VISIBLE_DEVICES orders them
  std::string uuid;
  std::string name;
  std::string why_unusable;  ///< empty if the kernels run on it
  bool busy = false;         ///< another process uses it, as far as NVML knows
};
/// All visible GPUs. Creates no CUDA context. Throws NoDevice if there is no driver or no GPU.
std::vector<VisibleGpu> visible_gpus();

/// Creates this process's CUDA context on device 0. Throws NoDevice if there is no driver or no
/// GPU, or if it is not sm_90.
Gpu open_device();

/// CUDA runtime with which the program was built, e.g. "13.0".
std::string cuda_runtime_version();
std::string cuda_version_text(int version);  ///< 13000 -> "13.0"

/// Names of the libraries of cuBLAS that the program loads, e.g. "libcublas.so.13".
std::vector<std::string> cublas_libraries();

/// Bytes of device memory that are free at this moment.
std::size_t free_device_bytes();

}  // namespace hgemm
