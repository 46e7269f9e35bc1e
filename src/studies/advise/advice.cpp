#include "studies/advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "families/family.h"

namespace hgemm {
namespace {

/// The least N of wgmma, and the N of one mma.m16n8k16: up to this M, one pass over the weights
/// computes all tokens, and the time of the tensor cores does not matter. ONNX Runtime uses its
/// GEMV up to the same M (pull request 31478).
constexpr std::int64_t kGemvRows = 8;
/// Two 64-row blocks. Up to this M every decode shape is memory-bound on an H200, and TensorRT-LLM,
/// SGLang and cuBLAS have kernels of their own (analysis/latency-model.md).
constexpr std::int64_t kThinRows = 128;
/// CUTLASS's stream-K gives each unit at least this many k tiles (tile_scheduler_params.h).
constexpr double kLeastKBlocks = 8;
constexpr int kMaxTileRows = 384;  // TiledRule::kTileM
/// A share waits for the other share's partial sums: these are written, announced, seen and read in
/// four successive trips through L2. Assumed, because public microbenchmarks put a hit at 200 to
/// 300 cycles.
constexpr double kSplitLatencyCycles = 4 * 260;
/// Bandwidth of L2 in DeepGEMM's cost model (heuristics/sm90.hpp): per SM, and in all.
constexpr double kL2BytesPerClkPerSm = 64;
constexpr double kL2BytesPerClk = 8e6 / 1.3e3;

std::int64_t rounded_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// The depth of a k block: rows of 128 bytes.
int block_k(const GemmProblem& problem) { return kSwizzleBytes / element_bytes(problem.a_type); }

/// Whether this project's kernel supports the tile with three stages and any number of consumers,
/// for operands and sums like the problem's. (Sums that are promoted take registers.)
bool can_build(const GemmProblem& problem, int bm, int bn) {
  GemmProblem plain;
  plain.set_types(problem.a_type);
  plain.accumulator = problem.accumulator;
  plain.scaling = problem.scaling;
  const int bk = block_k(problem);
  const bool promotes = promotes_sums(plain.kind());
  for (const Schedule schedule : {Schedule::kRows, Schedule::kColumns, Schedule::kPingPong}) {
    for (const int consumers : {1, 2, 3}) {
      const TiledConfig config{.bm = bm,
                               .bn = bn,
                               .bk = bk,
                               .stages = 3,
                               .schedule = schedule,
                               .consumers = consumers,
                               .mma_depth = promotes ? 0 : 1,
                               .promote = promotes ? bk : 0};
      if (!why_invalid(kernel_for(config, plain))) return true;
    }
  }
  return false;
}

class Tiling {
 public:
  Tiling(const Device& device, const GemmProblem& problem, double memory_us)
      : device_(device), problem_(problem), memory_us_(memory_us), sms_(device.sms.value) {}

  KernelAdvice best() const {
    KernelAdvice best;
    std::vector<TileFit> fits;
    for (int bm = kWgmmaRows; bm <= kMaxTileRows; bm += kWgmmaRows) {
      for (int bn = kWgmmaStepN; bn <= kWgmmaMaxN; bn += kWgmmaStepN) {
        if (!can_build(problem_, bm, bn)) continue;
        fits.push_back(whole(bm, bn));
        if (const auto us = split_us(bm, bn); us && (best.split_us == 0 || *us < best.split_us))
          best.split_us = *us;
      }
    }
    // The model cannot distinguish tiles whose times are within its error; the largest moves the
    // fewest bytes.
    best.whole_us = std::ranges::min_element(fits, {}, &TileFit::us)->us;
    for (const TileFit& fit : fits) {
      if (fit.us <= best.whole_us * kModelMargin && fit.bm * fit.bn > best.whole.bm * best.whole.bn)
        best.whole = fit;
    }
    return best;
  }

 private:
  TileFit whole(int bm, int bn) const {
    TileFit fit{.bm = bm, .bn = bn, .tiles = tiles(bm, bn)};
    const auto sms = static_cast<std::int64_t>(sms_);
    fit.waves = rounded_up(fit.tiles, sms);
    fit.efficiency = static_cast<double>(fit.tiles) / static_cast<double>(fit.waves * sms);
    fit.us = time_us(static_cast<double>(fit.waves) * cycles(bm, bn));
    return fit;
  }

  /// Time if every SM gets an equal share of all tiles' k blocks. Each SM then shares one tile with
  /// another SM; the fp32 partial sums of that tile are written and read through L2.
  std::optional<double> split_us(int bm, int bn) const {
    const double shares = static_cast<double>(tiles(bm, bn)) / sms_;
    if (shares * static_cast<double>(rounded_up(problem_.k, block_k(problem_))) < kLeastKBlocks)
      return std::nullopt;
    const double partials = 2.0 * 4.0 * bm * bn / l2_bytes_per_clk(sms_);
    return time_us(shares * cycles(bm, bn) + partials + kSplitLatencyCycles);
  }

