#include "device/launch_mode.h"

namespace hgemm {
namespace {

__global__ void empty_kernel() {}

}  // namespace

void keep_launches_fast(const Stream& stream) {
  cudaLaunchAttribute pdl{};
  pdl.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  pdl.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream.get();
  config.attrs = &pdl;
  config.numAttrs = 1;
  // One would keep the mode beside a sample's two clock stamps, but two of them are needed to enter
  // it; more, for what else was launched since the last sample.
  constexpr int kLaunches = 4;
  for (int i = 0; i < kLaunches; ++i) {
    check(cudaLaunchKernelEx(&config, empty_kernel), "launching an empty kernel");
  }
}

}  // namespace hgemm
