// Where things were measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hgemm {

/// What results are grouped by: the model of a GPU with its limits, and the software on it. Cards
/// of one model are one environment; results of different environments are never compared silently.
struct Environment {
  std::string gpu_name;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int max_sm_mhz = 0;
  double power_limit_w = 0;  ///< 0 if NVML is not there
  std::string driver;        ///< e.g. "580.159.04"; CUDA version of the driver if NVML is not there
  std::string cuda;          ///< runtime, e.g. "13.0"
  std::string cublas;        ///< e.g. "13.1.0"

  bool operator==(const Environment&) const = default;
};

/// What is recorded of a run beside its environment: which card, which host, which program.
struct RunInfo {
  std::string gpu_uuid;
  std::string host;            ///< empty in databases of old versions
  std::string git_revision;    ///< of the program; "-dirty" appended if so
  std::string kernel_sources;  ///< hash of kernels/ without comments

  bool operator==(const RunInfo&) const = default;
  /// Enough of kernel_sources for people to tell two apart.
  std::string short_kernel_sources() const { return kernel_sources.substr(0, 12); }
};

/// What a worker says of itself.
struct Machine {
  Environment environment;
  RunInfo run;
};

/// "driver 580.1 -> 590.2": every condition in which `to` differs from `from`, none if they are
/// equal.
std::vector<std::string> differences(const Environment& from, const Environment& to);

/// Measured on the same card, in the same environment, with the same kernel sources. `One` and
/// `Other` have `environment` and `run`, as recorded races and studies do.
template <class One, class Other>
bool same_session(const One& a, const Other& b) {
  return a.environment == b.environment && a.run.gpu_uuid == b.run.gpu_uuid &&
         a.run.kernel_sources == b.run.kernel_sources;
}

}  // namespace hgemm
