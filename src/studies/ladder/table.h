// The ladder as text: each step beside cuBLAS, where its cycles went, what the hardware counted,
// and what was published of it.
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

/// What is known of one step at one problem in one session: a card, its environment, and a state of
/// the kernels.
struct LadderRow {
  LadderPoint point;
  GemmProblem problem;
  Environment environment;
  RunInfo run;
  std::string started_utc;       ///< of the timing
  std::optional<Status> status;  ///< of the timing; none: not measured
  std::string message;           ///< why not ok
  // Medians over the rounds; none where it was not timed.
  std::optional<double> time_us;
  std::optional<double> cublas_time_us;
  std::optional<double> ratio;  ///< cublas' time over the step's, of the same round
  Interval ratio_interval;
  int rounds = 0;
  std::optional<double> gain;  ///< the time of the step before, over this one's
  std::vector<CycleFigure> cycles;
  std::optional<double> tensor_active;  ///< % of cycles in which the tensor pipe works
  std::optional<double> l2_hit_rate;    ///< %

  std::optional<double> tflops() const;
  /// Mean cycles of a phase, whatever its role.
  std::optional<double> cycles_per(std::string_view phase) const;
};

/// A row for each point, of each session that has a study of any; the rows of a session
/// together, in the order of the points. No study: one block of rows that were not measured.
std::vector<LadderRow> ladder_rows(std::span<const LadderPoint> points, const GemmProblem& problem,
                                   std::span<const RecordedStudy> studies);

/// json: a list of objects with family step name title label m n k dtype status message time_us
/// tflops cublas_time_us ratio_cublas ratio_cublas_low ratio_cublas_high rounds gain load_cycles
/// wait_full_cycles wait_empty_cycles issue_cycles mma_cycles store_cycles kernel_cycles
/// tensor_active l2_hit_rate published_tflops published_source gpu started_utc; null where not
/// known. csv: the same columns. table and md: a block for each session, headed by a line that
/// names it, with what the columns mean and where the published figures are from below.
std::string format_ladder(std::span<const LadderRow> rows, Format format);

}  // namespace hgemm
