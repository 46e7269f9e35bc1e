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
  // One beside the two clock stamps of a sample keeps the mode, but does not end the slow one after
  // kernels on two streams; eight do. Four are more than what a sample launches without PDL.
  constexpr int kLaunches = 4;
  for (int i = 0; i < kLaunches; ++i) {
    check(cudaLaunchKernelEx(&config, empty_kernel), "launching an empty kernel");
  }
}

}  // namespace hgemm
