#include "device/device.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "device/cuda.h"
#include "device/nvml.h"

namespace hgemm {
namespace {

int attribute(cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, 0), "asking for a device attribute");
  return value;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cuda_runtime_version() { return cuda_version_text(CUDART_VERSION); }

std::size_t free_device_bytes() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free device memory");
  return free_bytes;
}

namespace {

struct Driver {
  int version = 0;
  int gpus = 0;
};

Driver find_driver() {
  Driver driver;
  if (cudaDriverGetVersion(&driver.version) != cudaSuccess || driver.version == 0) {
    throw NoDevice("no NVIDIA driver is installed");
  }
  if (const cudaError_t code = cudaGetDeviceCount(&driver.gpus); code != cudaSuccess) {
    throw NoDevice(fmt::format("the NVIDIA driver (CUDA {}) finds no GPU that can be used: {}",
                               cuda_version_text(driver.version), cudaGetErrorString(code)));
  }
  if (driver.gpus == 0) {
    throw NoDevice("the NVIDIA driver finds no GPU (is CUDA_VISIBLE_DEVICES empty?)");
  }
  return driver;
}

/// Why the kernels cannot run, or not be timed, on this GPU; empty if they can.
std::string why_unusable(const cudaDeviceProp& properties) {
  if (properties.major == 9 && properties.minor == 0) return "";
  return fmt::format(
      "{} has compute capability {}.{}; the kernels use wgmma and TMA multicast of 9.0 (H100, "
      "H200, H20, GH200)",
      properties.name, properties.major, properties.minor);
}

std::string pci_bus_id_of(int index) {
  std::array<char, 32> id{};
  check(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), index),
        "asking for the PCI bus id");
  return id.data();
}

}  // namespace

std::vector<VisibleGpu> visible_gpus() {
  std::vector<VisibleGpu> gpus;
  const int count = find_driver().gpus;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "asking for the device's properties");
    VisibleGpu gpu{.index = index,
                   .uuid = uuid_text(properties.uuid),
                   .name = properties.name,
                   .why_unusable = why_unusable(properties)};
    if (const auto nvml = Nvml::open(pci_bus_id_of(index))) {
      gpu.busy = nvml->is_busy().value_or(false);
      if (gpu.why_unusable.empty() && nvml->is_split().value_or(false)) {
        gpu.why_unusable = fmt::format(
            "{} is split into MIG instances, which share bandwidth and clock: times would mean "
            "nothing",
            gpu.name);
      }
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Gpu open_device() {
  const Driver driver = find_driver();
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
  Gpu device;
  device.name = properties.name;
  device.compute_major = properties.major;
  device.compute_minor = properties.minor;
  device.driver_cuda_version = cuda_version_text(driver.version);
  if (const std::string reason = why_unusable(properties); !reason.empty()) throw NoDevice(reason);
  check(cudaSetDevice(0), "creating a CUDA context");

  device.uuid = uuid_text(properties.uuid);
  device.pci_bus_id = pci_bus_id_of(0);
  device.sm_count = properties.multiProcessorCount;
  device.max_sm_mhz = attribute(cudaDevAttrClockRate) / 1000;
  device.l2_bytes = properties.l2CacheSize;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.limits.smem_bytes_per_cta = static_cast<int>(properties.sharedMemPerBlockOptin);
  return device;
}

}  // namespace hgemm
