// What to expect of a GEMM on a device, from figures alone: its floor, whether swapping A and B
// pays, and which kind of kernel production code would take. Assumptions, sources of the thresholds
// and where it must fail: analysis/latency-model.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gemm/problem.h"
#include "search/devices.h"
#include "studies/advise/wgmma.h"

namespace hgemm {

/// Below this difference two modelled times are the same: the model is good for 5 %.
inline constexpr double kModelMargin = 1.05;

struct Roofline {
  double intensity = 0;  ///< FLOP per byte, A, B and D moved once
  double ridge = 0;      ///< of the device
  double memory_us = 0;
  double compute_us = 0;
  bool fits_l2 = false;      ///< hot in L2 the memory floor does not hold
  bool fits_memory = false;  ///< of the device, at all

  bool memory_bound() const { return intensity < ridge; }
  double floor_us() const { return memory_us > compute_us ? memory_us : compute_us; }
};
Roofline roofline(const Device& device, const GemmProblem& problem);

/// The wgmma instructions of a GEMM, with one of its extents along wgmma's 64 rows and the other
/// along its N, and their time if all SMs share them evenly.
struct TensorWork {
  int n = 0;                ///< wgmma's N, the one that takes the least time
  std::int64_t blocks = 0;  ///< of 64 rows
  std::int64_t instructions = 0;
  double us = 0;
};
TensorWork tensor_work(const Device& device, const WgmmaForm& form, std::int64_t rows,
                       std::int64_t columns, std::int64_t k);

/// Swap-AB: B's rows (weights) along wgmma's 64 rows, A's rows (tokens) along its N, which pads
/// them to a multiple of 8 and not of 64.
enum class SwapVerdict : std::uint8_t { kPays, kNoMatter, kDoesNotPay };
std::string_view to_string(SwapVerdict verdict);  ///< "pays", "does not matter", "does not pay"

struct SwapAdvice {
  SwapVerdict verdict = SwapVerdict::kNoMatter;
  TensorWork as_is, swapped;
  double speedup = 1;  ///< time as it is over time swapped, neither less than memory_us
  std::string why;     ///< a sentence with the numbers that decided
};
SwapAdvice advise_swap(const Device& device, const WgmmaForm& form, std::int64_t m, std::int64_t n,
                       std::int64_t k, double memory_us);

enum class KernelKind : std::uint8_t { kGemv, kThin, kStreamK, kGemm };
std::string_view to_string(KernelKind kind);  ///< "gemv", "thin", "stream-k", "gemm"

/// Whole output tiles dealt to the SMs in waves.
struct TileFit {
  int bm = 0, bn = 0;
  std::int64_t tiles = 0;
  std::int64_t waves = 0;
  double efficiency = 0;  ///< tiles / (waves x SMs)
  double us = 0;
};

struct KernelAdvice {
  KernelKind kind = KernelKind::kGemm;
  TileFit whole;        ///< the largest of the tiles whose time is within the model's error
  double whole_us = 0;  ///< the least that whole tiles take
  double split_us = 0;  ///< the best with K split evenly over the SMs; 0: K is too short to split
  std::string why;
};

struct Advice {
  GemmProblem problem;
  Roofline roofline;
  SwapAdvice swap;
  KernelAdvice kernel;
};
Advice advise(const Device& device, const GemmProblem& problem);

}  // namespace hgemm
