#include "studies/advise/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

std::string render_objects(const std::vector<Json>& objects, const Json& names,
                           const Style& style) {
  return style.format == Format::kJson ? dump(Json(objects)) : as_csv(names, objects);
}

std::string heading(const std::string& text, const Style& style) {
  return style.markdown() ? "## " + text + "\n" : text + "\n";
}

/// Joins blocks of several lines, with a blank line between them.
std::string blocks_text(const std::vector<std::string>& blocks) {
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

/// The figures of the device for the types of operands that the problems have.
std::string device_text(const DeviceAdvice& block) {
  const Device& device = block.device;
  std::vector<std::string> peaks, ridges;
  const auto add = [&](MmaInput input, bool (*is_of_input)(const AdvisedShape&)) {
    if (std::ranges::none_of(block.problems, is_of_input)) return;
    const char* bits = input == MmaInput::kFp8 ? " (8 bits)" : "";
    peaks.push_back(fmt::format("{:g}{}", device.peak_flops(input) * 1e-12, bits));
    ridges.push_back(fmt::format("{:.0f}{}", device.ridge(input), bits));
  };
  add(MmaInput::kBf16,
      [](const AdvisedShape& one) { return !one.advice.problem.has_8_bit_operands(); });
  add(MmaInput::kFp8,
      [](const AdvisedShape& one) { return one.advice.problem.has_8_bit_operands(); });
  return fmt::format("{}: {:g} SMs, {} TFLOP/s, {:g} TB/s: ridge {} FLOP/B", device.name,
                     device.sms.value, fmt::join(peaks, " and "), device.memory_tbps.value,
                     fmt::join(ridges, " and "));
}

std::string threshold_text(const std::optional<int>& n) {
  return n ? fmt::format("N = {}", *n) : std::string("no N up to 256");
}

// ---- Advice ----

std::optional<double> over_floor(const AdvisedShape& problem,
                                 std::optional<double> BestRow::*time_us) {
  if (!problem.measured || !(*problem.measured.*time_us)) return std::nullopt;
  return problem.advice.roofline.floor_us() / *(*problem.measured.*time_us);
}

Json to_json(const Device& device, const AdvisedShape& advised) {
  const Advice& advice = advised.advice;
  const GemmProblem& problem = advice.problem;
  const Roofline& roof = advice.roofline;
  const KernelAdvice& kernel = advice.kernel;
  Json json{
      {"device", device.name},
      {"m", problem.m},
      {"n", problem.n},
      {"k", problem.k},
      {"dtype", types_text(problem)},
      {"tag", problem.tag},
      {"bound", roof.memory_bound() ? "memory" : "compute"},
      {"intensity", number(roof.intensity)},
      {"ridge", number(roof.ridge)},
      {"memory_us", number(roof.memory_us)},
      {"compute_us", number(roof.compute_us)},
      {"floor_us", number(roof.floor_us())},
      {"fits_l2", roof.fits_l2},
      {"fits_memory", roof.fits_memory},
      {"swap_ab", to_string(advice.swap.verdict)},
      {"swap_speedup", number(advice.swap.speedup)},
      {"as_is_n", advice.swap.as_is.n},
      {"as_is_us", number(advice.swap.as_is.us)},
      {"swapped_n", advice.swap.swapped.n},
      {"swapped_us", number(advice.swap.swapped.us)},
      {"swap_why", advice.swap.why},
      {"kernel", to_string(kernel.kind)},
      {"tile", fmt::format("{}x{}", kernel.whole.bm, kernel.whole.bn)},
      {"waves", kernel.whole.waves},
      {"wave_efficiency", number(kernel.whole.efficiency)},
      {"whole_us", number(kernel.whole_us)},
      {"split_us", kernel.split_us > 0 ? number(kernel.split_us) : Json()},
      {"kernel_why", kernel.why},
      {"epilogue", to_string(problem.epilogue)},
      {"separate_epilogue_us", advice.epilogue ? number(advice.epilogue->us) : Json()},
  };
  const auto& row = advised.measured;
  json["measured_gpu"] = row ? Json(row->environment.gpu_name) : Json();
  json["measured_date"] = row ? Json(row->started_utc.substr(0, 10)) : Json();
  json["regime"] = row ? Json(to_string(row->regime)) : Json();
  json["label"] = row && row->label ? Json(*row->label) : Json();
  json["time_us"] = row ? number(row->time_us) : Json();
  json["floor_fraction"] = number(over_floor(advised, &BestRow::time_us));
  json["cublas_time_us"] = row ? number(row->cublas_time_us) : Json();
  json["cublas_floor_fraction"] = number(over_floor(advised, &BestRow::cublas_time_us));
  const auto& swap = advised.swap;
  json["swap_measured"] = swap ? number(swap->speedup) : Json();
  json["swap_measured_label"] = swap ? Json(swap->swapped) : Json();
  json["as_is_measured_label"] = swap ? Json(swap->as_is) : Json();
  return json;
}

std::string swap_cell(const SwapAdvice& swap) {
  const std::string verdict(to_string(swap.verdict));
  return swap.verdict == SwapVerdict::kNoMatter ? verdict
                                                : fmt::format("{} {:.2f}x", verdict, swap.speedup);
}

std::string measured_text(const std::optional<MeasuredSwap>& swap) {
  if (!swap) return "";
  return fmt::format("; measured {:.2f}x: {} against {}", swap->speedup, swap->swapped,
                     swap->as_is);
}

std::string epilogue_sentence(const Advice& advice) {
  const SeparateEpilogue& epilogue = *advice.epilogue;
  return fmt::format(
      "{}: fused, its epilogue saves a launch that moves {:.1f} MB, {:.2f} us at the memory's "
      "speed, {:.1f} % of the floor{}",
      to_string(advice.problem), epilogue.bytes * 1e-6, epilogue.us,
      100 * epilogue.us / advice.roofline.floor_us(),
      epilogue.fits_l2 ? "; what it moves fits in L2, where it takes less" : "");
}

std::string notes_of(const GemmProblem& problem, const Roofline& roof) {
  if (const char* reason = why_unsupported(problem)) {
    return fmt::format("; no kernel computes it: {}", reason);
  }
  if (!roof.fits_memory) return "; larger than this GPU's memory";
  return roof.fits_l2 ? "; fits in L2, where the memory floor holds only for a cold start" : "";
}

std::string advice_block(const DeviceAdvice& block, const Style& style) {
  Table table;
  table.columns = {{"shape", false},   {"bound", false}, {"FLOP/B"},        {"floor us"},
                   {"swap-AB", false}, {"measured"},     {"kernel", false}, {"measured us"},
                   {"% floor"},        {"cuBLAS us"},    {"% floor"},       {"regime", false}};
  std::vector<std::string> sentences;
  for (const AdvisedShape& advised : block.problems) {
    const Advice& advice = advised.advice;
    const auto& row = advised.measured;
    table.rows.push_back(
        {shape_text(advice.problem), advice.roofline.memory_bound() ? "memory" : "compute",
         fmt::format("{:.1f}", advice.roofline.intensity),
         fmt::format("{:.2f}", advice.roofline.floor_us()), swap_cell(advice.swap),
         advised.swap ? fmt::format("{:.2f}x", advised.swap->speedup) : std::string("-"),
         std::string(to_string(advice.kernel.kind)),
         optional_text(row ? row->time_us : std::nullopt, "{:.2f}"),
         optional_text(over_floor(advised, &BestRow::time_us), "{:.1f}", 100),
         optional_text(row ? row->cublas_time_us : std::nullopt, "{:.2f}"),
         optional_text(over_floor(advised, &BestRow::cublas_time_us), "{:.1f}", 100),
         row ? std::string(to_string(row->regime)) : std::string("-")});
    sentences.push_back(
        fmt::format("{}: {}; {}{}{}", to_string(advice.problem), to_string(advice.kernel.kind),
                    advice.kernel.why, notes_of(advice.problem, advice.roofline),
                    row && row->label ? "; fastest of ours here: " + *row->label : std::string()));
    sentences.push_back(fmt::format("{}: swap-AB {}; {}{}", to_string(advice.problem),
                                    to_string(advice.swap.verdict), advice.swap.why,
                                    measured_text(advised.swap)));
    if (advice.epilogue) sentences.push_back(epilogue_sentence(advice));
  }
  std::vector<Piece> pieces = {heading(device_text(block), style), render(table, style),
                               list_text("Why:", sentences, style)};
  return joined(pieces, style);
}

// ---- The wgmma table ----

Json to_json(const Device& device, const WgmmaForm& form, int n, const MeasuredWgmma* measured) {
  const WgmmaCycles cycles = wgmma_cycles(device, form, n);
  return Json{
      {"device", device.name},
      {"n", n},
      {"k", wgmma_depth(form.input)},
      {"form", to_string(form)},
      {"read_cycles", number(cycles.read)},
      {"compute_cycles", number(cycles.compute)},
      {"predicted_cycles", number(cycles.cycles())},
      {"bound", cycles.compute >= cycles.read ? "compute" : "read"},
      {"measured_cycles", measured ? number(measured->cycles) : Json()},
      {"error", measured ? number(cycles.cycles() / measured->cycles - 1) : Json()},
      {"measured_gpu", measured ? Json(measured->gpu_name) : Json()},
  };
}

template <class Visit>
void for_each_n(Visit visit) {
  for (int n = kWgmmaStepN; n <= kWgmmaMaxN; n += kWgmmaStepN) visit(n);
}

std::string form_block(const Device& device, const WgmmaForm& form,
                       std::span<const MeasuredWgmma> measured, const Style& style) {
  Table table;
  table.columns = {{"N"}, {"read"}, {"compute"}, {"predicted"}, {"measured"}, {"error %"}};
  double largest_error = 0;
  int largest_at = 0;
  for_each_n([&](int n) {
    const WgmmaCycles cycles = wgmma_cycles(device, form, n);
    const MeasuredWgmma* one = find_measured(measured, device, form, n);
    std::optional<double> error;
    if (one != nullptr) {
      error = cycles.cycles() / one->cycles - 1;
      if (largest_at == 0 || std::abs(*error) > std::abs(largest_error)) {
        largest_error = *error;
        largest_at = n;
      }
    }
    table.rows.push_back({std::to_string(n), fmt::format("{:g}", cycles.read),
                          fmt::format("{:g}", cycles.compute), fmt::format("{:g}", cycles.cycles()),
                          one ? fmt::format("{:.1f}", one->cycles) : "-",
                          optional_text(error, "{:+.1f}", 100)});
  });
  std::string summary = fmt::format("Bound by the tensor cores from {} on (model",
                                    threshold_text(compute_bound_from(device, form)));
  if (largest_at == 0) {
    summary += "); nothing measured on this GPU.\n";
  } else {
    summary += fmt::format("), {} (measured); largest error of the model {:+.1f} % at N = {}.\n",
                           threshold_text(measured_compute_bound_from(measured, device, form)),
                           largest_error * 100, largest_at);
  }
  std::vector<Piece> pieces = {
      heading(fmt::format("{}: m64nNk{} {}, cycles per instruction", device.name,
                          wgmma_depth(form.input), to_string(form)),
              style),
      render(table, style), summary};
  return joined(pieces, style);
}

// ---- Devices ----

/// The name (with unit) and the value of each figure.
using NamedFigure = std::pair<const char*, const KnownFigure*>;
std::vector<NamedFigure> figures_of(const Device& device) {
  return {{"sms", &device.sms},
          {"tensor_cores_per_sm", &device.tensor_cores_per_sm},
          {"boost_mhz", &device.boost_mhz},
          {"tensor_mhz", device.tensor_mhz ? &*device.tensor_mhz : nullptr},
          {"peak_tflops", &device.peak_tflops},
          {"peak_fp8_tflops", &device.peak_fp8_tflops},
          {"memory_tbps", &device.memory_tbps},
          {"read_tbps", device.read_tbps ? &*device.read_tbps : nullptr},
          {"memory_gb", &device.memory_gb},
          {"l2_mb", &device.l2_mb},
          {"power_w", &device.power_w},
          {"smem_bytes_per_clk", &device.smem_bytes_per_clk}};
}

Json to_json(const Device& device, bool with_sources) {
  Json json{{"device", device.name}, {"gpu_names", device.gpu_names}};
  Json sources;
  for (const auto& [name, figure] : figures_of(device)) {
    json[name] = figure != nullptr ? number(figure->value) : Json();
    if (figure != nullptr) sources[name] = figure->source;
  }
  const auto n = compute_bound_from(device, {});
  json["derived_flops_per_tc_clk"] =
      number(device.derived_flops_per_tensor_core_clk(MmaInput::kBf16));
  json["flops_per_tc_clk"] = number(device.flops_per_tensor_core_clk(MmaInput::kBf16));
  json["ridge"] = number(device.ridge(MmaInput::kBf16));
  json["fp8_ridge"] = number(device.ridge(MmaInput::kFp8));
  json["compute_bound_from_n"] = n ? Json(*n) : Json();
  if (with_sources) json["sources"] = sources;
  return json;
}

}  // namespace

