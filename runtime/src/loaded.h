// A bundle's kernels on one device.
#pragma once

#include <cstddef>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bundle/bundle.h"
#include "driver.h"
#include "outcome.h"

namespace hgemm_runtime {

struct LoadedKernel {
  CUfunction function = nullptr;
  CUfunction pack_function = nullptr;  ///< null if nothing is packed
  int resident = 0;                    ///< clusters that the device holds at once
  int pack_ctas = 0;
};

/// The bundle's cubins in the driver, for all devices.
class Libraries {
 public:
  explicit Libraries(const Driver& driver) : driver_(driver) {}
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;
  ~Libraries();
  /// Loads one for each kernel, in their order.
  Outcome load(const std::vector<hgemm::BundleKernel>& kernels);
  CUlibrary of(std::size_t kernel) const { return loaded_[kernel]; }

 private:
  const Driver& driver_;
  std::vector<CUlibrary> loaded_;
};

/// What is known about a device that is prepared. Launches read it from several threads.
class LoadedDevice {
 public:
  LoadedDevice(const Driver& driver, CUdevice device) : driver(driver), device_(device) {}
  LoadedDevice(const LoadedDevice&) = delete;
  LoadedDevice& operator=(const LoadedDevice&) = delete;
  ~LoadedDevice();
  /// Loads every kernel into the device's primary context, so that no launch has to.
  Outcome load(const std::vector<hgemm::BundleKernel>& kernels, const Libraries& libraries);

  /// Whether the context is the one that the kernels were loaded into: a reset makes another.
  bool is_alive() const;
  CUcontext context() const { return context_; }
  const LoadedKernel& kernel(int index) const { return kernels_[static_cast<std::size_t>(index)]; }

  /// Lowers the flags of a workspace, which is known from then on.
  Outcome init_workspace(CUstream stream, void* workspace, std::size_t bytes);
  void forget_workspace(const void* workspace);
  Outcome new_workspace(CUstream stream, std::size_t bytes, void** workspace);
  Outcome free_workspace(void* workspace);
  bool has_workspace(const void* address, std::size_t bytes) const;

  const Driver& driver;

 private:
  Outcome load_kernel(const hgemm::BundleKernel& bundled, CUlibrary library, int sm_count);

  CUdevice device_;
  CUcontext context_ = nullptr;
  unsigned long long context_id_ = 0;
  std::vector<LoadedKernel> kernels_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::size_t> workspaces_;  ///< bytes of each initialised one
};

}  // namespace hgemm_runtime
