// A kernel of ours on the GPU: a loaded cubin, its encoded parameters, its grid size, its launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "compile/cubin.h"
#include "device/cuda.h"
#include "device/gpcs.h"
#include "families/launch.h"
#include "gemm/problem.h"
#include "kernels/tiled/probe_records.h"

namespace hgemm {

/// Workspaces (memory that a launch writes before it reads it), shared by kernels that run one
/// after another. A race holds thousands of candidates at once, and at 16384^3 sixteen parts of K
/// take 16 GiB.
class WorkspacePool {
 public:
  enum class Use : std::uint8_t { kPartials, kPackedA, kPackedB, kPeer };

  /// A block of at least `bytes` bytes; requests of similar size for the same use share one. A new
  /// block is filled with 0xff, which is a NaN for every type, so that no kernel benefits from what
  /// another kernel, or an earlier launch, has left there.
  std::shared_ptr<const DeviceMemory> lend(Use use, std::size_t bytes);
  GpcNumbers& numbers() { return numbers_; }

 private:
  /// Keyed by the power of two of their size, so that all blocks of a use together have less than
  /// twice the largest size.
  std::map<std::pair<Use, std::size_t>, std::shared_ptr<const DeviceMemory>> blocks_;
  GpcNumbers numbers_;
};

/// Memory for the workspaces of WorkspaceBytes, and the numbers of the clusters.
struct Workspace {
  std::shared_ptr<const DeviceMemory> partials, packed_a, packed_b;  ///< each may be null
  DeviceMemory flags;
  std::optional<ClusterNumbers> numbers;  ///< if the kernel is_numbered()
};

class LoadedKernel {
 public:
  /// Loads the kernel. For a probed config that is the kernel with cycle stamps; the same cubin
  /// also has the plain one. Throws CudaError if the cubin cannot be loaded or its shared memory is
  /// refused.
  LoadedKernel(const Kernel& kernel, const Cubin& cubin);
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel();

  /// Number of CTAs to launch: one cluster per tile or part of one. Unless the tile scheduler needs
  /// that many (has_cluster_per_tile), the number is limited to the clusters that the GPU can hold
  /// at once; the driver is asked for it, because GPCs differ in size. Throws Error for a problem
  /// that the kernel cannot compute.
  int grid_ctas(const GemmProblem& problem) const;

  /// The workspaces of a launch of `ctas` CTAs, if the config splits K, takes tiles from a queue or
  /// packs, and the numbers of its clusters. Flags are set to zero. Launches that use the same
  /// workspace or pool must run one after another.
  Workspace make_workspace(const GemmProblem& problem, int ctas, WorkspacePool& pool) const;
  /// Shared with no other kernel.
  Workspace make_workspace(const GemmProblem& problem, int ctas) const;

  /// `records`: only for a probed kernel, in zeroed device memory.
  void launch(const LaunchParams& params, int ctas, cudaStream_t stream,
              const ProbeRecords& records = {}) const;

 private:
  void launch_pack(const PackParams& params, cudaStream_t stream) const;

  Kernel kernel_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t function_ = nullptr;
  cudaKernel_t pack_function_ = nullptr;  ///< only if the kernel packs
  int pack_ctas_ = 0;
};

/// Encodes the tensor maps for one set of operands. Throws Error if the kernel cannot use an
/// operand's address, or if the driver refuses a map (the message names it).
LaunchParams make_params(const Kernel& kernel, const GemmProblem& problem, const Operands& operands,
                         const Workspace& workspace = {});

}  // namespace hgemm
