// A peer: GEMM kernels in Triton, written for this race and compiled ahead of time. gemm.py has the
// kernels; it writes triton_kernels.h, which holds the cubins:
//
//     python3 examples/peers/triton/gemm.py FOLDER/triton_kernels.h
//     nvcc -std=c++17 -O3 -shared -Xcompiler -fPIC -Iinclude -IFOLDER \
//         examples/peers/triton/peer.cpp -o triton.so -lcuda
//
// The kernels are launched as Triton's own launcher does it: tensor maps made on the host, the
// scalars, and pointers to scratch memory that no kernel here uses. A variant is a kernel with a
// number of rows of tiles that are computed together.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hgemm_peer.h"

namespace {

/// How TMA moves a matrix; without rows if it is read or written through a pointer.
struct Box {
  int rows = 0;
  int columns = 0;
  int swizzle = 0;  ///< the number of its CUtensorMapSwizzle
};

struct Kernel {
  int type;
  const char* name;
  int tile_m, tile_n, tile_k;
  int warps;
  int stages;
  int shared_bytes;
  int hidden;  ///< pointers after the arguments
  std::array<Box, 3> boxes;
  const char* cubin;
};

#include "triton_kernels.h"

constexpr std::array kGroups = {8, 16};

std::string failed;  ///< why the last call failed

bool succeeds(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return true;
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  failed = std::string(what) + ": " + (text == nullptr ? "an unknown error" : text);
  return false;
}

struct Loaded {
  CUfunction function = nullptr;
  int most_programs = 0;  ///< that run at a time
};

/// Loads the kernel at its first launch, which is not captured.
const Loaded* loaded(const Kernel& kernel) {
  static std::map<const Kernel*, Loaded> all;
  const auto known = all.find(&kernel);
  if (known != all.end()) return &known->second;
  CUmodule module = nullptr;
  Loaded one;
  CUdevice device = 0;
  int sms = 0, ctas = 0;
  const bool is_ready =
      succeeds(cuModuleLoadData(&module, kernel.cubin), "a cubin cannot be loaded") &&
      succeeds(cuModuleGetFunction(&one.function, module, kernel.name), "a kernel is not there") &&
      succeeds(cuFuncSetCacheConfig(one.function, CU_FUNC_CACHE_PREFER_SHARED), "shared memory") &&
      succeeds(cuFuncSetAttribute(one.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  kernel.shared_bytes),
               "shared memory") &&
      succeeds(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                   &ctas, one.function, kernel.warps * 32,
                   static_cast<std::size_t>(kernel.shared_bytes)),
               "programs per SM") &&
      succeeds(cuCtxGetDevice(&device), "the device") &&
      succeeds(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
               "the number of SMs");
  if (!is_ready) return nullptr;
  one.most_programs = std::max(ctas, 1) * sms;
  return &all.emplace(&kernel, one).first->second;
}

/// An operand, as the arguments of a kernel that stand for it.
struct Matrix {
  CUtensorMap map;
  CUdeviceptr pointer;
  std::int32_t rows, columns;
  std::int64_t leading, one;
};

