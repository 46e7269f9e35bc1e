// The words of the project as value types: what was measured, of what, where, and how it ended.
// Everything downstream of the GPU (store, best, emit) speaks in these and needs no CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/shape.h"

namespace hgemm {

/// How a trial ended. There is no other way for one to end, and no trial that is not recorded.
enum class Status : std::uint8_t {
  kOk,
  kInvalidConfig,  ///< the kernel cannot compute this shape
  kCompileFailed,  ///< compiler error, spill, or serialised wgmma
  kLaunchFailed,   ///< the driver refused the launch
  kWrongResult,    ///< the verdict was not "correct"
  kTimedOut,       ///< hung past its deadline; the worker was killed
  kCrashed,        ///< took the worker process or its CUDA context down
};
std::string_view to_string(Status status);  ///< "ok", "invalid_config", ...
Status parse_status(std::string_view text);

/// Power and clock state that timing happens in; see measure/protocol.h.
enum class Regime : std::uint8_t { kSustained };
std::string_view to_string(Regime regime);
Regime parse_regime(std::string_view text);

/// How far a trial went in the race before it ended.
enum class Stage : std::uint8_t {
  kNone,    ///< never timed
  kScreen,  ///< eliminated in screening
  kFinal,   ///< measured to the end against both baselines
};
std::string_view to_string(Stage stage);
Stage parse_stage(std::string_view text);

/// Labels of the baselines. cuBLASLt candidates are "cublaslt.<index>", in heuristic order.
inline constexpr std::string_view kCublasLabel = "cublas";
inline constexpr std::string_view kCublasLtPrefix = "cublaslt.";
bool is_cublaslt(std::string_view label);
bool is_baseline(std::string_view label);

/// One timed batch: `launches` back-to-back launches in one graph replay.
struct Sample {
  int round = 0;  ///< rounds visit every candidate once; ratios are taken within a round
  int launches = 0;
  double time_us = 0;  ///< per launch
  double sm_mhz = 0;   ///< SM clock in band: clock64 over globaltimer around the batch
};

/// The result of comparing a candidate's output with the fp32 reference.
struct Verdict {
  bool correct = false;
  double error = 0;      ///< largest |out - ref| / (|ref| + scale); NaN if all wrong ones are NaN
  double tolerance = 0;  ///< error must be <= this
  std::string message;   ///< empty if correct, else why not and where
};

/// What the compiler said about a build. A trial's build has its label and the kernel_hash of its
/// environment.
struct BuildFacts {
  std::string label;
  std::string kernel_hash;  ///< of the kernel files that it was compiled from
  std::string compiler;     ///< e.g. "nvrtc 13.0"
  std::string flags;
  std::string cubin_hash;
  int registers = 0;  ///< at kernel entry
  int spill_bytes = 0;
  int static_smem_bytes = 0;
  int dynamic_smem_bytes = 0;
  double compile_ms = 0;
};

/// Candidate x shape x environment x regime, ended in one status. Baselines are candidates too.
struct Trial {
  std::string label;
  Stage stage = Stage::kNone;
  Status status = Status::kOk;
  std::string message;  ///< why not ok; for a cuBLASLt candidate, its algorithm in words
  Verdict verdict;
  std::vector<Sample> samples;  ///< by ascending round
};

/// Trials measured together: one interleaved measurement of candidates and baselines at one shape.
/// Ratios are only ever taken between samples of the same round of the same race.
struct Race {
  Shape shape;
  Regime regime = Regime::kSustained;
  std::vector<Trial> trials;
};

/// Where trials ran. Trials of different environments are never compared silently.
struct Environment {
  std::string gpu_name;
  std::string gpu_uuid;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int max_sm_mhz = 0;
  double power_limit_w = 0;  ///< 0 if NVML is not there
  std::string driver;        ///< e.g. "580.159.04"; CUDA version of the driver if NVML is not there
  std::string cuda;          ///< runtime, e.g. "13.0"
  std::string cublas;        ///< e.g. "13.1.0"
  std::string nvrtc;         ///< e.g. "13.0"
  std::string kernel_hash;   ///< hash of everything in kernels/
  std::string git_revision;  ///< of the program; "-dirty" appended if so

  bool operator==(const Environment&) const = default;
  /// Same results are to be expected: all but git_revision are equal.
  bool same_conditions(const Environment& other) const;
};

}  // namespace hgemm
