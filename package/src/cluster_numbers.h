// The numbers of clusters by their GPC (families/gpcs.h) in a CUDA context.
#pragma once

#include <cuda_runtime.h>

#include <mutex>
#include <shared_mutex>

#include "device/gpcs.cuh"
#include "families/launch.h"

/// Found by hgemm_tuned_prepare(), because that takes launches of its own and waits for them, which
/// a captured call may not.
class ContextNumbers {
 public:
  /// For the launch of a kernel at a problem. `resident`: clusters that the GPU holds at once.
  cudaError_t find(const hgemm::Kernel& kernel, const hgemm::ProblemExtents& p, int resident) {
    if (!is_numbered(kernel)) return cudaSuccess;
    const int size = cluster_size(kernel);
    const int clusters = grid_ctas(kernel, p, resident) / size;
    void* noted = nullptr;
    cudaStream_t stream = nullptr;
    cudaError_t code = cudaMalloc(&noted, hgemm::gpcs::kMostCtas * sizeof(unsigned));
    if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (code == cudaSuccess) {
      const std::unique_lock lock(mutex_);
      code = hgemm::gpcs::learn(known_, size, clusters, static_cast<unsigned*>(noted), stream);
    }
    if (stream != nullptr) cudaStreamDestroy(stream);
    cudaFree(noted);
    return code;
  }
  /// For a launch of so many CTAs. Null if they were not found: then clusters keep their own
  /// numbers, which is right, but not as fast.
  const hgemm::ClusterNumbers* of(const hgemm::Kernel& kernel, int ctas) const {
    if (!is_numbered(kernel)) return nullptr;
    const std::shared_lock lock(mutex_);
    return known_.of(cluster_size(kernel), ctas / cluster_size(kernel));
  }

 private:
  mutable std::shared_mutex mutex_;
  hgemm::KnownGpcs known_;  ///< entries stay where they are, so `of` may hand one out
};
