// Which clusters of a launch run on the same GPC of the current device.
#pragma once

#include "families/gpcs.h"

namespace hgemm {

/// Launches short kernels to find out, once for each kind of launch.
class GpcNumbers {
 public:
  /// For a launch of so many clusters of `size` CTAs, each with an SM to itself.
  const ClusterNumbers& of(int size, int clusters);

 private:
  KnownGpcs known_;
};

}  // namespace hgemm
