#include "search/proposer.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "families/groups.h"
#include "search/crowding.h"
#include "search/product.h"

namespace hgemm {
namespace {

/// Points predicted to take longer than the best by more than this factor are not proposed. At each
/// of 37 recorded problems the fastest config was within 1.14 of the best prediction
/// (analysis/cost-model.md).
constexpr double kReach = 1.5;
/// Points that get the details that the model likes best.
constexpr std::size_t kHeads = 1500;
/// The best of them in each family, at which all details are tried, to learn which ones the model
/// tells apart.
constexpr std::size_t kScouts = 16;
/// The best of them, around which other details are proposed, one at a time.
constexpr std::size_t kVaried = 64;
/// A detail is changed for a predicted gain of at least this, the resolution of a race. Kernels
/// that differ less are better shared by many problems.
constexpr double kLeastGain = 0.005;

/// Figures with which the order of tiles costs nothing. Predictions are then fast, and too low.
CostFigures with_endless_l2(CostFigures figures) {
  figures.l2_bytes = 1e18;
  return figures;
}

/// A tile with a division of the work; details are at their first values.
struct Rough {
  std::size_t family, index;
  double us;
  ConfigGroups groups;
};

/// One family's part of a search.
class FamilySearch {
 public:
  virtual ~FamilySearch() = default;
  /// The time of the best point that was found so far, with endless L2.
  virtual double best_us() const = 0;
  /// Finds the points that are predicted to take at most so long.
  virtual std::vector<Rough> find(std::size_t family, double most_us) = 0;
  /// With the real L2.
  virtual double exact_us(std::size_t index) const = 0;
  /// Learns which details make a difference at the point.
  virtual void scout(std::size_t index) = 0;
  /// The point with the best of these details.
  virtual Proposal with_details(std::size_t index) const = 0;
  /// All details around a config, one at a time.
  virtual std::vector<Proposal> around(const KernelConfig& head) const = 0;
};

template <class Config>
class SearchOf : public FamilySearch {
 public:
  SearchOf(const Scope& scope, Product<Config> product)
      : figures_(scope.figures),
        rough_figures_(with_endless_l2(scope.figures)),
        product_(std::move(product)) {
    find_tiles();
  }

  double best_us() const override { return best_us_; }

  std::vector<Rough> find(std::size_t family, double most_us) override {
    std::vector<Rough> found;
    for (const Tile& tile : tiles_) {
      if (tile.best_us > most_us) continue;
      Config config = tile.config;
      Product<Config>::for_each(product_.work, config, [&] {
        Config deepest = config;
        if (!product_.deepen(deepest)) return;
        const double us = product_.predict_us(rough_figures_, deepest);
        if (us > most_us || !product_.is_wanted(deepest)) return;
        found.push_back({family, points_.size(), us, groups_of(deepest)});
        points_.push_back(deepest);
      });
    }
    return found;
  }
  double exact_us(std::size_t index) const override { return exact_us(points_[index]); }

  void scout(std::size_t index) override {
    const Config& point = points_[index];
    const double most_us = exact_us(point) * (1 - kLeastGain);
    for (std::size_t i = 0; i < product_.detail.size(); ++i) {
      for_each_other(product_.detail[i], point, [&](const Config& config, std::size_t value) {
        if (exact_us(config) <= most_us) useful_[i].insert(value);
      });
    }
  }

  Proposal with_details(std::size_t index) const override {
    Proposal best{points_[index], exact_us(index)};
    const auto consider = [&](const Config& config, std::size_t = 0) {
      const double us = exact_us(config);
      if (us <= best.predicted_us * (1 - kLeastGain)) best = {config, us};
    };
    if (product_.stages) for_each_other(*product_.stages, points_[index], consider);
    for (const auto& [i, values] : useful_) {
      const Config before = std::get<Config>(best.config);
      for_each_other(product_.detail[i], before, [&](const Config& config, std::size_t value) {
        if (values.contains(value)) consider(config);
      });
    }
    best.config = product_.simplest(std::get<Config>(best.config));
    return best;
  }

  std::vector<Proposal> around(const KernelConfig& head) const override {
    std::vector<Proposal> found;
    const auto add = [&](const Config& other, std::size_t = 0) {
      const Config simple = product_.simplest(other);
      found.push_back({simple, exact_us(simple)});
    };
    for (const AxisDomain<Config>& domain : product_.detail) {
      for_each_other(domain, std::get<Config>(head), add);
    }
    if (product_.stages) for_each_other(*product_.stages, std::get<Config>(head), add);
    return found;
  }

 private:
  struct Tile {
    Config config;
    double best_us;  ///< with the first division of the work or one near to it
  };

