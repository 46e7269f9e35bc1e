// A kernel of ours on the GPU: a cubin loaded, its parameters encoded, its grid sized, launched.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "compile/cubin.h"
#include "device/cuda.h"
#include "families/launch.h"
#include "gemm/problem.h"
#include "kernels/tiled/probe_records.h"

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

class LoadedKernel {
 public:
  /// The kernel of a probed config is the one with stamps; the same cubin has the plain one too.
  /// Throws CudaError if the cubin cannot be loaded or its shared memory is refused.
  LoadedKernel(const Kernel& kernel, const Cubin& cubin);
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel();

  /// CTAs to launch: one cluster per tile or part of one, but unless the tile scheduler is made for
  /// that (has_cluster_per_tile) no more clusters than the GPU can hold at once. Asked of the
  /// driver, since GPCs differ in size. Throws Error for a problem that the kernel cannot compute.
  int grid_ctas(const GemmProblem& problem) const;

  /// What a launch of `ctas` needs, where the config splits K, takes tiles from a queue or packs,
  /// else nothing. Flags are zero; launches that use the same one, or one of the same pool, must
  /// follow one another.
  Workspace make_workspace(const GemmProblem& problem, int ctas, WorkspacePool& pool) const;
  Workspace make_workspace(const GemmProblem& problem, int ctas) const;  ///< shared with none

  /// `records`: of a probed kernel, in zeroed device memory.
  void launch(const LaunchParams& params, int ctas, cudaStream_t stream,
              const ProbeRecords& records = {}) const;

 private:
  void launch_pack(const PackParams& params, cudaStream_t stream) const;

  Kernel kernel_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t function_ = nullptr;
  cudaKernel_t pack_function_ = nullptr;  ///< where it packs
  int pack_ctas_ = 0;
};

/// Encodes the tensor maps for one set of operands. Throws Error for an operand at an address that
/// the kernel cannot use, or naming the map that the driver refuses.
LaunchParams make_params(const Kernel& kernel, const GemmProblem& problem, const Operands& operands,
                         const Workspace& workspace = {});

}  // namespace hgemm
