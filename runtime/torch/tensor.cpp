#include "tensor.h"

namespace hgemm_torch {

Description describe(const Tensor& tensor) {
  Description d;
  const TorchAbi& t = torch();
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  ErrorCode code = t.get_data_ptr(tensor.get(), &d.data);
  if (code == 0) code = t.get_dim(tensor.get(), &d.dim);
  if (code == 0) code = t.get_sizes(tensor.get(), &sizes);
  if (code == 0) code = t.get_strides(tensor.get(), &strides);
  if (code == 0) code = t.get_dtype(tensor.get(), &d.dtype);
  if (code == 0) code = t.get_device_type(tensor.get(), &d.device_type);
  if (code == 0) code = t.get_device_index(tensor.get(), &d.device_index);
  require(code, "reading a tensor's shape");
  d.sizes = sizes;
  d.strides = strides;
  return d;
}

namespace {

/// The dimensions before the last one as one, if a single stride leads through them.
std::optional<Matrix> row_major(const Description& t) {
  Matrix matrix{.rows = 1, .columns = t.last_size()};
  std::int64_t stride = matrix.columns;
  for (std::int64_t i = t.dim - 2; i >= 0; --i) {
    if (t.sizes[i] == 1) continue;
    if (matrix.rows == 1) {
      stride = t.strides[i];
    } else if (t.strides[i] != stride * matrix.rows) {
      return std::nullopt;
    }
    matrix.rows *= t.sizes[i];
  }
  if (stride < matrix.columns) return std::nullopt;  // rows that share elements
  matrix.leading = stride != matrix.columns ? stride : 0;
  return matrix;
}

std::optional<Matrix> column_major(const Description& t) {
  if (t.dim != 2 || (t.strides[0] != 1 && t.sizes[0] != 1)) return std::nullopt;
  const std::int64_t stride = t.strides[1];
  if (stride < t.sizes[0]) return std::nullopt;
  return Matrix{.rows = t.sizes[0],
                .columns = t.sizes[1],
                .leading = stride != t.sizes[0] ? stride : 0,
                .is_row_major = false};
}

}  // namespace

std::optional<Matrix> matrix_of(const Description& t) {
  for (std::int64_t i = 0; i < t.dim; ++i) {
    if (t.sizes[i] == 0) return std::nullopt;
  }
  const bool has_rows = t.strides[t.dim - 1] == 1 || t.last_size() == 1;
  return has_rows ? row_major(t) : column_major(t);
}

std::optional<Tensor> empty_with_last_size(const Description& like, std::int64_t size) {
  std::array<std::int64_t, kMostDims> sizes, strides;
  std::int64_t stride = 1;
  for (std::int64_t i = like.dim - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    sizes[at] = i == like.dim - 1 ? size : like.sizes[i];
    strides[at] = stride;
    stride *= sizes[at];
  }
  TensorHandle made = nullptr;
  const ErrorCode code = torch().empty_strided(like.dim, sizes.data(), strides.data(), like.dtype,
                                               like.device_type, like.device_index, &made);
  return code == 0 ? std::optional<Tensor>(made) : std::nullopt;
}

std::optional<Tensor> empty_bytes(std::int64_t bytes, const Description& on_device_of) {
  const std::int64_t stride = 1;
  TensorHandle made = nullptr;
  const ErrorCode code =
      torch().empty_strided(1, &bytes, &stride, torch().dtype_uint8(), on_device_of.device_type,
                            on_device_of.device_index, &made);
  return code == 0 ? std::optional<Tensor>(made) : std::nullopt;
}

}  // namespace hgemm_torch
