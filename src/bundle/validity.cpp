#include "bundle/validity.h"

#include <fmt/format.h>

#include <charconv>

namespace hgemm {
namespace {

/// 580 of "580.159.04"; 0 if the text does not begin with a number.
int first_number(std::string_view version) {
  int number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

constexpr int kCudaPerMajor = 1000;  ///< cuDriverGetVersion() returns 13020 for 13.2

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / kCudaPerMajor, version % kCudaPerMajor / 10);
}

}  // namespace

DeviceFit fit_of(const Validity& validity, std::string_view compiler, const DeviceFacts& device) {
  if (device.compute_major != validity.compute_major ||
      device.compute_minor != validity.compute_minor) {
    return {Misfit::kCannotRun,
            fmt::format("{} has compute capability {}.{}, and the kernels run on {}.{} only",
                        device.gpu_name, device.compute_major, device.compute_minor,
                        validity.compute_major, validity.compute_minor)};
  }
  if (device.driver_cuda / kCudaPerMajor < first_number(compiler)) {
    return {Misfit::kOldDriver,
            fmt::format("the driver supports CUDA up to {}, and the kernels were compiled by CUDA "
                        "{}: install a newer driver",
                        cuda_text(device.driver_cuda), compiler)};
  }
  if (device.gpu_name != validity.gpu_name || device.sm_count != validity.sm_count) {
    return {Misfit::kOtherGpu,
            fmt::format("this GPU is {} with {} SMs, and the kernels were chosen on {} with {} SMs",
                        device.gpu_name, device.sm_count, validity.gpu_name, validity.sm_count)};
  }
  const int branch = first_number(device.driver);
  if (branch < first_number(validity.driver_min) || branch > first_number(validity.driver_max)) {
    return {Misfit::kOtherDriver,
            fmt::format("the driver is {}, and the kernels were measured with {} to {}",
                        device.driver.empty() ? "of an unknown version" : device.driver,
                        validity.driver_min, validity.driver_max)};
  }
  return {};
}

}  // namespace hgemm
