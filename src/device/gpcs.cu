#include "device/gpcs.h"

#include "device/cuda.h"
#include "device/gpcs.cuh"

namespace hgemm {

const ClusterNumbers& GpcNumbers::of(int size, int clusters) {
  if (known_.of(size, clusters) == nullptr) {
    const DeviceMemory noted(gpcs::kMostCtas * sizeof(unsigned));
    check(gpcs::learn(known_, size, clusters, noted.as<unsigned>(), cudaStreamLegacy),
          "asking on which GPC clusters run");
  }
  return *known_.of(size, clusters);
}

}  // namespace hgemm
