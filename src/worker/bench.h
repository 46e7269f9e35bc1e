// What a study needs of the process that owns the GPU.
#pragma once

#include <functional>

#include "device/device.h"
#include "device/nvml.h"
#include "device/sampler.h"
#include "worker/lab.h"

namespace hgemm {

/// `on_step` announces what is about to run and for how long, so that a hang is told from long
/// work.
struct Bench {
  const Gpu& device;
  const Nvml* nvml;  ///< nullptr where it is not there
  const OnStep& on_step;
};

/// Carries out one request in this process. What fails in a way that may have cost the CUDA context
/// is a CudaError. Any other Error becomes a study with the status launch_failed and its message;
/// but InputError, for what is not the study's fault and would meet others too (no permission, no
/// room), ends the whole run.
using RunStudy = std::function<Study(const StudyRequest&, const Cubins&, const Bench&)>;

}  // namespace hgemm
