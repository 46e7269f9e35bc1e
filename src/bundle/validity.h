// What tuned kernels are valid for, and whether a device is that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// The conditions that an export is valid for.
struct Validity {
  std::string gpu_name;
  int compute_major = 0, compute_minor = 0, sm_count = 0;
  /// Range of the versions that the rows were measured with.
  std::string driver_min, driver_max, cuda_min, cuda_max;
  std::vector<std::string> measured_kernels;  ///< hashes of the kernel sources of the rows
  std::string kernel_hash;                    ///< hash of the kernel sources of this program
  std::string revision;                       ///< of this program
};

/// A device and its driver, as the driver describes them.
struct DeviceFacts {
  std::string gpu_name;
  int compute_major = 0, compute_minor = 0, sm_count = 0;
  std::string driver;   ///< "580.159.04"; "": not known
  int driver_cuda = 0;  ///< the newest CUDA that the driver supports: 13000 of 13.0
};

enum class Misfit {
  kNone,
  kCannotRun,    ///< the GPU is no sm_90: it cannot run the kernels
  kOldDriver,    ///< the driver is older than the CUDA that the kernels were compiled by
  kOtherGpu,     ///< the GPU runs the kernels, but was not the one that was measured
  kOtherDriver,  ///< the driver runs the kernels, but its branch was not measured, or is not known
};
struct DeviceFit {
  Misfit misfit = Misfit::kNone;
  std::string reason;  ///< what was found and what was expected; empty if it fits
};

/// Whether what was measured holds on a device. A driver has to be of a branch (the number before
/// the first point) from the oldest to the newest measured one: within a branch NVIDIA changes
/// defects and little else. `compiler`: the version of the compiler that made the kernels, "13.0";
/// drivers run what compilers of their own major version and older ones make.
DeviceFit fit_of(const Validity& validity, std::string_view compiler, const DeviceFacts& device);

}  // namespace hgemm
