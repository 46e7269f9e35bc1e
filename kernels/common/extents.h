// Requirements of all families on a problem: its extents, its alignment and its types.
#pragma once

#include "common/types.h"

namespace hgemm {

inline constexpr long long kMaxExtent = 1LL << 30;  ///< tile coordinates are 32-bit

/// Independent products with the same extents. A stride is the number of elements from one
/// product's operand to the next; 0: all products have the same A (or B).
struct Batch {
  long long count = 1;
  long long stride_a = 0, stride_b = 0, stride_d = 0;  ///< 0 for a single product
  /// A launch is given arrays of the addresses of their A, B and D. They lie anywhere, and the
  /// strides are those without a gap.
  bool by_pointers = false;

  constexpr bool operator==(const Batch&) const = default;
};

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
  Batch batch = {};

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
HGEMM_HOST_DEVICE constexpr StoredMatrix stored_d(const ProblemExtents& p) {
  return {p.m, d_columns(p), p.ldd};
}

/// An operand of all products: `count` matrices, `stride` elements apart. The rows of one may lie
/// between those of others, as the heads of an attention layer do.
struct StoredMatrices : StoredMatrix {
  long long count, stride;
};
HGEMM_HOST_DEVICE constexpr StoredMatrices of_all_products(const StoredMatrix& one, const Batch& b,
                                                           long long stride) {
  return {one, stride == 0 ? 1 : b.count, stride};
}
/// The scales of an operand of `rows` x k where each block of K has scales of its own
/// (is_of_blocks()), as a matrix whose rows are padded: of each row, as a row of them for each
/// block of K, or of each kScaleBlock rows, as a row of them for these.
HGEMM_HOST_DEVICE constexpr StoredMatrices scales_of_rows(long long rows, long long k) {
  return {{scale_blocks(k), rows, scale_leading(rows)}, 1, 0};
}
HGEMM_HOST_DEVICE constexpr StoredMatrices scales_of_row_blocks(long long rows, long long k) {
  return {{scale_blocks(rows), scale_blocks(k), scale_leading(scale_blocks(k))}, 1, 0};
}
/// Those of a B of n x k, as its scaling has them.
HGEMM_HOST_DEVICE constexpr StoredMatrices scales_of_b(Scaling scaling, long long n, long long k) {
  if (!has_row_blocks_of_b(scaling)) return scales_of_rows(n, k);
  StoredMatrices scales = scales_of_row_blocks(n, k);
  if (scaling == Scaling::kPackedBlocks) scales.leading = scales.cols;
  return scales;
}
HGEMM_HOST_DEVICE constexpr StoredMatrices all_of_a(const ProblemExtents& p) {
  return of_all_products(stored_a(p), p.batch, p.batch.stride_a);
}
HGEMM_HOST_DEVICE constexpr StoredMatrices all_of_b(const ProblemExtents& p) {
  return of_all_products(stored_b(p), p.batch, p.batch.stride_b);
}
HGEMM_HOST_DEVICE constexpr StoredMatrices all_of_d(const ProblemExtents& p) {
  return of_all_products(stored_d(p), p.batch, p.batch.stride_d);
}
/// Elements from one matrix to the next, if they follow one another without a gap.
HGEMM_HOST_DEVICE constexpr long long stride_without_gap(const StoredMatrix& matrix) {
  return matrix.rows * matrix.leading;
}
/// Whether they are as one matrix with the rows of all.
HGEMM_HOST_DEVICE constexpr bool are_one_matrix(const StoredMatrices& all) {
  return all.count == 1 || all.stride == stride_without_gap(all);
}
/// Whether they can be packed as one matrix.
HGEMM_HOST_DEVICE constexpr bool can_be_packed(const StoredMatrices& all) {
  return are_one_matrix(all) && all.rows * all.count <= kMaxExtent;
}
/// Elements from the first one to the end of the last row, with its padding.
HGEMM_HOST_DEVICE constexpr long long spanned_elements(const StoredMatrices& all) {
  return (all.count - 1) * all.stride + stride_without_gap(all);
}
/// Whether an element belongs to one matrix at most: either all rows of a matrix lie before those
/// of the next one, or equal rows of all matrices lie side by side.
HGEMM_HOST_DEVICE constexpr bool are_disjoint(const StoredMatrices& all) {
  const bool in_turn = all.stride >= (all.rows - 1) * all.leading + all.cols;
  const bool side_by_side = all.stride >= all.cols && all.stride <= all.leading &&
                            (all.count - 1) * all.stride + all.cols <= all.leading;
  return all.count == 1 || in_turn || side_by_side;
}

HGEMM_HOST_DEVICE constexpr bool is_packed(const ProblemExtents& p) {
  return p.lda == stored_a(p).cols && p.ldb == stored_b(p).cols && p.ldd == d_columns(p);
}

/// The batch as one product, where it is that: all have the same B, and the rows of their A and of
/// their D follow one another; or all have the same A, the rows of their B follow one another, and
/// the columns of their D lie side by side. Otherwise itself.
HGEMM_HOST_DEVICE constexpr ProblemExtents merged(const ProblemExtents& p) {
  const Batch& b = p.batch;
  ProblemExtents one = p;
  one.batch = {};
  if (b.count == 1) return one;
  if (b.by_pointers) return p;
  const bool are_rows = b.stride_b == 0 && b.stride_a != 0 && p.a_major == Major::kK &&
                        are_one_matrix(all_of_a(p)) && are_one_matrix(all_of_d(p));
  const bool are_columns = b.stride_a == 0 && b.stride_b != 0 && p.b_major == Major::kK &&
                           are_one_matrix(all_of_b(p)) && b.stride_d == p.n &&
                           p.ldd >= b.count * p.n && !p.gated;
  if (are_rows) one.m *= b.count;
  if (are_columns) one.n *= b.count;
  const bool fits = one.m <= kMaxExtent && one.n <= kMaxExtent;
  return (are_rows || are_columns) && fits ? one : p;
}

/// The batch without gaps between its products.
HGEMM_HOST_DEVICE constexpr Batch batch_without_gaps(const ProblemExtents& p, long long count) {
  if (count == 1) return {};
  return {count, stride_without_gap(stored_a(p)), stride_without_gap(stored_b(p)),
          stride_without_gap(stored_d(p)), p.batch.by_pointers};
}

/// Why no kernel can compute so many products, or products that lie so in memory; or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported_batch(const ProblemExtents& p) {
  const Batch& b = p.batch;
  constexpr long long kMostProducts = 1 << 25;  // each has tiles, whose positions are 32-bit
  constexpr long long kMaxStride = 1LL << 36;   // below 2^40 bytes (cuTensorMapEncodeTiled)
  if (b.count < 1 || b.count > kMostProducts) return "a batch has from 1 to 2^25 products";
  if (b.count == 1) {
    return b.by_pointers ? "arrays of pointers are for a batch of 2 products or more" : nullptr;
  }
  if (b.by_pointers) {
    return b == batch_without_gaps(p, b.count)
               ? nullptr
               : "a batch by pointers has no strides: its products lie anywhere";
  }
  if (b.stride_a < 0 || b.stride_b < 0 || b.stride_a > kMaxStride || b.stride_b > kMaxStride ||
      b.stride_d > kMaxStride) {
    return "strides of a batch are from 0 to 2^36 elements";
  }
  if (b.stride_d < 1 || !are_disjoint(all_of_d(p))) {
    return "the products of a batch must not share elements of D: its stride is the length of "
           "their D or more, or they lie side by side within the leading dimension";
  }
  return nullptr;
}

