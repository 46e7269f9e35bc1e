// The ladder as text: each step beside cuBLAS, its cycles by phase, its hardware counters, and the
// published figures about it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "output/emit.h"
#include "record/study.h"
#include "studies/ladder/ladder.h"
#include "studies/probe/cycles.h"

namespace hgemm {

/// All data about one step at one problem in one session: a card, its environment, and a state of
/// the kernels.
struct LadderRow {
  LadderPoint point;
  GemmProblem problem;  ///< the point's
  Environment environment;
  RunInfo run;
  std::string started_utc;       ///< of the timing
  std::optional<Status> status;  ///< of the timing; none: not measured
  std::string message;           ///< why the status is not ok
  // Medians over the rounds; none if it was not timed.
  std::optional<double> time_us;
  std::optional<double> cublas_time_us;
  std::optional<double> ratio;  ///< cublas' time over the step's time, in the same round
  Interval ratio_interval;
  int rounds = 0;
  std::optional<double> gain;  ///< time of the previous step over this one's
  std::vector<CycleFigure> cycles;
  std::optional<double> tensor_active;  ///< % of cycles in which the tensor pipe is active
  std::optional<double> l2_hit_rate;    ///< %

  std::optional<double> tflops() const;
  /// Mean cycles of a phase, whatever its role; none if it was not recorded.
  std::optional<double> cycles_per(std::string_view phase) const;
};

/// Whether it is the timing of a tuned step's config at the step's problem.
bool is_of_tuned_step(const Study& study, const GemmProblem& problem);

/// A row for each point, for each session that has a study of any of them; rows are grouped by
/// session, in the order of the points. Without studies: one group of rows that were not measured.
std::vector<LadderRow> ladder_rows(std::span<const LadderPoint> points, const GemmProblem& problem,
                                   std::span<const RecordedStudy> studies);

/// json: a list of objects with family step name title label m n k dtype status message time_us
/// tflops cublas_time_us ratio_cublas ratio_cublas_low ratio_cublas_high rounds gain load_cycles
/// wait_full_cycles wait_empty_cycles issue_cycles mma_cycles store_cycles kernel_cycles
/// tensor_active l2_hit_rate published_tflops published_source gpu started_utc; null if not known.
/// csv: the same columns. table and md: a block for each session, under a line that names it; below
/// it the meaning of the columns, the sources of the published figures, and what tuned steps are.
std::string format_ladder(std::span<const LadderRow> rows, const Style& style);

}  // namespace hgemm
