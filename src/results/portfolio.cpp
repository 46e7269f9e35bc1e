#include "results/portfolio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

/// The gain at a problem that no kernel of the set can compute. It is so high that any kernel that
/// can compute the problem is taken first.
constexpr double kUncovered = -10;

struct Candidate {
  std::string name;
  std::vector<double> gains;  ///< logarithm of the fraction at each truth
};

/// A config has a different kernel for each type, layout and epilogue, and with constant extents
/// for each problem.
std::string kernel_of(const KernelConfig& config, const GemmProblem& problem) {
  if (is_fixed(config)) return fmt::format("{} for {}", label(config), to_string(problem));
  if (problem.kind() == GemmProblem{}.kind()) return label(config);
  return build_name(kernel_for(config, problem));
}

std::vector<Candidate> candidates_of(std::span<const Truth> truths) {
  std::map<std::string, std::vector<double>> gains;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    const double best = truths[i].best();
    for (const Truth::Entry& entry : truths[i].entries) {
      if (entry.speed <= 0) continue;
      auto& of_kernel = gains[kernel_of(entry.config, truths[i].problem)];
      of_kernel.resize(truths.size(), kUncovered);
      of_kernel[i] = std::log(entry.speed / best);
    }
  }
  std::vector<Candidate> candidates;
  for (auto& [name, values] : gains) candidates.push_back({name, std::move(values)});
  return candidates;
}

using Gains = std::vector<double>;

/// The gain of the set at each truth, without the kernel `without`.
Gains gains_of(std::span<const Candidate* const> set, std::size_t truths,
               std::optional<std::size_t> without = {}) {
  Gains best(truths, kUncovered);
  for (std::size_t c = 0; c < set.size(); ++c) {
    if (c == without) continue;
    for (std::size_t i = 0; i < truths; ++i) best[i] = std::max(best[i], set[c]->gains[i]);
  }
  return best;
}

double sum_with(const Gains& gains, const Candidate& candidate) {
  double sum = 0;
  for (std::size_t i = 0; i < gains.size(); ++i) sum += std::max(gains[i], candidate.gains[i]);
  return sum;
}

/// The kernel that adds the most to the set, and the resulting sum.
std::pair<const Candidate*, double> best_addition(const std::vector<Candidate>& candidates,
                                                  const Gains& gains) {
  std::pair<const Candidate*, double> best{nullptr, -std::numeric_limits<double>::infinity()};
  for (const Candidate& candidate : candidates) {
    if (const double sum = sum_with(gains, candidate); sum > best.second) best = {&candidate, sum};
  }
  return best;
}

}  // namespace

Portfolio choose_portfolio(std::span<const Truth> truths, int kernels) {
  constexpr double kProgress = 1e-9;
  const std::vector<Candidate> candidates = candidates_of(truths);
  std::vector<const Candidate*> set;
  double sum = kUncovered * static_cast<double>(truths.size());
  while (static_cast<int>(set.size()) < kernels && !candidates.empty()) {
    const auto [next, total] = best_addition(candidates, gains_of(set, truths.size()));
    if (total <= sum + kProgress) break;  // nothing helps any more
    set.push_back(next);
    sum = total;
  }
  for (bool improved = true; improved;) {
    improved = false;
    for (std::size_t out = 0; out < set.size(); ++out) {
      const auto [in, total] = best_addition(candidates, gains_of(set, truths.size(), out));
      if (total <= sum + kProgress) continue;
      set[out] = in;
      sum = total;
      improved = true;
    }
  }
  // A kernel that was taken early may have become redundant.
  for (std::size_t out = set.size(); out-- > 0;) {
    const Gains rest = gains_of(set, truths.size(), out);
    if (std::reduce(rest.begin(), rest.end()) < sum - kProgress) continue;
    set.erase(set.begin() + static_cast<std::ptrdiff_t>(out));
  }

  Portfolio portfolio;
  for (const Candidate* one : set) portfolio.kernels.push_back(one->name);
  for (std::size_t i = 0; i < truths.size(); ++i) {
    const auto fastest = std::ranges::max_element(
        set, {}, [i](const Candidate* candidate) { return candidate->gains[i]; });
    if (fastest == set.end() || (*fastest)->gains[i] == kUncovered) {
      portfolio.uncovered.push_back(truths[i].problem);
      continue;
    }
    const std::string& name = (*fastest)->name;
    portfolio.choices.push_back({truths[i].problem, truths[i].regime,
                                 name.substr(0, name.find(' ')), std::exp((*fastest)->gains[i])});
  }
  return portfolio;
}

}  // namespace hgemm
