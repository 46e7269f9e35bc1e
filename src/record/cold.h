// When data comes from memory and not from the L2 cache: races and chains mean the same by "cold".
#pragma once

#include <cstdint>

namespace hgemm {

/// Times L2 that the data must exceed which is read over and over, before none of it is found
/// there.
inline constexpr double kColdL2s = 3;

inline double cold_bytes(std::int64_t l2_bytes) { return kColdL2s * static_cast<double>(l2_bytes); }

}  // namespace hgemm
