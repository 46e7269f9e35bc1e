#include "output/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "output/escape.h"

namespace hgemm {

std::string optional_text(const std::optional<double>& value, const char* format, double scale) {
  return value ? fmt::format(fmt::runtime(format), *value * scale) : "-";
}

std::string ratio_text(double value, const Interval& interval, Stage stage) {
  if (stage == Stage::kScreen) return fmt::format("{:.3f} [screened]", value);
  if (std::isnan(interval.low)) return fmt::format("{:.3f} [few rounds]", value);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", value, interval.low, interval.high);
}

std::string environment_text(const Environment& e) {
  return one_line(fmt::format("{} ({} SMs), driver {}, CUDA {}, cuBLAS {}", e.gpu_name, e.sm_count,
                              e.driver, e.cuda, e.cublas));
}

std::string dates_text(std::span<const BestRow* const> rows) {
  const auto [first, last] = std::ranges::minmax_element(rows, {}, &BestRow::started_utc);
  const std::string from = (*first)->started_utc.substr(0, 10);
  const std::string to = (*last)->started_utc.substr(0, 10);
  return one_line(from == to ? from : from + " to " + to);
}

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string shape_text(const GemmProblem& problem) {
  return problem.tag.empty() ? to_string(problem)
                             : to_string(problem) + " " + one_line(problem.tag);
}

std::string for_reader(std::string_view line, const Style& style) {
  return style.markdown() ? markdown_text(line) : one_line(line);
}

std::string list_text(const std::string& heading, std::span<const std::string> lines,
                      const Style& style) {
  std::string text = heading + (style.markdown() ? "\n\n" : "\n");
  for (const std::string& line : lines) text += "- " + for_reader(line, style) + '\n';
  return text;
}

}  // namespace hgemm
