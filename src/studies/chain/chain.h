// Chains: different GEMMs in a row, each with its own weight, as in a decoder's step.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"
#include "record/study.h"

namespace hgemm {

inline constexpr std::string_view kChainStudy = "chain";

inline constexpr int kMinChainLength = 8;
inline constexpr int kMaxChainLength = 32;
/// The recorded names of the two ways in which our kernels compute a chain (cublas has
/// kCublasLabel).
inline constexpr const char* kPdlOff = "pdl_off";
inline constexpr const char* kPdlOn = "pdl_on";

struct Chain {
  /// Describes the computation: "chain.m1.12288x4096+4096x4096+2*11008x4096+4096x11008.x20.bf16",
  /// the N x K of a layer's links with their epilogues ("22016x4096.swiglu"), repeated until there
  /// are 20.
  std::string label;
  std::vector<GemmProblem> links;
  std::vector<GemmProblem> left_out;  ///< problems that occur less than once per layer
};

/// A chain for each M, type and model (the part of a tag before its last '/') of the problems, in
/// their order. Each problem occurs in a layer as often as its weight says: the weight over the
/// median of the weights, rounded. Layers are repeated until there are `length` links; the last
/// layer may be cut short.
std::vector<Chain> chains_of(std::span<const GemmProblem> problems, int length);

/// Whether the output of `link` has at least as many elements as `next` needs for its A.
bool feeds(const GemmProblem& link, const GemmProblem& next);

/// Which links read the output of the link before: those that it feeds. But a gate about squares
/// what rows differ by, so that after many of them one row would be all. A link that follows more
/// than four gates, without a link with a C since, has a matrix of its own.
std::vector<bool> fed_links(std::span<const GemmProblem> links);

/// One GEMM of a chain, and the labels of the configs that compute it.
struct ChainLink {
  GemmProblem problem;
  std::string pdl_off, pdl_on;
};
/// The links as recorded: two parts for each.
std::vector<StudyPart> parts_of(std::span<const ChainLink> links);
std::vector<ChainLink> links_of(std::span<const StudyPart> parts);

/// Bytes of B over all links; each link has its own B.
double weight_bytes(std::span<const ChainLink> links);

}  // namespace hgemm
