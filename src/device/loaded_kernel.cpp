#include "device/loaded_kernel.h"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "device/library.h"
#include "device/tensor_map.h"
#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

TensorElement tensor_element(DataType type) {
  switch (type) {
    case DataType::kBf16:
      return TensorElement::kBf16;
    case DataType::kFp16:
      return TensorElement::kF16;
    case DataType::kFp32:
      return TensorElement::kF32;
    case DataType::kE4m3:
    case DataType::kE5m2:
      return TensorElement::kByte;  // the copy engine has no name for them
  }
  throw Error("a data type outside its enumeration");
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
  TensorMapSpec spec{.name = map.name,
                     .data = map.data,
                     .element = tensor_element(map.type),
                     .extents = {map.cols, map.rows},
                     .strides_bytes = {map.stride_bytes},
                     .box = {map.box_cols, map.box_rows},
                     .swizzle = tensor_swizzle(map.swizzle_bytes),
                     .promotion = tensor_promotion(map.promotion_bytes)};
  for (const OuterDimension& outer :
       std::span(map.outer).first(static_cast<std::size_t>(map.outer_dimensions))) {
    spec.extents.push_back(outer.extent);
    spec.strides_bytes.push_back(outer.stride_bytes);
    spec.box.push_back(outer.box);
  }
  return make_tensor_map(spec);
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

LaunchParams make_params(const Kernel& kernel, const GemmProblem& problem, const Operands& operands,
                         const Workspace& workspace) {
  // Whether workspaces are needed does not depend on the number of CTAs.
  const WorkspaceBytes needed = workspace_bytes(kernel, problem.extents(), 1);
  if ((needed.flags > 0 && workspace.flags.bytes() == 0) ||
      (needed.packed_b > 0 && !workspace.packed_b)) {
    throw Error(build_name(kernel) + " needs a workspace");
  }
  if (const Misaligned found = find_misaligned(kernel, problem.extents(), operands);
      found.name != nullptr) {
    throw Error(fmt::format("{} is at {}, which is not a multiple of {} bytes{}{}", found.name,
                            found.address, found.bytes, *found.cure != '\0' ? ": " : "",
                            found.cure));
  }
  return make_launch_params(
      kernel, problem.extents(), operands,
      {address(workspace.partials), workspace.flags.data(), address(workspace.packed_a),
       address(workspace.packed_b), workspace.numbers ? &*workspace.numbers : nullptr},
      encode);
}

LoadedKernel::LoadedKernel(const Kernel& kernel, const Cubin& cubin) : kernel_(kernel) {
  library_ = load_library(cubin);
  try {
    const std::string name = kernel_name(kernel);
    check(cudaLibraryGetKernel(&function_, library_, name.c_str()), "looking for its kernel");
    check(cudaFuncSetAttribute(function_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               smem_bytes(kernel)),
          "reserving shared memory");
    if (packs(kernel)) {
      check(cudaLibraryGetKernel(&pack_function_, library_, pack_kernel_name(kernel).c_str()),
            "looking for the kernel that packs");
      int device = 0;
      int sms = 0;
      int resident = 0;
      check(cudaGetDevice(&device), "asking for the device");
      check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device),
            "asking how many SMs there are");
      check(
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, pack_function_, kPackThreads, 0),
          "asking how many CTAs that pack are resident");
      pack_ctas_ = sms * resident;
    }
  } catch (...) {
    cudaLibraryUnload(library_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() { cudaLibraryUnload(library_); }

int LoadedKernel::grid_ctas(const GemmProblem& problem) const {
  const ProblemExtents extents = problem.extents();
  if (const char* reason = why_unsupported(kernel_, extents)) {
    throw Error(fmt::format("{} at {}: {}", build_name(kernel_), to_string(problem), reason));
  }
  if (grid_tiles(kernel_, extents) > kMaxTiles) {
    throw Error(fmt::format("{} has more than {} tiles of {}", to_string(problem), kMaxTiles,
                            build_name(kernel_)));
  }
  int resident = 1;
  if (!has_cluster_per_tile(kernel_)) {
    LaunchAttributes attributes;
    const cudaLaunchConfig_t config =
        launch_config(kernel_, cluster_size(kernel_), nullptr, &attributes);
    check(cudaOccupancyMaxActiveClusters(&resident, function_, &config),
          "asking how many clusters are resident");
    if (resident < 1) throw Error("the GPU cannot hold one cluster of this kernel");
  }
  return hgemm::grid_ctas(kernel_, extents, resident);
}

Workspace LoadedKernel::make_workspace(const GemmProblem& problem, int ctas,
                                       WorkspacePool& pool) const {
  using Use = WorkspacePool::Use;
  const WorkspaceBytes bytes = workspace_bytes(kernel_, problem.extents(), ctas);
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
  if (is_numbered(kernel_)) {
    const int size = cluster_size(kernel_);
    workspace.numbers = pool.numbers().of(size, ctas / size);
  }
  // The launching streams do not wait for the default stream, so wait here.
  check(cudaStreamSynchronize(cudaStreamLegacy), "preparing a workspace");
  return workspace;
}

Workspace LoadedKernel::make_workspace(const GemmProblem& problem, int ctas) const {
  WorkspacePool own;
  return make_workspace(problem, ctas, own);
}

void LoadedKernel::launch_pack(const PackParams& params, cudaStream_t stream) const {
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config = pack_launch_config(kernel_, pack_ctas_, stream, &attributes);
  void* arguments[] = {const_cast<PackParams*>(&params)};
  check(cudaLaunchKernelExC(&config, pack_function_, arguments), "launching the kernel that packs");
}

void LoadedKernel::launch(const LaunchParams& params, int ctas, cudaStream_t stream,
                          const ProbeRecords& records) const {
  if (params.pack.matrices[0].rows > 0 || params.pack.matrices[1].rows > 0) {
    launch_pack(params.pack, stream);
  }
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config = launch_config(kernel_, ctas, stream, &attributes);
  // The launch reads as many arguments as the kernel has parameters.
  void* arguments[] = {const_cast<ScaledParams*>(&params.kernel),
                       const_cast<ProbeRecords*>(&records)};
  check(cudaLaunchKernelExC(&config, function_, arguments), "launching the kernel");
}

}  // namespace hgemm
