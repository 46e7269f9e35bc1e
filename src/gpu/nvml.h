// NVML, loaded at run time: it comes with the driver, and there may be none.
#pragma once

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

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace hgemm
