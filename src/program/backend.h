// What measures and compiles for a tune. Test programs replace it by fakes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/measurer.h"
#include "program/gpus.h"

namespace hgemm::cli {

struct Backend {
  /// The GPUs of the request, each with a measurer. Throws NoDevice if there is no GPU that the
  /// kernels run on, InputError if the request names one that is not there.
  std::function<std::vector<std::unique_ptr<Measurer>>(const GpuRequest&)> open_gpus;
  Compiler compiler;
};

/// Worker processes and NVRTC.
Backend real_backend();

}  // namespace hgemm::cli