/// Why no kernel can compute a problem, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const ProblemExtents& p) {
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
                 "gate) or more"
               : "a leading dimension is the length of a stored row or more: A's has K (TN, TT) or "
                 "M (NN, NT) elements, B's K (TN, NN) or N (NT, TT), D's N, or N / 2 with a gate";
  }
  if (p.lda > kMaxExtent || p.ldb > kMaxExtent || p.ldd > kMaxExtent) {
    return "leading dimensions must be at most 2^30";
  }
  return why_unsupported_batch(p);
}

/// Whether all rows of a matrix begin at multiples of 16 bytes, given that the first one does.
HGEMM_HOST_DEVICE constexpr bool rows_are_aligned(long long rows, long long leading,
                                                  DataType type) {
  return rows == 1 || leading % unit_elements(type) == 0;
}
/// The same for the rows of all matrices.
HGEMM_HOST_DEVICE constexpr bool rows_are_aligned(const StoredMatrices& all, DataType type) {
  return rows_are_aligned(all.rows, all.leading, type) &&
         (all.count == 1 || all.stride % unit_elements(type) == 0);
}
/// Whether the copy engine can fetch A and B (rows of any length: it fills elements outside with
/// zeros), and can store D (for any M: it clips whole rows).
HGEMM_HOST_DEVICE constexpr bool inputs_are_aligned(const ProblemExtents& p, DataType input) {
  return rows_are_aligned(all_of_a(p), input) && rows_are_aligned(all_of_b(p), input);
}
HGEMM_HOST_DEVICE constexpr bool output_is_aligned(const ProblemExtents& p, DataType output) {
  return rows_are_aligned(all_of_d(p), output) && d_columns(p) % unit_elements(output) == 0;
}

