// From a config, or a study's source, to what the compiler is given.
#pragma once

#include <span>
#include <string>

#include "base/embedded.h"
#include "compile/nvrtc.h"
#include "kernels/config.h"

namespace hgemm {

/// The translation unit that instantiates the kernel for one config, as
///   extern "C" __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams)
/// if the config packs A and B, before it
///   extern "C" __global__ void <pack_kernel_name>(const __grid_constant__ hgemm::PackParams)
/// and, if it is probed, the plain one's beside it and in its own
///   extern "C" __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams,
///                                            const __grid_constant__ hgemm::ProbeRecords)
std::string kernel_source(const KernelConfig& config);

/// Headers are named by their path below kernels/, as the kernels include each other.
CompileJob kernel_job(const KernelConfig& config, std::span<const EmbeddedFile> kernel_files,
                      std::span<const std::string> flags);

/// A study kernel sees both: "ptx.cuh", "micro/wgmma.cuh".
CompileJob study_job(const std::string& source, std::span<const EmbeddedFile> kernel_files,
                     std::span<const EmbeddedFile> study_files, std::span<const std::string> flags);

}  // namespace hgemm
