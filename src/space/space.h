// The search space: grids of axis values, enumerated into valid configs and counted rejections.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/config.h"

namespace hgemm {

/// The cartesian product of one list per axis.
struct Grid {
  std::vector<int> bm, bn, bk;
  /// Pipeline stages; kMaxStagesThatFit stands for the most that shared memory allows ("max").
  std::vector<int> stages;
  struct Cluster {
    int m, n;
  };
  std::vector<Cluster> cluster;
  std::vector<int> consumers;
  std::vector<int> mma_depth;
  struct Order {
    TileOrder order;
    int group;
  };
  std::vector<Order> order;
  std::vector<Epilogue> epilogue;
  std::vector<bool> persistent;
  std::vector<Dtype> dtype;
};
inline constexpr int kMaxStagesThatFit = 0;

/// A union of grids; a config that several grids contain counts once.
struct Space {
  std::string name;
  std::vector<Grid> grids;
};

/// `argument`: a name ("quick") looked up in `configs_dir`/spaces, or a YAML file.
/// Throws InputError with file:line:column; unknown keys name the nearest known one.
Space load_space(const std::string& argument, const std::string& configs_dir);

struct Enumeration {
  std::vector<KernelConfig> valid;        ///< distinct, in a stable order
  std::map<Rule, std::int64_t> rejected;  ///< points that break each rule (first broken rule)
};
Enumeration enumerate(const Space& space, const DeviceLimits& limits = {});

/// axis name -> its distinct values among `configs`, as label fragments, in ascending order.
std::map<std::string, std::vector<std::string>> axis_values(
    const std::vector<KernelConfig>& configs);

}  // namespace hgemm
