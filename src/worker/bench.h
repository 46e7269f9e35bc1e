// The interface between a study and the process that owns the GPU.
#pragma once

#include <functional>

#include "device/device.h"
#include "device/nvml.h"
#include "device/sampler.h"
#include "worker/lab.h"

namespace hgemm {

/// The resources of a study. It calls `on_step` before each step, with the expected duration, so
/// that a hang can be distinguished from long work.
struct Bench {
  const Gpu& device;
  const Nvml* nvml;  ///< nullptr if NVML is not available
  const OnStep& on_step;
  const Stream& stream;  ///< the process's only one ("ONE STREAM" in device/protocol.h)
};

/// Carries out one study request in this process. Throws CudaError for a failure that may have
/// destroyed the CUDA context. Any other Error becomes a study with status launch_failed and its
/// message. The exception is InputError, which ends the whole run: it is for causes that are not
/// the study's fault and would affect other studies too (no permission, no memory).
using RunStudy = std::function<Study(const StudyRequest&, const Cubins&, const Bench&)>;

}  // namespace hgemm
