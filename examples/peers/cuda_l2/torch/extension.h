// What CUDA-L2's kernels use of PyTorch, and nothing else: so that they build without it, and run
// on the stream and in the graphs of a peer. Force-included, so that it also stands before CUTLASS.
//
// Their files call cudaMalloc() and cudaDeviceSynchronize() around the kernel on every call. Their
// own benchmark times that; here it would make most of them impossible to capture into a graph. So
// allocations are kept from the first call, and the host does not wait. Both only make them faster.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

// What PyTorch's header brings along, and the kernels use.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hgemm_l2 {

/// Memory of the present call: the n-th allocation of every call is the same block.
struct Blocks {
  std::vector<std::pair<void*, std::size_t>> blocks;
  std::size_t next = 0;

  cudaError_t take(void** pointer, std::size_t bytes) {
    if (next == blocks.size()) blocks.emplace_back(nullptr, 0);
    auto& [block, size] = blocks[next++];
    if (size < bytes) {
      const cudaError_t status = (cudaMalloc)(&block, bytes);
      if (status != cudaSuccess) return status;
      size = bytes;
    }
    *pointer = block;
    return cudaSuccess;
  }
};
inline Blocks& blocks() {
  static Blocks all;
  return all;
}

template <class T>
cudaError_t allocate(T** pointer, std::size_t bytes) {
  return blocks().take(reinterpret_cast<void**>(pointer), bytes);
}

}  // namespace hgemm_l2

#define cudaMalloc(pointer, bytes) hgemm_l2::allocate(pointer, bytes)
#define cudaFree(pointer) ((void)(pointer), cudaSuccess)
#define cudaDeviceSynchronize() cudaSuccess

namespace at {
using Half = ::__half;

namespace cuda {
/// The default stream of the thread, which the peer joins to the stream of the race.
struct CurrentStream {
  cudaStream_t stream() const { return cudaStreamPerThread; }
  operator cudaStream_t() const { return stream(); }
};
inline CurrentStream getCurrentCUDAStream(int /*device*/ = 0) { return {}; }
}  // namespace cuda
}  // namespace at

namespace c10::cuda {
using at::cuda::getCurrentCUDAStream;
}

namespace torch {

enum Type { kHalf, kFloat32 };
enum Device { kCUDA };
using at::Half;

struct TensorOptions {
  TensorOptions dtype(Type type) const { return {type}; }
  TensorOptions device(Device) const { return *this; }
  Type type = kHalf;
};

struct Options {
  Type dtype() const { return kHalf; }
};
inline std::ostream& operator<<(std::ostream& out, const Options&) { return out << "half"; }

/// A matrix of fp16. `data` is null for the copy of B that a problem in TN layout does not have.
class Tensor {
 public:
  Tensor(void* data, std::int64_t rows, std::int64_t cols) : data_(data), sizes_{rows, cols} {}

  const std::array<std::int64_t, 2>& sizes() const { return sizes_; }
  Device device() const { return kCUDA; }

  std::int64_t size(int axis) const { return sizes_.at(static_cast<std::size_t>(axis)); }
  Options options() const { return {}; }
  Type dtype() const { return kHalf; }
  Type scalar_type() const { return kHalf; }
  bool is_cuda() const { return true; }
  bool is_contiguous() const { return true; }
  void* data_ptr() const {
    if (data_ == nullptr) throw std::runtime_error("this kernel reads B as K x N");
    return data_;
  }
  template <class T>
  T* data_ptr() const {
    return static_cast<T*>(data_ptr());
  }

 private:
  void* data_;
  std::array<std::int64_t, 2> sizes_;
};

/// Memory for partial sums; its shape is not asked for.
inline Tensor empty(std::initializer_list<std::int64_t> sizes, const TensorOptions& options) {
  std::int64_t bytes = options.type == kHalf ? 2 : 4;
  for (const std::int64_t size : sizes) bytes *= size;
  void* data = nullptr;
  if (hgemm_l2::blocks().take(&data, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    throw std::runtime_error("no memory for partial sums");
  }
  return {data, 1, bytes};
}

}  // namespace torch

#define PYBIND11_MODULE(name, module) \
  template <class Module>             \
  [[maybe_unused]] static void name##_module(Module& module)
#define TORCH_EXTENSION_NAME cuda_l2
#define TORCH_CHECK(condition, ...) \
  if (!(condition)) throw std::runtime_error("TORCH_CHECK failed: " #condition)
