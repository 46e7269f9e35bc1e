// Evaluates the records of one probed launch: checks, sums, a timeline. Needs no GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "gemm/problem.h"
#include "kernels/tiled/probe_records.h"
#include "record/study.h"
#include "studies/probe/cycles.h"

namespace hgemm {

/// A config with cycle stamps, or why there is none: only some tiled kernels support stamps, and
/// not for every problem.
struct ProbedConfig {
  std::optional<TiledConfig> config;
  Rejection rejection;
};
ProbedConfig with_probe(const KernelConfig& config, const GemmProblem& problem);

/// The records of one launch of a probed kernel.
struct ProbeLaunch {
  TiledConfig config;
  GemmProblem problem;
  std::vector<ProbeTile> tiles;  ///< [position in the tile order][rank in the cluster][role]
  std::vector<ProbeRole> roles;  ///< [CTA][role]

  double duration_ns() const;  ///< from the first CTA's entry to the last one's finish
  double sm_mhz() const;       ///< cycles over nanoseconds, over all CTAs
};

/// Number of tile records that a launch writes.
std::size_t probe_tile_records(const TiledConfig& config, const GemmProblem& problem);
std::size_t probe_role_records(const TiledConfig& config, int ctas);

/// A contradiction to "every tile was computed once, and all roles of a CTA agree about it"; empty
/// if there is none.
std::string contradiction(const ProbeLaunch& launch);

/// Cycles by role and phase. Means are cycles / count.
///
///   producer   order (tile), wait_empty, issue (k_block): complete from begin to end of the role
///   consumer   wait_full, mma_issue, mma_wait, release, of sums that are promoted also promote
///              (k_block), epilogue, store (tile), each warpgroup counted by itself. What they
///              leave of `total` is the writing of records.
///   both       prologue (entry to the end of the first barrier), setmaxnreg (from there to the
///              role's begin), total (begin to end), drain (end to finish), all per cta
///   article    load (a k block's wait_full), mma (its mma_issue, mma_wait, release and promote),
///              store (a tile's epilogue and store): what a consumer sees, to be compared with the
///              three figures of kernels that do one after the other
///   cluster    skew (tile): between the CTAs of a cluster, by how much later the last one's first
///              stage arrived; their clocks have the end of the first cluster barrier in common
///   sm         start_spread, finish_spread (launch): from the first SM's first entry (last finish)
///              to the last one's
///   kernel     total (cta): entry to finish; launch (launch): duration_ns() in cycles
std::vector<CycleFigure> cycle_figures(const ProbeLaunch& launch);

/// A timeline holds the CTAs of the SMs with the lowest numbers.
inline constexpr int kTimelineSms = 16;

/// Per CTA and role ("producer", "consumer 0", ...): prologue, setmaxnreg, drain; and per tile the
/// producer's load, a consumer's first_wait, main_loop and epilogue (which includes storing). In
/// the order of their start within a role of a CTA.
std::vector<Span> timeline(const ProbeLaunch& launch, int sms = kTimelineSms);

}  // namespace hgemm
