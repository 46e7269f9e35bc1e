// A GEMM problem: what is computed. It alone knows its types, layouts, extents and epilogue, and
// what follows from them: work, bytes, tolerance, baselines, how it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/common/extents.h"

namespace hgemm {

/// BLAS-style layout letters for row-major D. TN: A is M x K with K contiguous, B is N x K with K
/// contiguous (a linear layer's activations and weight).
enum class Layout : std::uint8_t { kTN };
/// Factors that operands are multiplied by.
enum class Scaling : std::uint8_t { kNone };
/// What is computed on the accumulator before it becomes D.
enum class Epilogue : std::uint8_t { kPlain };

/// D = epilogue(A * B^T), m x n sums of k products, `batch` times.
struct GemmProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DataType a_type = DataType::kBf16;
  DataType b_type = DataType::kBf16;
  DataType d_type = DataType::kBf16;
  std::optional<DataType> c_type = {};  ///< none: there is no C
  DataType accumulator = DataType::kFp32;
  Layout layout = Layout::kTN;
  /// Leading dimensions: elements from one row of A, B and D to the next. 0: rows without padding.
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldd = 0;
  std::int64_t batch = 1;  ///< independent products, their operands one after the other in memory
  Scaling scaling = Scaling::kNone;
  Epilogue epilogue = Epilogue::kPlain;
  double weight = 1.0;  ///< how often the problem occurs in one pass; not part of identity
  std::string tag;      ///< where it comes from, e.g. "prefill/qkv"; not part of identity

  /// Tag and weight are descriptions.
  bool same_problem(const GemmProblem& other) const;

  // ---- What it is made of ----

  std::int64_t leading_a() const { return lda != 0 ? lda : k; }
  std::int64_t leading_b() const { return ldb != 0 ? ldb : k; }
  std::int64_t leading_d() const { return ldd != 0 ? ldd : n; }
  bool is_packed() const { return leading_a() == k && leading_b() == k && leading_d() == n; }
  ProblemExtents extents() const { return {m, n, k, leading_a(), leading_b(), leading_d()}; }
  /// Sets the type of A, B and D.
  void set_types(DataType type) { a_type = b_type = d_type = type; }
  /// What of it is compiled into any kernel that computes it. Meaningful where why_unsupported()
  /// has nothing against it.
  GemmKind kind() const { return {.input = a_type, .output = d_type}; }

  // ---- What it takes ----

  double flops() const;
  double a_bytes() const;  ///< without padding, as are these
  double b_bytes() const;
  double d_bytes() const;
  double bytes() const { return a_bytes() + b_bytes() + d_bytes(); }  ///< A, B and D, each once
  double intensity() const { return flops() / bytes(); }              ///< FLOP per byte

  // ---- What a correct result is, and what it is compared with ----

  /// Largest error of a correct result: |out - ref| / (|ref| + scale), where scale is the standard
  /// deviation of the outputs (1, by the choice of inputs). The reference is computed with fp32
  /// FMAs, k ascending. Outputs that are rounded to their type `roundings` times on the way, as
  /// sums of parts of K in it, are off by as many unit roundoffs. problem.cpp derives the bounds.
  double tolerance(int roundings = 1) const;

  /// Which library calls compute it.
  struct Baselines {
    bool cublas = true;    ///< cublasGemmEx
    bool cublaslt = true;  ///< every algorithm of cuBLASLt's heuristic
  };
  Baselines baselines() const;
};

/// Why this program cannot compute a problem at all, by any kernel, or nullptr: its extents or an
/// attribute that no kernel has yet. (families/family.h asks the families about the types.)
const char* why_unsupported(const GemmProblem& problem);

/// The problem's key: "2048x4096x4096", with what differs from the default appended:
/// ".fp16" (A, B and D), ".dfp32" (D alone), ".lda4104.ldb4104.ldd4104". The whole grammar is the
/// table in gemm/codec.h.
std::string to_string(const GemmProblem& problem);

std::string_view to_string(DataType type);      ///< "bf16", "fp16" or "fp32"
std::string_view to_string(Layout layout);      ///< "TN"
std::string_view to_string(Scaling scaling);    ///< "none"
std::string_view to_string(Epilogue epilogue);  ///< "plain"
std::optional<DataType> find_data_type(std::string_view word);
std::optional<Layout> find_layout(std::string_view word);

/// The types in short: "bf16", or "bf16.dfp32" where D is another.
std::string types_text(const GemmProblem& problem);

}  // namespace hgemm
