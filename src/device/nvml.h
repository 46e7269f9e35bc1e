// NVML, loaded at run time: it comes with the driver, and there may be none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hgemm {

class Nvml {
 public:
  /// None if the library is not there or does not start; `why` then says why.
  static std::optional<Nvml> open(const std::string& pci_bus_id, std::string* why = nullptr);
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  // Each is empty where the driver does not answer.
  std::string driver_version() const;  ///< e.g. "580.159.04"
  std::optional<double> power_limit_w() const;
  std::optional<double> power_w() const;
  std::optional<int> temperature_c() const;
  std::optional<int> sm_mhz() const;
  std::optional<int> memory_mhz() const;
  /// What holds the clocks back now; bits of record/trial.h, namespace clock_event.
  std::optional<std::uint64_t> clock_event_reasons() const;
  /// Since the driver was loaded. Steps about every 100 ms (H200).
  std::optional<double> energy_j() const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace hgemm
