#include "device/findings.h"

#include <fmt/format.h>

#include <optional>

#include "device/blas.h"
#include "device/cuda.h"
#include "device/device.h"
#include "device/nvml.h"

namespace hgemm {
namespace {

std::string number(std::optional<int> value, const char* unit) {
  return value ? fmt::format("{} {}", *value, unit) : std::string("unknown");
}

Finding nvml_finding(const Gpu& device, std::optional<Nvml>& nvml) {
  std::string why;
  nvml = Nvml::open(device.pci_bus_id, &why);
  if (!nvml) {
    return {"NVML", false, why,
            "install the driver's management library (libnvidia-ml.so.1); without it power and the "
            "driver's version are not recorded",
            false};
  }
  const std::optional<double> limit_w = nvml->power_limit_w();
  return {"NVML", true,
          fmt::format("driver {}, power limit {}", nvml->driver_version(),
                      limit_w ? fmt::format("{:.0f} W", *limit_w) : "unknown"),
          "", false};
}

Finding clocks_finding(const Gpu& device, const std::optional<Nvml>& nvml) {
  const std::string limit = fmt::format("SM up to {} MHz", device.max_sm_mhz);
  if (!nvml) return {"clocks", true, limit, "", false};
  const std::optional<double> power_w = nvml->power_w();
  return {"clocks", true,
          fmt::format("{}; now SM {}, memory {}, {}, {}", limit, number(nvml->sm_mhz(), "MHz"),
                      number(nvml->memory_mhz(), "MHz"),
                      power_w ? fmt::format("{:.0f} W", *power_w) : "power unknown",
                      number(nvml->temperature_c(), "C")),
          "", false};
}

Finding driver_finding() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
    return {"driver", false, "no NVIDIA driver is installed",
            "install a driver for CUDA 13 or newer"};
  }
  const bool ok = version / 1000 >= CUDART_VERSION / 1000;
  return {"driver", ok, "supports CUDA " + cuda_version_text(version),
          ok ? "" : "install a driver for CUDA 13 or newer"};
}

}  // namespace

std::vector<Finding> gpu_findings() {
  std::vector<Finding> findings;
  findings.push_back(
      {"CUDA", true, fmt::format("runtime {}, cuBLAS {}", cuda_runtime_version(), cublas_version()),
       ""});
  findings.push_back(driver_finding());
  try {
    const Gpu device = open_device();
    findings.push_back(
        {"GPU", true,
         fmt::format("{}, {} SMs, {:.0f} GB, {:.0f} MB L2", device.name, device.sm_count,
                     static_cast<double>(device.memory_bytes) * 1e-9,
                     static_cast<double>(device.l2_bytes) / (1 << 20)),
         ""});
    std::optional<Nvml> nvml;
    findings.push_back(nvml_finding(device, nvml));
    findings.push_back(clocks_finding(device, nvml));
  } catch (const Error& error) {
    findings.push_back(
        {"GPU", false, error.what(),
         dynamic_cast<const NoDevice*>(&error) != nullptr
             ? "tuning needs a Hopper GPU (compute capability 9.0); recorded results "
               "and `plan` work without"
             : "see whether nvidia-smi works and whether another process holds it"});
    for (const char* part : {"NVML", "clocks"}) {
      findings.push_back({part, false, "not asked: there is no GPU to ask", "see GPU", false});
    }
  }
  return findings;
}

}  // namespace hgemm