bool encode(Matrix& matrix, const Box& box, int type) {
  const std::array<cuuint64_t, 2> sizes = {static_cast<cuuint64_t>(matrix.columns),
                                           static_cast<cuuint64_t>(matrix.rows)};
  const std::array<cuuint64_t, 1> strides = {static_cast<cuuint64_t>(matrix.leading * 2)};
  const std::array<cuuint32_t, 2> extents = {static_cast<cuuint32_t>(box.columns),
                                             static_cast<cuuint32_t>(box.rows)};
  const std::array<cuuint32_t, 2> steps = {1, 1};
  return succeeds(
      cuTensorMapEncodeTiled(
          &matrix.map,
          type == HGEMM_PEER_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                  : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
          2, reinterpret_cast<void*>(matrix.pointer), sizes.data(), strides.data(), extents.data(),
          steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(box.swizzle),
          CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "a tensor map was refused");
}

struct Variant {
  const Kernel* kernel;
  int group;
};

std::int64_t tiles(std::int64_t size, int tile) { return (size + tile - 1) / tile; }

/// TMA where rows begin at multiples of 16 bytes, and pointers elsewhere.
std::vector<Variant> able(const hgemm_peer_problem& p) {
  std::vector<Variant> variants;
  constexpr std::int64_t kMost = INT32_MAX / 2;  // sizes are rounded up to tiles in 32 bits
  if (std::max({p.m, p.n, p.k}) > kMost || p.b_type != p.a_type || p.d_type != p.a_type) {
    return variants;
  }
  const bool reads_by_tma = p.lda % 8 == 0 && p.ldb % 8 == 0;
  const bool writes_by_tma = reads_by_tma && p.ldd % 8 == 0;
  for (const Kernel& kernel : kKernels) {
    if (kernel.type != p.a_type || (kernel.boxes[0].rows != 0) != reads_by_tma ||
        (kernel.boxes[2].rows != 0) != writes_by_tma ||
        tiles(p.m, kernel.tile_m) * tiles(p.n, kernel.tile_n) > kMost) {
      continue;
    }
    for (const int group : kGroups) {
      variants.push_back({&kernel, group});
      if (tiles(p.m, kernel.tile_m) <= group) break;  // more would be the same
    }
  }
  return variants;
}
Variant at(const hgemm_peer_problem& p, int variant) {
  return able(p).at(static_cast<std::size_t>(variant));
}

const char* describe(const hgemm_peer_problem& p, int variant) {
  static std::string text;
  const auto [kernel, group] = at(p, variant);
  const auto number = [](int value) { return std::to_string(value); };
  text = number(kernel->tile_m) + "x" + number(kernel->tile_n) + "x" + number(kernel->tile_k) +
         ", " + number(kernel->warps) + " warps, " + number(kernel->stages) + " stages, " +
         kernel->name + ", groups of " + number(group);
  if (kernel->boxes[0].rows == 0) {
    text += ", no TMA";
  } else if (kernel->boxes[2].rows == 0) {
    text += ", D without TMA";
  }
  return text.c_str();
}

int launch(const hgemm_peer_problem& p, int variant, const hgemm_peer_operands& o,
           hgemm_peer_stream stream) {
  auto [kernel, group] = at(p, variant);
  const Loaded* const ready = loaded(*kernel);
  if (ready == nullptr) return 1;
  const auto matrix = [](const void* data, std::int64_t rows, std::int64_t columns,
                         std::int64_t leading) {
    return Matrix{{},
                  reinterpret_cast<CUdeviceptr>(data),
                  static_cast<std::int32_t>(rows),
                  static_cast<std::int32_t>(columns),
                  leading,
                  1};
  };
  std::array matrices = {matrix(o.a, p.m, p.k, p.lda), matrix(o.b, p.n, p.k, p.ldb),
                         matrix(o.d, p.m, p.n, p.ldd)};
  std::vector<void*> arguments;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    Matrix& one = matrices[i];
    if (kernel->boxes[i].rows == 0) {
      arguments.push_back(&one.pointer);
      continue;
    }
    if (!encode(one, kernel->boxes[i], kernel->type)) return 1;
    arguments.insert(arguments.end(), {&one.map, &one.rows, &one.columns, &one.leading, &one.one});
  }
  std::array<std::int32_t, 3> sizes = {matrices[0].rows, matrices[1].rows, matrices[0].columns};
  for (std::int32_t& size : sizes) arguments.push_back(&size);
  for (Matrix& one : matrices) arguments.push_back(&one.leading);
  arguments.push_back(&group);
  CUdeviceptr no_scratch = 0;
  arguments.insert(arguments.end(), static_cast<std::size_t>(kernel->hidden), &no_scratch);

  std::int64_t programs = tiles(p.m, kernel->tile_m) * tiles(p.n, kernel->tile_n);
  if (std::string(kernel->name) == "persistent") {
    programs = std::min<std::int64_t>(programs, ready->most_programs);
  }
  return !succeeds(cuLaunchKernel(ready->function, static_cast<unsigned>(programs), 1, 1,
                                  static_cast<unsigned>(kernel->warps * 32), 1, 1,
                                  static_cast<unsigned>(kernel->shared_bytes), stream,
                                  arguments.data(), nullptr),
                   "a launch");
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const hgemm_peer kTable = {
      HGEMM_PEER_ABI,
      sizeof(hgemm_peer),
      "triton",
      kTriton,
      0,  // knows nothing of 8-bit operands and scales
      0,
      [](const char*, void**) { return 0; },
      [](void*) {},
      [](void*) { return failed.c_str(); },
      [](void*, const hgemm_peer_problem* p) { return static_cast<int>(able(*p).size()); },
      [](void*, const hgemm_peer_problem* p, int variant) { return describe(*p, variant); },
      [](void*, const hgemm_peer_problem*, int) { return std::int64_t{0}; },
      [](void*, const hgemm_peer_problem* p, int variant, const hgemm_peer_operands* o,
         hgemm_peer_stream stream) { return launch(*p, variant, *o, stream); }};
  return &kTable;
}
