// A GEMM problem: D[M x N] = A[M x K] * B[N x K]^T.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/config.h"

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
  double weight = 1.0;  ///< how often the shape occurs in one pass; not part of identity
  std::string tag;      ///< where it comes from, e.g. "prefill/qkv"; not part of identity

  /// Same problem (tag and weight are descriptions).
  bool same_problem(const Shape& other) const {
    return m == other.m && n == other.n && k == other.k && dtype == other.dtype &&
           layout == other.layout;
  }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  /// Bytes of A, B and D, each once.
  double bytes() const {
    return element_bytes(dtype) * (static_cast<double>(m) * static_cast<double>(k) +
                                   static_cast<double>(n) * static_cast<double>(k) +
                                   static_cast<double>(m) * static_cast<double>(n));
  }
};

/// "2048x4096x4096", with ".fp16" or ".fp32" appended (bf16 is the default and left out).
std::string to_string(const Shape& shape);

/// Why the kernel cannot compute a shape, or nullptr if it can: its type (rule dtype) or extents.
const char* why_unsupported(const Shape& shape);

std::string_view to_string(Dtype dtype);    ///< "bf16", "fp16" or "fp32"
std::string_view to_string(Layout layout);  ///< "TN"
Dtype parse_dtype(std::string_view text);   ///< throws InputError naming the valid words
Layout parse_layout(std::string_view text);

/// What `--shapes` takes: a list "MxNxK[,MxNxK...]" (".fp16" or ".fp32" may follow each), or a YAML
/// file (space/shapes_file.h says what it holds). A bare file name is looked up in the working
/// folder, then in `configs_dir`/shapes (".yaml" may be left out). Shapes that describe the same
/// problem are merged (weights add up, tags are joined with '+'). Throws InputError with
/// file:line:column, what was found, what was expected.
std::vector<Shape> load_shapes(const std::string& argument, const std::string& configs_dir);

}  // namespace hgemm
