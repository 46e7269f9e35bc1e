// How a kernel of ours is launched: its grid, its workspace, its tensor maps and its parameters,
// from a config and a problem.
//
// The one source for this program and for the packages that `export` writes, which have a copy: it
// needs nothing but kernels/ and the CUDA runtime's header, allocates nothing and throws nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/operands.h"
#include "kernels/params.h"
#include "kernels/rules.h"
#include "kernels/schedule.h"

namespace hgemm {

/// Of one launch. What is packed, if anything, is packed by a launch before it.
struct LaunchParams {
  KernelParams kernel;
  PackParams pack;
};

// ---- Addresses ----

inline constexpr std::uintptr_t kUnitBytes = kUnitElements * kElementBytes;

inline bool is_multiple_of(const void* address, std::uintptr_t unit) {
  return reinterpret_cast<std::uintptr_t>(address) % unit == 0;
}

/// An operand at an address that a config's kernel cannot use; none if `name` is null.
struct Misaligned {
  const char* name = nullptr;  ///< "A"
  const void* address = nullptr;
  int bytes = 0;          ///< it must be a multiple of
  const char* cure = "";  ///< which configs could
};
inline Misaligned find_misaligned(const KernelConfig& c, const Operands& operands) {
  const bool any_input = c.pack || is_vector(c);
  const bool any_output = c.epilogue == Epilogue::kStaged || is_vector(c);
  const std::uintptr_t input_unit = any_input ? kElementBytes : kUnitBytes;
  const std::uintptr_t output_unit = any_output ? kElementBytes : kUnitBytes;
  const auto found = [](const char* name, const void* address, std::uintptr_t unit,
                        const char* cure) {
    return Misaligned{name, address, static_cast<int>(unit), unit == kUnitBytes ? cure : ""};
  };
  constexpr const char* kPacked = "that takes a config with pack";
  if (!is_multiple_of(operands.a, input_unit)) {
    return found("A", operands.a, input_unit, kPacked);
  }
  if (!is_multiple_of(operands.b, input_unit)) {
    return found("B", operands.b, input_unit, kPacked);
  }
  if (!is_multiple_of(operands.d, output_unit)) {
    return found("D", operands.d, output_unit, "that takes a config whose epilogue is staged");
  }
  return {};
}

// ---- Grid ----

/// Positions in the tile order are 32-bit, times splits, and walks step past the last by a grid.
inline constexpr long long kMaxTiles = 1 << 25;

/// Tiles, or blocks of rows of the kernel for vectors, of a problem that the config supports. In 64
/// bits and not below the true number: there may be too many.
inline long long grid_tiles(const KernelConfig& c, const ProblemExtents& p) {
  if (is_vector(c)) {
    return vector_grid(c, static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.lda),
                       static_cast<int>(p.ldb))
        .blocks();
  }
  if ((p.m / c.bm + 1) * (p.n / c.bn + 1) > kMaxTiles) return kMaxTiles + 1;
  return tile_grid(static_cast<int>(p.m), static_cast<int>(p.n), c).tiles();
}

/// Whether a cluster is launched for each tile, however many the GPU can hold at once.
constexpr bool has_cluster_per_tile(const KernelConfig& c) {
  return c.walk == Walk::kSingle || adds_in_cluster(c);
}

/// CTAs to launch for at most kMaxTiles tiles. `resident`: clusters of the kernel that the GPU
/// holds at once, at least 1; not looked at where has_cluster_per_tile(). With PDL and two CTAs on
/// an SM some may have no work (grid_clusters).
inline int grid_ctas(const KernelConfig& c, const ProblemExtents& p, int resident) {
  const long long tiles = grid_tiles(c, p);
  if (has_cluster_per_tile(c)) return static_cast<int>(tiles) * cluster_size(c);
  const int k_blocks = ceil_div(static_cast<int>(p.k), c.bk);
  const int most = c.splits < k_blocks ? c.splits : k_blocks;
  const int parts = c.walk == Walk::kStreamK ? ceil_div(k_blocks, kMinStreamBlocks) : most;
  return grid_clusters(c, tiles * parts, resident) * cluster_size(c);
}

