// Numbers of clusters by the GPC on which they run (NumberedParams in kernels/common/params.h).
// device/gpcs.cuh finds them on a GPU. Shared with exported packages, as launch.h is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/params.h"

namespace hgemm {

/// The number of each cluster of a launch; those of kMostNumbered and more keep their own.
using ClusterNumbers = std::array<unsigned char, kMostNumbered>;

/// Each cluster has its own number.
inline ClusterNumbers unnumbered() {
  ClusterNumbers numbers{};
  std::iota(numbers.begin(), numbers.end(), static_cast<unsigned char>(0));
  return numbers;
}

/// Consecutive numbers for the clusters of each GPC. `gpcs`: of each cluster of a launch. Own
/// numbers if there are more than kMostNumbered clusters.
inline ClusterNumbers numbers_by_gpc(const std::vector<int>& gpcs) {
  ClusterNumbers numbers = unnumbered();
  if (gpcs.size() > numbers.size()) return numbers;
  std::vector<std::size_t> clusters(gpcs.size());
  std::iota(clusters.begin(), clusters.end(), std::size_t{0});
  std::stable_sort(clusters.begin(), clusters.end(),
                   [&](std::size_t a, std::size_t b) { return gpcs[a] < gpcs[b]; });
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    numbers[clusters[i]] = static_cast<unsigned char>(i);
  }
  return numbers;
}

/// Which GPC each SM belongs to, from SMs that were seen to share one.
class Gpcs {
 public:
  /// These SMs are of one GPC.
  void join(unsigned a, unsigned b) {
    if (std::max(a, b) >= parents_.size()) grow(std::max(a, b) + 1);
    parents_[of(a)] = of(b);
  }
  /// Any number that the SMs of a GPC share.
  std::size_t of(unsigned sm) const {
    std::size_t at = sm;
    while (at < parents_.size() && parents_[at] != at) at = parents_[at];
    return at;
  }

 private:
  void grow(std::size_t sms) {
    const std::size_t before = parents_.size();
    parents_.resize(sms);
    std::iota(parents_.begin() + static_cast<std::ptrdiff_t>(before), parents_.end(), before);
  }
  std::vector<std::size_t> parents_;
};

/// What was found out about a device.
struct KnownGpcs {
  std::optional<Gpcs> gpcs;
  std::map<std::pair<int, int>, ClusterNumbers> numbers;  ///< by CTAs of a cluster and clusters

  /// Null if it was not found out for launches of so many clusters of `size` CTAs.
  const ClusterNumbers* of(int size, int clusters) const {
    const auto found = numbers.find({size, clusters});
    return found != numbers.end() ? &found->second : nullptr;
  }
};

}  // namespace hgemm
