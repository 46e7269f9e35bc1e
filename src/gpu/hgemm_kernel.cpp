#include "gpu/hgemm_kernel.h"

#include <fmt/format.h>

#include <bit>

#include "gpu/tensor_map.h"
#include "space/label.h"
#include "space/space.h"

namespace hgemm {
namespace {

TensorElement tensor_element(Dtype dtype) {
  return dtype == Dtype::kFp16 ? TensorElement::kF16 : TensorElement::kBf16;
}

TensorPromotion tensor_promotion(int bytes) {
  switch (bytes) {
    case 0:
      return TensorPromotion::kNone;
    case 64:
      return TensorPromotion::k64B;
    case 128:
      return TensorPromotion::k128B;
    case 256:
      return TensorPromotion::k256B;
    default:
      throw Error(fmt::format("an L2 promotion of {} bytes", bytes));
  }
}

TensorSwizzle tensor_swizzle(int bytes) {
  if (bytes == 0) return TensorSwizzle::kNone;
  return bytes == 64 ? TensorSwizzle::k64B : TensorSwizzle::k128B;
}

TensorMap encode(const MatrixMap& map) {
  return make_tensor_map({.name = map.name,
                          .data = map.data,
                          .element = tensor_element(map.dtype),
                          .extents = {map.cols, map.rows},
                          .strides_bytes = {map.stride_bytes},
                          .box = {map.box_cols, map.box_rows},
                          .swizzle = tensor_swizzle(map.swizzle_bytes),
                          .promotion = tensor_promotion(map.promotion_bytes)});
}

void* address(const std::shared_ptr<const DeviceMemory>& memory) {
  return memory ? memory->data() : nullptr;
}

}  // namespace

std::shared_ptr<const DeviceMemory> WorkspacePool::lend(Use use, std::size_t bytes) {
  const std::size_t size = std::bit_ceil(bytes);
  auto& block = blocks_[{use, size}];
  if (!block) block = std::make_shared<const DeviceMemory>(size);
  check(cudaMemset(block->data(), 0xff, block->bytes()), "poisoning a workspace");
  return block;
}

LaunchParams make_params(const KernelConfig& config, const Shape& shape, const Operands& operands,
                         const Workspace& workspace) {
  const bool keeps_flags = adds_in_workspace(config) || is_dynamic(config);
  if ((keeps_flags && workspace.flags.bytes() == 0) || (config.pack && !workspace.packed_b)) {
    throw Error(label(config) + " needs a workspace");
  }
  if (const Misaligned found = find_misaligned(config, operands); found.name != nullptr) {
    throw Error(fmt::format("{} is at {}, which is not a multiple of {} bytes{}{}", found.name,
                            found.address, found.bytes, *found.cure != '\0' ? ": " : "",
                            found.cure));
  }
  return make_launch_params(config, shape.extents(), operands,
                            {address(workspace.partials), workspace.flags.data(),
                             address(workspace.packed_a), address(workspace.packed_b)},
                            encode);
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

int HgemmKernel::grid_ctas(const Shape& shape) const {
  if (const char* reason = why_unsupported(config_, shape)) {
    throw Error(fmt::format("{} at {}: {}", label(config_), to_string(shape), reason));
  }
  const ProblemExtents extents = shape.extents();
  if (grid_tiles(config_, extents) > kMaxTiles) {
    throw Error(fmt::format("{} has more than {} tiles of {} x {}", to_string(shape), kMaxTiles,
                            config_.bm, config_.bn));
  }
  int resident = 1;
  if (!has_cluster_per_tile(config_)) {
    LaunchAttributes attributes;
    const cudaLaunchConfig_t config =
        launch_config(config_, cluster_size(config_), nullptr, &attributes);
    check(cudaOccupancyMaxActiveClusters(&resident, kernel_, &config),
          "asking how many clusters are resident");
    if (resident < 1) throw Error("the GPU cannot hold one cluster of this kernel");
  }
  return hgemm::grid_ctas(config_, extents, resident);
}

Workspace HgemmKernel::make_workspace(const Shape& shape, int ctas, WorkspacePool& pool) const {
  using Use = WorkspacePool::Use;
  const WorkspaceBytes bytes = workspace_bytes(config_, shape.extents(), ctas);
  Workspace workspace;
  if (bytes.packed_b > 0) {
    workspace.packed_a = pool.lend(Use::kPackedA, bytes.packed_a);
    workspace.packed_b = pool.lend(Use::kPackedB, bytes.packed_b);
  }
  if (bytes.partials > 0) workspace.partials = pool.lend(Use::kPartials, bytes.partials);
  if (bytes.flags > 0) {
    workspace.flags = DeviceMemory(bytes.flags);
    check(cudaMemset(workspace.flags.data(), 0, workspace.flags.bytes()), "lowering flags");
  }
  // Streams that launch do not wait for the default one.
  check(cudaStreamSynchronize(cudaStreamLegacy), "preparing a workspace");
  return workspace;
}

Workspace HgemmKernel::make_workspace(const Shape& shape, int ctas) const {
  WorkspacePool own;
  return make_workspace(shape, ctas, own);
}

void HgemmKernel::launch_pack(const PackParams& params, cudaStream_t stream) const {
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config = pack_launch_config(config_, pack_ctas_, stream, &attributes);
  void* arguments[] = {const_cast<PackParams*>(&params)};
  check(cudaLaunchKernelExC(&config, pack_kernel_, arguments), "launching the kernel that packs");
}

void HgemmKernel::launch(const LaunchParams& params, int ctas, cudaStream_t stream,
                         const ProbeRecords& records) const {
  if (params.pack.matrices[0].rows > 0 || params.pack.matrices[1].rows > 0) {
    launch_pack(params.pack, stream);
  }
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config = launch_config(config_, ctas, stream, &attributes);
  // As many are read as the kernel has parameters.
  void* arguments[] = {const_cast<KernelParams*>(&params.kernel),
                       const_cast<ProbeRecords*>(&records)};
  check(cudaLaunchKernelExC(&config, kernel_, arguments), "launching the kernel");
}

}  // namespace hgemm
