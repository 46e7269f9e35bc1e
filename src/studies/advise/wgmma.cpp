#include "studies/advise/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "studies/micro/points.h"

namespace hgemm {
namespace {

/// Largest relative difference between model and measurement.
constexpr double kModelError = 0.05;
/// With A in registers an instruction takes at least this many cycles, although B alone would be
/// read sooner: 13.0 cycles at N = 8 and 16, 13.2 at 24, for every type (H200, 2026-11-20,
/// results/h200/study.db).
constexpr double kLeastRegisterClk = 13;

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

WgmmaForm form_of(const WgmmaPoint& point) {
  switch (point.types) {
    case MmaTypes::kF32Bf16:
      return {MmaInput::kBf16, false, point.a_from_registers};
    case MmaTypes::kF32F16:
      return {MmaInput::kFp16, false, point.a_from_registers};
    case MmaTypes::kF16F16:
      return {MmaInput::kFp16, true, point.a_from_registers};
    case MmaTypes::kF32E4m3:
      return {MmaInput::kFp8, false, point.a_from_registers};
    case MmaTypes::kF16E4m3:
      return {MmaInput::kFp8, true, point.a_from_registers};
    case MmaTypes::kF32E5m2:
      break;  // no such point is possible
  }
  throw Error("a microbenchmark of a type that the model does not know");
}

/// The point of a label; none if this version of the program does not know it.
std::optional<MicroPoint> find_point(const std::string& label) {
  try {
    return parse_micro(label);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// None unless the study is about a full pipe of wgmma on random data by one warpgroup.
std::optional<MeasuredWgmma> as_measured(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  if (study.kind != kMicroStudy || study.status != Status::kOk) return std::nullopt;
  const auto point = find_point(study.label);
  const auto* wgmma = point ? std::get_if<WgmmaPoint>(&*point) : nullptr;
  if (wgmma == nullptr || wgmma->data != MicroData::kRandom || wgmma->pace != MicroPace::kIssue ||
      wgmma->warpgroups != 1)
    return std::nullopt;
  const Figure* figure = find_figure(study.figures, "", "cycles");
  if (figure == nullptr) return std::nullopt;
  return MeasuredWgmma{form_of(*wgmma), wgmma->n, figure->value, recorded.environment.gpu_name,
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
  const double read = bytes / device.smem_bytes_per_clk.value;
  return {.read = form.a_in_registers ? std::max(read, kLeastRegisterClk) : read,
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
    const auto measured = as_measured(study);
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
