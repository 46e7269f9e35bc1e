// Which GPUs a command uses: --devices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "record/peer.h"

namespace hgemm::cli {

/// The GPUs of a command, and what their workers load.
struct GpuRequest {
  std::string devices;           ///< the argument of --devices
  std::vector<Peer> peers = {};  ///< raced at every problem
  std::string blas = {};         ///< folder of another cuBLAS (program/blas.h); empty: none
};

/// The GPUs that `argument` names: "all" usable ones, or a list of indices and of UUIDs, which may
/// be shortened ("0,2", "GPU-5ae1"). Empty: the first one that is usable and idle; if all usable
/// ones are busy, the first of them. Throws InputError for an unknown, ambiguous, repeated or
/// unusable GPU, and NoDevice if none is usable.
std::vector<VisibleGpu> choose_gpus(std::span<const VisibleGpu> gpus, const std::string& argument);

}  // namespace hgemm::cli
