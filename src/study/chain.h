// Chains: different GEMMs in a row, each with its own weight, as a decoder's step runs them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "space/shape.h"
#include "study/study.h"

namespace hgemm {

inline constexpr int kMinChainLength = 8;
inline constexpr int kMaxChainLength = 32;
/// The ways in which our kernels compute a chain, as they are recorded (cublas is kCublasLabel).
inline constexpr const char* kPdlOff = "pdl_off";
inline constexpr const char* kPdlOn = "pdl_on";

struct Chain {
  /// What it computes: "chain.m1.12288x4096+4096x4096+2*11008x4096+4096x11008.x20.bf16", N x K of a
  /// layer's links, repeated until there are 20.
  std::string label;
  std::vector<Shape> links;
  std::vector<Shape> left_out;  ///< shapes that come less often than once in a layer
};

/// A chain for each M, type and model (the part of a tag before its last '/') of the shapes, in the
/// order of the shapes. A layer has each shape as often as its weight says: over the median of the
/// weights, rounded. Layers are repeated until there are `length` links; the last may be cut short.
std::vector<Chain> chains_of(std::span<const Shape> shapes, int length);

/// Whether the output of `link` has the elements that `next` needs as its A.
bool feeds(const Shape& link, const Shape& next);

/// Bytes of the B of all links: each link has its own.
double weight_bytes(std::span<const ChainLink> links);

}  // namespace hgemm
