// A peer: DeepGEMM's Hopper GEMM for bf16, without scales. The file instantiates its kernel with
// tiles that its heuristic chooses from, and encodes the tensor maps that it needs:
//
//     nvcc -std=c++20 -O3 -DNDEBUG -shared -Xcompiler -fPIC --expt-relaxed-constexpr \
//         -gencode arch=compute_90a,code=sm_90a -I$DEEP_GEMM_DIR/deep_gemm/include \
//         -I$CUTLASS_DIR/include -Iinclude examples/peers/deep_gemm.cu -o deep_gemm.so -lcuda
//
// DeepGEMM picks one tile by a formula and compiles N and K as constants. Here all tiles race, so
// its best one counts, and N and K are arguments.
#include <cuda.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <deep_gemm/impls/sm90_bf16_gemm.cuh>
#include <type_traits>
#include <utility>
#include <vector>

#include "hgemm_peer.h"

namespace {

constexpr int kSms = 132;  ///< of H100 SXM and H200; a constant of their kernel
constexpr int kBlockK = 64;
constexpr int kSwizzle = 128;       ///< bytes: a row of 64 values
constexpr int kSmemBytes = 232448;  ///< of one CTA
constexpr int kLoadThreads = 128;

const char* failed = "";

struct Tile {
  int m, n;
  int cluster;
  bool shares_a;  ///< the two CTAs of a cluster have the rows in common; otherwise the columns
};

template <class D>
constexpr int output_bytes(Tile tile) {
  return (tile.m * tile.n * static_cast<int>(sizeof(D)) + 1023) / 1024 * 1024;
}
template <class D>
constexpr int stages(Tile tile) {
  constexpr int kMost = 16;
  const int left = kSmemBytes - output_bytes<D>(tile) - kMost * 16;
  return std::min(kMost, left / ((tile.m + tile.n) * kBlockK * 2));
}
template <class D>
constexpr int smem_bytes(Tile tile) {
  return output_bytes<D>(tile) + 16 * 16 + stages<D>(tile) * (tile.m + tile.n) * kBlockK * 2;
}
constexpr int math_threads(Tile tile) { return tile.m <= 64 ? 128 : 256; }
template <class D>
constexpr int swizzle_of_output() {
  return std::is_same_v<D, float> ? 0 : kSwizzle;
}

/// A row-major matrix in boxes of `box_rows` rows. Swizzled boxes are 128 bytes wide.
int encode(CUtensorMap& map, CUtensorMapDataType type, int bytes, const void* data,
           std::int64_t rows, std::int64_t cols, std::int64_t leading, int box_rows, int box_cols,
           int swizzle) {
  const std::array<cuuint64_t, 2> sizes = {static_cast<cuuint64_t>(cols),
                                           static_cast<cuuint64_t>(rows)};
  const std::array<cuuint64_t, 1> strides = {static_cast<cuuint64_t>(leading * bytes)};
  const std::array<cuuint32_t, 2> box = {
      static_cast<cuuint32_t>(swizzle > 0 ? swizzle / bytes : box_cols),
      static_cast<cuuint32_t>(box_rows)};
  const std::array<cuuint32_t, 2> steps = {1, 1};
  const CUresult result =
      cuTensorMapEncodeTiled(&map, type, 2, const_cast<void*>(data), sizes.data(), strides.data(),
                             box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                             swizzle > 0 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) failed = "a tensor map was refused";
  return result != CUDA_SUCCESS;
}

template <class D, int kM, int kN, int kCluster, bool kSharesA>
int run(const hgemm_peer_problem& p, const hgemm_peer_operands& o, cudaStream_t stream) {
  constexpr Tile kTile{kM, kN, kCluster, kSharesA};
  constexpr auto kMajor = cute::UMMA::Major::K;
  const auto kernel =
      &deep_gemm::sm90_bf16_gemm_impl<kMajor, kMajor, 0, 0, 0, 1, kM, kN, kBlockK, kSwizzle,
                                      kSwizzle, swizzle_of_output<D>(), stages<D>(kTile),
                                      kLoadThreads, math_threads(kTile), kCluster, kSharesA, kSms,
                                      deep_gemm::GemmType::Normal, false, D>;
  constexpr auto kBf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  constexpr auto kOut = std::is_same_v<D, float> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : kBf16;
  CUtensorMap a, b, d;
  if (encode(a, kBf16, 2, o.a, p.m, p.k, p.lda, kM, kBlockK, kSwizzle) != 0 ||
      encode(b, kBf16, 2, o.b, p.n, p.k, p.ldb, kN, kBlockK, kSwizzle) != 0 ||
      encode(d, kOut, sizeof(D), o.d, p.m, p.n, p.ldd, kM, kN, swizzle_of_output<D>()) != 0) {
    return 1;
  }
  const cudaError_t prepared = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes<D>(kTile));
  if (prepared != cudaSuccess) {
    failed = cudaGetErrorString(prepared);
    return 1;
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kCluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = kSms;
  config.blockDim = kLoadThreads + math_threads(kTile);
  config.dynamicSmemBytes = smem_bytes<D>(kTile);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  const cudaError_t status = cudaLaunchKernelEx(
      &config, kernel, static_cast<int*>(nullptr), static_cast<std::uint32_t>(p.m),
      static_cast<std::uint32_t>(p.n), static_cast<std::uint32_t>(p.k),
      reinterpret_cast<const cute::TmaDescriptor&>(a),
      reinterpret_cast<const cute::TmaDescriptor&>(b),
      reinterpret_cast<const cute::TmaDescriptor&>(d));
  if (status != cudaSuccess) failed = cudaGetErrorString(status);
  return status != cudaSuccess;
}

struct Variant {
  const char* text;
  Tile tile;
  int (*run)(const hgemm_peer_problem&, const hgemm_peer_operands&, cudaStream_t);
};
template <class D, int kM, int kN, int kCluster = 1, bool kSharesA = false>
constexpr Variant variant(const char* text) {
  return {text, {kM, kN, kCluster, kSharesA}, run<D, kM, kN, kCluster, kSharesA>};
}

template <class D>
constexpr std::array kVariants = {
    variant<D, 16, 64>("16x64x64"),
    variant<D, 32, 64>("32x64x64"),
    variant<D, 64, 64>("64x64x64"),
    variant<D, 64, 128>("64x128x64"),
    variant<D, 64, 256>("64x256x64"),
    variant<D, 128, 128>("128x128x64"),
    variant<D, 128, 128, 2, false>("128x128x64, two rows of tiles share B"),
    variant<D, 128, 192, 2, false>("128x192x64, two rows of tiles share B"),
    variant<D, 128, 256, 2, false>("128x256x64, two rows of tiles share B"),
    variant<D, 128, 256, 2, true>("128x256x64, two columns of tiles share A"),
};
/// Their kernel has 256 rows only with 16-bit output.
constexpr std::array kTall = {
    variant<cutlass::bfloat16_t, 256, 128, 2, false>("256x128x64, two rows of tiles share B"),
    variant<cutlass::bfloat16_t, 256, 128, 2, true>("256x128x64, two columns of tiles share A"),
};

/// Their scheduler multicasts only where the tiles pair up.
bool suits(const Variant& one, const hgemm_peer_problem& p) {
  const Tile& tile = one.tile;
  if (tile.m < 64 && p.m > tile.m) return false;
  const std::int64_t pairs =
      tile.shares_a ? (p.n + tile.n - 1) / tile.n : (p.m + tile.m - 1) / tile.m;
  return tile.cluster == 1 || pairs % 2 == 0;
}

std::vector<Variant> able(const hgemm_peer_problem& p) {
  std::vector<Variant> variants;
  const bool is_aligned = p.lda % 8 == 0 && p.ldb % 8 == 0 && p.ldd % 8 == 0;
  if (p.a_type != HGEMM_PEER_BF16 || p.b_type != HGEMM_PEER_BF16 || !is_aligned) return variants;
  const auto add = [&](const auto& all) {
    for (const Variant& one : all) {
      if (suits(one, p)) variants.push_back(one);
    }
  };
  if (p.d_type == HGEMM_PEER_BF16) {
    add(kVariants<cutlass::bfloat16_t>);
    add(kTall);
  }
  return variants;
}
Variant at(const hgemm_peer_problem& p, int variant) {
  return able(p).at(static_cast<std::size_t>(variant));
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const hgemm_peer kTable = {
      HGEMM_PEER_ABI,
      sizeof(hgemm_peer),
      "deep_gemm",
      "sm90 bf16",
      0,  // knows nothing of 8-bit operands and scales
      0,
      [](const char*, void**) { return 0; },
      [](void*) {},
      [](void*) { return failed; },
      [](void*, const hgemm_peer_problem* p) { return static_cast<int>(able(*p).size()); },
      [](void*, const hgemm_peer_problem* p, int variant) { return at(*p, variant).text; },
      [](void*, const hgemm_peer_problem*, int) { return std::int64_t{0}; },
      [](void*, const hgemm_peer_problem* p, int variant, const hgemm_peer_operands* o,
         hgemm_peer_stream stream) { return at(*p, variant).run(*p, *o, stream); }};
  return &kTable;
}
