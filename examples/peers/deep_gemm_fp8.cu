// A peer: DeepGEMM's Hopper GEMMs for e4m3 with scales of blocks. The file instantiates two kernels
// of its headers with tiles that its heuristic chooses, and encodes the tensor maps that they need:
//
//   1d2d  scales of 1x128 blocks of A and 128x128 blocks of B; D is bf16
//   1d1d  scales of 1x128 blocks of both; D is fp32. The kernel adds to D by the copy engine's
//         reductions, so D is set to zero first, which counts as a part of the launch.
//
//     nvcc -std=c++20 -O3 -DNDEBUG -shared -Xcompiler -fPIC --expt-relaxed-constexpr \
//         -gencode arch=compute_90a,code=sm_90a -I$DEEP_GEMM_DIR/deep_gemm/include \
//         -I$CUTLASS_DIR/include -Iinclude examples/peers/deep_gemm_fp8.cu -o deep_gemm_fp8.so
//         -lcuda
//
// DeepGEMM picks one tile by a formula and compiles N and K as constants. Here all the tiles that
// the formula picks for the layers of configs/shapes/fp8-blocks.yaml from 1 to 8192 rows race, so
// its best one counts, and N and K are arguments. With -DDEEP_GEMM_N=7168 -DDEEP_GEMM_K=2048 they
// are constants, and the peer computes problems with that N and K only.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deep_gemm/impls/sm90_fp8_gemm_1d1d.cuh>
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>
#include <vector>

#include "hgemm_peer.h"

#ifndef DEEP_GEMM_N
#define DEEP_GEMM_N 0
#endif
#ifndef DEEP_GEMM_K
#define DEEP_GEMM_K 0
#endif

