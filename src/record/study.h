// What the study commands (micro, probe, counters, ladder, chain) find out, as value types. A study
// is one finished measurement of one subject; like a trial it ends in one status, and it is stored
// once. Every kind of study states its findings as rows of the same form; what they mean is the
// kind's own (src/studies/<kind>).
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

/// One finding: a metric of a point of the study, from `samples` measurements or counted things.
struct Figure {
  std::string point;   ///< which part of the subject: "consumer.mma_wait", a hardware metric; or ""
  std::string metric;  ///< "cycles", "bandwidth", "l2_hit_rate", ...
  std::string unit;    ///< "clk", "B/clk/SM", "TB/s", "%", "clk/k_block", ...
  double value = 0;
  double low = 0;  ///< the interval of the value; both are the value where there is none
  double high = 0;
  std::int64_t samples = 0;
};
/// The first figure of that point and metric, or nullptr.
const Figure* find_figure(const std::vector<Figure>& figures, std::string_view point,
                          std::string_view metric);

/// A stretch of time of one role of one CTA: a line of a timeline. A raw trace, kept apart from
/// figures.
struct Span {
  int sm = 0;
  int cta = 0;
  std::string role;
  std::string phase;
  int tile = -1;        ///< position in the tile order; -1: not about one tile
  double start_ns = 0;  ///< since the first stamp of the launch
  double end_ns = 0;
};

/// A problem that the study is of several, and a candidate that computes it in one of its variants.
struct StudyPart {
  int position = 0;     ///< from 0 on
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
  std::string kind;   ///< name of a study in the registry: "micro"
  std::string label;  ///< of the microbenchmark, the config (probed builds say so), the ladder
                      ///< step, the baseline or the chain
  std::optional<GemmProblem> problem;  ///< none where there is none, or several
  std::string kernel_id;  ///< of what was run; empty for a library's kernel; of all together where
                          ///< that is several
  Status status = Status::kOk;
  std::string message;  ///< why not ok; else a remark, or empty
  std::vector<Figure> figures;
  std::vector<Span> spans;
  std::vector<StudyPart> parts;
  std::vector<Series> series;
  Verdict verdict;  ///< where an output was compared; of several the one with the largest error

  /// The samples of that name; empty if there are none.
  const std::vector<Sample>& samples(std::string_view name) const;
  std::vector<Sample>& samples(std::string_view name);  ///< added if there are none
};

/// A study as it is read back.
struct RecordedStudy {
  std::string uid;  ///< the same in every database that it was merged into
  Environment environment;
  RunInfo run;
  std::string started_utc;  ///< ISO 8601
  std::string command_line;
  Study study;
};

}  // namespace hgemm
