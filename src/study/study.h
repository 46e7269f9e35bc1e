// What the study commands (micro, probe, counters, ladder, chain) find out, as value types. A study
// is one finished measurement of one subject; like a trial it ends in one status, and it is stored
// once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/shape.h"
#include "trial/trial.h"

namespace hgemm {

enum class StudyKind : std::uint8_t {
  kMicro,     ///< a microbenchmark: what an instruction or a path of the GPU costs
  kProbe,     ///< where a kernel's cycles go, by stamps inside it
  kCounters,  ///< what the hardware counted while a kernel ran once
  kLadder,    ///< a step from the naive kernel to the fastest, timed beside cuBLAS
  kChain,     ///< different GEMMs in a row, without and with PDL, timed beside cuBLAS
};
std::string_view to_string(StudyKind kind);  ///< "micro", "probe", "counters", "ladder", "chain"
StudyKind parse_study_kind(std::string_view text);

/// One figure of a microbenchmark: the median of `samples` repetitions, the least and the largest.
struct MicroFigure {
  std::string metric;  ///< "cycles", "bytes_per_clk", ...
  std::string unit;    ///< "clk", "B/clk/SM", "TB/s", "ns", ...
  double value = 0;
  double low = 0;
  double high = 0;
  int samples = 0;
};

/// Cycles that one role spent in one phase, summed over what was watched: `count` times (k blocks
/// or tiles, as `unit` says) took `cycles` in all. cycles / count is the mean.
struct CycleFigure {
  std::string role;  ///< "producer", "consumer", "cta", "cluster", "kernel"
  std::string
      phase;  ///< "wait_empty", "issue", "wait_full", "mma_issue", "mma_wait", "epilogue", ...
  std::string unit;  ///< what was counted: "k_block", "tile", "cta", "launch"
  std::int64_t count = 0;
  double cycles = 0;
};

/// A stretch of time of one role of one CTA: a line of the timeline.
struct Span {
  int sm = 0;
  int cta = 0;
  std::string role;
  std::string phase;
  int tile = -1;        ///< position in the tile order; -1: not about one tile
  double start_ns = 0;  ///< since the first stamp of the launch
  double end_ns = 0;
};

struct CounterFigure {
  std::string metric;  ///< our name, e.g. "l2_hit_rate"
  std::string unit;    ///< "%", "B", "clk", ...
  double value = 0;
  std::string source;  ///< the hardware metric it is, e.g. "lts__t_sector_hit_rate.pct"
};

/// A GEMM of a chain, and the configs that compute it.
struct ChainLink {
  Shape shape;
  std::string pdl_off;  ///< label of a config that waits for the link before it
  std::string pdl_on;   ///< of one that is launched while the link before it drains
};

struct Study {
  StudyKind kind = StudyKind::kMicro;
  std::string label;  ///< of the microbenchmark, the config (probed builds say so), the ladder
                      ///< step, the baseline or the chain
  std::optional<Shape> shape;  ///< none for microbenchmarks and chains
  std::string cubin_hash;      ///< of what was run; empty for a library's kernel; of all together
                               ///< where that is several
  Status status = Status::kOk;
  std::string message;  ///< why not ok; else a remark, or empty
  std::vector<MicroFigure> micro;
  std::vector<CycleFigure> cycles;
  std::vector<Span> spans;
  std::vector<CounterFigure> counters;
  std::vector<ChainLink> links;
  // Of a ladder step or a chain: rounds of one sample each of it and of cublas; of a chain, whose
  // launches are of all links in a row, of it with PDL too.
  Verdict verdict;  ///< of a chain: of the link with the largest error
  std::vector<Sample> samples;
  std::vector<Sample> pdl_samples;
  std::vector<Sample> cublas_samples;
};

/// A study as it is read back.
struct RecordedStudy {
  std::string uid;  ///< the same in every database that it was merged into
  Environment environment;
  std::string started_utc;  ///< ISO 8601
  std::string command_line;
  Study study;
};

}  // namespace hgemm
