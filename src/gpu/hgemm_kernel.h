// Our kernel on the GPU: a cubin loaded, its parameters encoded, its grid sized, launched.
#pragma once

#include <cuda_runtime_api.h>

#include <filesystem>

#include "gpu/cuda.h"
#include "gpu/operands.h"
#include "kernels/params.h"
#include "kernels/probe_records.h"
#include "space/shape.h"

namespace hgemm {

class HgemmKernel {
 public:
  /// The kernel of a probed config is the one with stamps; the same cubin has the plain one too.
  /// Throws CudaError if the cubin cannot be loaded or its shared memory is refused.
  HgemmKernel(const KernelConfig& config, const std::filesystem::path& cubin);
  HgemmKernel(const HgemmKernel&) = delete;
  HgemmKernel& operator=(const HgemmKernel&) = delete;
  ~HgemmKernel();

  /// CTAs to launch: one cluster per tile, but if persistent no more clusters than the GPU can hold
  /// at once. Asked of the driver, since GPCs differ in size.
  int grid_ctas(const Shape& shape) const;

  /// `records`: of a probed kernel, in zeroed device memory.
  void launch(const KernelParams& params, int ctas, cudaStream_t stream,
              const ProbeRecords& records = {}) const;

 private:
  cudaLaunchConfig_t launch_config(int ctas, cudaStream_t stream,
                                   cudaLaunchAttribute* cluster) const;

  KernelConfig config_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

/// Encodes the tensor maps for one set of operands. Throws Error naming the map that the driver
/// refuses.
KernelParams make_params(const KernelConfig& config, const Shape& shape, const Operands& operands);

}  // namespace hgemm