inline constexpr const char* kUnalignedOutput =
    "N and D's leading dimension must be whole units of 16 bytes (multiples of 16 for 8-bit types, "
    "of 8 for 16-bit ones, of 4 for fp32), unless the store is staged";

/// Why no kernel has an epilogue, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_no_epilogue(const GemmKind& kind) {
  if (kind.batched && has_epilogue(kind) && !is_only_scaled(kind)) {
    return "the products of a batch have no C, bias, activation or gate yet";
  }
  if (kind.epilogue.aux && is_gated(kind)) {
    return "a gate has no second output yet: to keep gates and ups, compute the product without it";
  }
  if (kind.epilogue.aux && kind.epilogue.activation == Activation::kNone) {
    return "the second output (aux) is what an activation is applied to; without one it would be D";
  }
  if (!is_gated(kind)) return nullptr;
  if (kind.b_major != Major::kK) return "with a gate B must be contiguous in K";
  return reads_operands(kind) || kind.epilogue.scaled
             ? "a gate goes with an activation only: there are no kernels yet that scale gates and "
               "ups, or add a C or a bias to them"
             : nullptr;
}

/// Whether the kernels support the types: 16-bit operands, and fp32 sums stored as they are or
/// rounded to 16 bits; or 8-bit ones that are contiguous in K, and sums stored likewise, or without
/// a second output rounded to 8 bits.
HGEMM_HOST_DEVICE constexpr bool types_are_supported(const GemmKind& kind) {
  const bool has_other = kind.b_is_other || kind.fast_sums || kind.scaling != Scaling::kNone;
  if (finds_output_scales(kind) && (!is_8_bit(kind.output) || kind.batched)) return false;
  if (is_8_bit(kind.input)) {
    const bool can_scale =
        !is_of_blocks(kind.scaling) || (!kind.fast_sums && !kind.batched && !is_gated(kind));
    const bool can_store = !is_8_bit(kind.output) || !kind.epilogue.aux;
    return kind.a_major == Major::kK && kind.b_major == Major::kK && can_store && can_scale;
  }
  return kind.input != DataType::kFp32 && !has_other &&
         (kind.output == kind.input || kind.output == DataType::kFp32);
}

/// Why a kernel with a gate cannot compute a problem without one, and the other way round, or
/// nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_not_gated(const GemmKind& kind,
                                                      const ProblemExtents& p) {
  return is_gated(kind) == p.gated ? nullptr
                                   : "the kernel is made for problems with a gate, or for others";
}

/// The same for many products.
HGEMM_HOST_DEVICE constexpr const char* why_not_batched(const GemmKind& kind,
                                                        const ProblemExtents& p) {
  if (kind.batched != (p.batch.count > 1)) {
    return "the kernel is made for batches of products, or for a single one";
  }
  return kind.by_pointers == p.batch.by_pointers
             ? nullptr
             : "the kernel is made for products at strides, or for arrays of pointers to them";
}

inline constexpr const char* kUnalignedByPointers =
    "by pointers the leading dimensions of A and B (without padding, the extents in which they are "
    "contiguous) must be whole units of 16 bytes (multiples of 8): no launch packs them";

