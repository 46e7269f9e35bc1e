// The numbers of clusters by their GPC (families/gpcs.h) in a CUDA context.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "device/gpcs.cuh"
#include "families/launch.h"

/// Found by hgemm_tuned_prepare(), because that takes launches of its own and waits for them, which
/// a captured call may not.
class ContextNumbers {
 public:
  /// For the launch of a kernel at a problem. `resident`: clusters that the GPU holds at once.
  cudaError_t find(const hgemm::Kernel& kernel, const hgemm::ProblemExtents& p, int resident) {
    if (!is_numbered(kernel)) return cudaSuccess;
    const int ctas = grid_ctas(kernel, p, resident);
    const std::lock_guard one_at_a_time(finding_);
    if (of(kernel, ctas) != nullptr) return cudaSuccess;
    void* noted = nullptr;
    cudaStream_t stream = nullptr;
    cudaError_t code = cudaMalloc(&noted, hgemm::gpcs::kMostCtas * sizeof(unsigned));
    if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (code == cudaSuccess)
      code = find(key_of(kernel, ctas), static_cast<unsigned*>(noted), stream);
    if (stream != nullptr) cudaStreamDestroy(stream);
    cudaFree(noted);
    return code;
  }
  /// For a launch of so many CTAs. Null if they were not found: then clusters keep their own
  /// numbers, which is right, but not as fast.
  const hgemm::ClusterNumbers* of(const hgemm::Kernel& kernel, int ctas) const {
    if (!is_numbered(kernel)) return nullptr;
    const std::shared_lock lock(mutex_);
    const auto found = numbers_.find(key_of(kernel, ctas));
    return found != numbers_.end() ? &found->second : nullptr;
  }

 private:
  using Key = std::pair<int, int>;  ///< CTAs of a cluster, clusters
  static Key key_of(const hgemm::Kernel& kernel, int ctas) {
    return {cluster_size(kernel), ctas / cluster_size(kernel)};
  }

  cudaError_t find(const Key& key, unsigned* noted, cudaStream_t stream) {
    if (!has_gpcs_) {
      const cudaError_t code = hgemm::gpcs::find_gpcs(noted, stream, gpcs_);
      if (code != cudaSuccess) return code;
      has_gpcs_ = true;
    }
    hgemm::ClusterNumbers numbers;
    const cudaError_t code =
        hgemm::gpcs::find_numbers(gpcs_, key.first, key.second, noted, stream, numbers);
    if (code != cudaSuccess) return code;
    const std::unique_lock lock(mutex_);
    numbers_.emplace(key, numbers);
    return cudaSuccess;
  }

  std::mutex finding_;
  hgemm::Gpcs gpcs_;
  bool has_gpcs_ = false;
  mutable std::shared_mutex mutex_;
  std::map<Key, hgemm::ClusterNumbers> numbers_;
};
