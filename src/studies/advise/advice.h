// Predictions for a GEMM on a device from figures alone: its lower bound, whether swapping A and B
// pays, and which kind of kernel production code would use. analysis/latency-model.md has the
// assumptions, the sources of the thresholds, and the cases where the model must fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gemm/problem.h"
#include "search/devices.h"
#include "studies/advise/wgmma.h"

namespace hgemm {

/// Two modelled times count as equal below this ratio: the model's error is 5 %.
inline constexpr double kModelMargin = 1.05;

struct Roofline {
  double intensity = 0;  ///< FLOP per byte, if A, B and D are moved once
  double ridge = 0;      ///< of the device
  double memory_us = 0;
  double compute_us = 0;
  bool fits_l2 = false;      ///< if the data is in L2, the memory bound does not hold
  bool fits_memory = false;  ///< fits in the device's memory

  bool memory_bound() const { return intensity < ridge; }
  double floor_us() const { return memory_us > compute_us ? memory_us : compute_us; }
};
Roofline roofline(const Device& device, const GemmProblem& problem);

/// The wgmma instructions of a GEMM with one of its extents along wgmma's 64 rows and the other
/// along its N, and their time if all SMs share them evenly.
struct TensorWork {
  int n = 0;                ///< the N of wgmma that takes the least time
  std::int64_t blocks = 0;  ///< blocks of 64 rows
  std::int64_t instructions = 0;
  double us = 0;
};
TensorWork tensor_work(const Device& device, const WgmmaForm& form, std::int64_t rows,
                       std::int64_t columns, std::int64_t k);

/// Swap-AB: B's rows (weights) lie along wgmma's 64 rows and A's rows (tokens) along its N, so that
/// tokens are padded to a multiple of 8 instead of 64.
enum class SwapVerdict : std::uint8_t { kPays, kNoMatter, kDoesNotPay };
std::string_view to_string(SwapVerdict verdict);  ///< "pays", "does not matter", "does not pay"

struct SwapAdvice {
  SwapVerdict verdict = SwapVerdict::kNoMatter;
  TensorWork as_is, swapped;
  double speedup = 1;  ///< time without swap over time with swap, each at least memory_us
  std::string why;     ///< a sentence with the deciding numbers
};
SwapAdvice advise_swap(const Device& device, const WgmmaForm& form, std::int64_t m, std::int64_t n,
                       std::int64_t k, double memory_us);

enum class KernelKind : std::uint8_t { kGemv, kThin, kStreamK, kGemm };
std::string_view to_string(KernelKind kind);  ///< "gemv", "thin", "stream-k", "gemm"

/// Whole output tiles assigned to the SMs in waves.
struct TileFit {
  int bm = 0, bn = 0;
  std::int64_t tiles = 0;
  std::int64_t waves = 0;
  double efficiency = 0;  ///< tiles / (waves x SMs)
  double us = 0;
};

struct KernelAdvice {
  KernelKind kind = KernelKind::kGemm;
  TileFit whole;        ///< the largest tile whose time is within the model's error of the least
  double whole_us = 0;  ///< the least time with whole tiles
  /// The least time with K split evenly over the SMs; 0: K is too short to split.
  double split_us = 0;
  std::string why;
};

/// What a launch of its own for the epilogue would move: it reads the product, C and the bias, and
/// writes D. A kernel that computes the epilogue saves that, and the launch.
struct SeparateEpilogue {
  double bytes = 0;
  double us = 0;  ///< to move them; less while they stay in L2
  bool fits_l2 = false;
};
SeparateEpilogue separate_epilogue(const Device& device, const GemmProblem& problem);

struct Advice {
  GemmProblem problem;
  Roofline roofline;
  std::optional<SeparateEpilogue> epilogue;  ///< none: the problem has none
  SwapAdvice swap;
  KernelAdvice kernel;
};
Advice advise(const Device& device, const GemmProblem& problem);

}  // namespace hgemm
