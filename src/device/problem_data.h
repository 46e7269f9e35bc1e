// The data of one problem on the GPU: inputs, a reference, and the verdict on an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/cuda.h"
#include "device/device.h"
#include "families/operands.h"
#include "gemm/problem.h"
#include "record/trial.h"

namespace hgemm {

/// The factors of scaled problems where they are verified and timed: a kernel that leaves one out,
/// or takes one for the other, is wrong by more than any tolerance. (GemmProblem::tolerance()
/// allows for this alpha.)
inline constexpr float kAlpha = 1.5F;
inline constexpr float kBeta = -0.75F;
/// The scales of tensors (Scaling::kTensor), and the bound on those of rows and blocks
/// (fill_scales), for the same reason.
inline constexpr float kScaleA = 1.5F;
inline constexpr float kScaleB = 1.25F;
/// The scale of a D of 8 bits. Some of many outputs are then beyond the largest e4m3 number, which
/// is 2.8 standard deviations of the sums.
inline constexpr float kScaleD = 160.0F;

std::size_t matrix_bytes(std::int64_t rows, std::int64_t cols, DataType type);

/// Number of sets of A, B and D that launches rotate over. The sets exceed 3x L2, so that no launch
/// finds its own inputs in cache (at most 512 sets: the smallest problems stay in L2). If memory is
/// the limit, there are at least 16 sets, if these fit in half of `free_bytes`: the address of a
/// matrix changes the time to read it, and a rotation averages over addresses. With 1 to 3 sets,
/// two processes on one H200 (2026-11-20) measured 68.6 and 70.9 us for cublas at 64x32000x4096,
/// and 26.7 and 27.4 us for a config with bn = 88 at 16x11008x4096. Each time was stable to 0.3 %
/// throughout its process, and other candidates did not move.
int rotation_sets(const GemmProblem& problem, std::int64_t l2_bytes, std::int64_t free_bytes);

/// Compares D with a reference. D is correct if every element is within the problem's tolerance
/// (NaN never is) and the poison around D (data_kernels.h) is untouched: in `guard_rows` before its
/// first row and after its last, in all padding, and between the D of a batch's products.
/// `comparison` has room for one OutputComparison. Waits for the stream.
Verdict judge_output(const void* d, const DeviceMemory& reference, const GemmProblem& problem,
                     std::int64_t guard_rows, int roundings, const DeviceMemory& comparison,
                     const Stream& stream);
/// The same for a D whose scales (as the problem has them in memory) the launch has found, and for
/// these: their reference has no padding, and there are `guard` numbers around them.
Verdict judge_scaled_output(const void* d, const DeviceMemory& reference, const float* scales,
                            const DeviceMemory& scales_reference, const GemmProblem& problem,
                            std::int64_t guard_rows, std::int64_t guard, int roundings,
                            const DeviceMemory& comparison, const Stream& stream);

/// For a batch by pointers: the addresses of all A, then of all B, then of all D, each in the order
/// of places_of() (data_kernels.h). `matrices`: where they lie.
std::vector<const void*> product_addresses(const GemmProblem& problem, const Operands& matrices);
/// The operands of a launch by pointers, from the address in device memory of these addresses.
Operands operands_by_pointers(const GemmProblem& problem, Operands matrices, void** addresses);

/// Inputs A ~ N(0, 1) and B ~ N(0, 1 / K), so that outputs are N(0, 1), or the other data that the
/// problem names (gemm/input_data.h). A counter-based generator on the GPU makes them
/// (Philox4x32-10, Salmon et al. 2011), so that another process with the same seed has the same
/// data. 8-bit A and B are both N(0, 1 / sqrt(K)), whose products are as large: most values are
/// then normal numbers of e4m3 (2^-6 to 448). The reference is that of the rounded values. C and
/// the bias are N(0, 1). Padding between rows is NaN, also that of scales, and so is what lies
/// between the matrices of a batch. There are rotation_sets() sets.
///
/// Verification always uses normal inputs: with zeros, any kernel that writes zeros would be
/// right. For other data there is one more set, the check set, which is launched for verification
/// and never timed.
class ProblemData {
 public:
  /// Fills the inputs and computes the reference of the check set with fp32 FMAs in a kernel of
  /// this program (no tensor cores, no library). The problem is one that why_unsupported() has
  /// nothing against. Throws InputError if it does not fit in device memory, or if the data is in a
  /// file that cannot be read.
  ProblemData(const GemmProblem& problem, std::uint64_t seed, const Gpu& device,
              const Stream& stream);

