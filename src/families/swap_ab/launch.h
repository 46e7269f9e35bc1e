// Launches of swap-AB kernels. Shared with exported packages, as families/launch.h is.
#pragma once

#include "families/launch_parts.h"
#include "kernels/swap_ab/rules.h"

namespace hgemm {

inline Misaligned find_misaligned(const SwapAbKernel& k, const ProblemExtents& p,
                                  const Operands& operands) {
  return find_misaligned(k.gemm, any_address(k.pack, k.store == StorePath::kStaged, p), operands);
}

inline long long grid_tiles(const SwapAbKernel& k, const ProblemExtents& p) {
  if ((p.m / k.bm + 1) * (p.n / k.bn + 1) > kMaxTiles) return kMaxTiles + 1;
  return tile_grid(static_cast<int>(p.m), static_cast<int>(p.n), k).tiles();
}
constexpr bool has_cluster_per_tile(const SwapAbKernel&) { return true; }
inline int grid_ctas(const SwapAbKernel& k, const ProblemExtents& p, int /*resident*/) {
  return static_cast<int>(grid_tiles(k, p)) * cluster_size(k);
}

constexpr bool waits_in_memory(const SwapAbKernel&) { return false; }
constexpr bool flags_grow_with_problem(const SwapAbKernel&) { return false; }
inline WorkspaceBytes workspace_bytes(const SwapAbKernel& k, const ProblemExtents& p,
                                      int /*ctas*/) {
  WorkspaceBytes bytes;
  if (k.pack) add_packed_bytes(k.gemm, p, bytes);
  return bytes;
}

template <class Encode>
LaunchParams make_launch_params(const SwapAbKernel& k, const ProblemExtents& p,
                                const Operands& operands, const WorkspaceAddresses& workspace,
                                const Encode& encode) {
  OperandMatrices matrices = matrices_of(k.gemm, p, operands);
  LaunchParams launch = params_without_maps(k.pack, p, operands, matrices, workspace);
  const int slab = slab_k(k.gemm.input);
  const auto encode_input = [&](const LeadingMatrix& matrix, Major major, int rows) {
    return encode(major == Major::kK ? matrix.map(slab, rows, kSwizzleBytes, k.promotion)
                                     : map_of_chunks(matrix, k.bk, k.promotion));
  };
  launch.kernel.a = encode_input(matrices.a, k.gemm.a_major, k.bm);
  launch.kernel.b = is_gated(k.gemm) ? encode(map_of_pairs(matrices.b, k.gemm.epilogue.gate, slab,
                                                           gate_run(k), kSwizzleBytes, k.promotion))
                                     : encode_input(matrices.b, k.gemm.b_major, k.bn);
  encode_block_scales(k.gemm, p, operands, k.bm, k.bn, encode, launch.kernel);
  if (stores_by_tma(k)) {
    const int swizzle = atom_row_bytes(k) == kSwizzleBytes ? kSwizzleBytes : 0;
    const auto encode_output = [&](const LeadingMatrix& matrix) {
      return encode(matrix.map(store_cols(k), kGroupRows, swizzle, 0));
    };
    launch.kernel.d = encode_output(matrices.d);
    if (k.gemm.epilogue.aux) launch.kernel.aux = encode_output(matrices.aux);
  }
  return launch;
}

}  // namespace hgemm
