#include "device/nvml.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>

namespace hgemm {
namespace {

// The ABI, declared here because nvml.h is not part of every toolkit (NVML API reference, driver
// 580). All functions return 0 for success.
using Device = void*;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;
constexpr unsigned kVersionBufferSize = 80;
constexpr int kInsufficientSize = 7;  ///< there are more processes than the caller has room for
struct Utilization {
  unsigned gpu_percent, memory_percent;
};

template <typename Function>
void load(void* handle, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(handle, name));
}

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  Device device = nullptr;
  bool started = false;

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_pci_bus_id)(const char*, Device*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*enforced_power_limit)(Device, unsigned*) = nullptr;
  int (*power_usage)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*clock_info)(Device, unsigned, unsigned*) = nullptr;
  int (*clock_event_reasons)(Device, unsigned long long*) = nullptr;
  int (*total_energy)(Device, unsigned long long*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*compute_processes)(Device, unsigned*, void*) = nullptr;
  int (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  int (*set_cpu_affinity)(Device) = nullptr;

  ~Library() {
    if (started && shutdown != nullptr) shutdown();
    if (handle != nullptr) dlclose(handle);
  }
};

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

std::optional<Nvml> Nvml::open(const std::string& pci_bus_id, std::string* why) {
  const auto fail = [&](const std::string& reason) -> std::optional<Nvml> {
    if (why != nullptr) *why = reason;
    return std::nullopt;
  };
  auto library = std::make_unique<Library>();
  library->handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return fail(dlerror());
  load(library->handle, "nvmlInit_v2", library->init);
  load(library->handle, "nvmlShutdown", library->shutdown);
  load(library->handle, "nvmlDeviceGetHandleByPciBusId_v2", library->device_by_pci_bus_id);
  load(library->handle, "nvmlSystemGetDriverVersion", library->driver_version);
  load(library->handle, "nvmlDeviceGetEnforcedPowerLimit", library->enforced_power_limit);
  load(library->handle, "nvmlDeviceGetPowerUsage", library->power_usage);
  load(library->handle, "nvmlDeviceGetTemperature", library->temperature);
  load(library->handle, "nvmlDeviceGetClockInfo", library->clock_info);
  load(library->handle, "nvmlDeviceGetCurrentClocksEventReasons", library->clock_event_reasons);
  load(library->handle, "nvmlDeviceGetTotalEnergyConsumption", library->total_energy);
  load(library->handle, "nvmlDeviceGetUtilizationRates", library->utilization);
  load(library->handle, "nvmlDeviceGetComputeRunningProcesses_v3", library->compute_processes);
  load(library->handle, "nvmlDeviceGetMigMode", library->mig_mode);
  load(library->handle, "nvmlDeviceSetCpuAffinity", library->set_cpu_affinity);
  if (library->init == nullptr || library->device_by_pci_bus_id == nullptr) {
    return fail("libnvidia-ml.so.1 lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2");
  }
  if (const int code = library->init(); code != 0) {
    return fail("nvmlInit_v2 returned " + std::to_string(code));
  }
  library->started = true;
  if (const int code = library->device_by_pci_bus_id(pci_bus_id.c_str(), &library->device);
      code != 0) {
    return fail("NVML does not know the device at " + pci_bus_id + " (" + std::to_string(code) +
                ")");
  }
  return Nvml(std::move(library));
}

namespace {

/// The value that `function` writes through its last argument; none if the call fails.
template <typename Value = unsigned, typename Function, typename... Arguments>
std::optional<Value> ask(Function* function, Arguments... arguments) {
  Value value = 0;
  if (function == nullptr || function(arguments..., &value) != 0) return std::nullopt;
  return value;
}

std::optional<double> watts(std::optional<unsigned> milliwatts) {
  if (!milliwatts) return std::nullopt;
  return static_cast<double>(*milliwatts) * 1e-3;
}

std::optional<int> integer(std::optional<unsigned> value) {
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

}  // namespace

std::string Nvml::driver_version() const {
  std::array<char, kVersionBufferSize> version{};
  if (library_->driver_version == nullptr ||
      library_->driver_version(version.data(), kVersionBufferSize) != 0) {
    return {};
  }
  return version.data();
}
std::optional<double> Nvml::power_limit_w() const {
  return watts(ask(library_->enforced_power_limit, library_->device));
}
std::optional<double> Nvml::power_w() const {
  return watts(ask(library_->power_usage, library_->device));
}
std::optional<int> Nvml::temperature_c() const {
  return integer(ask(library_->temperature, library_->device, kTemperatureGpu));
}
std::optional<int> Nvml::sm_mhz() const {
  return integer(ask(library_->clock_info, library_->device, kClockSm));
}
std::optional<int> Nvml::memory_mhz() const {
  return integer(ask(library_->clock_info, library_->device, kClockMemory));
}

std::optional<std::uint64_t> Nvml::clock_event_reasons() const {
  return ask<unsigned long long>(library_->clock_event_reasons, library_->device);
}
std::optional<bool> Nvml::is_busy() const {
  std::optional<bool> busy;
  if (Utilization used{};
      library_->utilization != nullptr && library_->utilization(library_->device, &used) == 0) {
    busy = used.gpu_percent > 0;
  }
  if (library_->compute_processes != nullptr) {
    unsigned count = 0;  // asks for the number only
    const int code = library_->compute_processes(library_->device, &count, nullptr);
    if (code == 0 || code == kInsufficientSize) busy = busy.value_or(false) || count > 0;
  }
  return busy;
}
std::optional<bool> Nvml::is_split() const {
  unsigned now = 0, after_reset = 0;
  if (library_->mig_mode == nullptr ||
      library_->mig_mode(library_->device, &now, &after_reset) != 0) {
    return std::nullopt;
  }
  return now != 0;
}
void Nvml::bind_to_near_cpus() const {
  // It fails where this process may not use those CPUs; then it stays where it is.
  if (library_->set_cpu_affinity != nullptr) library_->set_cpu_affinity(library_->device);
}
std::optional<double> Nvml::energy_j() const {
  const auto millijoules = ask<unsigned long long>(library_->total_energy, library_->device);
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) * 1e-3;
}

}  // namespace hgemm
