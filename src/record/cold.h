// The definition of "cold" data (read from memory, not from L2), shared by races and chains.
#pragma once

#include <cstdint>

namespace hgemm {

/// Multiple of L2's size that repeatedly read data must exceed so that none of it is found in L2.
inline constexpr double kColdL2s = 3;

inline double cold_bytes(std::int64_t l2_bytes) { return kColdL2s * static_cast<double>(l2_bytes); }

}  // namespace hgemm
