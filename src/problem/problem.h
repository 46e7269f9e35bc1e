// The data of one shape on the GPU: inputs, a reference, and the verdict on an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/cuda.h"
#include "gpu/device.h"
#include "gpu/operands.h"
#include "space/shape.h"
#include "trial/trial.h"

namespace hgemm {

/// Largest error of a correct result: |out - ref| / (|ref| + scale), where scale is the standard
/// deviation of the outputs (1, by the choice of inputs). Rounding to the output type gives at most
/// one unit roundoff (bf16: 2^-8, fp16: 2^-11); accumulating K products in fp32 in another order
/// than the reference gives less than K / 16 roundings of 2^-23 (one for each wgmma step).
///
/// fp32 has no rounding to hide that behind, and FMAs on CUDA cores round K times. On the way to an
/// output r of variance 1 the partial sums are a random walk from 0 to r, with a mean square of at
/// most (r^2 + 1) / 3; roundings of 0.6 unit roundoffs u = 2^-24 (uniform: 1 / sqrt(3)) each, in
/// two orders, differ by a standard deviation of 0.6 u sqrt(2 K / 3) (|r| + 1), half of u sqrt(K)
/// (|r| + 1). The largest of 2^32 outputs lies 6.5 of these out; with room for walks that stray,
/// the bound is 8 u sqrt(K) = 2^-21 sqrt(K). Operands rounded to TF32 (2^-11) are 10 times over it
/// at K = 4096, and one product left out is 300 times.
///
/// Outputs that are rounded to their type `roundings` times on the way, as sums of parts of K in
/// it, are off by as many unit roundoffs.
double tolerance(Dtype dtype, std::int64_t k, int roundings = 1);

std::size_t matrix_bytes(std::int64_t rows, std::int64_t cols, Dtype dtype);

/// How many sets of A, B and D launches rotate over: enough to exceed 3x L2, so that no launch
/// finds its own inputs in cache (at most 512: the smallest shapes stay in L2). Where memory is the
/// bound, at least 16, if they fit in half of `free_bytes`: where the driver happens to place a
/// matrix moves what reading it costs, and a rotation averages over that. Seen with 1 to 3 sets,
/// two processes on one H200 (2026-11-20): 64x32000x4096 cublas 68.6 and 70.9 us, 16x11008x4096 a
/// config with bn = 88 26.7 and 27.4 us, each within 0.3 % throughout its process, while others did
/// not move.
int rotation_sets(const Shape& shape, std::int64_t l2_bytes, std::int64_t free_bytes);

/// Compares D with a reference: every element within tolerance (NaN never is), and around D,
/// `guard_rows` before its first row and after its last, and in all padding, the poison
/// (problem/kernels.h) untouched. `comparison`: room for one. Waits for the stream.
Verdict judge_output(const void* d, const DeviceMemory& reference, const Shape& shape,
                     std::int64_t guard_rows, int roundings, const DeviceMemory& comparison,
                     const Stream& stream);

/// Inputs: A ~ N(0, 1), B ~ N(0, 1 / K), from a counter-based generator on the GPU (Philox4x32-10,
/// Salmon et al. 2011), so that outputs are N(0, 1) and a fresh process makes the same data again;
/// what lies between padded rows is NaN. There are rotation_sets() of them.
class Problem {
 public:
  /// Fills the inputs and computes the reference of set 0 with fp32 FMAs in a kernel of our own (no
  /// tensor cores, no library). Throws InputError if the shape does not fit in device memory.
  Problem(const Shape& shape, std::uint64_t seed, const Gpu& device, const Stream& stream);

  const Shape& shape() const { return shape_; }
  int sets() const { return static_cast<int>(sets_.size()); }
  bool cold() const { return cold_; }  ///< the sets exceed 3x L2
  Operands operands(int set) const;

  /// Fills D of set 0, what lies between its rows, and the guard rows before and after it, with
  /// NaN.
  void poison(const Stream& stream) const;

  /// judge_output() of set 0.
  Verdict verify(const Stream& stream, int roundings = 1) const;

 private:
  struct Set {
    DeviceMemory a, b, d;
  };
  void allocate_and_fill(int sets, std::uint64_t seed, const Stream& stream);

  Shape shape_;
  bool cold_ = false;
  std::vector<Set> sets_;
  DeviceMemory reference_;
  DeviceMemory comparison_;
};

}  // namespace hgemm