std::string format_advice(std::span<const DeviceAdvice> devices, const Style& style) {
  if (style.format == Format::kJson || style.format == Format::kCsv) {
    std::vector<Json> objects;
    for (const DeviceAdvice& block : devices) {
      for (const AdvisedShape& problem : block.problems) {
        objects.push_back(to_json(block.device, problem));
      }
    }
    return render_objects(objects, to_json(Device{}, AdvisedShape{}), style);
  }
  std::vector<std::string> blocks;
  for (const DeviceAdvice& block : devices) {
    blocks.push_back(advice_block(block, style));
  }
  return blocks_text(blocks);
}

std::string format_wgmma(std::span<const Device> devices, std::span<const MeasuredWgmma> measured,
                         const Style& style) {
  if (style.format == Format::kJson || style.format == Format::kCsv) {
    std::vector<Json> objects;
    for (const Device& device : devices) {
      for (const WgmmaForm& form : wgmma_forms()) {
        for_each_n([&](int n) {
          objects.push_back(to_json(device, form, n, find_measured(measured, device, form, n)));
        });
      }
    }
    return render_objects(objects, objects.empty() ? Json() : objects.front(), style);
  }
  std::vector<std::string> blocks;
  for (const Device& device : devices) {
    const auto is_measured = [&](const WgmmaForm& form) {
      return std::ranges::any_of(measured, [&](const MeasuredWgmma& one) {
        return one.form == form && device.is(one.gpu_name);
      });
    };
    const bool any = std::ranges::any_of(wgmma_forms(), is_measured);
    for (const WgmmaForm& form : wgmma_forms()) {
      if (any ? is_measured(form) : form == WgmmaForm{}) {
        blocks.push_back(form_block(device, form, measured, style));
      }
    }
  }
  return blocks_text(blocks);
}