  std::int64_t tiles(int bm, int bn) const {
    return problem_.batch * rounded_up(problem_.m, bm) * rounded_up(problem_.n, bn);
  }

  /// Cycles of one tile: its wgmmas, or its operands from L2. If there are more tiles than SMs,
  /// clusters of two share the larger operand (DeepGEMM: not with a single wave).
  double cycles(int bm, int bn) const {
    const auto all = static_cast<double>(tiles(bm, bn));
    const WgmmaForm form{.input = mma_input(problem_)};
    const auto depth = static_cast<double>(rounded_up(problem_.k, wgmma_depth(form.input)));
    const double mma =
        depth * (static_cast<double>(bm) / kWgmmaRows) * wgmma_cycles(device_, form, bn).cycles();
    const double shared = all > sms_ ? 0.5 : 1.0;
    const double rows = std::min(bm, bn) + shared * std::max(bm, bn);
    const double bytes = rows * depth * wgmma_depth(form.input) * element_bytes(problem_.a_type) +
                         static_cast<double>(bm) * bn * element_bytes(problem_.d_type);
    return std::max(mma, bytes / l2_bytes_per_clk(std::min(all, sms_)));
  }

  static double l2_bytes_per_clk(double active_sms) {
    return std::min(kL2BytesPerClkPerSm, kL2BytesPerClk / active_sms);
  }

  double time_us(double cycles) const { return std::max(memory_us_, cycles / device_.model_mhz()); }

