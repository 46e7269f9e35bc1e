#include "device/gpcs.h"

#include "device/cuda.h"
#include "device/gpcs.cuh"

namespace hgemm {

const ClusterNumbers& GpcNumbers::of(int size, int clusters) {
  const auto known = numbers_.find({size, clusters});
  if (known != numbers_.end()) return known->second;
  const DeviceMemory noted(gpcs::kMostCtas * sizeof(unsigned));
  if (numbers_.empty()) {
    check(gpcs::find_gpcs(noted.as<unsigned>(), cudaStreamLegacy, gpcs_),
          "asking which SMs share a GPC");
  }
  ClusterNumbers& numbers = numbers_[{size, clusters}];
  check(gpcs::find_numbers(gpcs_, size, clusters, noted.as<unsigned>(), cudaStreamLegacy, numbers),
        "asking where clusters run");
  return numbers;
}

}  // namespace hgemm
