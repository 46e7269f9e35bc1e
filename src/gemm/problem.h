// A GEMM problem: its types, layouts, extents and epilogue, and what follows from them: work,
// bytes, tolerance, baselines and text form. No other module derives these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gemm/input_data.h"
#include "kernels/common/extents.h"

namespace hgemm {

/// How A and B lie in memory; D is always row-major. The first letter is A's and the second
/// B's, as in BLAS, whose matrices are column-major: N is a column-major A of M x K or B of K x N,
/// T the transpose of a column-major one. "Contiguous" is the extent along which neighbours are
/// neighbours in memory; a leading dimension is the distance of rows along it.
///
///       A contiguous in   stored as    lda >=   B contiguous in   stored as    ldb >=
///   TN  K                 M rows of K  K        K                 N rows of K  K
///   NN  M                 K rows of M  M        K                 N rows of K  K
///   NT  M                 K rows of M  M        N                 K rows of N  N
///   TT  K                 M rows of K  K        N                 K rows of N  N
///
/// For a linear layer Y = X W^T whose row-major X, Y and W are tokens x inputs, tokens x outputs
/// and outputs x inputs: the forward pass is TN (A = X, B = W), the gradient of the inputs dX = dY
/// W is TT (A = dY, B = W), and that of the weight dW = dY^T X is NT (A = dY, B = X). cuBLAS
/// computes the transpose of D and so takes B first, with the other letter for "contiguous in K":
/// frameworks that name that call say TN, NN and NT for these three.
enum class Layout : std::uint8_t { kTN, kNN, kNT, kTT };
/// How the sums are kept. Problems with fast sums are other problems: their results are less exact,
/// so no race compares them with others.
enum class Accumulator : std::uint8_t {
  kFp32,
  /// For 8-bit operands: in the tensor cores to the end, which keep about 14 bits of a sum
  /// (DeepSeek-V3, arXiv 2412.19437, section 3.3.2). cuBLASLt calls it fast accumulation.
  kFast,
};

/// D = activation(alpha * A * B^T + beta * C + bias): m x n sums of k products, computed for
/// `batch` independent products. alpha and beta are 1, or with Epilogue::scaled numbers that a
/// launch is given, which no time depends on. With a gate (Epilogue::gate) D = activation(gates) *
/// ups, which has n / 2 columns. A D of 8 bits is scale_d times that, a number in device memory
/// that a launch is given, rounded to the nearest value, or the largest one beyond it; or it has
/// scales that the kernel finds (OutputScaling). With a second output (Epilogue::aux) what the
/// activation is applied to is written, too, as D lies in memory.
struct GemmProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DataType a_type = DataType::kBf16;
  DataType b_type = DataType::kBf16;
  DataType d_type = DataType::kBf16;
  /// nullopt: there is no C. C lies in memory as D does, and may be D itself, unless D has 8 bits.
  std::optional<DataType> c_type = {};
  Accumulator accumulator = Accumulator::kFp32;
  Layout layout = Layout::kTN;
  /// Leading dimensions of A, B and D: elements from one stored row to the next (Layout). 0: rows
  /// without padding.
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldd = 0;
  std::int64_t batch = 1;  ///< independent products
  /// Elements from one product's A, B or D to the next; 0: all products have the same A (or B).
  /// nullopt: they follow one another without a gap. Without a meaning if `batch` is 1.
  std::optional<std::int64_t> stride_a = {}, stride_b = {}, stride_d = {};
  /// A launch of a batch is given arrays of addresses, in device memory, of the products' A, B and
  /// D. They lie anywhere, so there are no strides.
  bool by_pointers = false;
  Scaling scaling = Scaling::kNone;  ///< D = activation(alpha * scale_a * scale_b * A * B^T + ...)
  OutputScaling output_scaling = OutputScaling::kGiven;  ///< of a D of 8 bits
  Epilogue epilogue = {};
  InputData data = {};  ///< what A and B hold where the problem is timed
  double weight = 1.0;  ///< how often the problem occurs in one pass; not part of identity
  std::string tag;      ///< where it comes from, e.g. "prefill/qkv"; not part of identity

