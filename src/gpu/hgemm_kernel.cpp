#include "gpu/hgemm_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/tensor_map.h"
#include "kernels/schedule.h"
#include "space/label.h"
#include "space/space.h"

namespace hgemm {
namespace {

constexpr std::uintptr_t kUnitBytes = kUnitElements * kElementBytes;

struct Matrix {
  const char* name;
  void* data;
  std::int64_t rows, cols;
  std::int64_t leading;  ///< elements from one row to the next
  Dtype dtype;
};

/// Of the packed matrix.
std::int64_t packed_leading(std::int64_t cols) {
  return (cols + kUnitElements - 1) / kUnitElements * kUnitElements;
}

bool is_multiple_of(const void* address, std::uintptr_t unit) {
  return reinterpret_cast<std::uintptr_t>(address) % unit == 0;
}

void check_address(const Matrix& matrix, std::uintptr_t unit, const char* otherwise) {
  if (is_multiple_of(matrix.data, unit)) return;
  throw Error(fmt::format("{} is at {}, which is not a multiple of {} bytes{}", matrix.name,
                          matrix.data, unit, otherwise));
}

/// Makes `matrix` the packed one, if its rows are not aligned: what is to be done for that.
PackedMatrix pack_if_needed(Matrix& matrix, const DeviceMemory& packed) {
  if (is_multiple_of(matrix.data, kUnitBytes) && rows_are_aligned(matrix.rows, matrix.leading)) {
    return {};
  }
  check_address(matrix, kElementBytes, "");
  const PackedMatrix work{matrix.data, packed.data(), matrix.leading, static_cast<int>(matrix.rows),
                          static_cast<int>(matrix.cols)};
  matrix.data = packed.data();
  matrix.leading = packed_leading(matrix.cols);
  return work;
}

/// From one row to the next. A row alone has no next: any multiple of the unit will do.
std::int64_t stride_bytes(const Matrix& matrix) {
  const std::int64_t leading = matrix.rows == 1 ? packed_leading(matrix.cols) : matrix.leading;
  return leading * element_bytes(matrix.dtype);
}

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
                          .strides_bytes = {stride_bytes(matrix)},
                          .box = {box_cols, box_rows},
                          .swizzle = swizzle,
                          .promotion = promotion});
}

}  // namespace

