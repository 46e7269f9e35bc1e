// Requirements of all families on a problem: its extents, its alignment and its types.
#pragma once

#include "common/types.h"

namespace hgemm {

/// Extents of D[m x n] = A[m x k] * B[n x k]^T, and how the operands lie in memory. A leading
/// dimension is the number of elements from one stored row of A, B or D to the next. A stored row
/// runs along the extent in which the operand is contiguous: an MN-major A is stored as k rows of m
/// elements, an MN-major B as k rows of n.
struct ProblemExtents {
  long long m, n, k;
  long long lda, ldb, ldd;
  Major a_major = Major::kK;
  Major b_major = Major::kK;
  bool gated = false;  ///< D has n / 2 columns (Gate)

  constexpr bool operator==(const ProblemExtents&) const = default;
};

/// The matrix in memory: `rows` rows of `cols` elements, `leading` elements apart.
struct StoredMatrix {
  long long rows, cols, leading;
};
HGEMM_HOST_DEVICE constexpr StoredMatrix stored_a(const ProblemExtents& p) {
  return p.a_major == Major::kK ? StoredMatrix{p.m, p.k, p.lda} : StoredMatrix{p.k, p.m, p.lda};
}
HGEMM_HOST_DEVICE constexpr StoredMatrix stored_b(const ProblemExtents& p) {
  return p.b_major == Major::kK ? StoredMatrix{p.n, p.k, p.ldb} : StoredMatrix{p.k, p.n, p.ldb};
}

HGEMM_HOST_DEVICE constexpr long long d_columns(const ProblemExtents& p) {
  return p.gated ? p.n / 2 : p.n;
}

HGEMM_HOST_DEVICE constexpr bool is_packed(const ProblemExtents& p) {
  return p.lda == stored_a(p).cols && p.ldb == stored_b(p).cols && p.ldd == d_columns(p);
}

/// Why no kernel can compute a problem, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const ProblemExtents& p) {
  constexpr long long kMaxExtent = 1LL << 30;  // tile coordinates are 32-bit
  if (p.m < 1 || p.n < 1 || p.k < 1) return "M, N and K must be at least 1";
  if (p.m > kMaxExtent || p.n > kMaxExtent || p.k > kMaxExtent) {
    return "M, N and K must be at most 2^30";
  }
  if (p.gated && p.n % 2 != 0) return "with a gate N is even: as many gates as ups";
  if (p.gated && p.b_major != Major::kK) {
    return "with a gate B must be contiguous in K (layout TN or NN), so that its rows can be "
           "paired";
  }
  if (p.lda < stored_a(p).cols || p.ldb < stored_b(p).cols || p.ldd < d_columns(p)) {
    return p.a_major == Major::kK && p.b_major == Major::kK
               ? "a leading dimension is a row's length (K for A and B, N for D, N / 2 with a "
                 "gate) or "
                 "more"
               : "a leading dimension is the length of a stored row or more: A's has K (TN, TT) or "
                 "M (NN, NT) elements, B's K (TN, NN) or N (NT, TT), D's N, or N / 2 with a gate";
  }
  if (p.lda > kMaxExtent || p.ldb > kMaxExtent || p.ldd > kMaxExtent) {
    return "leading dimensions must be at most 2^30";
  }
  return nullptr;
}

/// Whether all rows of a matrix begin at multiples of 16 bytes, given that the first one does.
HGEMM_HOST_DEVICE constexpr bool rows_are_aligned(long long rows, long long leading,
                                                  DataType type) {
  return rows == 1 || leading % unit_elements(type) == 0;
}
HGEMM_HOST_DEVICE constexpr bool rows_are_aligned(const StoredMatrix& matrix, DataType type) {
  return rows_are_aligned(matrix.rows, matrix.leading, type);
}
/// Whether the copy engine can fetch A and B (rows of any length: it fills elements outside with
/// zeros), and can store D (for any M: it clips whole rows).
HGEMM_HOST_DEVICE constexpr bool inputs_are_aligned(const ProblemExtents& p, DataType input) {
  return rows_are_aligned(stored_a(p), input) && rows_are_aligned(stored_b(p), input);
}
HGEMM_HOST_DEVICE constexpr bool output_is_aligned(const ProblemExtents& p, DataType output) {
  return rows_are_aligned(p.m, p.ldd, output) && d_columns(p) % unit_elements(output) == 0;
}

/// Why no kernel has an epilogue, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_no_epilogue(const GemmKind& kind) {
  if (!is_gated(kind)) return nullptr;
  if (kind.b_major != Major::kK) return "with a gate B must be contiguous in K";
  return reads_operands(kind)
             ? "a gate goes with an activation only: there are no kernels yet that add a C or a "
               "bias to gates and ups"
             : nullptr;
}

/// Whether the kernels support the types: 16-bit operands, and fp32 sums stored as they are or
/// rounded to 16 bits.
HGEMM_HOST_DEVICE constexpr bool types_are_supported(const GemmKind& kind) {
  return kind.input != DataType::kFp32 &&
         (kind.output == kind.input || kind.output == DataType::kFp32);
}

/// Why a kernel with a gate cannot compute a problem without one, and the other way round, or
/// nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_not_gated(const GemmKind& kind,
                                                      const ProblemExtents& p) {
  return is_gated(kind) == p.gated ? nullptr
                                   : "the kernel is made for problems with a gate, or for others";
}

/// Why a kernel cannot fetch the operands as they lie in memory, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_not_fetched(const GemmKind& kind,
                                                        const ProblemExtents& p, bool packs) {
  if (kind.a_major != p.a_major || kind.b_major != p.b_major) {
    return "the kernel is made for another layout of A and B";
  }
  if (const char* reason = why_not_gated(kind, p)) return reason;
  if (packs || inputs_are_aligned(p, kind.input)) return nullptr;
  return p.a_major == Major::kK && p.b_major == Major::kK
             ? "A's and B's leading dimensions (K without padding) must be whole units of 16 bytes "
               "(multiples of 8), unless the config packs them"
             : "A's and B's leading dimensions (without padding, the extents in which they are "
               "contiguous) must be whole units of 16 bytes (multiples of 8), unless the config "
               "packs them";
}

/// Why a kernel with constant extents cannot compute the problem: it computes one problem, without
/// padding.
HGEMM_HOST_DEVICE constexpr const char* why_not_made_for(const GemmKind& kind,
                                                         const ProblemExtents& p) {
  const bool same = kind.m == p.m && kind.n == p.n && kind.k == p.k;
  return same && is_packed(p)
             ? nullptr
             : "a kernel with constant extents (fixed) is made for one problem without padding";
}
/// The requirement of a rule, and its source.
struct RuleText {
  const char* name;
  const char* reason;
};
inline constexpr RuleText kTypesRule = {
    "dtype",
    "the kernels multiply bf16 and fp16 (PTX ISA: wgmma has no fp32 operands, only tf32, which "
    "rounds them; fp32 is for the ladder's CUDA-core steps), and store the operands' type or fp32"};

/// The constant extents of a kernel.
HGEMM_HOST_DEVICE constexpr ProblemExtents fixed_extents(const GemmKind& kind) {
  return {kind.m,
          kind.n,
          kind.k,
          kind.a_major == Major::kK ? kind.k : kind.m,
          kind.b_major == Major::kK ? kind.k : kind.n,
          is_gated(kind) ? kind.n / 2 : kind.n,
          kind.a_major,
          kind.b_major,
          is_gated(kind)};
}

}  // namespace hgemm
