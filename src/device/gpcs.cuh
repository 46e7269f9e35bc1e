// Finds which SMs share a GPC, and the GPCs on which the clusters of a launch run. CUDA does not
// tell, but each CTA can read the number of its SM, and a cluster never spans two GPCs: so clusters
// of several sizes show which SMs belong together. Shared with exported packages.
#pragma once

#include <cuda_runtime.h>

#include "families/gpcs.h"

namespace hgemm {
namespace gpcs {

/// Words of device memory in which CTAs note their SMs.
inline constexpr int kMostCtas = 2048;
/// So that a CTA has its SM to itself, as those of the kernels have.
inline constexpr int kSmemBytes = 200 * 1024;
/// Long enough that all CTAs begin before the first one ends.
inline constexpr int kStayClk = 20000;
/// A GPC has up to 18 SMs. Large clusters join most of them, and small ones what large ones leave.
inline constexpr int kClusterSizes[] = {16, 12, 10, 8, 6, 4, 2, 16, 12, 10, 8, 6, 4, 2};
/// Now and then one launch is dealt out in another way than the others (one of 20). The last
/// counts.
inline constexpr int kLaunches = 3;

static __global__ void note_sm(unsigned* sms) {
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x == 0) sms[blockIdx.x] = sm;
  const long long start = clock64();
  while (clock64() - start < kStayClk) {
  }
}

/// The SMs of the CTAs of a launch of so many clusters, at most as many as fit at once, in `sms`.
inline cudaError_t note_sms(int size, int clusters, unsigned* noted, cudaStream_t stream,
                            std::vector<unsigned>& sms) {
  sms.clear();
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(size);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(size));
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = kSmemBytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int fitting = 0;
  if (cudaOccupancyMaxActiveClusters(&fitting, note_sm, &config) != cudaSuccess) {
    cudaGetLastError();  // clears it: other sizes may fit
    return cudaSuccess;
  }
  const int ctas = std::min({fitting, clusters, kMostCtas / size}) * size;
  if (ctas == 0) return cudaSuccess;
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  for (int launch = 0; launch < kLaunches; ++launch) {
    const auto code = cudaLaunchKernelEx(&config, note_sm, noted);
    if (code != cudaSuccess) return code;
  }
  sms.resize(static_cast<std::size_t>(ctas));
  if (const auto code = cudaMemcpyAsync(sms.data(), noted, sms.size() * sizeof(unsigned),
                                        cudaMemcpyDeviceToHost, stream);
      code != cudaSuccess) {
    return code;
  }
  return cudaStreamSynchronize(stream);
}

/// The GPCs of the current device. `noted`: device memory of kMostCtas words. Waits for the stream.
inline cudaError_t find_gpcs(unsigned* noted, cudaStream_t stream, Gpcs& gpcs) {
  if (const auto code =
          cudaFuncSetAttribute(note_sm, cudaFuncAttributeMaxDynamicSharedMemorySize, kSmemBytes);
      code != cudaSuccess) {
    return code;
  }
  if (const auto code =
          cudaFuncSetAttribute(note_sm, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      code != cudaSuccess) {
    return code;
  }
  std::vector<unsigned> sms;
  for (const int size : kClusterSizes) {
    if (const auto code = note_sms(size, kMostCtas, noted, stream, sms); code != cudaSuccess) {
      return code;
    }
    const auto ctas = static_cast<std::size_t>(size);
    for (std::size_t i = 0; i < sms.size(); ++i) gpcs.join(sms[i], sms[i / ctas * ctas]);
  }
  return cudaSuccess;
}

/// The numbers of the clusters of a launch by their GPCs. Own numbers if not all clusters run at
/// once.
inline cudaError_t find_numbers(const Gpcs& gpcs, int size, int clusters, unsigned* noted,
                                cudaStream_t stream, ClusterNumbers& numbers) {
  numbers = unnumbered();
  std::vector<unsigned> sms;
  if (clusters > kMostNumbered) return cudaSuccess;
  if (const auto code = note_sms(size, clusters, noted, stream, sms); code != cudaSuccess) {
    return code;
  }
  const auto ctas = static_cast<std::size_t>(size);
  if (sms.size() != static_cast<std::size_t>(clusters) * ctas) return cudaSuccess;
  std::vector<int> of_clusters;
  for (std::size_t i = 0; i < sms.size(); i += ctas) {
    of_clusters.push_back(static_cast<int>(gpcs.of(sms[i])));
  }
  numbers = numbers_by_gpc(of_clusters);
  return cudaSuccess;
}

/// Finds out the numbers for such a launch, unless they are known. `noted`: device memory of
/// kMostCtas words. Waits for the stream.
inline cudaError_t learn(KnownGpcs& known, int size, int clusters, unsigned* noted,
                         cudaStream_t stream) {
  if (known.of(size, clusters) != nullptr) return cudaSuccess;
  if (!known.gpcs) {
    Gpcs gpcs;
    if (const auto code = find_gpcs(noted, stream, gpcs); code != cudaSuccess) return code;
    known.gpcs = std::move(gpcs);
  }
  ClusterNumbers numbers;
  if (const auto code = find_numbers(*known.gpcs, size, clusters, noted, stream, numbers);
      code != cudaSuccess) {
    return code;
  }
  known.numbers.emplace(std::pair{size, clusters}, numbers);
  return cudaSuccess;
}

}  // namespace gpcs
}  // namespace hgemm