  const GemmProblem& problem() const { return problem_; }
  /// The sets that timed launches rotate over: 0 to sets() - 1.
  int sets() const { return launchable_sets() - (problem_.data.is_normal() ? 0 : 1); }
  /// The set that is verified. It is one of sets() only if the data is normal.
  int check_set() const { return problem_.data.is_normal() ? 0 : sets(); }
  /// All sets that a candidate must be able to launch: sets(), and the check set.
  int launchable_sets() const { return static_cast<int>(sets_.size()); }
  bool cold() const { return cold_; }  ///< true: the sets exceed 3x L2
  Operands operands(int set) const;    ///< what a launch is given
  /// What a library is given: the same, with scales of B as GemmProblem::for_cublaslt() has them.
  /// There is room for its rows behind those of A, C, D and the second output.
  Operands library_operands(int set) const;
  /// Rows behind D's that it computes.
  std::int64_t library_rows_behind() const { return problem_.for_cublaslt().m - problem_.m; }
  /// A library's operands of GemmProblem::product(): D is the second output if there is one, or
  /// with a gate or a D of 8 bits scratch memory, which all sets share as the activations of a
  /// program do.
  Operands product_operands(int set) const;

  /// Fills D, the second output and the scales of D that a launch finds, of the check set, all that
  /// lies between their rows and products, and what guards them before and after with NaN.
  void poison(const Stream& stream) const;

  /// judge_output() for D of the check set with its scales, and if it is correct for the second
  /// output. `rows_behind`: those behind the last one that the launch may have overwritten, which
  /// are poisoned again.
  Verdict verify(const Stream& stream, int roundings = 1, std::int64_t rows_behind = 0) const;

  /// Computes the reference of the check set anew, after a launch has written other inputs (as one
  /// that quantises A does).
  void compute_reference(const Stream& stream);

  /// Enqueue an elementwise kernel that multiplies A, or D, of a set by 1 in place, of all
  /// products: the neighbours of a GEMM in a model. The values stay what they are.
  void touch_input(int set, cudaStream_t stream) const;
  void touch_output(int set, cudaStream_t stream) const;

  /// Restores the inputs if a launch has changed them, and tells whether one had. Waits for the
  /// stream.
  bool restore_inputs(const Stream& stream);

 private:
  struct Set {
    DeviceMemory a, b, d;
    DeviceMemory c, bias;  ///< of an epilogue that reads them
    DeviceMemory aux;      ///< of one with a second output
    DeviceMemory scale_a, scale_b, scale_d;
    DeviceMemory library_scale_b;  ///< if a library takes them with other padding
    DeviceMemory scales_d;         ///< that a launch finds, between guards
    DeviceMemory addresses;        ///< product_addresses()
  };
  void allocate(int sets);
  Operands matrices(int set) const;  ///< where they lie, also by pointers
  void fill_inputs(const Stream& stream);
  void fill_factors(const Set& set, std::uint32_t& stream_id, const Stream& stream);
  void load_file();
  std::uint64_t fingerprint(const Stream& stream) const;

  GemmProblem problem_;
  std::uint64_t seed_;
  bool cold_ = false;
  std::vector<Set> sets_;
  /// What A and B repeat if the data is in a file.
  struct FileValues {
    std::vector<float> values;
    double scale = 1;
  };
  FileValues a_values_, b_values_;
  DeviceMemory product_;  ///< of a library, before a gate or the rounding to 8 bits
  DeviceMemory reference_, aux_reference_, scales_reference_;
  DeviceMemory comparison_;
  std::optional<std::uint64_t> fingerprint_;  ///< of the inputs; none: it was not needed yet
};

}  // namespace hgemm
