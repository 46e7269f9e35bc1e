// Wording shared by the tables for people.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/style.h"
#include "results/best.h"

namespace hgemm {

/// Formats the value, or "-" if there is none. `format` is a fmt format, e.g. "{:.2f}".
std::string optional_text(const std::optional<double>& value, const char* format, double scale = 1);

/// "1.020 [1.018, 1.023]"; "1.020 [few rounds]" without an interval; "1.020 [screened]" for a row
/// that was only screened.
std::string ratio_text(double value, const Interval& interval, Stage stage);

/// "NVIDIA H200 (132 SMs), driver 580.1, CUDA 13.0, cuBLAS 13.1.0".
std::string environment_text(const Environment& environment);

/// "2026-11-20" or "2026-11-20 to 2026-11-21"; `rows` must not be empty.
std::string dates_text(std::span<const BestRow* const> rows);

/// "45 s", "12 min", "3.4 h"
std::string duration_text(double seconds);

/// "2048x4096x4096 prefill/qkv"
std::string shape_text(const GemmProblem& problem);

/// A line with free text, escaped for the reader of the style (output/escape.h).
std::string for_reader(std::string_view line, const Style& style);

/// "- a\n- b\n" under a heading. Markdown needs a blank line after the heading.
std::string list_text(const std::string& heading, std::span<const std::string> lines,
                      const Style& style);

}  // namespace hgemm