LaunchParams make_params(const KernelConfig& config, const Shape& shape, const Operands& operands,
                         const Workspace& workspace) {
  const bool keeps_flags = adds_in_workspace(config) || is_dynamic(config);
  if ((keeps_flags && workspace.flags.bytes() == 0) ||
      (config.pack && workspace.packed_b.bytes() == 0)) {
    throw Error(label(config) + " needs a workspace");
  }
  Matrix a{"A", const_cast<void*>(operands.a), shape.m, shape.k, shape.leading_a(), shape.dtype};
  Matrix b{"B", const_cast<void*>(operands.b), shape.n, shape.k, shape.leading_b(), shape.dtype};
  const Matrix d{"D", operands.d, shape.m, shape.n, shape.leading_d(), shape.dtype};
  LaunchParams launch{};
  if (config.pack) {
    launch.pack = {pack_if_needed(a, workspace.packed_a), pack_if_needed(b, workspace.packed_b)};
  }
  KernelParams& params = launch.kernel;
  params.a_pointer = a.data;
  params.b_pointer = b.data;
  params.d_pointer = d.data;
  params.partials = workspace.partials.as<float>();
  params.flags = workspace.flags.as<unsigned>();
  params.m = static_cast<int>(shape.m);
  params.n = static_cast<int>(shape.n);
  params.k = static_cast<int>(shape.k);
  params.lda = static_cast<int>(a.leading);
  params.ldb = static_cast<int>(b.leading);
  params.ldd = static_cast<int>(d.leading);
  if (is_vector(config)) {  // no maps, no alignment
    for (const Matrix& matrix : {a, b, d}) check_address(matrix, kElementBytes, "");
    return launch;
  }
  check_address(a, kUnitBytes, ": that takes a config with pack");
  check_address(b, kUnitBytes, ": that takes a config with pack");
  const bool staged = config.epilogue == Epilogue::kStaged;
  check_address(d, staged ? kElementBytes : kUnitBytes,
                staged ? "" : ": that takes a config whose epilogue is staged");
  const TensorSwizzle swizzle =
      box_cols(config) == kSlabK ? TensorSwizzle::k128B : TensorSwizzle::k64B;
  const TensorPromotion loads = load_promotion(config);
  const auto stores = TensorPromotion::kNone;

  params.a = encode(a, box_cols(config), box_rows(a_slice_rows(config)), swizzle, loads);
  params.b = encode(b, box_cols(config), box_rows(b_slice_rows(config)), swizzle, loads);
  if (stores_by_tma(config)) {
    params.d = encode(d, kStoreCols, store_rows(config), TensorSwizzle::k128B, stores);
    if (const int tail = consumer_cols(config) % kStoreCols; tail != 0) {
      params.d_tail = encode(d, tail, kStoreRows, TensorSwizzle::kNone, stores);
    }
  }
  return launch;
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
    if (config.pack) {
      check(cudaLibraryGetKernel(&pack_kernel_, library_, pack_kernel_name(config).c_str()),
            "looking for the kernel that packs");
      int device = 0;
      int sms = 0;
      int resident = 0;
      check(cudaGetDevice(&device), "asking for the device");
      check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device),
            "asking how many SMs there are");
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, pack_kernel_, kPackThreads, 0),
            "asking how many CTAs that pack are resident");
      pack_ctas_ = sms * resident;
    }
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
  if (is_vector(config_)) {
    const int blocks =
        vector_grid(config_, static_cast<int>(shape.m), static_cast<int>(shape.n),
                    static_cast<int>(shape.leading_a()), static_cast<int>(shape.leading_b()))
            .blocks();
    if (blocks <= kMaxTiles) return blocks * cluster_size(config_);
    throw Error(fmt::format("{} has more than {} blocks of {} rows", to_string(shape), kMaxTiles,
                            config_.bn));
  }
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
  if (is_vector(config_)) return {};
  const int tiles =
      tile_grid(static_cast<int>(shape.m), static_cast<int>(shape.n), config_).tiles();
  const auto slots =
      static_cast<std::size_t>(partial_slots(config_, ctas / cluster_size(config_), tiles)) *
      static_cast<std::size_t>(cluster_size(config_));
  const auto warps = static_cast<std::size_t>(readers(config_) * kWarpgroupThreads / 32);
  const std::size_t flags = is_dynamic(config_) ? 1 : slots * warps;
  Workspace workspace;
  if (config_.pack) {
    const auto row_bytes = static_cast<std::size_t>(packed_leading(shape.k) * kElementBytes);
    workspace.packed_a = DeviceMemory(static_cast<std::size_t>(shape.m) * row_bytes);
    workspace.packed_b = DeviceMemory(static_cast<std::size_t>(shape.n) * row_bytes);
  }
  if (flags == 0) return workspace;
  workspace.partials = DeviceMemory(slots * static_cast<std::size_t>(partial_bytes(config_)));
  workspace.flags = DeviceMemory(flags * sizeof(unsigned));
  check(cudaMemset(workspace.flags.data(), 0, workspace.flags.bytes()), "lowering flags");
  // Streams that launch do not wait for the default one.
  check(cudaStreamSynchronize(cudaStreamLegacy), "lowering flags");
  return workspace;
}

void HgemmKernel::launch_pack(const PackParams& params, cudaStream_t stream) const {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(pack_ctas_));
  config.blockDim = dim3(kPackThreads);
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = config_.pdl ? 1 : 0;
  void* arguments[] = {const_cast<PackParams*>(&params)};
  check(cudaLaunchKernelExC(&config, pack_kernel_, arguments), "launching the kernel that packs");
}

void HgemmKernel::launch(const LaunchParams& params, int ctas, cudaStream_t stream,
                         const ProbeRecords& records) const {
  if (params.pack.matrices[0].rows > 0 || params.pack.matrices[1].rows > 0) {
    launch_pack(params.pack, stream);
  }
  Attributes attributes{};
  const cudaLaunchConfig_t config = launch_config(ctas, stream, &attributes);
  // As many are read as the kernel has parameters.
  void* arguments[] = {const_cast<KernelParams*>(&params.kernel),
                       const_cast<ProbeRecords*>(&records)};
  check(cudaLaunchKernelExC(&config, kernel_, arguments), "launching the kernel");
}

}  // namespace hgemm
