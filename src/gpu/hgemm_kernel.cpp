#include "gpu/hgemm_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/tensor_map.h"
#include "kernels/schedule.h"

namespace hgemm {
namespace {

struct Matrix {
  const char* name;
  void* data;
  std::int64_t rows, cols;
  Dtype dtype;
};

TensorElement tensor_element(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBf16:
      return TensorElement::kBf16;
    case Dtype::kFp16:
      return TensorElement::kF16;
    case Dtype::kFp32:
      return TensorElement::kF32;
  }
  throw Error("a type outside its enumeration");
}

TensorMap encode(const Matrix& matrix, int box_cols, int box_rows, TensorSwizzle swizzle,
                 TensorPromotion promotion) {
  return make_tensor_map({.name = matrix.name,
                          .data = matrix.data,
                          .element = tensor_element(matrix.dtype),
                          .extents = {matrix.cols, matrix.rows},
                          .strides_bytes = {matrix.cols * element_bytes(matrix.dtype)},
                          .box = {box_cols, box_rows},
                          .swizzle = swizzle,
                          .promotion = promotion});
}

}  // namespace

KernelParams make_params(const KernelConfig& config, const Shape& shape, const Operands& operands) {
  const Matrix a{"A", const_cast<void*>(operands.a), shape.m, shape.k, shape.dtype};
  const Matrix b{"B", const_cast<void*>(operands.b), shape.n, shape.k, shape.dtype};
  const Matrix d{"D", operands.d, shape.m, shape.n, shape.dtype};
  const TensorSwizzle swizzle =
      box_cols(config) == kSlabK ? TensorSwizzle::k128B : TensorSwizzle::k64B;
  // 128-byte promotion was 6 to 11 % slower at 2048^3, 4096^3 and 8192^3 (128x256, cluster 2x1,
  // H200, 2026-11-20), in a version of the kernel that was also held up by its barriers; not an
  // axis yet.
  const auto loads = TensorPromotion::k256B;
  const auto stores = TensorPromotion::kNone;

  KernelParams params{};
  params.a = encode(a, box_cols(config), box_rows(a_slice_rows(config)), swizzle, loads);
  params.b = encode(b, box_cols(config), box_rows(b_slice_rows(config)), swizzle, loads);
  params.d = encode(d, kStoreCols, kStoreRows, TensorSwizzle::k128B, stores);
  if (config.bn % kStoreCols != 0) {
    params.d_tail = encode(d, config.bn % kStoreCols, kStoreRows, TensorSwizzle::kNone, stores);
  }
  params.d_pointer = operands.d;
  params.m = static_cast<int>(shape.m);
  params.n = static_cast<int>(shape.n);
  params.k = static_cast<int>(shape.k);
  return params;
}

HgemmKernel::HgemmKernel(const KernelConfig& config, const std::filesystem::path& cubin)
    : config_(config) {
  check(cudaLibraryLoadFromFile(&library_, cubin.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a cubin");
  try {
    check(cudaLibraryGetKernel(&kernel_, library_, "hgemm_kernel"), "looking for hgemm_kernel");
    check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               smem_layout(config).total_bytes),
          "reserving shared memory");
  } catch (...) {
    cudaLibraryUnload(library_);
    throw;
  }
}

HgemmKernel::~HgemmKernel() { cudaLibraryUnload(library_); }

cudaLaunchConfig_t HgemmKernel::launch_config(int ctas, cudaStream_t stream,
                                              cudaLaunchAttribute* cluster) const {
  cluster->id = cudaLaunchAttributeClusterDimension;
  cluster->val.clusterDim = {static_cast<unsigned>(cluster_size(config_)), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(static_cast<unsigned>(threads_per_cta(config_)));
  config.dynamicSmemBytes = static_cast<std::size_t>(smem_layout(config_).total_bytes);
  config.stream = stream;
  config.attrs = cluster;
  config.numAttrs = 1;
  return config;
}

int HgemmKernel::grid_ctas(const Shape& shape) const {
  // Positions in the tile order are 32-bit, and walks step past the last one by up to 32 grids.
  constexpr std::int64_t kMaxTiles = 1 << 25;
  if (shape.m / config_.bm * (shape.n / config_.bn) > kMaxTiles) {
    throw Error(fmt::format("{} has more than {} tiles of {} x {}", to_string(shape), kMaxTiles,
                            config_.bm, config_.bn));
  }
  const TileGrid grid = tile_grid(static_cast<int>(shape.m), static_cast<int>(shape.n), config_);
  int clusters = grid.tiles();
  if (config_.persistent) {
    cudaLaunchAttribute cluster{};
    const cudaLaunchConfig_t config = launch_config(cluster_size(config_), nullptr, &cluster);
    int resident = 0;
    check(cudaOccupancyMaxActiveClusters(&resident, kernel_, &config),
          "asking how many clusters are resident");
    if (resident < 1) throw Error("the GPU cannot hold one cluster of this kernel");
    clusters = std::min(clusters, resident);
  }
  return clusters * cluster_size(config_);
}

void HgemmKernel::launch(const KernelParams& params, int ctas, cudaStream_t stream) const {
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t config = launch_config(ctas, stream, &cluster);
  void* arguments[] = {const_cast<KernelParams*>(&params)};
  check(cudaLaunchKernelExC(&config, kernel_, arguments), "launching hgemm_kernel");
}

}  // namespace hgemm
