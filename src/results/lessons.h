// What recorded races of other problems teach a search.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "results/best.h"
#include "results/prediction.h"
#include "search/search.h"
#include "store/store.h"

namespace hgemm {

/// The lessons of one regime's races on one GPU.
class Lessons {
 public:
  /// `is_current` tells which trials count. Calls `predictor` once for each measured config.
  Lessons(std::span<const RecordedRace> races, Regime regime, const IsCurrent& is_current,
          const Predictor& predictor);

  /// From the nearest problems of the same types, without the problem itself.
  Elsewhere for_search_at(const GemmProblem& problem) const;
  /// Speeds at the problem itself, relative to cublas, by label; 0: it failed.
  std::map<std::string, double> speeds_at(const GemmProblem& problem) const;

 private:
  struct Taught {
    GemmProblem problem;
    std::map<std::string, double> speeds;
    std::vector<Lesson> lessons;        ///< of configs that ended ok
    std::vector<KernelConfig> fastest;  ///< the fastest first
  };
  std::vector<Taught> problems_;
};

}  // namespace hgemm
