// Random points of the whole space.
#include <memory>
#include <set>
#include <string>

#include "search/product.h"

namespace hgemm {
namespace {

/// One family's product.
class Urn {
 public:
  virtual ~Urn() = default;
  /// A random point; nullopt if the rules reject it.
  virtual std::optional<Proposal> draw(std::mt19937_64& random) const = 0;
};

template <class Config>
class UrnOf : public Urn {
 public:
  UrnOf(const Scope& scope, Product<Config> product)
      : scope_(scope), product_(std::move(product)) {}

  std::optional<Proposal> draw(std::mt19937_64& random) const override {
    const Config config = product_.draw(random);
    if (!product_.is_valid(config) || !product_.is_wanted(config)) return std::nullopt;
    const Config simple = product_.simplest(config);
    return Proposal{simple, product_.predict_us(scope_.figures, simple)};
  }

 private:
  const Scope& scope_;
  Product<Config> product_;
};

std::vector<std::unique_ptr<Urn>> urns_for(const Scope& scope) {
  std::vector<std::unique_ptr<Urn>> urns;
  for_each_family([&]<class Config>(const Config&) {
    Product<Config> product(scope.problem.kind(), scope.limits);
    if (product.restrict_to(scope)) {
      urns.push_back(std::make_unique<UrnOf<Config>>(scope, std::move(product)));
    }
  });
  return urns;
}

}  // namespace

std::vector<Proposal> draw(const Scope& scope, std::size_t count, std::uint64_t seed) {
  // Of ten thousand points of a family's product at least one is valid.
  constexpr std::size_t kTriesForEach = 1'000'000;
  std::vector<Proposal> drawn;
  if (why_no_kernel(scope.problem)) return drawn;
  const auto urns = urns_for(scope);
  if (urns.empty()) return drawn;
  std::mt19937_64 random(seed);
  std::set<std::string> labels;
  std::size_t urn = random() % urns.size();
  for (std::size_t tries = 0; drawn.size() < count && tries < kTriesForEach; ++tries) {
    std::optional<Proposal> proposal = urns[urn]->draw(random);
    if (!proposal) continue;
    urn = random() % urns.size();
    if (!labels.insert(label(proposal->config)).second) continue;
    drawn.push_back(std::move(*proposal));
    tries = 0;
  }
  return drawn;
}

bool any_suits(const Scope& scope) {
  return !why_no_kernel(scope.problem) && !urns_for(scope).empty();
}

}  // namespace hgemm
