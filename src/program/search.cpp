#include "program/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace hgemm::cli {

StrategyKind parse_strategy(const std::string& name) {
  const auto kind = find_strategy(name);
  if (!kind) {
    throw InputError(fmt::format("--strategy {}: there is no such strategy; expected one of {}",
                                 name, fmt::join(strategy_names(), ", ")));
  }
  return *kind;
}

namespace {

constexpr std::string_view kConfigs = "configs";

/// A number and the word or sign after it. Without a number, `unit` is the whole text.
struct Quantity {
  std::optional<double> value;
  std::string_view unit;
};

Quantity split(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return {std::nullopt, text};
  return {value, std::string_view(rest, end)};
}

/// Reads "3%" or "100configs"; nullopt for anything else.
std::optional<Budget> find_budget(const Quantity& quantity) {
  const double value = quantity.value.value_or(0);
  if (quantity.unit == "%" && value / 100 > 0 && value <= 100) return Budget{.share = value / 100};
  if (quantity.unit == kConfigs && value >= 1 && value == std::floor(value) && value <= 1e6) {
    return Budget{.trials = static_cast<int>(value)};
  }
  return std::nullopt;
}

/// True for a number alone, which could be a time, a share or a count.
bool lacks_unit(const Quantity& quantity) {
  if (!quantity.value || !quantity.unit.empty()) return false;
  const double value = *quantity.value;
  return value >= 1 && value <= 1e6 && value == std::floor(value);
}

std::string with_units(const std::string& text, bool has_times) {
  return fmt::format(
      "--budget {0}: expected a unit: {1}{0}% (a share of the configs) or {0}{2} "
      "(so many at each shape)",
      text, has_times ? fmt::format("{0}s, {0}min or {0}h (a time), ", text) : "", kConfigs);
}

}  // namespace

Budget parse_budget(const std::string& text) {
  const Quantity quantity = split(text);
  if (const auto budget = find_budget(quantity)) return *budget;
  if (lacks_unit(quantity)) throw InputError(with_units(text, false));
  throw InputError(
      fmt::format("--budget {}: expected a share of the configs (\"3%\") or how many (\"100{}\")",
                  text, kConfigs));
}

Allowance parse_allowance(const std::string& text) {
  constexpr double kMostSeconds = 1e6;
  if (text == "all") return {};
  const Quantity quantity = split(text);
  const std::string_view unit = quantity.unit;
  if (const auto budget = find_budget(quantity)) return {.seconds = {}, .configs = budget};
  if (lacks_unit(quantity)) throw InputError(with_units(text, true));
  const double unit_s = unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (!quantity.value || unit_s == 0) {
    throw InputError(
        fmt::format("--budget {}: expected a time (\"60s\", \"5min\", \"1h\"), a share of the "
                    "configs (\"3%\"), how many at each shape (\"100{}\"), or \"all\"",
                    text, kConfigs));
  }
  const double seconds = *quantity.value * unit_s;
  if (!(seconds >= 1 && seconds <= kMostSeconds)) {
    throw InputError(fmt::format("--budget {}: expected from 1 s to {:.0f} s", text, kMostSeconds));
  }
  return {.seconds = seconds, .configs = {}};
}

}  // namespace hgemm::cli
