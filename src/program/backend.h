// What measures and compiles for a tune. Test programs replace it by fakes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/measurer.h"
#include "record/peer.h"

namespace hgemm::cli {

struct Backend {
  /// The GPUs that `--devices` names, each with a measurer that races the peers too. Throws
  /// NoDevice if there is no GPU that the kernels run on, InputError if the argument names one that
  /// is not there.
  std::function<std::vector<std::unique_ptr<Measurer>>(const std::string& devices,
                                                       const std::vector<Peer>& peers)>
      open_gpus;
  Compiler compiler;
};

/// Worker processes and NVRTC.
Backend real_backend();

}  // namespace hgemm::cli
