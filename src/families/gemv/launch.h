// Launches of GEMV kernels. Shared with exported packages, as families/launch.h is.
#pragma once

#include "families/launch_parts.h"
#include "kernels/gemv/rules.h"

namespace hgemm {

inline Misaligned find_misaligned(const GemvKernel& k, const ProblemExtents&,
                                  const Operands& operands) {
  return find_misaligned(k.gemm, AnyAddress{true, true, true}, operands);
}

/// Number of blocks of rows.
inline long long grid_tiles(const GemvKernel& k, const ProblemExtents& p) {
  return gemv_grid(k, static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.lda),
                   static_cast<int>(p.ldb))
      .blocks();
}
constexpr bool has_cluster_per_tile(const GemvKernel&) { return true; }
inline int grid_ctas(const GemvKernel& k, const ProblemExtents& p, int /*resident*/) {
  return static_cast<int>(grid_tiles(k, p)) * cluster_size(k);
}

constexpr bool waits_in_memory(const GemvKernel&) { return false; }
constexpr bool flags_grow_with_problem(const GemvKernel&) { return false; }
inline WorkspaceBytes workspace_bytes(const GemvKernel&, const ProblemExtents&, int /*ctas*/) {
  return {};
}

/// No tensor maps: threads read and write memory themselves.
template <class Encode>
LaunchParams make_launch_params(const GemvKernel& k, const ProblemExtents& p,
                                const Operands& operands, const WorkspaceAddresses& workspace,
                                const Encode&) {
  OperandMatrices matrices = matrices_of(k.gemm, p, operands);
  return params_without_maps(false, p, operands, matrices, workspace);
}

}  // namespace hgemm
