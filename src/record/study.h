// The findings of the study commands (micro, probe, counters, ladder, chain, accuracy, quantise) as
// value types. A study is one finished measurement of one subject. Like a trial it ends in one
// status; it is stored once. Every kind of study states its findings as rows of the same form; each
// kind defines what they mean (src/studies/<kind>).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"
#include "record/environment.h"
#include "record/trial.h"

namespace hgemm {

/// One finding: a metric of a point of the study, from `samples` measurements or counted items.
struct Figure {
  std::string point;   ///< part of the subject: "consumer.mma_wait", a hardware metric; or ""
  std::string metric;  ///< "cycles", "bandwidth", "l2_hit_rate", ...
  std::string unit;    ///< "clk", "B/clk/SM", "TB/s", "%", "clk/k_block", ...
  double value = 0;
  double low = 0;  ///< interval of the value; both equal the value if there is none
  double high = 0;
  std::int64_t samples = 0;
};
/// The first figure with that point and metric, or nullptr.
const Figure* find_figure(const std::vector<Figure>& figures, std::string_view point,
                          std::string_view metric);

/// A stretch of time of one role of one CTA: a bar in a timeline. A raw trace, kept apart from
/// figures.
struct Span {
  int sm = 0;
  int cta = 0;
  std::string role;
  std::string phase;
  int tile = -1;        ///< position in the tile order; -1: not about one tile
  double start_ns = 0;  ///< since the first time stamp of the launch
  double end_ns = 0;
};

/// One problem of a study with several, and the candidate that computes it in one variant of the
/// study.
struct StudyPart {
  int position = 0;     ///< from 0
  std::string variant;  ///< "pdl_off", "pdl_on"
  GemmProblem problem;
  std::string label;
};

/// Timed rounds of one of the things that a study compares.
struct Series {
  std::string name;  ///< "step", "cublas", "pdl_on", ...
  std::vector<Sample> samples;
};

struct Study {
  std::string kind;  ///< name of a study in the registry: "micro"; or "pace" (tune/pace_check.h)
  /// Label of the microbenchmark, the config (probed builds say so), the ladder step, the baseline
  /// or the chain.
  std::string label;
  std::optional<GemmProblem> problem;  ///< none if the study has no problem, or several
  /// Identifies the code that ran: a hash over all of it if there are several kernels; empty for a
  /// library's kernel.
  std::string kernel_id;
  Status status = Status::kOk;
  std::string message;  ///< why not ok; otherwise a remark, or empty
  std::vector<Figure> figures;
  std::vector<Span> spans;
  std::vector<StudyPart> parts;
  std::vector<Series> series;
  Verdict verdict;  ///< if an output was compared; of several, the one with the largest error

  /// The samples of the series `name`; empty if it does not exist.
  const std::vector<Sample>& samples(std::string_view name) const;
  std::vector<Sample>& samples(std::string_view name);  ///< adds the series if it does not exist
};

/// A study as it is read back from a database.
struct RecordedStudy {
  std::string uid;  ///< the same in every database into which it was merged
  Environment environment;
  RunInfo run;
  std::string started_utc;  ///< ISO 8601
  std::string command_line;
  Study study;
};

}  // namespace hgemm