namespace {

constexpr int kN = DEEP_GEMM_N;  ///< 0: an argument
constexpr int kK = DEEP_GEMM_K;
constexpr int kSms = 132;  ///< of H100 SXM and H200; a constant of their kernels
constexpr int kBlock = 128;
constexpr int kSmemBytes = 232448;  ///< of one CTA
constexpr int kMostStages = 16;
constexpr int kLoadThreads = 128;
/// The number of stages is a constant of their kernels. Theirs is for one K. This one leaves room
/// for B's scales up to this K, which is the largest of DeepSeek-V3's layers.
constexpr int kUsualK = 16384;

const char* failed = "";

enum class Form { k1d2d, k1d1d };

struct Tile {
  int m, n;
  int along_m, along_n;  ///< tiles of a cluster, whose loads of B or A are shared
};

constexpr int up(int value, int unit) { return (value + unit - 1) / unit * unit; }
constexpr std::int64_t up4(std::int64_t value) { return (value + 3) / 4 * 4; }
constexpr std::int64_t blocks(std::int64_t elements) { return (elements + kBlock - 1) / kBlock; }

// Shared memory, as csrc/jit_kernels/heuristics/sm90.hpp divides it.

constexpr int output_bytes(Form form, Tile tile) {
  return up(tile.m * tile.n * (form == Form::k1d2d ? 2 : 4), 1024);
}
constexpr int stage_bytes(Form form, Tile tile) {
  const int scales_of_b = form == Form::k1d1d ? up(tile.n * 4, 128) : 0;
  return (tile.m + tile.n) * kBlock + up(tile.m * 4, 128) + scales_of_b;
}
constexpr int kept_scale_bytes(Form form, Tile tile, std::int64_t k) {
  const int each = kBlock % tile.n == 0 ? 4 : 8;
  return form == Form::k1d2d ? up(static_cast<int>(blocks(k)) * each, 8) : 0;
}
constexpr int fixed_bytes(Form form, Tile tile, std::int64_t k) {
  return output_bytes(form, tile) + kMostStages * 16 + kept_scale_bytes(form, tile, k);
}
constexpr int stages(Form form, Tile tile) {
  const std::int64_t k = kK > 0 ? kK : kUsualK;
  return std::min(kMostStages, (kSmemBytes - fixed_bytes(form, tile, k)) / stage_bytes(form, tile));
}
constexpr int smem_bytes(Form form, Tile tile, std::int64_t k) {
  return fixed_bytes(form, tile, k) + stages(form, tile) * stage_bytes(form, tile);
}
constexpr int math_threads(Tile tile) { return tile.m <= 64 ? 128 : 256; }
/// The widest swizzle of which a row of a bf16 tile is a multiple.
constexpr int output_swizzle(Tile tile) {
  for (const int bytes : {128, 64, 32}) {
    if (tile.n * 2 % bytes == 0) return bytes;
  }
  return 0;
}

struct Matrix {
  CUtensorMapDataType type;
  int bytes;  ///< of an element
  const void* data;
  std::int64_t rows, cols, leading;
};
constexpr CUtensorMapSwizzle swizzle_of(int bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}
/// A row-major matrix in boxes. Swizzled boxes are as wide as the swizzle.
bool encode(CUtensorMap& map, const Matrix& matrix, int box_rows, int box_cols, int swizzle) {
  const std::array<cuuint64_t, 2> sizes = {static_cast<cuuint64_t>(matrix.cols),
                                           static_cast<cuuint64_t>(matrix.rows)};
  const std::array<cuuint64_t, 1> strides = {
      static_cast<cuuint64_t>(matrix.leading * matrix.bytes)};
  const std::array<cuuint32_t, 2> box = {
      static_cast<cuuint32_t>(swizzle > 0 ? swizzle / matrix.bytes : box_cols),
      static_cast<cuuint32_t>(box_rows)};
  const std::array<cuuint32_t, 2> steps = {1, 1};
  const CUresult result = cuTensorMapEncodeTiled(
      &map, matrix.type, 2, const_cast<void*>(matrix.data), sizes.data(), strides.data(),
      box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) failed = "a tensor map was refused";
  return result == CUDA_SUCCESS;
}

Matrix fp8(const void* data, std::int64_t rows, std::int64_t cols, std::int64_t leading) {
  return {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, data, rows, cols, leading};
}
/// Scales of 1x128 blocks: a row for each block of K.
Matrix scales(const float* data, std::int64_t rows, std::int64_t k) {
  return {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, data, blocks(k), up4(rows), up4(rows)};
}

struct Maps {
  CUtensorMap a, b, d, scales_a, scales_b;
};
bool encode(Maps& maps, Form form, Tile tile, const hgemm_peer_problem& p,
            const hgemm_peer_operands& o) {
  const bool is_1d2d = form == Form::k1d2d;
  const Matrix d = {is_1d2d ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                    is_1d2d ? 2 : 4,
                    o.d,
                    p.m,
                    p.n,
                    p.ldd};
  const bool have_common =
      encode(maps.a, fp8(o.a, p.m, p.k, p.lda), tile.m, kBlock, 128) &&
      encode(maps.b, fp8(o.b, p.n, p.k, p.ldb), tile.n, kBlock, 128) &&
      encode(maps.scales_a, scales(o.scale_a, p.m, p.k), 1, tile.m, 0) &&
      // A warpgroup of 1d1d stores its own 64 rows.
      encode(maps.d, d, is_1d2d ? tile.m : 64, tile.n, is_1d2d ? output_swizzle(tile) : 0);
  return have_common &&
         (is_1d2d || encode(maps.scales_b, scales(o.scale_b, p.n, p.k), 1, tile.n, 0));
}

const cute::TmaDescriptor& as_theirs(const CUtensorMap& map) {
  return reinterpret_cast<const cute::TmaDescriptor&>(map);
}

/// `cluster` must outlive the configuration.
cudaLaunchConfig_t launch_config(Form form, Tile tile, std::int64_t k, cudaLaunchAttribute& cluster,
                                 cudaStream_t stream) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(tile.along_m * tile.along_n), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = kSms;
  config.blockDim = static_cast<unsigned>(kLoadThreads + math_threads(tile));
  config.dynamicSmemBytes = static_cast<std::size_t>(smem_bytes(form, tile, k));
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return config;
}

int outcome(cudaError_t status) {
  if (status != cudaSuccess) failed = cudaGetErrorString(status);
  return status != cudaSuccess;
}

