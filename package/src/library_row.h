// The types of the rows in library_table.h: tuned problems at which a library was measured to be
// faster than every kernel of this package.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hgemm_tuned_table {

enum class Library {
  kGemmEx,     ///< cublasGemmEx, or cublasGemmStridedBatchedEx, with its default algorithm
  kHeuristic,  ///< cuBLASLt's first choice, or an algorithm whose attributes are not known
  kAlgorithm,  ///< an algorithm of cuBLASLt with its attributes
};

/// Attributes of an algorithm of cuBLASLt, in the types of cublasLtMatmulAlgoConfigAttributes_t.
struct LtAttributes {
  std::int32_t id;
  std::uint32_t tile, stages;
  std::uint16_t cluster;
  std::uint32_t split_k, reduction, swizzle, custom;
  std::uint16_t inner;
};

struct LibraryRow {
  int row;  ///< index in kRows
  Library library;
  std::size_t version;  ///< cublasLtGetVersion() where it was measured; 0: not known
  LtAttributes attributes;
  std::size_t workspace_bytes;  ///< what the algorithm needed there
};

}  // namespace hgemm_tuned_table