  double exact_us(const Config& config) const { return product_.predict_us(figures_, config); }

  /// Calls `use` with the valid configs that have another value of the axis.
  template <class Use>
  void for_each_other(const AxisDomain<Config>& domain, const Config& config,
                      const Use& use) const {
    Config other = config;
    for (std::size_t value = 0; value < domain.values.size(); ++value) {
      if (domain.has(config, value)) continue;
      domain.set(other, value);
      if (product_.is_valid(other) && product_.is_wanted(other)) use(other, value);
    }
  }

  void find_tiles() {
    const auto deepen = [this](Config& near) { return product_.deepen(near); };
    Config config = product_.first();
    Product<Config>::for_each(product_.tile, config, [&] {
      if (product_.is_hopeless(config) || !product_.is_wanted(config)) return;
      double tile_us = std::numeric_limits<double>::infinity();
      product_.for_each_near_work(config, deepen, [&](const Config& near) {
        tile_us = std::min(tile_us, product_.predict_us(rough_figures_, near));
      });
      if (std::isinf(tile_us)) return;
      tiles_.push_back({config, tile_us});
      best_us_ = std::min(best_us_, tile_us);
    });
    std::ranges::stable_sort(tiles_, {}, &Tile::best_us);
  }

  CostFigures figures_, rough_figures_;
  Product<Config> product_;
  std::vector<Tile> tiles_;
  std::vector<Config> points_;
  double best_us_ = std::numeric_limits<double>::infinity();
  /// Details that make a difference: by their position, the positions of values.
  std::map<std::size_t, std::set<std::size_t>> useful_;
};

std::vector<std::unique_ptr<FamilySearch>> families_for(const Scope& scope) {
  std::vector<std::unique_ptr<FamilySearch>> families;
  for_each_family([&]<class Config>(const Config&) {
    Product<Config> product(scope.problem.kind(), scope.limits);
    if (product.restrict_to(scope)) {
      families.push_back(std::make_unique<SearchOf<Config>>(scope, std::move(product)));
    }
  });
  return families;
}

/// Keeps the fastest points, spread over groups.
void keep_heads(std::vector<Rough>& points) {
  std::ranges::stable_sort(points, {}, &Rough::us);
  Crowding crowding;
  std::vector<std::pair<double, std::size_t>> scores;
  for (std::size_t i = 0; i < points.size(); ++i) {
    scores.emplace_back(crowding.score(std::log(points[i].us), points[i].groups), i);
  }
  const std::size_t count = std::min(points.size(), kHeads);
  std::ranges::partial_sort(scores, scores.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<Rough> heads;
  for (std::size_t i = 0; i < count; ++i) heads.push_back(points[scores[i].second]);
  points = std::move(heads);
}

std::vector<Proposal> with_details(std::span<const Rough> points,
                                   std::span<const std::unique_ptr<FamilySearch>> families) {
  struct Head {
    Proposal proposal;
    std::size_t family;
  };
  std::vector<Head> heads;
  for (const Rough& point : points) {
    heads.push_back({families[point.family]->with_details(point.index), point.family});
  }
  std::ranges::stable_sort(heads, {}, [](const Head& h) { return h.proposal.predicted_us; });
  std::vector<Proposal> proposals;
  std::set<std::string> labels;
  const auto add = [&](const Proposal& proposal) {
    if (labels.insert(label(proposal.config)).second) proposals.push_back(proposal);
  };
  for (const Head& head : heads) add(head.proposal);
  for (std::size_t i = 0; i < std::min(heads.size(), kVaried); ++i) {
    for (const Proposal& other : families[heads[i].family]->around(heads[i].proposal.config)) {
      add(other);
    }
  }
  return proposals;
}

}  // namespace

std::vector<Proposal> propose(const Scope& scope) {
  if (why_no_kernel(scope.problem)) return {};
  const auto families = families_for(scope);
  double best_us = std::numeric_limits<double>::infinity();
  for (const auto& family : families) best_us = std::min(best_us, family->best_us());
  std::vector<Rough> points;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const auto found = families[i]->find(i, kReach * best_us);
    points.insert(points.end(), found.begin(), found.end());
  }
  keep_heads(points);
  for (Rough& point : points) point.us = families[point.family]->exact_us(point.index);
  std::ranges::stable_sort(points, {}, &Rough::us);
  std::vector<std::size_t> scouts(families.size());
  for (const Rough& point : points) {
    if (scouts[point.family]++ < kScouts) families[point.family]->scout(point.index);
  }
  return with_details(points, families);
}

}  // namespace hgemm