std::string format_devices(std::span<const Device> devices, const Style& style) {
  if (style.format == Format::kJson || style.format == Format::kCsv) {
    const bool json = style.format == Format::kJson;
    std::vector<Json> objects;
    for (const Device& device : devices) objects.push_back(to_json(device, json));
    return render_objects(objects, objects.empty() ? Json() : objects.front(), style);
  }
  Table table;
  table.columns = {{"device", false},
                   {"SMs"},
                   {"TFLOP/s"},
                   {"fp8"},
                   {"TB/s"},
                   {"GB"},
                   {"L2 MB"},
                   {"MHz"},
                   {"FLOP/TC/clk"},
                   {"rounded"},
                   {"ridge FLOP/B"},
                   {"fp8 ridge"},
                   {"compute-bound from N"}};
  std::vector<std::string> sources;
  for (const Device& device : devices) {
    const auto n = compute_bound_from(device, {});
    table.rows.push_back(
        {device.name, fmt::format("{:g}", device.sms.value),
         fmt::format("{:g}", device.peak_tflops.value),
         fmt::format("{:g}", device.peak_fp8_tflops.value),
         fmt::format("{:g}", device.memory_tbps.value), fmt::format("{:g}", device.memory_gb.value),
         fmt::format("{:g}", device.l2_mb.value),
         fmt::format("{:g}", (device.tensor_mhz ? *device.tensor_mhz : device.boost_mhz).value),
         fmt::format("{:.1f}", device.derived_flops_per_tensor_core_clk(MmaInput::kBf16)),
         fmt::format("{:g}", device.flops_per_tensor_core_clk(MmaInput::kBf16)),
         fmt::format("{:.0f}", device.ridge(MmaInput::kBf16)),
         fmt::format("{:.0f}", device.ridge(MmaInput::kFp8)), n ? std::to_string(*n) : "-"});
    for (const auto& [name, figure] : figures_of(device)) {
      if (figure == nullptr) continue;
      sources.push_back(
          fmt::format("{} {} {:g}: {}", device.name, name, figure->value, figure->source));
    }
  }
  std::vector<Piece> pieces = {
      render(table, style),
      "FLOP/TC/clk = TFLOP/s / (SMs x tensor cores x MHz); hardware has a power of two, and the "
      "model takes the nearest.\n",
      list_text("Sources (references: configs/devices.yaml):", sources, style)};
  return joined(pieces, style);
}

}  // namespace hgemm
