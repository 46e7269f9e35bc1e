// The words of the project as value types: what was measured, of what, where, and how it ended.
// Everything downstream of the GPU (store, results, output) speaks in these and needs no CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"

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

/// Power and clock state that timing happens in; see device/protocol.h.
enum class Regime : std::uint8_t {
  kSustained,  ///< at full load for long: the power cap sets the clock
  kBurst,      ///< short work after idle time
};
std::string_view to_string(Regime regime);  ///< "sustained", "burst"
Regime parse_regime(std::string_view text);

/// What ran on the GPU right before a sample, and so set its clock; see device/protocol.h.
enum class Pace : std::uint8_t {
  kShared,  ///< other candidates, with no pause: the clock is what they leave
  kOwn,     ///< the same candidate, until the clock was its own
  kRested,  ///< nothing: the GPU was idle
};
std::string_view to_string(Pace pace);  ///< "shared", "own", "rested"
Pace parse_pace(std::string_view text);

/// How far a trial went in the race before it ended.
enum class Stage : std::uint8_t {
  kNone,    ///< never timed
  kScreen,  ///< eliminated before the end: in screening, or as clearly slower in the final
  kFinal,   ///< measured to the end against both baselines
};
std::string_view to_string(Stage stage);
Stage parse_stage(std::string_view text);

/// Labels of the baselines. cuBLASLt candidates are "cublaslt.<index>", in heuristic order.
inline constexpr std::string_view kCublasLabel = "cublas";
inline constexpr std::string_view kCublasLtPrefix = "cublaslt.";
bool is_cublaslt(std::string_view label);
bool is_baseline(std::string_view label);

/// Why clocks are below their maximum: bits of NVML's clocks event reasons (nvml.h, R580).
namespace clock_event {
inline constexpr std::uint64_t kIdle = 0x1;
inline constexpr std::uint64_t kApplicationClocks = 0x2;
inline constexpr std::uint64_t kPowerCap = 0x4;  ///< expected in the sustained regime
inline constexpr std::uint64_t kHardwareSlowdown = 0x8;
inline constexpr std::uint64_t kSyncBoost = 0x10;
inline constexpr std::uint64_t kThermal = 0x20;
inline constexpr std::uint64_t kHardwareThermal = 0x40;
inline constexpr std::uint64_t kPowerBrake = 0x80;
inline constexpr std::uint64_t kDisplay = 0x100;
/// The machine's cooling or supply is at fault, not the work: times are not what this GPU can do.
inline constexpr std::uint64_t kFault =
    kHardwareSlowdown | kThermal | kHardwareThermal | kPowerBrake;
}  // namespace clock_event
/// "power_cap thermal": the names of the bits that are set, unknown ones in hexadecimal.
std::string clock_event_names(std::uint64_t events);

/// One timed batch of back-to-back launches. Samples taken while the GPU was throttled are kept and
/// say so; cycles() is the cost with the clock taken out.
struct Sample {
  int round = 0;  ///< rounds visit every candidate once; ratios are taken within a round
  Pace pace = Pace::kShared;
  int launches = 0;
  double time_us = 0;  ///< per launch
  double sm_mhz = 0;   ///< SM clock in band: clock64 over globaltimer around the batch
  // By NVML, as soon as the batch had ended; none without NVML.
  std::optional<double> power_w;  ///< the driver's average over about a second
  std::optional<int> temperature_c;
  std::optional<std::uint64_t> clock_events;

  double cycles() const { return time_us * sm_mhz; }  ///< of one launch; 0 if no clock was read
};

/// A candidate run alone at full load, back to back, for a window of seconds.
struct Energy {
  double window_s = 0;
  double power_w = 0;  ///< mean over the window, from the energy counter
  double time_us = 0;  ///< per launch, mean over the window
  double joules() const { return power_w * time_us * 1e-6; }  ///< of one launch
};

/// The result of comparing a candidate's output with the fp32 reference.
struct Verdict {
  bool correct = false;
  double error = 0;      ///< largest |out - ref| / (|ref| + scale); NaN if all wrong ones are NaN
  double tolerance = 0;  ///< error must be <= this
  std::string message;   ///< empty if correct, else why not and where
};

/// What the compiler said about a build: a kernel compiled from one state of its sources by one
/// compiler with one set of flags.
struct BuildFacts {
  std::string name;  ///< build_name() of the kernel, or a study source's label
  /// Names what runs: the hash of the cubin's code. Comments, line tables and headers that nothing
  /// is used of leave it as it is. Empty if there is no cubin.
  std::string kernel_id;
  /// Names what was compiled: the hash of the source and of all that it includes, without comments,
  /// of the flags and of the compiler.
  std::string source_key;
  std::string compiler;  ///< e.g. "nvrtc 13.0"
  std::string flags;
  int registers = 0;  ///< at kernel entry
  int spill_bytes = 0;
  int static_smem_bytes = 0;
  int dynamic_smem_bytes = 0;
  double compile_ms = 0;

  /// What a trial of it is recorded under: the kernel_id, or where there is none the source.
  std::string identity() const {
    return kernel_id.empty() ? unbuilt_identity(source_key) : kernel_id;
  }
  /// The identity of a kernel that did not compile, or was never compiled.
  static std::string unbuilt_identity(const std::string& source_key) {
    return "source:" + source_key;
  }
};

/// Candidate x problem x environment x regime, ended in one status. Baselines are candidates too.
struct Trial {
  std::string label;
  std::string kernel_id = {};  ///< BuildFacts::identity() of its build; empty of a baseline
  Stage stage = Stage::kNone;
  Status status = Status::kOk;
  std::string message;  ///< why not ok; for a cuBLASLt candidate, its algorithm in words
  Verdict verdict;
  std::vector<Sample> samples;  ///< by ascending round
  std::optional<Energy> energy;
};

/// How all samples of a race were launched.
struct Timing {
  bool cold = true;   ///< inputs rotated past 3x L2, else they were found in L2
  bool graph = true;  ///< graph replays, else launches on a stream
  /// Programmatic dependent launch, of all candidates. A config may have its own.
  bool pdl = false;
  bool brief = false;  ///< shorter than results are measured (device/protocol.h, effort)
  bool operator==(const Timing&) const = default;
};

/// Trials measured together: one interleaved measurement of candidates and baselines at one
/// problem. Ratios are only ever taken between samples of the same round of the same race.
struct Race {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  Timing timing;
  std::vector<Trial> trials;
};

}  // namespace hgemm
