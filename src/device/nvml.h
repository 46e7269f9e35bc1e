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
  /// Joules since the driver was loaded. The counter advances about every 100 ms (H200).
  std::optional<double> energy_j() const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace hgemm
