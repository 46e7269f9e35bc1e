// A GEMM problem: D[M x N] = A[M x K] * B[N x K]^T.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/rules.h"

namespace hgemm {

/// BLAS-style layout letters for row-major C. TN: A is M x K with K contiguous, B is N x K with K
/// contiguous (a linear layer's activations and weight). The only layout so far.
enum class Layout : std::uint8_t { kTN };

struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Dtype dtype = Dtype::kBf16;
  Layout layout = Layout::kTN;
  /// Leading dimensions: elements from one row of A, B and D to the next. 0: rows without padding.
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldd = 0;
  double weight = 1.0;  ///< how often the shape occurs in one pass; not part of identity
  std::string tag;      ///< where it comes from, e.g. "prefill/qkv"; not part of identity

  /// Same problem (tag and weight are descriptions).
  bool same_problem(const Shape& other) const {
    return m == other.m && n == other.n && k == other.k && dtype == other.dtype &&
           layout == other.layout && leading_a() == other.leading_a() &&
           leading_b() == other.leading_b() && leading_d() == other.leading_d();
  }
  std::int64_t leading_a() const { return lda != 0 ? lda : k; }
  std::int64_t leading_b() const { return ldb != 0 ? ldb : k; }
  std::int64_t leading_d() const { return ldd != 0 ? ldd : n; }
  bool is_packed() const { return leading_a() == k && leading_b() == k && leading_d() == n; }
  ProblemExtents extents() const { return {m, n, k, leading_a(), leading_b(), leading_d()}; }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  /// Bytes of A, B and D, each once, without padding.
  double bytes() const {
    return element_bytes(dtype) * (static_cast<double>(m) * static_cast<double>(k) +
                                   static_cast<double>(n) * static_cast<double>(k) +
                                   static_cast<double>(m) * static_cast<double>(n));
  }
};

/// "2048x4096x4096", with ".fp16" or ".fp32" appended (bf16 is the default and left out), and the
/// leading dimensions of padded operands: ".lda4104.ldb4104.ldd4104".
std::string to_string(const Shape& shape);

/// Why no kernel can compute a shape, or nullptr if some can: its type (rule dtype) or extents.
const char* why_unsupported(const Shape& shape);

std::string_view to_string(Dtype dtype);    ///< "bf16", "fp16" or "fp32"
std::string_view to_string(Layout layout);  ///< "TN"
Dtype parse_dtype(std::string_view text);   ///< throws InputError naming the valid words
Layout parse_layout(std::string_view text);

/// What `--shapes` takes: a list "MxNxK[,MxNxK...]", each as to_string() writes it, or a YAML
/// file (space/shapes_file.h says what it holds). A bare file name is looked up in the working
/// folder, then in `configs_dir`/shapes (".yaml" may be left out). Shapes that describe the same
/// problem are merged (weights add up, tags are joined with '+'). Throws InputError with
/// file:line:column, what was found, what was expected.
std::vector<Shape> load_shapes(const std::string& argument, const std::string& configs_dir);

}  // namespace hgemm
