#include "trial/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"

namespace hgemm {
namespace {

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
};

// The words of the database (CHECK constraints in store/schema.sql) and of every output.
constexpr std::array kStatusWords{
    Word{Status::kOk, "ok"},
    Word{Status::kInvalidConfig, "invalid_config"},
    Word{Status::kCompileFailed, "compile_failed"},
    Word{Status::kLaunchFailed, "launch_failed"},
    Word{Status::kWrongResult, "wrong_result"},
    Word{Status::kTimedOut, "timed_out"},
    Word{Status::kCrashed, "crashed"},
};
constexpr std::array kRegimeWords{
    Word{Regime::kSustained, "sustained"},
    Word{Regime::kBurst, "burst"},
};
constexpr std::array kPaceWords{
    Word{Pace::kShared, "shared"},
    Word{Pace::kOwn, "own"},
    Word{Pace::kRested, "rested"},
};
constexpr std::array kClockEventWords{
    Word{clock_event::kIdle, "idle"},
    Word{clock_event::kApplicationClocks, "application_clocks"},
    Word{clock_event::kPowerCap, "power_cap"},
    Word{clock_event::kHardwareSlowdown, "hardware_slowdown"},
    Word{clock_event::kSyncBoost, "sync_boost"},
    Word{clock_event::kThermal, "thermal"},
    Word{clock_event::kHardwareThermal, "hardware_thermal"},
    Word{clock_event::kPowerBrake, "power_brake"},
    Word{clock_event::kDisplay, "display"},
};
constexpr std::array kStageWords{
    Word{Stage::kNone, "none"},
    Word{Stage::kScreen, "screen"},
    Word{Stage::kFinal, "final"},
};

template <class Words, class Enum>
std::string_view text_of(const Words& words, Enum value, std::string_view kind) {
  for (const auto& word : words) {
    if (word.value == value) return word.text;
  }
  throw Error(fmt::format("{} {} has no name: a value outside its enumeration", kind,
                          static_cast<int>(value)));
}

template <class Words>
auto value_of(const Words& words, std::string_view text, std::string_view kind) {
  std::vector<std::string_view> known;
  for (const auto& word : words) {
    if (word.text == text) return word.value;
    known.push_back(word.text);
  }
  throw InputError(
      fmt::format("unknown {} '{}': expected one of {}", kind, text, fmt::join(known, ", ")));
}

}  // namespace

std::string_view to_string(Status status) { return text_of(kStatusWords, status, "status"); }
Status parse_status(std::string_view text) { return value_of(kStatusWords, text, "status"); }

std::string_view to_string(Regime regime) { return text_of(kRegimeWords, regime, "regime"); }
Regime parse_regime(std::string_view text) { return value_of(kRegimeWords, text, "regime"); }

std::string_view to_string(Pace pace) { return text_of(kPaceWords, pace, "pace"); }
Pace parse_pace(std::string_view text) { return value_of(kPaceWords, text, "pace"); }

std::string_view to_string(Stage stage) { return text_of(kStageWords, stage, "stage"); }
Stage parse_stage(std::string_view text) { return value_of(kStageWords, text, "stage"); }

std::string clock_event_names(std::uint64_t events) {
  std::vector<std::string> names;
  for (const auto& [bit, text] : kClockEventWords) {
    if ((events & bit) != 0) names.emplace_back(text);
    events &= ~bit;
  }
  if (events != 0) names.push_back(fmt::format("{:#x}", events));
  return fmt::format("{}", fmt::join(names, " "));
}

bool is_cublaslt(std::string_view label) { return label.starts_with(kCublasLtPrefix); }
bool is_baseline(std::string_view label) { return label == kCublasLabel || is_cublaslt(label); }

bool Environment::same_conditions(const Environment& other) const {
  Environment there = other;
  there.git_revision = git_revision;
  return *this == there;
}

std::vector<std::string> differences(const Environment& from, const Environment& to) {
  std::vector<std::string> all;
  const auto add = [&all](const char* what, const auto& a, const auto& b, const char* unit = "") {
    if (a != b) all.push_back(fmt::format("{} {}{} -> {}{}", what, a, unit, b, unit));
  };
  add("GPU", from.gpu_name, to.gpu_name);
  add("GPU", from.gpu_uuid, to.gpu_uuid);
  add("compute capability", fmt::format("{}.{}", from.compute_major, from.compute_minor),
      fmt::format("{}.{}", to.compute_major, to.compute_minor));
  add("SMs", from.sm_count, to.sm_count);
  add("L2", from.l2_bytes, to.l2_bytes, " bytes");
  add("memory", from.memory_bytes, to.memory_bytes, " bytes");
  add("highest SM clock", from.max_sm_mhz, to.max_sm_mhz, " MHz");
  add("power limit", from.power_limit_w, to.power_limit_w, " W");
  add("driver", from.driver, to.driver);
  add("CUDA", from.cuda, to.cuda);
  add("cuBLAS", from.cublas, to.cublas);
  add("NVRTC", from.nvrtc, to.nvrtc);
  add("kernel sources", from.short_kernel_hash(), to.short_kernel_hash());
  return all;
}

}  // namespace hgemm