template <int kM, int kTileN, int kAlongM, int kAlongN>
int run_1d2d(const hgemm_peer_problem& p, const hgemm_peer_operands& o, cudaStream_t stream) {
  constexpr Tile kTile{kM, kTileN, kAlongM, kAlongN};
  const auto kernel = &deep_gemm::sm90_fp8_gemm_1d2d_impl<
      cute::UMMA::Major::K, 0, kN, kK, 1, kM, kTileN, kBlock, 128, 128, output_swizzle(kTile),
      stages(Form::k1d2d, kTile), kLoadThreads, math_threads(kTile), kAlongM * kAlongN,
      (kAlongN > 1), kSms, deep_gemm::GemmType::Normal, cutlass::bfloat16_t,
      deep_gemm::epilogue::transform::EpilogueIdentity>;
  Maps maps;
  if (!encode(maps, Form::k1d2d, kTile, p, o)) return 1;
  if (outcome(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   kSmemBytes)) != 0) {
    return 1;
  }
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t config = launch_config(Form::k1d2d, kTile, p.k, cluster, stream);
  return outcome(
      cudaLaunchKernelEx(&config, kernel, const_cast<float*>(o.scale_b), static_cast<int*>(nullptr),
                         static_cast<std::uint32_t>(p.m), static_cast<std::uint32_t>(p.n),
                         static_cast<std::uint32_t>(p.k), as_theirs(maps.a), as_theirs(maps.b),
                         as_theirs(maps.d), as_theirs(maps.scales_a)));
}

template <int kM, int kTileN, int kAlongM, int kAlongN>
int run_1d1d(const hgemm_peer_problem& p, const hgemm_peer_operands& o, cudaStream_t stream) {
  constexpr Tile kTile{kM, kTileN, kAlongM, kAlongN};
  const auto kernel =
      &deep_gemm::sm90_fp8_gemm_1d1d_impl<0, kN, kK, 1, kM, kTileN, kBlock, 128, 128,
                                          stages(Form::k1d1d, kTile), kLoadThreads,
                                          math_threads(kTile), kAlongM * kAlongN, (kAlongN > 1),
                                          kSms, deep_gemm::GemmType::Normal, float>;
  Maps maps;
  if (!encode(maps, Form::k1d1d, kTile, p, o)) return 1;
  const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements * 4); };
  if (outcome(cudaMemset2DAsync(o.d, bytes(p.ldd), 0, bytes(p.n), static_cast<std::size_t>(p.m),
                                stream)) != 0) {
    return 1;
  }
  if (outcome(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   kSmemBytes)) != 0) {
    return 1;
  }
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t config = launch_config(Form::k1d1d, kTile, p.k, cluster, stream);
  using Fp8 = __nv_fp8_e4m3;
  return outcome(
      cudaLaunchKernelEx(&config, kernel, static_cast<Fp8*>(nullptr), static_cast<Fp8*>(nullptr),
                         static_cast<int*>(nullptr), static_cast<cute::TmaDescriptor*>(nullptr),
                         static_cast<std::uint32_t>(p.m), static_cast<std::uint32_t>(p.n),
                         static_cast<std::uint32_t>(p.k), as_theirs(maps.a), as_theirs(maps.b),
                         as_theirs(maps.scales_a), as_theirs(maps.scales_b), as_theirs(maps.d)));
}

struct Variant {
  const char* text;
  Form form;
  Tile tile;
  int (*run)(const hgemm_peer_problem&, const hgemm_peer_operands&, cudaStream_t);
};
template <int kM, int kTileN, int kAlongM = 1, int kAlongN = 1>
constexpr Variant two(const char* text) {
  return {
      text, Form::k1d2d, {kM, kTileN, kAlongM, kAlongN}, run_1d2d<kM, kTileN, kAlongM, kAlongN>};
}
template <int kM, int kTileN, int kAlongM = 1, int kAlongN = 1>
constexpr Variant one(const char* text) {
  return {
      text, Form::k1d1d, {kM, kTileN, kAlongM, kAlongN}, run_1d1d<kM, kTileN, kAlongM, kAlongN>};
}