/// Attributes of a launch, which must live as long as the launch's config.
struct LaunchAttributes {
  cudaLaunchAttribute values[3];
  unsigned count = 0;
};

/// `cooperative`: refused unless all CTAs can be resident at once, and begun when they are. Needed
/// where CTAs wait for each other in memory (adds_in_workspace) and other streams have work too:
/// two such launches, each with a part of its CTAs resident, would wait for ever.
inline cudaLaunchConfig_t launch_config(const KernelConfig& c, int ctas, cudaStream_t stream,
                                        LaunchAttributes* attributes, bool cooperative = false) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(static_cast<unsigned>(threads_per_cta(c)));
  config.dynamicSmemBytes = static_cast<std::size_t>(smem_layout(c).total_bytes);
  config.stream = stream;
  const auto next = [attributes]() -> cudaLaunchAttribute& {
    return attributes->values[attributes->count++];
  };
  cudaLaunchAttribute& cluster = next();
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(cluster_size(c));
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  if (c.pdl) {
    cudaLaunchAttribute& overlap = next();
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cooperative) {
    cudaLaunchAttribute& together = next();
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
  }
  config.attrs = attributes->values;
  config.numAttrs = attributes->count;
  return config;
}

/// Of the launch that packs: any number of CTAs does; as many as are resident are the fastest.
inline cudaLaunchConfig_t pack_launch_config(const KernelConfig& c, int ctas, cudaStream_t stream,
                                             LaunchAttributes* attributes) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(kPackThreads);
  config.stream = stream;
  if (c.pdl) {
    cudaLaunchAttribute& overlap = attributes->values[attributes->count++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  config.attrs = attributes->values;
  config.numAttrs = attributes->count;
  return config;
}

// ---- Workspace ----

/// What CTAs of a launch leave for one another: sums of parts of K and their flags, or how many
/// tiles were taken (KernelParams::partials, ::flags). And A and B with aligned rows, where the
/// config packs them. Flags are zero before the first launch, and left so by each.
struct WorkspaceBytes {
  std::size_t partials = 0, flags = 0;
  std::size_t packed_a = 0, packed_b = 0;
};
/// Where these are, each at a multiple of 256 bytes.
struct WorkspaceAddresses {
  void* partials = nullptr;
  void* flags = nullptr;
  void* packed_a = nullptr;
  void* packed_b = nullptr;
};

/// Elements from one row of a packed matrix to the next.
inline long long packed_leading(long long cols) {
  return (cols + kUnitElements - 1) / kUnitElements * kUnitElements;
}

/// `ctas`: of the launch, or an upper bound.
inline WorkspaceBytes workspace_bytes(const KernelConfig& c, const ProblemExtents& p, int ctas) {
  WorkspaceBytes bytes;
  if (is_vector(c)) return bytes;
  const auto slots = static_cast<std::size_t>(partial_slots(c, ctas / cluster_size(c),
                                                            static_cast<int>(grid_tiles(c, p)))) *
                     static_cast<std::size_t>(cluster_size(c));
  const auto warps = static_cast<std::size_t>(readers(c) * kWarpgroupThreads / 32);
  bytes.flags = (is_dynamic(c) ? 1 : slots * warps) * sizeof(unsigned);
  bytes.partials = slots * static_cast<std::size_t>(partial_bytes(c));
  if (c.pack) {
    const auto row_bytes = static_cast<std::size_t>(packed_leading(p.k) * kElementBytes);
    bytes.packed_a = static_cast<std::size_t>(p.m) * row_bytes;
    bytes.packed_b = static_cast<std::size_t>(p.n) * row_bytes;
  }
  return bytes;
}

// ---- Tensor maps and parameters ----

/// A matrix of 2-byte elements as the copy engine is to see it: what cuTensorMapEncodeTiled is told
/// of two dimensions.
struct MatrixMap {
  const char* name = "";  ///< "A"
  void* data = nullptr;
  Dtype dtype = Dtype::kBf16;
  long long cols = 0, rows = 0;
  long long stride_bytes = 0;  ///< from one row to the next
  int box_cols = 0, box_rows = 0;
  int swizzle_bytes = 0;    ///< 0 (none), 64 or 128
  int promotion_bytes = 0;  ///< 0 (none), 64, 128 or 256
};

/// Rows that lie `leading` elements apart.
struct LeadingMatrix {
  void* data;
  long long rows, cols, leading;

  /// A row alone has no next: any multiple of the unit will do.
  long long stride_bytes() const {
    return (rows == 1 ? packed_leading(cols) : leading) * kElementBytes;
  }
};

/// Makes `matrix` the packed one, if its rows are not aligned: what is to be done for that.
inline PackedMatrix pack_if_needed(LeadingMatrix& matrix, void* packed) {
  if (is_multiple_of(matrix.data, kUnitBytes) && rows_are_aligned(matrix.rows, matrix.leading)) {
    return {};
  }
  const PackedMatrix work{matrix.data, packed, matrix.leading, static_cast<int>(matrix.rows),
                          static_cast<int>(matrix.cols)};
  matrix.data = packed;
  matrix.leading = packed_leading(matrix.cols);
  return work;
}

/// The parameters of a launch on operands that find_misaligned() has nothing against. `encode`
/// makes a TensorMap of a MatrixMap.
template <class Encode>
LaunchParams make_launch_params(const KernelConfig& c, const ProblemExtents& p,
                                const Operands& operands, const WorkspaceAddresses& workspace,
                                const Encode& encode) {
  LeadingMatrix a{const_cast<void*>(operands.a), p.m, p.k, p.lda};
  LeadingMatrix b{const_cast<void*>(operands.b), p.n, p.k, p.ldb};
  const LeadingMatrix d{operands.d, p.m, p.n, p.ldd};
  LaunchParams launch{};
  if (c.pack) {
    launch.pack = {pack_if_needed(a, workspace.packed_a), pack_if_needed(b, workspace.packed_b)};
  }
  KernelParams& params = launch.kernel;
  params.a_pointer = a.data;
  params.b_pointer = b.data;
  params.d_pointer = d.data;
  params.partials = static_cast<float*>(workspace.partials);
  params.flags = static_cast<unsigned*>(workspace.flags);
  params.m = static_cast<int>(p.m);
  params.n = static_cast<int>(p.n);
  params.k = static_cast<int>(p.k);
  params.lda = static_cast<int>(a.leading);
  params.ldb = static_cast<int>(b.leading);
  params.ldd = static_cast<int>(d.leading);
  if (is_vector(c)) return launch;  // no maps

  const auto map = [&](const char* name, const LeadingMatrix& matrix, int box_cols, int box_rows,
                       int swizzle_bytes, int promotion_bytes) {
    return encode(MatrixMap{name, matrix.data, c.dtype, matrix.cols, matrix.rows,
                            matrix.stride_bytes(), box_cols, box_rows, swizzle_bytes,
                            promotion_bytes});
  };
  const int swizzle = box_cols(c) == kSlabK ? 128 : 64;
  params.a = map("A", a, box_cols(c), box_rows(a_slice_rows(c)), swizzle, c.promotion);
  params.b = map("B", b, box_cols(c), box_rows(b_slice_rows(c)), swizzle, c.promotion);
  if (stores_by_tma(c)) {
    params.d = map("D", d, kStoreCols, store_rows(c), 128, 0);
    if (const int tail = consumer_cols(c) % kStoreCols; tail != 0) {
      params.d_tail = map("D", d, tail, kStoreRows, 0, 0);
    }
  }
  return launch;
}

}  // namespace hgemm
