// The basic value types: what was measured, of which candidate, where, and how it ended. Everything
// downstream of the GPU (store, results, output) uses them and needs no CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// How a trial ended. Every trial ends in one of these, and every trial is recorded.
enum class Status : std::uint8_t {
  kOk,
  kInvalidConfig,  ///< the kernel cannot compute this shape
  kCompileFailed,  ///< compiler error, spill, or serialised wgmma
  kLaunchFailed,   ///< the driver refused the launch
  kWrongResult,    ///< the verdict was not "correct"
  kTimedOut,       ///< exceeded its deadline; the worker was killed
  kCrashed,        ///< ended the worker process or destroyed its CUDA context
};
std::string_view to_string(Status status);  ///< "ok", "invalid_config", ...
Status parse_status(std::string_view text);

/// Power and clock state of the GPU during timing; see device/protocol.h.
enum class Regime : std::uint8_t {
  kSustained,  ///< long at full load: the power cap sets the clock
  kBurst,      ///< short work after idle time
  kSingle,     ///< one launch after idle time
  kChain,      ///< as burst, each launch between two elementwise kernels
};
/// In the order of tables.
inline constexpr std::array kRegimes = {Regime::kSustained, Regime::kBurst, Regime::kSingle,
                                        Regime::kChain};
std::string_view to_string(Regime regime);  ///< "sustained", "burst", "single", "chain"
Regime parse_regime(std::string_view text);

/// What the GPU did right before a sample, which sets its clock; see device/protocol.h.
enum class Pace : std::uint8_t {
  kShared,  ///< ran other candidates without a pause: the clock is what they leave
  kOwn,     ///< ran the same candidate, until the clock was its own
  kRested,  ///< was idle
  kSingle,  ///< was idle, and the sample is one launch from the host
};
std::string_view to_string(Pace pace);  ///< "shared", "own", "rested", "single"
Pace parse_pace(std::string_view text);

/// How far a trial went in the race before it ended.
enum class Stage : std::uint8_t {
  kNone,    ///< never timed
  kScreen,  ///< left before the end: in screening, or clearly slower in the final
  kFinal,   ///< measured to the end against both baselines
};
std::string_view to_string(Stage stage);
Stage parse_stage(std::string_view text);

/// Labels of the baselines. cuBLASLt candidates are "cublaslt.<index>", in heuristic order.
inline constexpr std::string_view kCublasLabel = "cublas";
inline constexpr std::string_view kCublasLtPrefix = "cublaslt.";
/// Ends the message of a baseline whose epilogue is a second launch, which is timed with it.
inline constexpr std::string_view kThenEpilogue = ", then the epilogue in a launch of its own";
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
/// Caused by the machine's cooling or supply, not by the work: times are worse than this GPU
/// allows.
inline constexpr std::uint64_t kFault =
    kHardwareSlowdown | kThermal | kHardwareThermal | kPowerBrake;
}  // namespace clock_event
/// Names of the bits that are set, such as "power_cap thermal"; unknown bits in hexadecimal.
std::string clock_event_names(std::uint64_t events);

/// One timed batch of back-to-back launches. Samples from a throttled GPU are kept, and
/// clock_events says so; cycles() is the cost without the effect of the clock.
struct Sample {
  int round = 0;  ///< rounds visit every candidate once; ratios are taken within a round
  Pace pace = Pace::kShared;
  int launches = 0;
  double time_us = 0;  ///< per launch
  double sm_mhz = 0;   ///< SM clock in band: clock64 over globaltimer around the batch
  // From NVML, right after the end of the batch; none without NVML.
  std::optional<double> power_w;  ///< the driver's average over about a second
  std::optional<int> temperature_c;
  std::optional<std::uint64_t> clock_events;

  double cycles() const { return time_us * sm_mhz; }  ///< of one launch; 0 if no clock was read
};

/// One candidate running alone at full load, back to back, for a window of seconds.
struct Energy {
  double window_s = 0;
  double power_w = 0;  ///< mean over the window, from the energy counter
  double time_us = 0;  ///< per launch, mean over the window
  double joules() const { return power_w * time_us * 1e-6; }  ///< of one launch
};

/// Calls from the host, one at a time on an idle GPU: what Sample::time_us does not tell of them.
struct CallTime {
  int calls = 0;
  double host_us = 0;  ///< median time of the host in the call, which only enqueues work
  int kernels =
      0;  ///< kernels of one call, as CUPTI saw them; 0: it was not asked, or not available
  /// Median time from the start of the first kernel of a call to the end of its last, by CUPTI.
  std::optional<double> kernel_us = {};
};

/// The result of comparing a candidate's output with the fp32 reference.
struct Verdict {
  bool correct = false;
  double error = 0;      ///< largest |out - ref| / (|ref| + scale); NaN if all wrong ones are NaN
  double tolerance = 0;  ///< error must be <= this
  std::string message;   ///< empty if correct; otherwise why not, and where
};

/// What the compiler said about a build: a kernel compiled from one state of its sources by one
/// compiler with one set of flags.
struct BuildFacts {
  std::string name;  ///< build_name() of the kernel, or a study source's label
  /// Identifies the code that runs: the hash of the cubin's code. It does not depend on comments,
  /// line tables and unused headers. Empty if there is no cubin.
  std::string kernel_id;
  /// Identifies the compiler's input: the hash of the source and everything it includes, without
  /// comments, of the flags and of the compiler.
  std::string source_key;
  std::string compiler;  ///< e.g. "nvrtc 13.0"
  std::string flags;
  int registers = 0;  ///< at kernel entry
  int spill_bytes = 0;
  int static_smem_bytes = 0;
  int dynamic_smem_bytes = 0;
  double compile_ms = 0;

  /// The kernel id under which its trials are recorded: kernel_id, or one made of source_key if
  /// there is no cubin.
  std::string identity() const {
    return kernel_id.empty() ? unbuilt_identity(source_key) : kernel_id;
  }
  /// identity() of a kernel that did not compile, or was never compiled.
  static std::string unbuilt_identity(const std::string& source_key) {
    return "source:" + source_key;
  }
};

/// A candidate at a problem in an environment and a regime, with one status at its end. Baselines
/// are candidates too.
struct Trial {
  std::string label;
  std::string kernel_id = {};  ///< BuildFacts::identity() of its build; empty for a baseline
  Stage stage = Stage::kNone;
  Status status = Status::kOk;
  std::string message;  ///< why not ok; for a cuBLASLt candidate, a description of its algorithm
  Verdict verdict;
  std::vector<Sample> samples;  ///< in ascending order of rounds
  std::optional<Energy> energy;
  std::optional<CallTime> calls = {};  ///< in the regime single
};

/// How all samples of a race were launched.
struct Timing {
  bool cold = true;   ///< inputs rotated over more than 3x L2; false: they were in L2
  bool graph = true;  ///< replays of a graph; false: launches on a stream
  /// All candidates are launched with programmatic dependent launch. A config may also use it by
  /// itself.
  bool pdl = false;
  bool brief = false;  ///< measured for a shorter time than results are (device/protocol.h, EFFORT)
  /// GPUs of the same host that the run kept busy beside this one; none: not known. They share
  /// power and air.
  std::optional<int> neighbours = {};
  bool operator==(const Timing&) const = default;
};

/// Trials measured together: one interleaved measurement of candidates and baselines at one
/// problem. Ratios are taken only between samples of the same round of the same race.
struct Race {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  Timing timing;
  std::vector<Trial> trials;
};

}  // namespace hgemm
