// A kernel of ours on the GPU: a cubin loaded, its parameters encoded, its grid sized, launched.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "gpu/cuda.h"
#include "gpu/launch.h"
#include "kernels/probe_records.h"
#include "space/shape.h"

namespace hgemm {

/// What a launch writes before it reads it, lent to kernels that take turns: thousands of
/// candidates are held at once in a race, and at 16384^3 sixteen parts of K are 16 GiB.
class WorkspacePool {
 public:
  enum class Use : std::uint8_t { kPartials, kPackedA, kPackedB };

  /// At least so many bytes, lent to all who ask for about as many for the same use. Every byte of
  /// a new loan is 0xff, a NaN for each type: no kernel finds what another one, or its own launch
  /// before, has left there.
  std::shared_ptr<const DeviceMemory> lend(Use use, std::size_t bytes);

 private:
  /// By the power of two that they hold, so that all of a use hold less than twice the largest.
  std::map<std::pair<Use, std::size_t>, std::shared_ptr<const DeviceMemory>> blocks_;
};

/// See WorkspaceBytes.
struct Workspace {
  std::shared_ptr<const DeviceMemory> partials, packed_a, packed_b;  ///< or none
  DeviceMemory flags;
};

class HgemmKernel {
 public:
  /// The kernel of a probed config is the one with stamps; the same cubin has the plain one too.
  /// Throws CudaError if the cubin cannot be loaded or its shared memory is refused.
  HgemmKernel(const KernelConfig& config, const std::filesystem::path& cubin);
  HgemmKernel(const HgemmKernel&) = delete;
  HgemmKernel& operator=(const HgemmKernel&) = delete;
  ~HgemmKernel();

  /// CTAs to launch: one cluster per tile or part of one, but unless that is the walk's point
  /// (Walk::kSingle, or swapped) no more clusters than the GPU can hold at once. Asked of the
  /// driver, since GPCs differ in size. With PDL and two CTAs per SM, some may have no work
  /// (grid_clusters). Throws Error for a shape that the kernel cannot compute.
  int grid_ctas(const Shape& shape) const;

  /// What a launch of `ctas` needs, where the config cuts K, takes tiles from a queue or packs,
  /// else nothing. Flags are zero; launches that use the same one, or one of the same pool, must
  /// follow one another.
  Workspace make_workspace(const Shape& shape, int ctas, WorkspacePool& pool) const;
  Workspace make_workspace(const Shape& shape, int ctas) const;  ///< shared with none

  /// `records`: of a probed kernel, in zeroed device memory.
  void launch(const LaunchParams& params, int ctas, cudaStream_t stream,
              const ProbeRecords& records = {}) const;

 private:
  void launch_pack(const PackParams& params, cudaStream_t stream) const;

  KernelConfig config_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  cudaKernel_t pack_kernel_ = nullptr;  ///< where the config packs
  int pack_ctas_ = 0;
};

/// Encodes the tensor maps for one set of operands. Throws Error for an operand at an address that
/// the config's kernel cannot use, or naming the map that the driver refuses.
LaunchParams make_params(const KernelConfig& config, const Shape& shape, const Operands& operands,
                         const Workspace& workspace = {});

}  // namespace hgemm