  const Device& device_;
  const GemmProblem& problem_;
  double memory_us_;
  double sms_;
};

std::string us_text(double us) {
  return us < 1000 ? fmt::format("{:.3g} us", us) : fmt::format("{:.0f} us", us);
}

std::string intensity_text(const Roofline& roof) {
  return fmt::format("{:.1f} FLOP/B against a ridge of {:.0f}", roof.intensity, roof.ridge);
}

std::string whole_text(const KernelAdvice& advice) {
  const TileFit& fit = advice.whole;
  std::string text = fmt::format("{}x{} tiles: {} in {} wave{} ({:.0f} % of the SMs' time), {}",
                                 fit.bm, fit.bn, fit.tiles, fit.waves, fit.waves == 1 ? "" : "s",
                                 fit.efficiency * 100, us_text(fit.us));
  if (us_text(fit.us) != us_text(advice.whole_us))
    text += fmt::format(" (fastest, with smaller tiles: {})", us_text(advice.whole_us));
  return text;
}

KernelAdvice advise_kernel(const Device& device, const GemmProblem& problem, const Roofline& roof,
                           const SwapAdvice& swap) {
  KernelAdvice advice = Tiling(device, problem, roof.memory_us).best();
  const bool thin_m = problem.m <= problem.n;
  const std::int64_t thin = thin_m ? problem.m : problem.n;
  const std::int64_t wide = thin_m ? problem.n : problem.m;
  const char* side = thin_m ? "M" : "N";
  const bool pays = swap.verdict == SwapVerdict::kPays;
  const bool has_gemv = problem.batch == 1 && !problem.has_8_bit_operands();
  if (thin <= kGemvRows && roof.memory_bound() && has_gemv) {
    advice.kind = KernelKind::kGemv;
    advice.why = fmt::format("{} = {} <= {}: {}, so reading once and fast is all ({})", side, thin,
                             kGemvRows, intensity_text(roof), us_text(roof.memory_us));
  } else if (thin <= kThinRows && (roof.memory_bound() || pays)) {
    advice.kind = KernelKind::kThin;
    advice.why = fmt::format("{} = {} <= {}: {}{}", side, thin, kThinRows, intensity_text(roof),
                             pays ? ", and swap-AB pays" : "");
  } else if (advice.split_us > 0 && advice.whole_us >= advice.split_us * kModelMargin) {
    advice.kind = KernelKind::kStreamK;
    advice.why = fmt::format("whole {}; with K split over all SMs {}", whole_text(advice),
                             us_text(advice.split_us));
  } else {
    advice.kind = KernelKind::kGemm;
    advice.why = whole_text(advice);
    advice.why += advice.split_us > 0
                      ? fmt::format("; splitting K would take {}", us_text(advice.split_us))
                      : fmt::format("; K is too short to split (a unit needs {:g} blocks of {})",
                                    kLeastKBlocks, block_k(problem));
  }
  const std::int64_t blocks = rounded_up(wide, kWgmmaRows);
  if (advice.kind <= KernelKind::kThin && static_cast<double>(blocks) < device.sms.value) {
    advice.why += fmt::format("; {} block{} of {} rows cannot keep {:g} SMs reading: split K",
                              blocks, blocks == 1 ? "" : "s", kWgmmaRows, device.sms.value);
  }
  return advice;
}

}  // namespace

std::string_view to_string(SwapVerdict verdict) {
  switch (verdict) {
    case SwapVerdict::kPays:
      return "pays";
    case SwapVerdict::kNoMatter:
      return "does not matter";
    case SwapVerdict::kDoesNotPay:
      return "does not pay";
  }
  return "";
}

std::string_view to_string(KernelKind kind) {
  switch (kind) {
    case KernelKind::kGemv:
      return "gemv";
    case KernelKind::kThin:
      return "thin";
    case KernelKind::kStreamK:
      return "stream-k";
    case KernelKind::kGemm:
      return "gemm";
  }
  return "";
}

Roofline roofline(const Device& device, const GemmProblem& problem) {
  const MmaInput input = mma_input(problem);
  return {.intensity = problem.flops() / problem.bytes(),
          .ridge = device.ridge(input),
          .memory_us = problem.bytes() / (device.memory_tbps.value * 1e6),
          .compute_us = problem.flops() / device.peak_flops(input) * 1e6,
          .fits_l2 = problem.bytes() <= device.l2_mb.value * 1024 * 1024,
          .fits_memory = problem.bytes() <= device.memory_gb.value * 1e9};
}

SeparateEpilogue separate_epilogue(const Device& device, const GemmProblem& problem) {
  double bytes = problem.product().d_bytes() + problem.epilogue_bytes() + problem.d_bytes();
  // A library adds C and a bias along N, if any, to the product, which then is the second output.
  if (problem.epilogue.aux && problem.epilogue.bias != Bias::kAlongM) bytes = 2 * problem.d_bytes();
  return {.bytes = bytes,
          .us = bytes / (device.memory_tbps.value * 1e6),
          .fits_l2 = bytes <= device.l2_mb.value * 1024 * 1024};
}

TensorWork tensor_work(const Device& device, const WgmmaForm& form, std::int64_t rows,
                       std::int64_t columns, std::int64_t k) {
  TensorWork best;
  best.us = std::numeric_limits<double>::infinity();
  const std::int64_t blocks = rounded_up(rows, kWgmmaRows);
  const std::int64_t depth = rounded_up(k, wgmma_depth(form.input));
  for (int n = kWgmmaMaxN; n > 0; n -= kWgmmaStepN) {
    const std::int64_t instructions = blocks * depth * rounded_up(columns, n);
    const double cycles = static_cast<double>(instructions) / device.sms.value *
                          wgmma_cycles(device, form, n).cycles();
    const double us = cycles / device.model_mhz();
    // If times are equal, the largest N wins, because it comes first: the fewest instructions.
    if (us < best.us) best = {.n = n, .blocks = blocks, .instructions = instructions, .us = us};
  }
  return best;
}

SwapAdvice advise_swap(const Device& device, const WgmmaForm& form, std::int64_t m, std::int64_t n,
                       std::int64_t k, double memory_us) {
  SwapAdvice advice;
  advice.as_is = tensor_work(device, form, m, n, k);
  advice.swapped = tensor_work(device, form, n, m, k);
  advice.speedup = std::max(memory_us, advice.as_is.us) / std::max(memory_us, advice.swapped.us);
  if (advice.speedup >= kModelMargin) {
    advice.verdict = SwapVerdict::kPays;
  } else if (advice.speedup <= 1 / kModelMargin) {
    advice.verdict = SwapVerdict::kDoesNotPay;
  }
  const int depth = wgmma_depth(form.input);
  const auto side = [&](const char* name, std::int64_t rows, const TensorWork& work) {
    return fmt::format("{} = {} on {} x 64 rows, m64n{}k{}: {}", name, rows, work.blocks, work.n,
                       depth, us_text(work.us));
  };
  advice.why =
      fmt::format("tensor cores as it is ({}), swapped ({}), memory {}", side("M", m, advice.as_is),
                  side("N", n, advice.swapped), us_text(memory_us));
  if (advice.verdict == SwapVerdict::kNoMatter) {
    advice.why += std::max(advice.as_is.us, advice.swapped.us) <= memory_us
                      ? ": memory is the bound both ways"
                      : ": the difference is within the model's 5 %";
  } else if (advice.verdict == SwapVerdict::kPays) {
    advice.why += fmt::format(": {:.2f}x", advice.speedup);
  } else {
    advice.why += fmt::format(": swapping costs {:.2f}x", 1 / advice.speedup);
  }
  return advice;
}

Advice advise(const Device& device, const GemmProblem& problem) {
  Advice advice;
  advice.problem = problem;
  advice.roofline = roofline(device, problem);
  if (problem.exceeds_product()) advice.epilogue = separate_epilogue(device, problem);
  const WgmmaForm form{.input = mma_input(problem)};
  // A product of a batch has its share of the memory's time.
  advice.swap = advise_swap(device, form, problem.m, problem.n, problem.k,
                            advice.roofline.memory_us / static_cast<double>(problem.batch));
  advice.kernel = advise_kernel(device, problem, advice.roofline, advice.swap);
  return advice;
}

}  // namespace hgemm
