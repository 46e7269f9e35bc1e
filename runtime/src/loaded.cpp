#include "loaded.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "families/launch.h"
#include "launch.h"
#include "workspace_layout.h"

namespace hgemm_runtime {

using namespace hgemm;
using hgemm_tuned_table::kFlagBytes;
using hgemm_tuned_table::kWorkspaceUnit;

Libraries::~Libraries() {
  for (CUlibrary library : loaded_) driver_.unload_library(library);
}

Outcome Libraries::load(const std::vector<BundleKernel>& kernels) {
  while (loaded_.size() < kernels.size()) {
    CUlibrary library = nullptr;
    const CUresult code = driver_.load_library(&library, kernels[loaded_.size()].cubin.data(),
                                               nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (code != CUDA_SUCCESS) return driver_failed(driver_, code, "loading a kernel");
    loaded_.push_back(library);
  }
  return {};
}

LoadedDevice::~LoadedDevice() {
  if (context_ != nullptr) driver.release_context(device_);
}

Outcome LoadedDevice::load(const std::vector<BundleKernel>& kernels, const Libraries& libraries) {
  if (const CUresult code = driver.retain_context(&context_, device_); code != CUDA_SUCCESS) {
    context_ = nullptr;
    return driver_failed(driver, code, "making the device's context");
  }
  const CurrentContext current(driver, context_);
  CUresult code = current.code();
  int sm_count = 0;
  if (code == CUDA_SUCCESS) code = driver.context_id(context_, &context_id_);
  if (code == CUDA_SUCCESS) {
    code = driver.device_attribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_);
  }
  if (code != CUDA_SUCCESS) return driver_failed(driver, code, "asking for the device's context");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (Outcome loaded = load_kernel(kernels[i], libraries.of(i), sm_count); !loaded.is_ok()) {
      loaded.text = fmt::format("{}: {}", kernels[i].label, loaded.text);
      return loaded;
    }
  }
  return {};
}

Outcome LoadedDevice::load_kernel(const BundleKernel& bundled, CUlibrary library, int sm_count) {
  LoadedKernel loaded;
  CUkernel kernel = nullptr;
  CUresult code = driver.kernel(&kernel, library, bundled.function.c_str());
  if (code == CUDA_SUCCESS) {
    code = driver.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                smem_bytes(bundled.kernel), kernel, device_);
  }
  if (code == CUDA_SUCCESS) code = driver.function(&loaded.function, kernel);
  if (code == CUDA_SUCCESS) code = driver.load_function(loaded.function);
  if (code != CUDA_SUCCESS) return driver_failed(driver, code, "loading the kernel");

  LaunchAttributes attributes;
  const DriverLaunch launch(
      launch_config(bundled.kernel, cluster_size(bundled.kernel), nullptr, &attributes));
  code = driver.most_clusters(&loaded.resident, loaded.function, launch.config());
  if (code != CUDA_SUCCESS) return driver_failed(driver, code, "asking how many clusters fit");
  if (loaded.resident < 1) {
    return {HGEMM_BUNDLE_DRIVER_ERROR, "the device cannot hold one cluster of the kernel"};
  }
  if (!bundled.pack_function.empty()) {
    int ctas = 0;
    code = driver.kernel(&kernel, library, bundled.pack_function.c_str());
    if (code == CUDA_SUCCESS) code = driver.function(&loaded.pack_function, kernel);
    if (code == CUDA_SUCCESS) code = driver.load_function(loaded.pack_function);
    if (code == CUDA_SUCCESS) {
      code = driver.most_ctas_per_sm(&ctas, loaded.pack_function, kPackThreads, 0);
    }
    if (code != CUDA_SUCCESS) return driver_failed(driver, code, "loading the kernel that packs");
    loaded.pack_ctas = ctas * sm_count;
  }
  kernels_.push_back(loaded);
  return {};
}

bool LoadedDevice::is_alive() const {
  unsigned long long id = 0;
  return driver.context_id(context_, &id) == CUDA_SUCCESS && id == context_id_;
}

Outcome LoadedDevice::init_workspace(CUstream stream, void* workspace, std::size_t bytes) {
  if (!is_multiple_of(workspace, kWorkspaceUnit)) return {HGEMM_TUNED_MISALIGNED_WORKSPACE};
  const CurrentContext current(driver, context_);
  CUresult code = current.code();
  if (code == CUDA_SUCCESS) {
    code = driver.fill(reinterpret_cast<CUdeviceptr>(workspace), 0, std::min(bytes, kFlagBytes),
                       stream);
  }
  if (code != CUDA_SUCCESS) return driver_failed(driver, code, "lowering a workspace's flags");
  const std::unique_lock lock(mutex_);
  workspaces_[workspace] = bytes;
  return {};
}

Outcome LoadedDevice::new_workspace(CUstream stream, std::size_t bytes, void** workspace) {
  CUdeviceptr allocated = 0;
  {
    const CurrentContext current(driver, context_);
    const RelaxedCapture relaxed(driver);
    CUresult code = current.code();
    if (code == CUDA_SUCCESS) code = driver.allocate(&allocated, bytes);
    if (code != CUDA_SUCCESS) return driver_failed(driver, code, "allocating a workspace");
  }
  void* const address = reinterpret_cast<void*>(allocated);
  if (Outcome made = init_workspace(stream, address, bytes); !made.is_ok()) {
    free_workspace(address);
    return made;
  }
  *workspace = address;
  return {};
}

void LoadedDevice::forget_workspace(const void* workspace) {
  const std::unique_lock lock(mutex_);
  workspaces_.erase(workspace);
}

Outcome LoadedDevice::free_workspace(void* workspace) {
  forget_workspace(workspace);
  const CurrentContext current(driver, context_);
  const RelaxedCapture relaxed(driver);
  CUresult code = current.code();
  if (code == CUDA_SUCCESS) code = driver.free(reinterpret_cast<CUdeviceptr>(workspace));
  if (code != CUDA_SUCCESS) return driver_failed(driver, code, "freeing a workspace");
  return {};
}

bool LoadedDevice::has_workspace(const void* address, std::size_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto found = workspaces_.find(address);
  return found != workspaces_.end() && found->second >= bytes;
}

}  // namespace hgemm_runtime
