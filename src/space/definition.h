// A config's kernel as source text: what NVRTC compiles, and what an export has.
#pragma once

#include <string>
#include <vector>

#include "kernels/config.h"

namespace hgemm {

/// What its definition needs, by their paths below kernels/: "hgemm.cuh".
std::vector<std::string> kernel_headers(const KernelConfig& config);

/// The config as a constant of that name, and the kernel that is instantiated for it, as
///   <linkage> __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams)
/// and, if the config packs A and B,
///   <linkage> __global__ void <pack_kernel_name>(const __grid_constant__ hgemm::PackParams)
/// Of a probed config the plain kernel.
std::string kernel_definition(const KernelConfig& config, const std::string& constant,
                              const std::string& linkage);

}  // namespace hgemm
