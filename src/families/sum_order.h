// In which order a kernel adds up the products of an element of D, and whether the bits of a row of
// D may therefore depend on M, the number of rows. docs/kernel.md, "The order of sums", says what
// it follows from.
#pragma once

#include <cstdint>

#include "families/kernel.h"

namespace hgemm {

/// Kernels of one order give the same bits at an element of D, whatever their tiles.
enum class SumOrder : std::uint8_t {
  /// The tensor cores add up K from its begin to its end, in steps of one wgmma; sums that are
  /// promoted begin anew after each 128 elements.
  kSequential,
  kCutK,             ///< parts of K are summed apart
  kCudaCores,        ///< lanes of warps sum parts of K
  kOtherPromotion,   ///< sums are promoted after another number of elements
  kSwappedOperands,  ///< as kSequential with B as wgmma's 64-row operand, if that differs
};

/// Whether wgmma gives D^T = B A^T the bits of D = A B^T. tests/gpu/batch_invariant_test.cpp
/// compares them.
inline constexpr bool kSwappingKeepsBits = true;

SumOrder sum_order(const KernelConfig& config);

/// Why the bits of a row may depend on M although all M were computed by configs of that order, as
/// a phrase that starts with a verb; nullptr for kSequential. (In a table each M has a config of
/// its own, so one order must do for all.)
const char* why_bits_follow_m(SumOrder order);
/// Why they may whatever the configs are, because of what is computed on the sums; or nullptr.
const char* why_bits_follow_m(const GemmKind& kind);

}  // namespace hgemm
