#include "driver.h"

#include <fmt/format.h>

#include <array>

#include "dynamic_library.h"

namespace hgemm_runtime {
namespace {

struct Found {
  Driver driver;
  std::string why_not;  ///< empty: it is there
};

/// _v2 are the names under which cuda.h declares these functions.
Found load_driver() {
  DynamicLibrary cuda("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!cuda) return {{}, "there is no NVIDIA driver here: libcuda.so.1 cannot be loaded"};
  Found found;
  Driver& d = found.driver;
  cuda.find("cuInit", d.init);
  cuda.find("cuDriverGetVersion", d.version);
  cuda.find("cuDeviceGet", d.device);
  cuda.find("cuDeviceGetName", d.device_name);
  cuda.find("cuDeviceGetAttribute", d.device_attribute);
  cuda.find("cuDevicePrimaryCtxRetain", d.retain_context);
  cuda.find("cuDevicePrimaryCtxRelease_v2", d.release_context);
  cuda.find("cuCtxGetCurrent", d.current_context);
  cuda.find("cuCtxPushCurrent_v2", d.push_context);
  cuda.find("cuCtxPopCurrent_v2", d.pop_context);
  cuda.find("cuCtxGetId", d.context_id);
  cuda.find("cuLibraryLoadData", d.load_library);
  cuda.find("cuLibraryUnload", d.unload_library);
  cuda.find("cuLibraryGetKernel", d.kernel);
  cuda.find("cuKernelSetAttribute", d.set_attribute);
  cuda.find("cuKernelGetFunction", d.function);
  cuda.find("cuFuncLoad", d.load_function);
  cuda.find("cuOccupancyMaxActiveClusters", d.most_clusters);
  cuda.find("cuOccupancyMaxActiveBlocksPerMultiprocessor", d.most_ctas_per_sm);
  cuda.find("cuTensorMapEncodeTiled", d.encode_tensor_map);
  cuda.find("cuMemsetD8Async", d.fill);
  cuda.find("cuMemAlloc_v2", d.allocate);
  cuda.find("cuMemFree_v2", d.free);
  cuda.find("cuThreadExchangeStreamCaptureMode", d.exchange_capture_mode);
  cuda.find("cuLaunchKernelEx", d.launch);
  cuda.find("cuGetErrorString", d.error_string);
  if (cuda.missing != nullptr) {
    found.why_not = fmt::format("the driver has no {}: install a driver of CUDA 13", cuda.missing);
  } else if (const CUresult code = d.init(0); code != CUDA_SUCCESS) {
    found.why_not = fmt::format("the driver finds no GPU: {}", d.text_of(code));
  }
  return found;
}

/// The ABI of NVML, whose header is not part of every toolkit; 0 is success.
std::string driver_version() {
  DynamicLibrary nvml("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!nvml) return "";
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  nvml.find("nvmlInit_v2", init);
  nvml.find("nvmlShutdown", shutdown);
  nvml.find("nvmlSystemGetDriverVersion", version);
  if (nvml.missing != nullptr || init() != 0) return "";
  std::array<char, 80> text{};
  const bool known = version(text.data(), static_cast<unsigned>(text.size())) == 0;
  shutdown();
  return known ? text.data() : "";
}

}  // namespace

std::string Driver::text_of(CUresult code) const {
  const char* text = nullptr;
  if (error_string(code, &text) != CUDA_SUCCESS || text == nullptr) text = "unknown error";
  return fmt::format("{} (error {})", text, static_cast<int>(code));
}

const Driver* find_driver(std::string* why_not) {
  static const Found found = load_driver();
  if (found.why_not.empty()) return &found.driver;
  *why_not = found.why_not;
  return nullptr;
}

CUresult facts_of(const Driver& driver, CUdevice device, hgemm::DeviceFacts* facts) {
  std::array<char, 256> name{};
  CUresult code = driver.device_name(name.data(), static_cast<int>(name.size()), device);
  const auto ask = [&](CUdevice_attribute attribute, int& value) {
    if (code == CUDA_SUCCESS) code = driver.device_attribute(&value, attribute, device);
  };
  ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, facts->compute_major);
  ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, facts->compute_minor);
  ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, facts->sm_count);
  if (code == CUDA_SUCCESS) code = driver.version(&facts->driver_cuda);
  facts->gpu_name = name.data();
  static const std::string version = driver_version();
  facts->driver = version;
  return code;
}

}  // namespace hgemm_runtime
