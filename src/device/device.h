// The GPU that this process works on: the first visible one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "families/family.h"

namespace hgemm {

/// The GPU that is used. (search/devices.h has what is known of a kind of GPU.)
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

/// Creates this process's CUDA context on device 0. Throws NoDevice if there is no driver, no GPU,
/// or it is not sm_90.
Gpu open_device();

/// CUDA runtime that the program was built with, e.g. "13.0".
std::string cuda_runtime_version();
std::string cuda_version_text(int version);  ///< 13000 -> "13.0"

/// Bytes of device memory that are free now.
std::size_t free_device_bytes();

}  // namespace hgemm