/// Why a kernel cannot fetch the operands as they lie in memory, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_not_fetched(const GemmKind& kind,
                                                        const ProblemExtents& p, bool packs) {
  if (kind.a_major != p.a_major || kind.b_major != p.b_major) {
    return "the kernel is made for another layout of A and B";
  }
  if (const char* reason = why_not_gated(kind, p)) return reason;
  if (const char* reason = why_not_batched(kind, p)) return reason;
  if (inputs_are_aligned(p, kind.input)) return nullptr;
  if (p.batch.by_pointers) return kUnalignedByPointers;
  if (packs) {
    const auto is_fetched = [&](const StoredMatrices& all) {
      return rows_are_aligned(all, kind.input) || can_be_packed(all);
    };
    return is_fetched(all_of_a(p)) && is_fetched(all_of_b(p))
               ? nullptr
               : "A's and B's of a batch are packed only where they follow one another without a "
                 "gap and have at most 2^30 rows in all, or are the same for all products";
  }
  if (p.batch.count > 1) {
    return "A's and B's leading dimensions and the strides of a batch must be whole units of 16 "
           "bytes (multiples of 8), unless the config packs them";
  }
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
    "rounds them; fp32 is for the ladder's CUDA-core steps), and store the operands' type or fp32; "
    "or e4m3 and e5m2, contiguous in K (PTX ISA: only 16-bit operands may be MN-major), and store "
    "bf16, fp16, fp32 or, without a second output, 8 bits, and are never packed. Fast sums and "
    "scales are for 8-bit operands, and scales of blocks for single products without a gate, whose "
    "sums are not fast. Scales of D that a kernel finds are for single products with a D of 8 "
    "bits"};
/// How a warp finds the scale of a row.
inline constexpr RuleText kOutputScalesRule = {
    "output_scales",
    "the scale of a row's 128 columns of D is found by a warp that has all of them in registers, "
    "as the layout of wgmma's sums gives them: consumers have multiples of 128 columns of a tile "
    "of D (of 256 of B with a gate), tiles are not swapped, and no CTA stores a share of a tile "
    "(scheduler split)"};
/// Where sums of 8-bit operands are added up in fp32.
inline constexpr RuleText kPromoteRule = {
    "promote",
    "8-bit operands, unless their sums are fast, are promoted every 128, 256 or 512 elements of K, "
    "in whole stages (acc128 and so on), and others never. With scales of blocks each stage is one "
    "block of 128"};

HGEMM_HOST_DEVICE constexpr bool promotes_sums(const GemmKind& kind) {
  return is_8_bit(kind.input) && !kind.fast_sums;
}
/// The legal numbers of elements of K from one promotion to the next, for a stage of `bk`.
HGEMM_HOST_DEVICE constexpr bool promotion_is_valid(const GemmKind& kind, int promote, int bk) {
  if (!promotes_sums(kind)) return promote == 0;
  if (promote != 128 && promote != 256 && promote != 512) return false;
  if (is_of_blocks(kind.scaling) && (promote != kScaleBlock || bk != kScaleBlock)) return false;
  return promote % bk == 0;
}

inline constexpr RuleText kBatchRule = {
    "batch",
    "batches of products are for tiled kernels, and have no C, bias, activation or gate yet; those "
    "by pointers cannot be packed, and need a producer with more than 24 registers (ptxas 13.0)"};

/// The constant extents of a kernel. (How many products there are is no constant.)
HGEMM_HOST_DEVICE constexpr ProblemExtents fixed_extents(const GemmKind& kind) {
  ProblemExtents p{kind.m,
                   kind.n,
                   kind.k,
                   kind.a_major == Major::kK ? kind.k : kind.m,
                   kind.b_major == Major::kK ? kind.k : kind.n,
                   is_gated(kind) ? kind.n / 2 : kind.n,
                   kind.a_major,
                   kind.b_major,
                   is_gated(kind)};
  p.batch.by_pointers = kind.by_pointers;
  p.batch = batch_without_gaps(p, kind.batched ? 2 : 1);
  return p;
}

}  // namespace hgemm
