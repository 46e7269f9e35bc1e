// Proposes configs out of the whole space: every point of the product of the axes' domains that the
// rules allow, some ten million. Pure logic: no GPU, clock or store.
//
// The cost model predicts most of the space, by levels (AxisText::Vary): each tile with some
// divisions of the work; all divisions of the work with the promising tiles; and other details one
// at a time around the best of these. What is proposed depends on the arguments only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "families/allowed.h"
#include "gemm/problem.h"
#include "search/space.h"

namespace hgemm {

/// A problem, and what may run there.
struct Scope {
  GemmProblem problem;
  CostFigures figures = {};
  DeviceLimits limits = {};
  Allowed allowed = {};
};

struct Proposal {
  KernelConfig config;
  double predicted_us = 0;
};

/// Distinct points that suit the problem (family.h), at most some thousand: the fastest predicted
/// ones of each kind (kind_of()), with their details as the model likes them best, and around the
/// first of them other details, between which it may see no difference. Empty if no point suits.
std::vector<Proposal> propose(const Scope& scope);

/// `count` distinct points that suit the problem, each of a random family, of which all points have
/// the same chance; fewer if there are not so many. More points begin with the same ones.
std::vector<Proposal> draw(const Scope& scope, std::size_t count, std::uint64_t seed);

/// The points next to a config: one axis has another value, the next one if values are numbers;
/// with as many pipeline stages as before and with the most, if the tile is another one. If the
/// rules forbid a step, another axis gives way.
std::vector<Proposal> neighbours(const Scope& scope, const KernelConfig& config);

/// Whether any point suits the problem.
bool any_suits(const Scope& scope);

/// Estimates how many points are valid for one of these kinds (bf16 if there are none), namely for
/// the one with most. A point that breaks several rules counts for one of them.
SpaceCount whole_size(std::span<const GemmKind> kinds, const Allowed& allowed,
                      const DeviceLimits& limits = {});
/// Estimates how many points suit each problem.
std::vector<std::int64_t> whole_sizes(std::span<const Scope> scopes);

}  // namespace hgemm
