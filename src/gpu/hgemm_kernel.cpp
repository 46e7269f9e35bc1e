#include "gpu/hgemm_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/tensor_map.h"
#include "kernels/schedule.h"
#include "space/label.h"
#include "space/space.h"

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

TensorPromotion load_promotion(const KernelConfig& config) {
  switch (config.promotion) {
    case 64:
      return TensorPromotion::k64B;
    case 128:
      return TensorPromotion::k128B;
    case 256:
      return TensorPromotion::k256B;
    default:
      throw Error(fmt::format("an L2 promotion of {} bytes", config.promotion));
  }
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

KernelParams make_params(const KernelConfig& config, const Shape& shape, const Operands& operands,
                         const Workspace& workspace) {
  if ((adds_in_workspace(config) || is_dynamic(config)) && workspace.flags.bytes() == 0) {
    throw Error(label(config) + " needs a workspace");
  }
  const Matrix a{"A", const_cast<void*>(operands.a), shape.m, shape.k, shape.dtype};
  const Matrix b{"B", const_cast<void*>(operands.b), shape.n, shape.k, shape.dtype};
  const Matrix d{"D", operands.d, shape.m, shape.n, shape.dtype};
  const TensorSwizzle swizzle =
      box_cols(config) == kSlabK ? TensorSwizzle::k128B : TensorSwizzle::k64B;
  const TensorPromotion loads = load_promotion(config);
  const auto stores = TensorPromotion::kNone;

  KernelParams params{};
  params.a = encode(a, box_cols(config), box_rows(a_slice_rows(config)), swizzle, loads);
  params.b = encode(b, box_cols(config), box_rows(b_slice_rows(config)), swizzle, loads);
  params.d = encode(d, kStoreCols, store_rows(config), TensorSwizzle::k128B, stores);
  if (const int tail = consumer_cols(config) % kStoreCols; tail != 0) {
    params.d_tail = encode(d, tail, kStoreRows, TensorSwizzle::kNone, stores);
  }
  params.b_pointer = operands.b;
  params.d_pointer = operands.d;
  params.partials = workspace.partials.as<float>();
  params.flags = workspace.flags.as<unsigned>();
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
    const std::string name = kernel_name(config);
    check(cudaLibraryGetKernel(&kernel_, library_, name.c_str()), "looking for its kernel");
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
                                              Attributes* attributes) const {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(static_cast<unsigned>(threads_per_cta(config_)));
  config.dynamicSmemBytes = static_cast<std::size_t>(smem_layout(config_).total_bytes);
  config.stream = stream;
  config.attrs = attributes->data();
  cudaLaunchAttribute& cluster = (*attributes)[config.numAttrs++];
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(cluster_size(config_)), 1, 1};
  if (config_.pdl) {
    cudaLaunchAttribute& overlap = (*attributes)[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  return config;
}

int HgemmKernel::grid_ctas(const Shape& shape) const {
  if (const char* reason = why_unsupported(config_, shape)) {
    throw Error(fmt::format("{} at {}: {}", label(config_), to_string(shape), reason));
  }
  // Positions in the tile order are 32-bit, times splits, and walks step past the last by a grid.
  constexpr std::int64_t kMaxTiles = 1 << 25;
  if ((shape.m / config_.bm + 1) * (shape.n / config_.bn + 1) > kMaxTiles) {
    throw Error(fmt::format("{} has more than {} tiles of {} x {}", to_string(shape), kMaxTiles,
                            config_.bm, config_.bn));
  }
  const int tiles =
      tile_grid(static_cast<int>(shape.m), static_cast<int>(shape.n), config_).tiles();
  if (config_.walk == Walk::kSingle || adds_in_cluster(config_)) {
    return tiles * cluster_size(config_);
  }

  Attributes attributes{};
  const cudaLaunchConfig_t config = launch_config(cluster_size(config_), nullptr, &attributes);
  int resident = 0;
  check(cudaOccupancyMaxActiveClusters(&resident, kernel_, &config),
        "asking how many clusters are resident");
  if (resident < 1) throw Error("the GPU cannot hold one cluster of this kernel");
  const int k_blocks = ceil_div(static_cast<int>(shape.k), config_.bk);
  const int parts = config_.walk == Walk::kStreamK ? ceil_div(k_blocks, kMinStreamBlocks)
                                                   : std::min(config_.splits, k_blocks);
  const std::int64_t pieces = std::int64_t{tiles} * parts;
  return grid_clusters(config_, pieces, resident) * cluster_size(config_);
}

Workspace HgemmKernel::make_workspace(const Shape& shape, int ctas) const {
  const int tiles =
      tile_grid(static_cast<int>(shape.m), static_cast<int>(shape.n), config_).tiles();
  const auto slots =
      static_cast<std::size_t>(partial_slots(config_, ctas / cluster_size(config_), tiles)) *
      static_cast<std::size_t>(cluster_size(config_));
  const auto warps = static_cast<std::size_t>(readers(config_) * kWarpgroupThreads / 32);
  const std::size_t flags = is_dynamic(config_) ? 1 : slots * warps;
  if (flags == 0) return {};
  Workspace workspace{DeviceMemory(slots * static_cast<std::size_t>(partial_bytes(config_))),
                      DeviceMemory(flags * sizeof(unsigned))};
  check(cudaMemset(workspace.flags.data(), 0, workspace.flags.bytes()), "lowering flags");
  // Streams that launch do not wait for the default one.
  check(cudaStreamSynchronize(cudaStreamLegacy), "lowering flags");
  return workspace;
}

void HgemmKernel::launch(const KernelParams& params, int ctas, cudaStream_t stream,
                         const ProbeRecords& records) const {
  Attributes attributes{};
  const cudaLaunchConfig_t config = launch_config(ctas, stream, &attributes);
  // As many are read as the kernel has parameters.
  void* arguments[] = {const_cast<KernelParams*>(&params), const_cast<ProbeRecords*>(&records)};
  check(cudaLaunchKernelExC(&config, kernel_, arguments), "launching the kernel");
}

}  // namespace hgemm
