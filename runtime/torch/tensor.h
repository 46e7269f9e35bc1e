// Tensors of torch as an operator of the stable interface holds them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "torch_abi.h"

namespace hgemm_torch {

/// Owns a handle.
class Tensor {
 public:
  explicit Tensor(TensorHandle handle) : handle_(handle) {}
  explicit Tensor(StableValue value) : Tensor(reinterpret_cast<TensorHandle>(value)) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_ != nullptr) torch().delete_tensor(handle_);
  }
  TensorHandle get() const { return handle_; }
  /// The handle as an argument or a result, which whoever gets it owns.
  StableValue release() { return reinterpret_cast<StableValue>(std::exchange(handle_, nullptr)); }
  /// Another handle of the same tensor, as such an argument.
  StableValue shared() const {
    TensorHandle other = nullptr;
    require(torch().new_handle(handle_, &other), "sharing a tensor");
    return reinterpret_cast<StableValue>(other);
  }

 private:
  TensorHandle handle_;
};

/// What a tensor is; `sizes` and `strides` live as long as it.
struct Description {
  void* data = nullptr;
  std::int64_t dim = 0;
  const std::int64_t* sizes = nullptr;
  const std::int64_t* strides = nullptr;
  std::int32_t dtype = 0;
  std::int32_t device_type = 0;
  std::int32_t device_index = 0;

  std::int64_t last_size() const { return sizes[dim - 1]; }
  bool is_alike(const Description& other) const {
    return dtype == other.dtype && device_type == other.device_type &&
           device_index == other.device_index;
  }
};
Description describe(const Tensor& tensor);

/// A matrix in memory. If it is not row-major, its columns lie as rows would.
struct Matrix {
  std::int64_t rows = 1, columns = 1;
  std::int64_t leading = 0;  ///< elements from one row to the next; 0: no padding
  bool is_row_major = true;
};
/// The tensor as a matrix whose rows are along its last dimension and which has all others as one;
/// none if it does not lie so, or is empty.
std::optional<Matrix> matrix_of(const Description& tensor);

/// Operators take tensors of fewer dimensions than this.
inline constexpr std::int64_t kMostDims = 16;
/// A new tensor of `like` but for the last size, without gaps; none if there is no memory for it.
std::optional<Tensor> empty_with_last_size(const Description& like, std::int64_t size);
std::optional<Tensor> empty_bytes(std::int64_t bytes, const Description& on_device_of);

}  // namespace hgemm_torch