  /// Compares everything but tag and weight, which are only descriptions.
  bool same_problem(const GemmProblem& other) const;

  // ---- Operands ----

  Major a_major() const {
    return layout == Layout::kTN || layout == Layout::kTT ? Major::kK : Major::kMn;
  }
  Major b_major() const {
    return layout == Layout::kTN || layout == Layout::kNN ? Major::kK : Major::kMn;
  }
  /// The lengths of their stored rows.
  std::int64_t contiguous_a() const { return a_major() == Major::kK ? k : m; }
  std::int64_t contiguous_b() const { return b_major() == Major::kK ? k : n; }
  std::int64_t contiguous_d() const { return d_columns(); }
  std::int64_t leading_a() const { return lda != 0 ? lda : contiguous_a(); }
  std::int64_t leading_b() const { return ldb != 0 ? ldb : contiguous_b(); }
  std::int64_t leading_d() const { return ldd != 0 ? ldd : d_columns(); }
  bool is_gated() const { return epilogue.gate != Gate::kNone; }
  std::int64_t d_columns() const { return is_gated() ? n / 2 : n; }
  /// What a library computes where it has no such epilogue: the sums, all n columns of them, times
  /// alpha. It is written to D, or to the second output if there is one. With a gate or a D of 8
  /// bits, which D has no room for, it is written to rows without padding elsewhere, in bf16 if D
  /// has 8 bits.
  GemmProblem product() const;
  /// Whether D is more than that.
  bool exceeds_product() const { return kind() != product().kind(); }
  /// As one product, where a batch is that (extents.h). Otherwise itself.
  GemmProblem merged() const;
  /// What cuBLASLt is given to compute it. It takes scales of blocks only if M is a multiple of 4,
  /// so that the rows up to one are computed, too; and only with the padding of Scaling::kBlocks.
  GemmProblem for_cublaslt() const;
  bool is_packed() const { return hgemm::is_packed(extents()); }
  ProblemExtents extents() const;
  /// Sets the type of A, B and D; D of 8-bit operands is bf16.
  void set_types(DataType type) {
    a_type = b_type = type;
    d_type = default_output(type);
  }
  bool has_8_bit_operands() const { return is_8_bit(a_type); }
  bool has_8_bit_output() const { return is_8_bit(d_type); }
  bool finds_scales_of_d() const { return finds_output_scales(kind()); }
  /// The type of C and the bias.
  DataType added_type() const { return addend_type(d_type); }
  /// The properties that are compiled into a kernel for this problem. Meaningful only if
  /// why_unsupported() returns nullptr.
  GemmKind kind() const {
    return {.input = a_type,
            .output = d_type,
            .a_major = a_major(),
            .b_major = b_major(),
            .epilogue = epilogue,
            .adds_c = c_type.has_value(),
            .batched = batch > 1,
            .by_pointers = batch > 1 && by_pointers,
            .b_is_other = is_8_bit(a_type) && is_8_bit(b_type) && a_type != b_type,
            .fast_sums = accumulator == Accumulator::kFast,
            .scaling = scaling,
            .output_scaling = output_scaling};
  }

  // ---- Work and memory traffic ----

  double flops() const;
  double a_bytes() const;  ///< all byte counts are without padding
  double b_bytes() const;
  double d_bytes() const;
  double epilogue_bytes() const;     ///< of C, the bias, the scales and the second output
  std::int64_t bias_length() const;  ///< elements; 0 without a bias
  /// fp32 numbers in memory, padding among them (is_of_blocks()); 0 without scales
  std::int64_t scales_of_a() const;
  std::int64_t scales_of_b() const;
  std::int64_t scales_of_d() const;  ///< that a kernel finds; 0 if it is given one
  /// A, B, C, the bias, the scales, D and the second output, each once.
  double bytes() const { return a_bytes() + b_bytes() + epilogue_bytes() + d_bytes(); }
  double intensity() const { return flops() / bytes(); }  ///< FLOP per byte

