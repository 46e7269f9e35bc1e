// Launches of tiled kernels. Shared with exported packages, as families/launch.h is.
#pragma once

#include <algorithm>

#include "families/launch_parts.h"
#include "kernels/tiled/rules.h"
#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {

inline Misaligned find_misaligned(const TiledKernel& k, const ProblemExtents& p,
                                  const Operands& operands) {
  return find_misaligned(k.gemm, any_address(k.pack, k.store == StorePath::kStaged, p), operands);
}

/// A batch has the tiles of all its products.
inline long long grid_tiles(const TiledKernel& k, const ProblemExtents& p) {
  if ((p.m / k.bm + 1) * (p.n / k.bn + 1) > kMaxTiles / p.batch.count) return kMaxTiles + 1;
  return p.batch.count * tile_grid(static_cast<int>(p.m), static_cast<int>(p.n), k).tiles();
}
constexpr bool has_cluster_per_tile(const TiledConfig& c) { return !is_persistent(c); }
/// With PDL and two CTAs per SM some CTAs may have no work (grid_clusters).
inline int grid_ctas(const TiledKernel& k, const ProblemExtents& p, int resident) {
  const long long tiles = grid_tiles(k, p);
  if (has_cluster_per_tile(k)) return static_cast<int>(tiles) * cluster_size(k);
  const int k_blocks = ceil_div(static_cast<int>(p.k), k.bk);
  const int clusters = clusters_on_sms(k, tiles, resident);
  const int parts = k.scheduler == TileScheduler::kStreamK ? ceil_div(k_blocks, kMinStreamBlocks)
                                                           : split_parts(k, k_blocks, clusters);
  return grid_clusters(k, tiles * parts, clusters) * cluster_size(k);
}

constexpr bool waits_in_memory(const TiledKernel& k) { return adds_in_workspace(k); }
/// Each tile that is cut evenly has flags. kStreamK has as many parts as CTAs, which always fit.
constexpr bool flags_grow_with_problem(const TiledKernel& k) { return shares_sums(k); }
inline WorkspaceBytes workspace_bytes(const TiledKernel& k, const ProblemExtents& p, int ctas) {
  WorkspaceBytes bytes;
  const int clusters = ctas / cluster_size(k);
  const int tiles = static_cast<int>(grid_tiles(k, p));
  const int k_blocks = ceil_div(static_cast<int>(p.k), k.bk);
  const auto in_all_ctas = [&](long long count) {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(cluster_size(k));
  };
  const auto warps = static_cast<std::size_t>(readers(k) * kWarpgroupThreads / 32);
  const std::size_t flags = in_all_ctas(partial_flags(k, clusters, tiles)) * warps;
  bytes.flags = (is_dynamic(k) ? 1 : flags) * sizeof(unsigned);
  bytes.partials = in_all_ctas(partial_slots(k, clusters, tiles, k_blocks)) *
                   static_cast<std::size_t>(partial_bytes(k));
  if (k.pack) add_packed_bytes(k.gemm, p, bytes);
  return bytes;
}

template <class Encode>
LaunchParams make_launch_params(const TiledKernel& k, const ProblemExtents& p,
                                const Operands& operands, const WorkspaceAddresses& workspace,
                                const Encode& encode) {
  OperandMatrices matrices = matrices_of(k.gemm, p, operands);
  LaunchParams launch = params_without_maps(k.pack, p, operands, matrices, workspace);
  if (k.gpc) {
    const ClusterNumbers numbers = workspace.numbers != nullptr ? *workspace.numbers : unnumbered();
    std::copy(numbers.begin(), numbers.end(), launch.kernel.numbers);
  }
  const int swizzle = box_cols(k) == slab_k(k.gemm.input) ? 128 : 64;
  const auto encode_input = [&](const LeadingMatrix& matrix, Major major, int slice_rows,
                                int slice_k) {
    return encode(major == Major::kK
                      ? matrix.map(box_cols(k), box_rows(slice_rows), swizzle, k.promotion)
                      : map_of_chunks(matrix, slice_k, k.promotion));
  };
  const auto encode_a = [&](const LeadingMatrix& a) {
    return encode_input(a, k.gemm.a_major, a_slice_rows(k), a_slice_k(k));
  };
  const auto encode_b = [&](const LeadingMatrix& b) {
    return is_gated(k.gemm) ? encode(map_of_pairs(b, k.gemm.epilogue.gate, box_cols(k), gate_run(k),
                                                  swizzle, k.promotion))
                            : encode_input(b, k.gemm.b_major, b_slice_rows(k), b_slice_k(k));
  };
  launch.kernel.a = encode_a(matrices.a);
  launch.kernel.b = encode_b(matrices.b);
  if (k.gemm.by_pointers) {
    launch.kernel.a_outside = encode_a(matrices.a.outside());
    launch.kernel.b_outside = encode_b(matrices.b.outside());
  }
  if (copies_addends(k)) {
    if (k.gemm.adds_c) {
      launch.kernel.c_map =
          encode(matrices.c.map(strip_cols(k), box_rows(k.bm), swizzle, k.promotion));
    }
    if (k.gemm.epilogue.bias != Bias::kNone) {
      launch.kernel.bias_map = encode(matrices.bias.map(kBiasBoxElements, 1, 0, 0));
    }
  }
  encode_block_scales(k.gemm, p, operands, k.bm, k.bn, encode, launch.kernel);
  if (stores_by_tma(k)) {
    const int whole = store_cols(k);
    const int tail = output_cols(k) % whole;
    const auto encode_output = [&](const LeadingMatrix& matrix, TensorMap& boxes,
                                   TensorMap& tail_boxes) {
      const auto encode_boxes = [&](int cols, int swizzle_bytes) {
        return encode(k.swap ? matrix.map(kStoreRows, cols, 0, 0)
                             : matrix.map(cols, kStoreRows, swizzle_bytes, 0));
      };
      boxes = encode_boxes(whole, kSwizzleBytes);
      if (tail != 0) tail_boxes = encode_boxes(tail, 0);
    };
    encode_output(matrices.d, launch.kernel.d, launch.kernel.d_tail);
    if (k.gemm.epilogue.aux) {
      encode_output(matrices.aux, launch.kernel.aux, launch.kernel.aux_tail);
    }
  }
  return launch;
}

}  // namespace hgemm
