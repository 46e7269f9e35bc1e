// NVML, loaded at run time: it comes with the driver, and may be missing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hgemm {

class Nvml {
 public:
  /// None if the library is missing or cannot be initialised; `why` then gets the reason.
  static std::optional<Nvml> open(const std::string& pci_bus_id, std::string* why = nullptr);
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  // Each is empty if the driver does not answer.
  std::string driver_version() const;  ///< e.g. "580.159.04"
  std::optional<double> power_limit_w() const;
  std::optional<double> power_w() const;
  std::optional<int> temperature_c() const;
  std::optional<int> sm_mhz() const;
  std::optional<int> memory_mhz() const;
  /// The reasons that limit the clocks at this moment: bits of clock_event (record/trial.h).
  std::optional<std::uint64_t> clock_event_reasons() const;
  /// Whether a process computes on the GPU, or it was busy within the last second. (Processes of
  /// other containers are not listed, so its utilisation counts, too.)
  std::optional<bool> is_busy() const;
  /// Whether the GPU is split into instances (MIG), which share its bandwidth and its clock.
  std::optional<bool> is_split() const;
  /// Lets this thread, and those that it will start, run only on the CPUs of the GPU's NUMA node.
  void bind_to_near_cpus() const;
  /// Joules since the driver was loaded. The counter advances about every 100 ms (H200).
  std::optional<double> energy_j() const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace hgemm
