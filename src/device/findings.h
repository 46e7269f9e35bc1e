// Checks of this machine for `doctor`: each part is ok, or comes with advice.
#pragma once

#include <string>
#include <vector>

namespace hgemm {

struct Finding {
  std::string part;  ///< "driver", "GPU", "clocks", "NVML", "counters", ...
  bool ok = false;
  std::string detail;    ///< what was found, e.g. "580.159.04 (CUDA 13.0)"
  std::string advice;    ///< what to do; empty if ok
  bool required = true;  ///< true: tuning does not work without this part
};

/// Findings about the driver, the CUDA runtime, the GPU (is it sm_90), clocks and NVML. Never
/// throws: a failed query is a finding too. Creates a CUDA context in this process if there is a
/// driver.
std::vector<Finding> gpu_findings();

}  // namespace hgemm
