// Spreads proposals over groups of configs whose predictions err together.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "families/groups.h"

namespace hgemm {

/// Hands out scores, for configs in the order of their predictions: the logarithm of the time, and
/// more the more configs of the same groups came before. In the whole space hundreds of points of
/// one kind are predicted within one percent of one another; if the model is wrong about one of
/// them, it is wrong about most.
class Crowding {
 public:
  enum class Of : std::uint8_t {
    kAll,   ///< cores, kinds and manners: while it is to be found out where the model is wrong
    kCores  ///< cores alone: once that is known
  };
  explicit Crowding(Of groups = Of::kAll) : groups_(groups) {}

  double score(double log_us, const ConfigGroups& groups);

 private:
  Of groups_;
  std::unordered_map<std::uint64_t, int> cores_, kinds_, manners_;
};

}  // namespace hgemm
