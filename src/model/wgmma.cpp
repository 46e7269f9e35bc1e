#include "model/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace hgemm {
namespace {

/// How far the model may be from what is measured.
constexpr double kModelError = 0.05;

constexpr std::array<WgmmaForm, 10> kForms = {{
    {MmaInput::kBf16, false, false},
    {MmaInput::kFp16, false, false},
    {MmaInput::kFp16, true, false},
    {MmaInput::kFp8, false, false},
    {MmaInput::kFp8, true, false},
    {MmaInput::kBf16, false, true},
    {MmaInput::kFp16, false, true},
    {MmaInput::kFp16, true, true},
    {MmaInput::kFp8, false, true},
    {MmaInput::kFp8, true, true},
}};

int element_bytes(MmaInput input) { return input == MmaInput::kFp8 ? 1 : 2; }

std::string_view word(MmaInput input) {
  switch (input) {
    case MmaInput::kBf16:
      return "bf16";
    case MmaInput::kFp16:
      return "f16";
    case MmaInput::kFp8:
      return "e4m3";
  }
  return "";
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// "m64n128k16" -> 128; none if M, K or the whole are not what the form has.
std::optional<int> parse_extents(std::string_view text, int depth) {
  const std::string head = fmt::format("m{}n", kWgmmaRows);
  const std::string tail = fmt::format("k{}", depth);
  if (!text.starts_with(head) || !text.ends_with(tail)) return std::nullopt;
  text.remove_prefix(head.size());
  text.remove_suffix(std::min(text.size(), tail.size()));
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1"
std::optional<MeasuredWgmma> parse(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  if (study.kind != StudyKind::kMicro || study.status != Status::kOk) return std::nullopt;
  const auto parts = split(study.label, '.');
  if (parts.size() != 8 || parts[0] != "wgmma" || parts[5] != "random" || parts[6] != "issue" ||
      parts[7] != "wg1")
    return std::nullopt;
  const auto form = std::ranges::find_if(kForms, [&parts](const WgmmaForm& candidate) {
    return parts[2] == (candidate.f16_accumulators ? "f16" : "f32") &&
           parts[3] == word(candidate.input) &&
           parts[4] == (candidate.a_in_registers ? "rs" : "ss");
  });
  if (form == kForms.end()) return std::nullopt;
  const auto n = parse_extents(parts[1], wgmma_depth(form->input));
  const auto figure = std::ranges::find(study.micro, "cycles", &MicroFigure::metric);
  if (!n || figure == study.micro.end()) return std::nullopt;
  return MeasuredWgmma{*form, *n, figure->value, recorded.environment.gpu_name,
                       recorded.started_utc};
}

}  // namespace

std::span<const WgmmaForm> wgmma_forms() { return kForms; }

std::string to_string(const WgmmaForm& form) {
  return fmt::format("{} <- {}, A in {}", form.f16_accumulators ? "f16" : "f32", word(form.input),
                     form.a_in_registers ? "registers" : "shared memory");
}

int wgmma_depth(MmaInput input) { return 32 / element_bytes(input); }

WgmmaCycles wgmma_cycles(const Device& device, const WgmmaForm& form, int n) {
  const int depth = wgmma_depth(form.input);
  const int rows_read = (form.a_in_registers ? 0 : kWgmmaRows) + n;
  const double bytes = rows_read * depth * element_bytes(form.input);
  const double flops = 2.0 * kWgmmaRows * n * depth;
  return {.read = bytes / device.smem_bytes_per_clk.value,
          .compute = flops / device.flops_per_sm_clk(form.input)};
}

std::optional<int> compute_bound_from(const Device& device, const WgmmaForm& form) {
  for (int n = kWgmmaStepN; n <= kWgmmaMaxN; n += kWgmmaStepN) {
    const WgmmaCycles cycles = wgmma_cycles(device, form, n);
    if (cycles.compute >= cycles.read) return n;
  }
  return std::nullopt;
}

std::vector<MeasuredWgmma> measured_wgmma(std::span<const RecordedStudy> studies) {
  std::vector<MeasuredWgmma> all;
  for (const RecordedStudy& study : studies) {
    const auto measured = parse(study);
    if (!measured) continue;
    const auto known = std::ranges::find_if(all, [&measured](const MeasuredWgmma& other) {
      return other.form == measured->form && other.n == measured->n &&
             other.gpu_name == measured->gpu_name;
    });
    if (known == all.end()) {
      all.push_back(*measured);
    } else if (known->started_utc <= measured->started_utc) {
      *known = *measured;
    }
  }
  return all;
}

const MeasuredWgmma* find_measured(std::span<const MeasuredWgmma> measured, const Device& device,
                                   const WgmmaForm& form, int n) {
  const MeasuredWgmma* newest = nullptr;
  for (const MeasuredWgmma& one : measured) {
    if (one.form != form || one.n != n || !device.is(one.gpu_name)) continue;
    if (newest == nullptr || newest->started_utc <= one.started_utc) newest = &one;
  }
  return newest;
}

std::optional<int> measured_compute_bound_from(std::span<const MeasuredWgmma> measured,
                                               const Device& device, const WgmmaForm& form) {
  std::optional<int> from;
  for (int n = kWgmmaMaxN; n > 0; n -= kWgmmaStepN) {
    const MeasuredWgmma* one = find_measured(measured, device, form, n);
    if (one == nullptr) continue;
    if (one->cycles > wgmma_cycles(device, form, n).compute * (1 + kModelError)) break;
    from = n;
  }
  return from;
}

}  // namespace hgemm
