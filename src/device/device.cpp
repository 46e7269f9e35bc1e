#include "device/device.h"

#include <fmt/format.h>

#include <array>

#include "device/cuda.h"

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

Gpu open_device() {
  int driver_version = 0;
  if (cudaDriverGetVersion(&driver_version) != cudaSuccess || driver_version == 0) {
    throw NoDevice("no NVIDIA driver is installed");
  }
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    throw NoDevice(fmt::format("the NVIDIA driver (CUDA {}) finds no GPU that can be used: {}",
                               cuda_version_text(driver_version), cudaGetErrorString(code)));
  }
  if (count == 0) throw NoDevice("the NVIDIA driver finds no GPU (is CUDA_VISIBLE_DEVICES empty?)");

  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
  Gpu device;
  device.name = properties.name;
  device.compute_major = properties.major;
  device.compute_minor = properties.minor;
  device.driver_cuda_version = cuda_version_text(driver_version);
  if (properties.major != 9 || properties.minor != 0) {
    throw NoDevice(fmt::format(
        "{} has compute capability {}.{}; the kernels use wgmma and TMA multicast of 9.0 (H100, "
        "H200, H20, GH200)",
        device.name, properties.major, properties.minor));
  }
  check(cudaSetDevice(0), "creating a CUDA context");

  device.uuid = uuid_text(properties.uuid);
  std::array<char, 32> pci_bus_id{};
  check(cudaDeviceGetPCIBusId(pci_bus_id.data(), static_cast<int>(pci_bus_id.size()), 0),
        "asking for the PCI bus id");
  device.pci_bus_id = pci_bus_id.data();
  device.sm_count = properties.multiProcessorCount;
  device.max_sm_mhz = attribute(cudaDevAttrClockRate) / 1000;
  device.l2_bytes = properties.l2CacheSize;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.limits.smem_bytes_per_cta = static_cast<int>(properties.sharedMemPerBlockOptin);
  return device;
}

}  // namespace hgemm