constexpr std::array kVariants = {
    two<16, 16>("1d2d 16x16"),
    two<16, 32>("1d2d 16x32"),
    two<16, 64>("1d2d 16x64"),
    two<16, 96, 2>("1d2d 16x96, cluster 2x1"),
    two<16, 128, 2>("1d2d 16x128, cluster 2x1"),
    two<32, 16>("1d2d 32x16"),
    two<32, 32>("1d2d 32x32"),
    two<32, 64>("1d2d 32x64"),
    two<32, 96, 2>("1d2d 32x96, cluster 2x1"),
    two<32, 128, 2>("1d2d 32x128, cluster 2x1"),
    two<64, 16>("1d2d 64x16"),
    two<64, 32>("1d2d 64x32"),
    two<64, 64>("1d2d 64x64"),
    two<64, 96, 2>("1d2d 64x96, cluster 2x1"),
    two<64, 112>("1d2d 64x112"),
    two<64, 128>("1d2d 64x128"),
    two<64, 128, 2>("1d2d 64x128, cluster 2x1"),
    two<128, 64>("1d2d 128x64"),
    two<128, 112>("1d2d 128x112"),
    two<128, 112, 1, 2>("1d2d 128x112, cluster 1x2"),
    two<128, 128>("1d2d 128x128"),
    two<128, 128, 1, 2>("1d2d 128x128, cluster 1x2"),
    two<128, 144>("1d2d 128x144"),
    two<128, 144, 2>("1d2d 128x144, cluster 2x1"),
    two<128, 192>("1d2d 128x192"),
    two<128, 192, 2>("1d2d 128x192, cluster 2x1"),
    two<256, 112, 1, 2>("1d2d 256x112, cluster 1x2"),
    two<256, 128>("1d2d 256x128"),
    two<256, 128, 1, 2>("1d2d 256x128, cluster 1x2"),
    // For few rows their formula picks tiles of 16 and 32 rows, which this kernel does not have.
    one<64, 16>("1d1d 64x16"),
    one<64, 40>("1d1d 64x40"),
    one<64, 56>("1d1d 64x56"),
    one<64, 56, 1, 2>("1d1d 64x56, cluster 1x2"),
    one<64, 72>("1d1d 64x72"),
    one<64, 104, 2>("1d1d 64x104, cluster 2x1"),
    one<64, 136>("1d1d 64x136"),
    one<64, 136, 2>("1d1d 64x136, cluster 2x1"),
    one<128, 56, 1, 2>("1d1d 128x56, cluster 1x2"),
    one<128, 104, 1, 2>("1d1d 128x104, cluster 1x2"),
    one<128, 120>("1d1d 128x120"),
    one<128, 120, 1, 2>("1d1d 128x120, cluster 1x2"),
    one<128, 136>("1d1d 128x136"),
    one<128, 136, 2>("1d1d 128x136, cluster 2x1"),
    one<128, 152, 2>("1d1d 128x152, cluster 2x1"),
};

bool suits(const Variant& variant, const hgemm_peer_problem& p) {
  const Tile& tile = variant.tile;
  // Tiles of fewer rows are for problems of as few.
  return (tile.m >= 64 || p.m <= tile.m) && smem_bytes(variant.form, tile, p.k) <= kSmemBytes;
}

/// 1d2d takes the scales of B's blocks without padding.
bool has_packed_blocks(const hgemm_peer_problem& p) {
  return p.scaling == HGEMM_PEER_SCALING_PACKED_BLOCKS ||
         (p.scaling == HGEMM_PEER_SCALING_BLOCKS && (blocks(p.k) % 4 == 0 || p.n <= kBlock));
}

std::vector<Variant> able(const hgemm_peer_problem& p) {
  std::vector<Variant> variants;
  const bool is_fp8 = p.a_type == HGEMM_PEER_E4M3 && p.b_type == HGEMM_PEER_E4M3;
  const bool is_aligned = p.lda % 16 == 0 && p.ldb % 16 == 0 && p.ldd % 8 == 0 && p.n % 8 == 0;
  const bool is_compiled = (kN == 0 || p.n == kN) && (kK == 0 || p.k == kK);
  if (!is_fp8 || !is_aligned || !is_compiled) return variants;
  const bool is_1d2d = p.d_type == HGEMM_PEER_BF16 && has_packed_blocks(p);
  const bool is_1d1d = p.scaling == HGEMM_PEER_SCALING_ROW_BLOCKS && p.d_type == HGEMM_PEER_FP32;
  for (const Variant& variant : kVariants) {
    const bool has_form = variant.form == Form::k1d2d ? is_1d2d : is_1d1d;
    if (has_form && suits(variant, p)) variants.push_back(variant);
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
      "deep_gemm_fp8",
      kN > 0 || kK > 0 ? "sm90 e4m3, constant N and K" : "sm90 e4m3",
      HGEMM_PEER_KNOWS_8_BIT | HGEMM_PEER_KNOWS_SCALES,
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
