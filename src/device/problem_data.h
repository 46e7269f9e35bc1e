// The data of one problem on the GPU: inputs, a reference, and the verdict on an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cuda.h"
#include "device/device.h"
#include "families/operands.h"
#include "gemm/problem.h"
#include "record/trial.h"

namespace hgemm {

std::size_t matrix_bytes(std::int64_t rows, std::int64_t cols, DataType type);

/// How many sets of A, B and D launches rotate over: enough to exceed 3x L2, so that no launch
/// finds its own inputs in cache (at most 512: the smallest problems stay in L2). Where memory is
/// the bound, at least 16, if they fit in half of `free_bytes`: where the driver happens to place a
/// matrix moves what reading it costs, and a rotation averages over that. Seen with 1 to 3 sets,
/// two processes on one H200 (2026-11-20): 64x32000x4096 cublas 68.6 and 70.9 us, 16x11008x4096 a
/// config with bn = 88 26.7 and 27.4 us, each within 0.3 % throughout its process, while others did
/// not move.
int rotation_sets(const GemmProblem& problem, std::int64_t l2_bytes, std::int64_t free_bytes);

/// Compares D with a reference: every element within the problem's tolerance (NaN never is), and
/// around D, `guard_rows` before its first row and after its last, and in all padding, the poison
/// (data_kernels.h) untouched. `comparison`: room for one. Waits for the stream.
Verdict judge_output(const void* d, const DeviceMemory& reference, const GemmProblem& problem,
                     std::int64_t guard_rows, int roundings, const DeviceMemory& comparison,
                     const Stream& stream);

/// Inputs: A ~ N(0, 1), B ~ N(0, 1 / K), from a counter-based generator on the GPU (Philox4x32-10,
/// Salmon et al. 2011), so that outputs are N(0, 1) and a fresh process makes the same data again;
/// what lies between padded rows is NaN. There are rotation_sets() of them.
class ProblemData {
 public:
  /// Fills the inputs and computes the reference of set 0 with fp32 FMAs in a kernel of our own (no
  /// tensor cores, no library). Throws InputError if the problem does not fit in device memory.
  ProblemData(const GemmProblem& problem, std::uint64_t seed, const Gpu& device,
              const Stream& stream);

  const GemmProblem& problem() const { return problem_; }
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

  GemmProblem problem_;
  bool cold_ = false;
  std::vector<Set> sets_;
  DeviceMemory reference_;
  DeviceMemory comparison_;
};

}  // namespace hgemm
