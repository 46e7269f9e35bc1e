#include "search/whole_size.h"

namespace hgemm {
namespace {

SpaceCount size_for(const GemmKind& types, const Allowed& allowed, const DeviceLimits& limits) {
  SpaceCount sum;
  sum.estimated = true;
  std::map<std::string, std::map<std::string, std::int64_t>> ranks;  // by axis and value
  for_each_family([&]<class Config>(const Config&) {
    const Product<Config> product(types, limits);
    const WholeSize<Config> size(product, allowed);
    size.add_to(sum);
    size.for_each_value([&](const std::string& axis, const std::string& value, std::int64_t rank) {
      const auto [known, is_new] = ranks[axis].try_emplace(value, rank);
      if (!is_new) known->second = std::min(known->second, rank);
    });
  });
  for (const auto& [axis, values] : ranks) {
    std::vector<std::pair<std::int64_t, std::string>> ordered;
    for (const auto& [value, rank] : values) ordered.emplace_back(rank, value);
    std::ranges::sort(ordered);
    for (auto& [rank, value] : ordered) sum.axes[axis].push_back(std::move(value));
  }
  return sum;
}

}  // namespace

SpaceCount whole_size(std::span<const GemmKind> kinds, const Allowed& allowed,
                      const DeviceLimits& limits) {
  constexpr GemmKind kBf16{};
  if (kinds.empty()) kinds = {&kBf16, 1};
  std::vector<GemmKind> known;
  SpaceCount most;
  for (const GemmKind& kind : kinds) {
    if (std::ranges::find(known, kind) != known.end()) continue;
    known.push_back(kind);
    SpaceCount size = size_for(kind, allowed, limits);
    if (size.valid >= most.valid) most = std::move(size);
  }
  return most;
}

std::vector<std::int64_t> whole_sizes(std::span<const Scope> scopes) {
  // Many problems leave the same product.
  std::map<std::string, double> known;
  std::vector<std::int64_t> sizes;
  for (const Scope& scope : scopes) {
    double valid = 0;
    if (!why_no_kernel(scope.problem)) {
      for_each_family([&]<class Config>(const Config&) {
        Product<Config> product(scope.problem.kind(), scope.limits);
        if (!product.restrict_to(scope)) return;
        const auto [found, is_new] =
            known.try_emplace(fmt::format("{} {} {}", to_string(scope.allowed.pdl),
                                          scope.allowed.batch_invariant, product.describe()),
                              0);
        if (is_new) found->second = WholeSize<Config>(product, scope.allowed).valid();
        valid += found->second;
      });
    }
    sizes.push_back(std::llround(valid));
  }
  return sizes;
}

}  // namespace hgemm
