#include "output/best_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/statistics.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/best_totals.h"
#include "output/problem_fields.h"
#include "output/text.h"

namespace hgemm {
namespace {

using Rows = BestField::Rows;
using Fit = Table::Fit;

/// Intensity below which memory bounds a GEMM on any Hopper GPU, whose two bounds meet above 200
/// FLOP per byte. Such a GEMM is so far under the tensor peak that its share of the peak would look
/// like a defect. Twice as much with 8-bit operands, whose peak is twice as high.
constexpr double kPeakAboveFlopsPerByte = 40;

constexpr const char* kNoConfig = "no config ended ok at the problem";
constexpr const char* kNoRatio = "the baseline was not measured beside the config";
constexpr const char* kNoInterval = "there is no ratio, only screening was measured, or few rounds";
constexpr const char* kNoEnergy = "energy was not measured";
constexpr const char* kNeverRecorded = "the problem was never recorded";
constexpr const char* kNoConfigWithoutPdl = "no config without PDL ended ok at the problem";
constexpr const char* kNoTimeWithoutPdl = "there is no such config, or it was only screened";
constexpr const char* kNoRatioWithoutPdl =
    "there is no such config, or the baseline was not measured beside it";
constexpr const char* kNoPrice =
    "any config may answer (without --batch-invariant), or no config of another kind ended ok";
constexpr const char* kNoSecondCard = "no second GPU measured the config to the end";

std::optional<double> gflops_per_joule(const BestRow& row) {
  if (!row.joules) return std::nullopt;
  return row.problem.flops() / *row.joules * 1e-9;
}

/// Bytes of A, B and D (each once) divided by time.
std::optional<double> memory_tbps(const BestRow& row) {
  if (!row.time_us) return std::nullopt;
  return row.problem.bytes() / *row.time_us * 1e-6;
}

std::optional<double> joules_ratio(const BestRow& row) {
  if (!row.joules || !row.cublas_joules) return std::nullopt;
  return *row.cublas_joules / *row.joules;
}

// ---- Cells ----

Cell ratio_cell(const std::optional<Ratio>& ratio, Stage stage) {
  if (!ratio) return "-";
  const bool good = ratio->interval.low > 1, bad = ratio->interval.high < 1;  // false for NaN
  return {ratio_text(ratio->value, ratio->interval, stage), good  ? Tone::kGood
                                                            : bad ? Tone::kBad
                                                                  : Tone::kPlain};
}

Cell ratio_cell(const BestRow& row, const std::optional<Ratio>& ratio) {
  return ratio_cell(ratio, row.stage);
}

const std::optional<Ratio>& ratio_without_pdl(const BestRow& row,
                                              std::optional<Ratio> WithoutPdl::*ratio) {
  static const std::optional<Ratio> kNone;
  return row.without_pdl ? *row.without_pdl.*ratio : kNone;
}

Cell cell_without_pdl(const BestRow& row, std::optional<Ratio> WithoutPdl::*ratio) {
  return ratio_cell(ratio_without_pdl(row, ratio),
                    row.without_pdl ? row.without_pdl->stage : Stage::kNone);
}

/// The start of a UUID tells the cards of a host apart: "GPU-5ae1b2c3".
std::string short_card(const std::string& uuid) {
  constexpr std::size_t kShown = 12;
  return uuid.empty() ? "-" : uuid.substr(0, kShown);
}

Cell second_card_cell(const BestRow& row) {
  if (!row.second_card) return "-";
  if (row.second_card->agrees) return {"confirmed", Tone::kGood};
  return {fmt::format("{} on {}", row.second_card->label, short_card(row.second_card->gpu_uuid)),
          Tone::kBad};
}

Cell config_cell(const BestRow& row) {
  if (!row.label) {
    return {fmt::format("none ok ({} recorded, {} failed)", row.trials, row.failed), Tone::kBad};
  }
  if (!row.verified) return {*row.label + " (not verified)", Tone::kBad};
  if (!row.library.empty()) return fmt::format("{} (before {})", row.library, *row.label);
  return *row.label;
}

Cell peak_or_speed(const BestRow& row) {
  const double above = (row.problem.has_8_bit_operands() ? 2 : 1) * kPeakAboveFlopsPerByte;
  return row.problem.flops() < above * row.problem.bytes()
             ? optional_text(memory_tbps(row), "{:.2f} TB/s")
             : optional_text(row.peak_fraction, "{:.1f}", 100);
}

// ---- Over rows ----

std::string geomean_text(const std::vector<double>& values) {
  return values.empty() ? "-" : fmt::format("{:.3f}", geomean(values));
}

std::string geomean_of(const Rows& rows, std::optional<Ratio> BestRow::*ratio) {
  std::vector<double> values;
  for (const BestRow* row : rows) {
    if (row->*ratio) values.push_back((row->*ratio)->value);
  }
  return geomean_text(values);
}

/// The gain of a model that runs each shape as often as its weight says.
std::string gain_of(const Rows& rows, std::optional<Ratio> BestRow::*ratio) {
  const auto is_known = [ratio](const BestRow* row) { return (row->*ratio).has_value(); };
  if (!std::ranges::all_of(rows, is_known)) return "-";
  return fmt::format("{:.3f}", weighted_baseline_us(rows, ratio) / weighted_time_us(rows));
}

std::string geomean_without_pdl(const Rows& rows, std::optional<Ratio> WithoutPdl::*ratio) {
  std::vector<double> values;
  for (const BestRow* row : rows) {
    if (const auto& one = ratio_without_pdl(*row, ratio)) values.push_back(one->value);
  }
  return geomean_text(values);
}

/// gain_of() of a model that runs the configs without PDL.
std::string gain_without_pdl(const Rows& rows, std::optional<Ratio> WithoutPdl::*ratio) {
  double ours_us = 0, baseline_us = 0;
  for (const BestRow* row : rows) {
    const auto& one = ratio_without_pdl(*row, ratio);
    if (!one || !row->without_pdl->time_us) return "-";
    const double time_us = row->problem.weight * *row->without_pdl->time_us;
    ours_us += time_us;
    baseline_us += time_us * one->value;
  }
  return fmt::format("{:.3f}", baseline_us / ours_us);
}

std::optional<double> price_of(const BestRow& row) {
  return row.price ? row.price->ratio : std::nullopt;
}

template <std::optional<double> BestRow::*kError>
Cell error_cell(const BestRow& row) {
  return optional_text(row.*kError, "{:.4f}");
}

Cell price_cell(const BestRow& row) {
  const std::optional<double> price = price_of(row);
  if (!price) return "-";
  return fmt::format("{:.3f}{}", *price, row.stage == Stage::kScreen ? " [screened]" : "");
}

std::string geomean_of_prices(const Rows& rows) {
  std::vector<double> values;
  for (const BestRow* row : rows) {
    if (const auto price = price_of(*row)) values.push_back(*price);
  }
  return geomean_text(values);
}

/// The price of a model that runs each shape as often as its weight says.
std::string weighted_price(const Rows& rows) {
  double any_us = 0;
  for (const BestRow* row : rows) {
    const auto price = price_of(*row);
    if (!price || !row->time_us) return "-";
    any_us += row->problem.weight * *row->time_us / *price;
  }
  return fmt::format("{:.3f}", weighted_time_us(rows) / any_us);
}

// ---- Values ----

Json value_of(const std::optional<Ratio>& ratio) { return ratio ? number(ratio->value) : Json(); }
Json low_of(const std::optional<Ratio>& ratio) {
  return ratio ? number(ratio->interval.low) : Json();
}
Json high_of(const std::optional<Ratio>& ratio) {
  return ratio ? number(ratio->interval.high) : Json();
}
/// Null where the value is not known.
Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

const GemmProblem& problem_of_best(const BestRow& row) { return row.problem; }

using F = BestField;

std::vector<F> fields_of_time() {
  return {
      F::of(
          "regime", "text", "",
          "sustained (at full load for long), burst (after idle time), single (one call) or chain",
          "", [](const BestRow& row) { return Json(to_string(row.regime)); }),
      F::of("label", "text", "", "the fastest verified config; with --objective energy by joules",
            kNoConfig,
            [](const BestRow& row) {
              if (!row.library.empty()) return Json(row.library);
              return row.label ? Json(*row.label) : Json();
            })
          .at(10, 0, "config", config_cell)
          .giving_way(Fit::kBelow),
      F::of("time_us", "number", "us",
            "median time of one GEMM; in the regime chain with the elementwise kernels before and "
            "after it",
            kNoConfig, [](const BestRow& row) { return number(row.time_us); })
          .at(20, 3, "time us",
              [](const BestRow& row) { return Cell(optional_text(row.time_us, "{:.2f}")); })
          .over(nullptr,
                [](const Rows& rows) { return fmt::format("{:.2f}", weighted_time_us(rows)); }),
      F::of("tflops", "number", "TFLOP/s", "2 m n k by time_us", kNoConfig,
            [](const BestRow& row) { return number(row.tflops); })
          .at(30, 12, "TFLOP/s",
              [](const BestRow& row) { return Cell(optional_text(row.tflops, "{:.1f}")); }),
      F::of(
          "ratio_cublas", "number", "",
          "time of cublasGemmEx's default (with 8-bit operands: of the first choice of cuBLASLt's "
          "heuristic) by that of the config: the median over the rounds of their race; above 1 "
          "the config is faster",
          kNoRatio, [](const BestRow& row) { return value_of(row.cublas); })
          .at(40, 1, "x cuBLAS", [](const BestRow& row) { return ratio_cell(row, row.cublas); })
          .over([](const Rows& rows) { return geomean_of(rows, &BestRow::cublas); },
                [](const Rows& rows) { return gain_of(rows, &BestRow::cublas); }),
      F::of("ratio_cublas_low", "number", "", "lower end of its 95 % interval", kNoInterval,
            [](const BestRow& row) { return low_of(row.cublas); }),
      F::of("ratio_cublas_high", "number", "", "upper end of its 95 % interval", kNoInterval,
            [](const BestRow& row) { return high_of(row.cublas); }),
      F::of("ratio_cublaslt", "number", "",
            "the same against the fastest algorithm that cuBLASLt's heuristic returns", kNoRatio,
            [](const BestRow& row) { return value_of(row.cublaslt); })
          .at(50, 2, "x cuBLASLt", [](const BestRow& row) { return ratio_cell(row, row.cublaslt); })
          .over([](const Rows& rows) { return geomean_of(rows, &BestRow::cublaslt); },
                [](const Rows& rows) { return gain_of(rows, &BestRow::cublaslt); }),
      F::of("ratio_cublaslt_low", "number", "", "lower end of its 95 % interval", kNoInterval,
            [](const BestRow& row) { return low_of(row.cublaslt); }),
      F::of("ratio_cublaslt_high", "number", "", "upper end of its 95 % interval", kNoInterval,
            [](const BestRow& row) { return high_of(row.cublaslt); }),
      F::of("peak_or_tbps", "text", "", "peak_fraction, or memory_tbps where memory is the bound",
            kNoConfig, [](const BestRow& row) { return Json(peak_or_speed(row).text); })
          .at(60, 14, "% peak or TB/s", peak_or_speed)
          .numeric()
          .in_tables_only(),
      F::of("sm_mhz", "number", "MHz", "clock of the SMs while the config was timed", kNoConfig,
            [](const BestRow& row) { return number(row.sm_mhz); })
          .at(70, 15, "SM MHz",
              [](const BestRow& row) { return Cell(optional_text(row.sm_mhz, "{:.0f}")); }),
      F::of("peak_fraction", "number", "", "share of the tensor cores' dense peak at sm_mhz",
            kNoConfig, [](const BestRow& row) { return number(row.peak_fraction); }),
      F::of("memory_tbps", "number", "TB/s", "the bytes of A, B and D, each once, by time_us",
            kNoConfig, [](const BestRow& row) { return number(memory_tbps(row)); }),
  };
}

std::vector<F> fields_of_proof() {
  return {
      F::of("joules", "number", "J", "energy of one GEMM at full load", kNoEnergy,
            [](const BestRow& row) { return number(row.joules); })
          .at(80, 16, "J/GEMM",
              [](const BestRow& row) { return Cell(optional_text(row.joules, "{:.4g}")); }),
      F::of("gflops_per_joule", "number", "GFLOP/J", "2 m n k by joules", kNoEnergy,
            [](const BestRow& row) { return number(gflops_per_joule(row)); })
          .at(90, 18, "GFLOP/J",
              [](const BestRow& row) {
                return Cell(optional_text(gflops_per_joule(row), "{:.1f}"));
              }),
      F::of("verified", "true or false", "", "the config's result was checked and is correct", "",
            [](const BestRow& row) { return Json(row.verified); }),
      F::of("ties", "list of texts", "",
            "labels of the finalists that cannot be told from the config, or are within 0.5 % of "
            "it; tables show how many",
            "", [](const BestRow& row) { return Json(row.ties); })
          .at(110, 13, "ties",
              [](const BestRow& row) {
                return Cell(row.stage == Stage::kFinal ? fmt::format("{}", row.ties.size())
                                                       : std::string("-"));
              })
          .numeric(),
      F::of("cublas_time_us", "number", "us", "median time of cublasGemmEx's default", kNoRatio,
            [](const BestRow& row) { return number(row.cublas_time_us); }),
      F::of("cublaslt_time_us", "number", "us", "median time of cuBLASLt's fastest", kNoRatio,
            [](const BestRow& row) { return number(row.cublaslt_time_us); }),
      F::of("cublaslt_label", "text", "", "which of cuBLASLt's algorithms that was", kNoRatio,
            [](const BestRow& row) { return text_or_null(row.cublaslt_label); }),
      F::of("ratio_cublas_cycles", "number", "",
            "ratio_cublas in cycles of the SM clock: as if both ran at the same clock", kNoRatio,
            [](const BestRow& row) { return number(row.cublas_cycles); }),
      F::of("cublas_joules", "number", "J", "energy of one GEMM by cublasGemmEx's default",
            kNoEnergy, [](const BestRow& row) { return number(row.cublas_joules); }),
      F::of("cublaslt_joules", "number", "J", "energy of one GEMM by cuBLASLt's fastest", kNoEnergy,
            [](const BestRow& row) { return number(row.cublaslt_joules); }),
      F::of("clock_events", "integer", "bits",
            "why the clock was held down while the row was timed, as NVML's bits of event reasons",
            kNoConfig,
            [](const BestRow& row) { return row.label ? Json(row.clock_events) : Json(); }),
      F::of("effort", "text", "",
            "full; brief: measured within a time budget, before the clock had settled; screened: "
            "by a few rounds that also chose it",
            kNoConfig,
            [](const BestRow& row) {
              if (!row.label) return Json();
              if (row.stage == Stage::kScreen) return Json("screened");
              return Json(row.brief ? "brief" : "full");
            }),
  };
}

std::vector<F> fields_of_origin() {
  return {
      problem_key_of<BestRow, problem_of_best>(),
      F::of("a_dtype", "text", "", "type of A", "",
            [](const BestRow& row) { return Json(to_string(row.problem.a_type)); })
          .for_problem(),
      F::of("b_dtype", "text", "", "type of B", "",
            [](const BestRow& row) { return Json(to_string(row.problem.b_type)); })
          .for_problem(),
      F::of("d_dtype", "text", "", "type of D", "",
            [](const BestRow& row) { return Json(to_string(row.problem.d_type)); })
          .for_problem(),
      F::of("batch", "integer", "", "products that one launch computes", "",
            [](const BestRow& row) { return Json(row.problem.batch); })
          .for_problem(),
      F::of("scaling", "text", "",
            "how 8-bit operands are scaled: none, tensor, rows, blocks, packed_blocks or "
            "row_blocks",
            "", [](const BestRow& row) { return Json(to_string(row.problem.scaling)); })
          .for_problem(),
      F::of("epilogue", "text", "", "what is computed on the sum", "",
            [](const BestRow& row) { return Json(to_string(row.problem.epilogue)); })
          .for_problem(),
      F::of("c_dtype", "text", "", "type of C, which is added", "there is no C",
            [](const BestRow& row) {
              return row.problem.c_type ? Json(to_string(*row.problem.c_type)) : Json();
            })
          .for_problem(),
      F::of("pdl", "text", "", "the config's PDL kind: off, safe or weights", kNoConfig,
            [](const BestRow& row) {
              return row.label ? Json(to_string(pdl_kind(parse_label(*row.label)))) : Json();
            }),
      F::of(
          "kernel_id", "text", "",
          "hash of the code of the config's kernel; \"sources:...\", a hash of its sources, where "
          "the database is older than kernel ids",
          kNoConfig,
          [](const BestRow& row) { return row.label ? text_or_null(row.kernel_id) : Json(); }),
      F::of("gpu", "text", "", "name of the GPU", kNeverRecorded,
            [](const BestRow& row) { return text_or_null(row.environment.gpu_name); })
          .for_problem(),
      F::of("driver", "text", "", "version of the NVIDIA driver", kNeverRecorded,
            [](const BestRow& row) { return text_or_null(row.environment.driver); })
          .for_problem(),
      F::of("cuda", "text", "", "version of the CUDA toolkit", kNeverRecorded,
            [](const BestRow& row) { return text_or_null(row.environment.cuda); })
          .for_problem(),
      F::of("cublas", "text", "", "version of cuBLAS", kNeverRecorded,
            [](const BestRow& row) { return text_or_null(row.environment.cublas); })
          .for_problem(),
      F::of("date", "text", "UTC", "day of the race, as 2026-11-20", kNeverRecorded,
            [](const BestRow& row) { return text_or_null(row.started_utc.substr(0, 10)); }),
      F::of("ratio_cublas_joules", "number", "",
            "cublas_joules by joules; above 1 the config takes "
            "less",
            kNoEnergy, [](const BestRow& row) { return number(joules_ratio(row)); })
          .at(100, 17, "x cuBLAS J",
              [](const BestRow& row) { return Cell(optional_text(joules_ratio(row), "{:.3f}")); })
          .over(
              [](const Rows& rows) {
                std::vector<double> values;
                for (const BestRow* row : rows) {
                  if (const auto ratio = joules_ratio(*row)) values.push_back(*ratio);
                }
                return geomean_text(values);
              },
              nullptr),
  };
}

std::vector<F> fields_without_pdl() {
  return {
      F::of("pdl_off_label", "text", "",
            "the best config without PDL, of the same races; label itself where that has no PDL",
            kNoConfigWithoutPdl,
            [](const BestRow& row) {
              return row.without_pdl ? Json(row.without_pdl->label) : Json();
            })
          .giving_way(Fit::kBelow),
      F::of("pdl_off_time_us", "number", "us", "median time of one GEMM by pdl_off_label",
            kNoTimeWithoutPdl,
            [](const BestRow& row) {
              return row.without_pdl ? number(row.without_pdl->time_us) : Json();
            }),
      F::of(
          "pdl_off_ratio_cublas", "number", "",
          "ratio_cublas of pdl_off_label; where it is below 1 and ratio_cublas above, the lead "
          "is by PDL",
          kNoRatioWithoutPdl,
          [](const BestRow& row) { return value_of(ratio_without_pdl(row, &WithoutPdl::cublas)); })
          .at(52, 4, "x cuBLAS no PDL",
              [](const BestRow& row) { return cell_without_pdl(row, &WithoutPdl::cublas); })
          .over([](const Rows& rows) { return geomean_without_pdl(rows, &WithoutPdl::cublas); },
                [](const Rows& rows) { return gain_without_pdl(rows, &WithoutPdl::cublas); }),
      F::of("pdl_off_ratio_cublas_low", "number", "", "lower end of its 95 % interval", kNoInterval,
            [](const BestRow& row) { return low_of(ratio_without_pdl(row, &WithoutPdl::cublas)); }),
      F::of(
          "pdl_off_ratio_cublas_high", "number", "", "upper end of its 95 % interval", kNoInterval,
          [](const BestRow& row) { return high_of(ratio_without_pdl(row, &WithoutPdl::cublas)); }),
      F::of("pdl_off_ratio_cublaslt", "number", "", "ratio_cublaslt of pdl_off_label",
            kNoRatioWithoutPdl,
            [](const BestRow& row) {
              return value_of(ratio_without_pdl(row, &WithoutPdl::cublaslt));
            })
          .at(54, 10, "x cuBLASLt no PDL",
              [](const BestRow& row) { return cell_without_pdl(row, &WithoutPdl::cublaslt); })
          .over([](const Rows& rows) { return geomean_without_pdl(rows, &WithoutPdl::cublaslt); },
                [](const Rows& rows) { return gain_without_pdl(rows, &WithoutPdl::cublaslt); }),
      F::of(
          "pdl_off_ratio_cublaslt_low", "number", "", "lower end of its 95 % interval", kNoInterval,
          [](const BestRow& row) { return low_of(ratio_without_pdl(row, &WithoutPdl::cublaslt)); }),
      F::of("pdl_off_ratio_cublaslt_high", "number", "", "upper end of its 95 % interval",
            kNoInterval,
            [](const BestRow& row) {
              return high_of(ratio_without_pdl(row, &WithoutPdl::cublaslt));
            }),
  };
}

std::vector<F> fields_of_price() {
  return {
      F::of("price", "number", "",
            "time of the config, which is batch-invariant, by that of any_kind_label; 1 where that "
            "is the same. Beside configs of another race it is found by the ratios to cublas",
            kNoPrice, [](const BestRow& row) { return number(price_of(row)); })
          .at(25, 6, "price", price_cell)
          .over(geomean_of_prices, weighted_price),
      F::of("any_kind_label", "text", "",
            "the best config of any kind in the same database, batch-invariant or not", kNoPrice,
            [](const BestRow& row) {
              return text_or_null(row.price ? row.price->label : std::string());
            })
          .giving_way(Fit::kBelow),
  };
}

Json host_us_of(const std::optional<CallTime>& calls) {
  return calls ? number(calls->host_us) : Json();
}
Json kernel_us_of(const std::optional<CallTime>& calls) {
  return calls ? number(calls->kernel_us) : Json();
}

std::vector<F> fields_of_calls() {
  constexpr const char* kNoCalls = "the regime is not single, or the config was only screened";
  constexpr const char* kNoCupti = "the same, or the race was brief, or CUPTI was not available";
  return {
      F::of("host_us", "number", "us", "median time that the host spends in a call", kNoCalls,
            [](const BestRow& row) { return host_us_of(row.calls); })
          .at(34, 19, "host us",
              [](const BestRow& row) {
                return Cell(row.calls ? fmt::format("{:.2f}", row.calls->host_us) : "-");
              }),
      F::of("kernel_us", "number", "us",
            "median time from the start of a call's first kernel to the end of its last, by CUPTI",
            kNoCupti, [](const BestRow& row) { return kernel_us_of(row.calls); })
          .at(32, 20, "kernel us",
              [](const BestRow& row) {
                return Cell(row.calls ? optional_text(row.calls->kernel_us, "{:.2f}") : "-");
              }),
      F::of("cublas_host_us", "number", "us", "host_us of cublasGemmEx's default", kNoCalls,
            [](const BestRow& row) { return host_us_of(row.cublas_calls); }),
      F::of("cublas_kernel_us", "number", "us", "kernel_us of cublasGemmEx's default", kNoCupti,
            [](const BestRow& row) { return kernel_us_of(row.cublas_calls); }),
      F::of("cublaslt_host_us", "number", "us", "host_us of cuBLASLt's fastest", kNoCalls,
            [](const BestRow& row) { return host_us_of(row.cublaslt_calls); }),
      F::of("cublaslt_kernel_us", "number", "us", "kernel_us of cuBLASLt's fastest", kNoCupti,
            [](const BestRow& row) { return kernel_us_of(row.cublaslt_calls); }),
  };
}

std::vector<F> fields_of_cards() {
  return {
      F::of("card", "text", "", "UUID of the GPU that the row was measured on", kNeverRecorded,
            [](const BestRow& row) { return text_or_null(row.run.gpu_uuid); })
          .at(130, 11, "card",
              [](const BestRow& row) { return Cell(short_card(row.run.gpu_uuid)); }),
      F::of("confirmed", "true or false", "",
            "on a second GPU the config is the best, too, or ties with the best", kNoSecondCard,
            [](const BestRow& row) {
              return row.second_card ? Json(row.second_card->agrees) : Json();
            })
          .at(140, 12, "second card", second_card_cell)
          .giving_way(Fit::kWrapped),
      F::of("second_card", "text", "", "UUID of the second GPU", kNoSecondCard,
            [](const BestRow& row) {
              return row.second_card ? Json(row.second_card->gpu_uuid) : Json();
            }),
      F::of("second_card_label", "text", "", "the best config on the second GPU", kNoSecondCard,
            [](const BestRow& row) {
              return row.second_card ? Json(row.second_card->label) : Json();
            }),
      F::of("neighbours", "integer", "",
            "GPUs of the same host that the run kept busy beside this one",
            "the row was recorded before this was known",
            [](const BestRow& row) { return row.neighbours ? Json(*row.neighbours) : Json(); }),
  };
}

std::vector<F> fields_of_epilogues() {
  return {
      F::of("cublaslt_epilogue", "text", "",
            "how cublaslt_label computes the epilogue: fused, or separate, in a second launch "
            "that is timed with it (cublasGemmEx's always is)",
            "the problem has none, or the baseline was not measured beside the config",
            [](const BestRow& row) {
              if (!row.problem.exceeds_product() || row.cublaslt_algorithm.empty()) return Json();
              return Json(row.cublaslt_algorithm.ends_with(kThenEpilogue) ? "separate" : "fused");
            }),
  };
}

/// A stride of the problem's batch, or null.
template <long long Batch::*stride>
Json stride_of(const BestRow& row) {
  const Batch batch = row.problem.extents().batch;
  return batch.count > 1 && !batch.by_pointers ? Json(batch.*stride) : Json();
}

std::vector<F> fields_of_batches() {
  constexpr const char* kSingle = "the problem is a single product, or a batch by pointers";
  return {
      F::of("stride_a", "integer", "values",
            "from one product's A to the next; 0: all products have the same", kSingle,
            stride_of<&Batch::stride_a>)
          .for_problem(),
      F::of("stride_b", "integer", "values",
            "from one product's B to the next; 0: all products have the same", kSingle,
            stride_of<&Batch::stride_b>)
          .for_problem(),
      F::of("stride_d", "integer", "values", "from one product's D to the next", kSingle,
            stride_of<&Batch::stride_d>)
          .for_problem(),
      F::of(
          "products", "text", "",
          "how the products of a batch are found: strided, or by arrays of pointers", "",
          [](const BestRow& row) { return Json(row.problem.by_pointers ? "pointers" : "strided"); })
          .for_problem(),
      F::of("accumulator", "text", "",
            "how sums are kept: fp32, or fast, in the tensor cores to the end", "",
            [](const BestRow& row) { return Json(to_string(row.problem.accumulator)); })
          .for_problem(),
      F::of("d_scaling", "text", "",
            "scale of a D of 8 bits: given, or blocks, which the kernel finds", "",
            [](const BestRow& row) { return Json(to_string(row.problem.output_scaling)); })
          .for_problem(),
  };
}

std::vector<F> fields_of_errors() {
  return {F::of("error", "number", "",
                "largest error of an output by verify's measure; in tables of 8-bit operands",
                kNoConfig, [](const BestRow& row) { return number(row.error); })
              .at(106, 12, "error", error_cell<&BestRow::error>),
          F::of("cublas_error", "number", "", "the same of cublasGemmEx's default", kNoRatio,
                [](const BestRow& row) { return number(row.cublas_error); })
              .at(107, 16, "cuBLAS error", error_cell<&BestRow::cublas_error>)};
}

}  // namespace

std::span<const BestField> best_fields() {
  static const std::vector<BestField> kFields = [] {
    std::vector<BestField> all = problem_fields_of<BestRow, problem_of_best>();
    for (const auto& part :
         {fields_of_time(), fields_of_proof(), fields_of_origin(), fields_without_pdl(),
          fields_of_calls(), fields_of_cards(), fields_of_epilogues(), fields_of_batches(),
          fields_of_price(), fields_of_errors()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kFields;
}

}  // namespace hgemm
