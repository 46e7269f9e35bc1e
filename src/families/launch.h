// How a kernel is launched: its grid, workspace, tensor maps and parameters, from the kernel and a
// problem. <family>/launch.h has the differences between families.
//
// This program and the packages that `export` writes share this source (packages contain a copy).
// So it needs only kernels/ and the header of the CUDA runtime, allocates no memory and throws no
// exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include "families/gemv/launch.h"
#include "families/kernel.h"
#include "families/swap_ab/launch.h"
#include "families/tiled/launch.h"

namespace hgemm {

/// The first operand whose address the kernel cannot use; none if its `name` is null.
inline Misaligned find_misaligned(const Kernel& kernel, const ProblemExtents& p,
                                  const Operands& operands) {
  return std::visit([&](const auto& k) { return find_misaligned(k, p, operands); }, kernel);
}

/// Number of tiles, or blocks of rows, of a problem that the kernel supports. If there are too many
/// (kMaxTiles), the 64-bit result may exceed the true number, but is never below it.
inline long long grid_tiles(const Kernel& kernel, const ProblemExtents& p) {
  return std::visit([&](const auto& k) { return grid_tiles(k, p); }, kernel);
}
/// Whether a cluster is launched for each tile, however many the GPU can hold at once.
inline bool has_cluster_per_tile(const Kernel& kernel) {
  return std::visit([](const auto& k) { return has_cluster_per_tile(k); }, kernel);
}
/// CTAs to launch for at most kMaxTiles tiles. `resident`: clusters of the kernel that the GPU
/// holds at once, at least 1; ignored if has_cluster_per_tile(). Some CTAs may have no work.
inline int grid_ctas(const Kernel& kernel, const ProblemExtents& p, int resident) {
  return std::visit([&](const auto& k) { return grid_ctas(k, p, resident); }, kernel);
}

/// `ctas`: CTAs of the launch, or an upper bound.
inline WorkspaceBytes workspace_bytes(const Kernel& kernel, const ProblemExtents& p, int ctas) {
  return std::visit([&](const auto& k) { return workspace_bytes(k, p, ctas); }, kernel);
}
/// Whether larger problems need more flags. Otherwise their number is bounded by the CTAs that the
/// GPU holds at once.
inline bool flags_grow_with_problem(const Kernel& kernel) {
  return std::visit([](const auto& k) { return flags_grow_with_problem(k); }, kernel);
}
/// Whether CTAs of a launch wait for one another in memory, so that all must be resident at once.
inline bool waits_in_memory(const Kernel& kernel) {
  return std::visit([](const auto& k) { return waits_in_memory(k); }, kernel);
}

/// Attributes of a launch, which must live as long as the launch's config.
struct LaunchAttributes {
  cudaLaunchAttribute values[3];
  unsigned count = 0;
};

inline void add_pdl(LaunchAttributes* attributes) {
  cudaLaunchAttribute& overlap = attributes->values[attributes->count++];
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
}

/// `cooperative`: the launch is refused unless all CTAs can be resident at once, and begins when
/// they are. It is needed if CTAs wait for one another in memory (waits_in_memory) and other
/// streams have work too: two such launches, each with a part of its CTAs resident, would wait
/// forever.
inline cudaLaunchConfig_t launch_config(const Kernel& kernel, int ctas, cudaStream_t stream,
                                        LaunchAttributes* attributes, bool cooperative = false) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(static_cast<unsigned>(threads_per_cta(kernel)));
  config.dynamicSmemBytes = static_cast<std::size_t>(smem_bytes(kernel));
  config.stream = stream;
  cudaLaunchAttribute& cluster = attributes->values[attributes->count++];
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(cluster_size(kernel));
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  if (uses_pdl(kernel)) add_pdl(attributes);
  if (cooperative) {
    cudaLaunchAttribute& together = attributes->values[attributes->count++];
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
  }
  config.attrs = attributes->values;
  config.numAttrs = attributes->count;
  return config;
}

/// The launch that packs. Any number of CTAs works; as many as are resident are the fastest.
inline cudaLaunchConfig_t pack_launch_config(const Kernel& kernel, int ctas, cudaStream_t stream,
                                             LaunchAttributes* attributes) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(kPackThreads);
  config.stream = stream;
  if (uses_pdl(kernel)) add_pdl(attributes);
  config.attrs = attributes->values;
  config.numAttrs = attributes->count;
  return config;
}

/// The parameters of a launch on operands that find_misaligned() has nothing against. `encode`
/// makes a TensorMap of a MatrixMap.
template <class Encode>
LaunchParams make_launch_params(const Kernel& kernel, const ProblemExtents& p,
                                const Operands& operands, const WorkspaceAddresses& workspace,
                                const Encode& encode) {
  return std::visit(
      [&](const auto& k) { return make_launch_params(k, p, operands, workspace, encode); }, kernel);
}

}  // namespace hgemm
