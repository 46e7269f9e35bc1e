#include "record/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "record/peer.h"

namespace hgemm {
namespace {

// The words that the database and every output use.
constexpr std::array kStatusWords{
    Word{"ok", Status::kOk},
    Word{"invalid_config", Status::kInvalidConfig},
    Word{"compile_failed", Status::kCompileFailed},
    Word{"launch_failed", Status::kLaunchFailed},
    Word{"wrong_result", Status::kWrongResult},
    Word{"timed_out", Status::kTimedOut},
    Word{"crashed", Status::kCrashed},
};
constexpr std::array kRegimeWords{
    Word{"sustained", Regime::kSustained},
    Word{"burst", Regime::kBurst},
    Word{"single", Regime::kSingle},
    Word{"chain", Regime::kChain},
};
constexpr std::array kPaceWords{
    Word{"shared", Pace::kShared},
    Word{"own", Pace::kOwn},
    Word{"rested", Pace::kRested},
    Word{"single", Pace::kSingle},
};
constexpr std::array kClockEventWords{
    Word{"idle", clock_event::kIdle},
    Word{"application_clocks", clock_event::kApplicationClocks},
    Word{"power_cap", clock_event::kPowerCap},
    Word{"hardware_slowdown", clock_event::kHardwareSlowdown},
    Word{"sync_boost", clock_event::kSyncBoost},
    Word{"thermal", clock_event::kThermal},
    Word{"hardware_thermal", clock_event::kHardwareThermal},
    Word{"power_brake", clock_event::kPowerBrake},
    Word{"display", clock_event::kDisplay},
};
constexpr std::array kStageWords{
    Word{"none", Stage::kNone},
    Word{"screen", Stage::kScreen},
    Word{"final", Stage::kFinal},
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
  for (const auto& [text, bit] : kClockEventWords) {
    if ((events & bit) != 0) names.emplace_back(text);
    events &= ~bit;
  }
  if (events != 0) names.push_back(fmt::format("{:#x}", events));
  return fmt::format("{}", fmt::join(names, " "));
}

bool is_cublaslt(std::string_view label) { return label.starts_with(kCublasLtPrefix); }
bool is_baseline(std::string_view label) {
  return label == kCublasLabel || is_cublaslt(label) || is_peer(label);
}

}  // namespace hgemm
