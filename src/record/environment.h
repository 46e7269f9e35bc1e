// The machine and software of a measurement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hgemm {

/// Results are grouped by environment: the model of a GPU with its limits, and the software. Cards
/// of one model share an environment; results of different environments are never compared
/// silently.
struct Environment {
  std::string gpu_name;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int max_sm_mhz = 0;
  double power_limit_w = 0;  ///< 0 if NVML is not available
  std::string driver;        ///< e.g. "580.159.04"; without NVML, the CUDA version of the driver
  std::string cuda;          ///< runtime, e.g. "13.0"
  std::string cublas;        ///< e.g. "13.1.0"

  bool operator==(const Environment&) const = default;
};

/// Facts recorded for a run beside its environment: card, host and program.
struct RunInfo {
  std::string gpu_uuid;
  std::string host;            ///< empty in databases of old versions
  std::string git_revision;    ///< of the program; "-dirty" appended for uncommitted changes
  std::string kernel_sources;  ///< hash of kernels/ without comments

  bool operator==(const RunInfo&) const = default;
  /// A prefix of kernel_sources that is long enough for people to compare.
  std::string short_kernel_sources() const { return kernel_sources.substr(0, 12); }
};

/// A worker's description of its machine.
struct Machine {
  Environment environment;
  RunInfo run;
};

/// Every condition in which `to` differs from `from`, as "driver 580.1 -> 590.2"; none if they are
/// equal.
std::vector<std::string> differences(const Environment& from, const Environment& to);

/// Whether two records are from the same card, the same environment and the same kernel sources.
/// `One` and `Other` have members `environment` and `run`, as recorded races and studies do.
template <class One, class Other>
bool same_session(const One& a, const Other& b) {
  return a.environment == b.environment && a.run.gpu_uuid == b.run.gpu_uuid &&
         a.run.kernel_sources == b.run.kernel_sources;
}

}  // namespace hgemm