  // ---- Correctness and baselines ----

  /// Largest allowed error |out - ref| / (|ref| + scale). `scale` is the standard deviation of the
  /// outputs; the inputs are chosen to make it 1. The reference is computed with fp32 FMAs, k
  /// ascending. `roundings` is the number of times that an output is rounded to its type (more than
  /// once if parts of K are summed in that type); each adds one unit roundoff. problem.cpp derives
  /// the bounds.
  ///
  /// A D of 8 bits has a coarser rounding than its sums have errors. So `out` stands for all
  /// numbers that round to it (device/rounded_from.h), and the error is that of the nearest of
  /// them: the last rounding is allowed nothing. Those before it are to bf16. The scale is that of
  /// D (scale_d). Where a kernel finds the scales of D, `out` and `ref` are without them, and their
  /// largest magnitudes, of which scales are made, have the same bound.
  double tolerance(int roundings = 1) const;

  /// The library calls that compute the problem.
  struct Baselines {
    /// cublasGemmEx, or for a batch cublasGemmStridedBatchedEx or cublasGemmBatchedEx; with 8-bit
    /// operands, which these lack, the first choice of cuBLASLt's heuristic
    bool cublas = true;
    bool cublaslt = true;            ///< every algorithm that cuBLASLt's heuristic returns
    const char* why_none = nullptr;  ///< the reason if there is neither
  };
  Baselines baselines() const;
};

/// The reason why no kernel of this program can compute the problem, or nullptr. The reason is its
/// extents or an attribute that no kernel supports yet. (families/family.h asks the families about
/// the types.)
const char* why_unsupported(const GemmProblem& problem);

/// The problem's key: "2048x4096x4096", followed by the attributes that differ from the default:
/// ".fp16" (A, B and D), ".e4m3" (A and B; D is bf16), ".be5m2" (B alone), ".dfp32" or ".de4m3" (D
/// alone), ".cbf16" (C is added), ".accfast" (fast sums), ".scaling-rows", ".dscaling-blocks" (D's
/// scales are found), ".layoutNT", ".lda4104.ldb4104.ldd4104", ".batch32.sa128.sb0.sd128" (products
/// and their strides), ".batch32.pointers", ".bias-gelu" (the epilogue), ".zeros" (the data). The
/// table in gemm/codec.h defines the whole grammar.
std::string to_string(const GemmProblem& problem);

std::string_view to_string(DataType type);  ///< "bf16", "fp16", "fp32", "e4m3" or "e5m2"
std::string_view to_string(Layout layout);  ///< "TN", "NN", "NT" or "TT"
/// "none", "tensor", "rows", "blocks", "row_blocks" or "packed_blocks"
std::string_view to_string(Scaling scaling);
std::string_view to_string(OutputScaling scaling);    ///< "given" or "blocks"
std::string_view to_string(Accumulator accumulator);  ///< "fp32" or "fast"
/// "plain", or what is done to the sums: "scaled", "bias", "biasm" (along M), "relu", "gelu" (with
/// tanh), "gelu_erf", "silu", "scaled-bias-gelu", or with a second output "bias-gelu-aux". With a
/// gate the activation has another name:
/// "bilinear" (none), "reglu", "geglu", "geglu_erf", "swiglu"; and interleaved weights are
/// "swiglu-interleaved".
std::string to_string(const Epilogue& epilogue);
std::optional<Epilogue> find_epilogue(std::string_view word);
std::optional<DataType> find_data_type(std::string_view word);
std::optional<Layout> find_layout(std::string_view word);
std::optional<Scaling> find_scaling(std::string_view word);
std::optional<OutputScaling> find_output_scaling(std::string_view word);
std::optional<Accumulator> find_accumulator(std::string_view word);

/// The types in short: "bf16", "bf16.dfp32" if D has another type, or "e4m3.accfast".
std::string types_text(const GemmProblem& problem);

}  // namespace hgemm
