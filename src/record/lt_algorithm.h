// An algorithm of cuBLASLt with all that chooses it, as a trial of a cuBLASLt baseline records it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hgemm {

/// The attributes of a cublasLtMatmulAlgo_t (cublasLtMatmulAlgoConfigAttributes_t in cublasLt.h).
/// With the same version of cuBLASLt they make the same algorithm again.
struct LtAlgorithm {
  std::int32_t id = 0;
  std::uint32_t tile = 0;
  std::uint32_t stages = 0;
  std::uint16_t cluster = 0;
  std::uint32_t split_k = 0;
  std::uint32_t reduction = 0;
  std::uint32_t swizzle = 0;
  std::uint32_t custom = 0;
  std::uint16_t inner = 0;
  std::uint64_t workspace_bytes = 0;  ///< what the algorithm needs at its problem

  bool operator==(const LtAlgorithm&) const = default;
};

/// "algo 66, tile 23, stages 16, cluster 3, split-K 1, reduction 0, swizzle 0, custom 0, inner 0,
/// workspace 0 B"
std::string to_string(const LtAlgorithm& algorithm);

/// The inverse of to_string(). nullopt for any other text, and so for that of databases of 0.1,
/// which lacks attributes.
std::optional<LtAlgorithm> parse_lt_algorithm(std::string_view text);

}  // namespace hgemm
