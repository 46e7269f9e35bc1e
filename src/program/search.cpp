#include "program/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
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

Budget parse_budget(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool percent = rest != end && *rest == '%' && rest + 1 == end;
  const bool count = rest == end && value >= 1 && value == std::floor(value) && value <= 1e6;
  if (error != std::errc() || !(percent ? value / 100 > 0 && value <= 100 : count)) {
    throw InputError(fmt::format(
        "--budget {}: expected a share of the configs (\"3%\") or how many (\"100\")", text));
  }
  return percent ? Budget{.share = value / 100} : Budget{.trials = static_cast<int>(value)};
}

Allowance parse_allowance(const std::string& text) {
  constexpr double kMostSeconds = 1e6;
  if (text == "all") return {};
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, end);
  const double unit_s = unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || unit_s == 0) {
    if (error == std::errc() && (unit.empty() || unit == "%")) {
      return {.seconds = {}, .configs = parse_budget(text)};
    }
    throw InputError(
        fmt::format("--budget {}: expected a time (\"60s\", \"5min\", \"1h\"), a share of the "
                    "configs (\"3%\"), "
                    "how many at each shape (\"100\"), or \"all\"",
                    text));
  }
  const double seconds = value * unit_s;
  if (!(seconds >= 1 && seconds <= kMostSeconds)) {
    throw InputError(fmt::format("--budget {}: expected from 1 s to {:.0f} s", text, kMostSeconds));
  }
  return {.seconds = seconds, .configs = {}};
}

}  // namespace hgemm::cli
