// Which kernel computes a problem. Packages and the library that loads bundles choose by this code.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "families/launch.h"
#include "hgemm_tuned_types.h"
#include "output/export/fallback.h"
#include "problems.h"
#include "row.h"
#include "workspace_layout.h"

namespace hgemm_tuned_selection_rules {

using namespace hgemm;
using namespace hgemm_tuned_problems;
using namespace hgemm_tuned_table;

/// The reason why a kernel cannot compute the problem: OK, MISALIGNED or NO_KERNEL.
inline hgemm_tuned_status why_not(const Kernel& kernel, const ProblemExtents& p,
                                  const GemmKind& kind, const Operands& operands) {
  if (!compute_alike(hgemm::kind_of(kernel), kind) || why_unsupported(kernel, p) != nullptr ||
      grid_tiles(kernel, p) > kMaxTiles) {
    return HGEMM_TUNED_NO_KERNEL;
  }
  if (flags_grow_with_problem(kernel) && workspace_bytes(kernel, p, 0).flags > kFlagBytes) {
    return HGEMM_TUNED_NO_KERNEL;
  }
  return find_misaligned(kernel, p, operands).name != nullptr ? HGEMM_TUNED_MISALIGNED
                                                              : HGEMM_TUNED_OK;
}

struct Choice {
  hgemm_tuned_status status = HGEMM_TUNED_NO_KERNEL;
  hgemm_tuned_source source = HGEMM_TUNED_NONE;
  int kernel = -1;           ///< index of the kernel
  const Row* row = nullptr;  ///< the problem that it was tuned for
};

inline FallbackShape shape_of(const ProblemExtents& p) { return {p.m, p.n, p.k, p.batch.count}; }

/// Looks for the tuned problem itself, then for its N and K with another M, then for the nearest
/// problem whose kernel can compute it. The kernel of a batch computes any number of products, but
/// no single one. `kernel_of` returns the kernel with an index.
template <class KernelOf>
Choice choose(const Row* rows, int row_count, const KernelOf& kernel_of, const ProblemExtents& p,
              const GemmKind& kind, const Operands& operands) {
  const std::span<const Row> all(rows, static_cast<std::size_t>(row_count));
  Choice choice;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Row& row, int kernel, hgemm_tuned_source source,
                            double distance) {
    if (kernel < 0) return;
    const hgemm_tuned_status status = why_not(kernel_of(kernel), p, kind, operands);
    if (status == HGEMM_TUNED_MISALIGNED && choice.source == HGEMM_TUNED_NONE) {
      choice.status = HGEMM_TUNED_MISALIGNED;
    }
    if (status != HGEMM_TUNED_OK || distance >= least) return;
    least = distance;
    choice = {HGEMM_TUNED_OK, source, kernel, &row};
  };
  for (const Row& row : all) {
    if (!compute_alike(kind, row.kind) || row.problem != p) continue;
    consider(row, row.kernel, HGEMM_TUNED_EXACT, 0);
  }
  if (choice.row != nullptr) return choice;
  for (const Row& row : all) {
    if (!compute_alike(kind, row.kind)) continue;
    if (row.problem.n != p.n || row.problem.k != p.k) continue;
    consider(row, row.general_kernel, HGEMM_TUNED_BUCKET,
             bucket_distance(shape_of(row.problem), shape_of(p)));
  }
  if (choice.row != nullptr) return choice;
  for (const Row& row : all) {
    if (!compute_alike(kind, row.kind)) continue;
    consider(row, row.general_kernel, HGEMM_TUNED_NEAREST,
             shape_distance(shape_of(row.problem), shape_of(p)));
  }
  return choice;
}

/// What callers are told if no kernel computes a problem.
inline hgemm_tuned_selection no_selection() {
  hgemm_tuned_selection selection{};
  selection.source = HGEMM_TUNED_NONE;
  selection.tuned_us = kUnknown;
  selection.ratio_cublas = selection.ratio_cublas_low = selection.ratio_cublas_high = kUnknown;
  return selection;
}
/// What callers are told of a choice that has a row.
inline void describe(const Choice& choice, const char* label, hgemm_tuned_selection* selection) {
  const Row& row = *choice.row;
  selection->source = choice.source;
  selection->label = label;
  selection->gain = row.gain ? 1 : 0;
  selection->tuned_m = row.problem.m;
  selection->tuned_n = row.problem.n;
  selection->tuned_k = row.problem.k;
  selection->tuned_batch = row.problem.batch.count;
  selection->tuned_us = row.time_us;
  selection->ratio_cublas = row.ratio;
  selection->ratio_cublas_low = row.ratio_low;
  selection->ratio_cublas_high = row.ratio_high;
}

}  // namespace hgemm_tuned_selection_rules
