// A step of the ladder: one small kernel between the naive one and the fastest, and the data that
// the host needs to launch it. The tables are in hopper_steps.h and core_steps.h.
//
// For host and device, so it includes nothing but what the kernel's own headers include.
#pragma once

#include "common/params.h"
#include "common/types.h"

namespace hgemm {

/// Passed by value as a __grid_constant__ to every step. D[m x n] = A[m x k] * B[n x k]^T,
/// row-major without padding. A step uses the tensor maps that its Step lists; the others are zero.
struct LadderParams {
  TensorMap a_map;
  TensorMap b_map;
  TensorMap d_map;
  const void* a;
  const void* b;
  void* d;
  /// For a probed build: kProbeSlots pairs of (cycles, count) for each CTA, zeroed before the
  /// launch.
  unsigned long long* stamps;
  int m, n, k;
};

namespace ladder {

enum class Family : unsigned char {
  kHopper,      ///< TMA, mbarriers, wgmma: the steps of "Outperforming cuBLAS on H100"
  kCudaCore,    ///< from one thread per output to a warp tile
  kTensorCore,  ///< WMMA and mma.sync, the tensor cores before wgmma
};

/// Element type of A, B and D.
enum class Element : unsigned char { kBf16, kFp16, kFp32 };
inline constexpr unsigned kHalfTypes = 0b011;  ///< bit e: Element{e} is supported
inline constexpr unsigned kAllTypes = 0b111;

/// A box of a tensor map, in elements; its rows of 128 bytes are swizzled. No rows: no map.
struct Box {
  int rows = 0;
  int cols = 0;
};

/// Phases that a probed build counts: the cycles of one thread of each role of every CTA, and the
/// number of times. A step counts the phases that apply to it; the others stay zero.
enum class Phase : unsigned char {
  kLoad,       ///< not specialised: from the issue of a k block's loads to their arrival
  kMma,        ///< a k block multiplied: issue and wait
  kStore,      ///< a tile's results to memory
  kWaitEmpty,  ///< producer: for a free stage
  kIssue,      ///< producer: the loads of a k block
  kWaitFull,   ///< consumer: for a k block's data
  kKernel,     ///< first to last stamp of the thread that counts kMma, once per CTA
  kCount,
};
inline constexpr int kProbeSlots = static_cast<int>(Phase::kCount);

struct Step {
  const char* id;  ///< two digits and perhaps a letter: "03", "06b"
  Family family;
  const char* name;      ///< "larger_tile"
  const char* title;     ///< one line: what changed
  const char* header;    ///< below kernels/: "studies/ladder/03_larger_tile.cuh"
  const char* function;  ///< hgemm::ladder::<function><Element, bool probe>(const LadderParams&)
  int tile_m;            ///< rows of D that a CTA computes at a time
  int tile_n;            ///< columns of D
  int tile_k;            ///< K must be a multiple of it
  int threads;
  int ctas_per_sm = 0;       ///< for __launch_bounds__; 0: unspecified
  int smem_bytes = 0;        ///< dynamic
  int stages = 0;            ///< k blocks in shared memory; 0: none
  int cluster = 1;           ///< CTAs, along N
  bool persistent = false;   ///< resident CTAs loop over tiles; else a 1-D grid of one CTA per tile
  bool specialised = false;  ///< producer and consumer warps, else all threads do the same
  int tiles_per_cta = 0;     ///< a persistent step's limit; 0: none
  Box a_box{}, b_box{}, d_box{};
  unsigned elements;        ///< bits
  bool probed = false;      ///< it has a build with cycle stamps
  double tflops = 0;        ///< as published; 0: not published
  const char* source = "";  ///< source of that figure: author, GPU and size
};

/// Why this step cannot compute a problem, or nullptr if it can.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const Step& step, long long m, long long n,
                                                        long long k) {
  constexpr long long kMaxExtent = 1LL << 20;  // positions in the tile order are 32-bit
  if (m < 1 || n < 1 || k < 1) return "M, N and K must be at least 1";
  if (m > kMaxExtent || n > kMaxExtent || k > kMaxExtent) return "M, N and K must be at most 2^20";
  if (m % step.tile_m != 0) return "M must be a multiple of the tile's rows";
  if (n % (step.tile_n * step.cluster) != 0) {
    return "N must be a multiple of the columns of the tiles of a cluster";
  }
  if (k % step.tile_k != 0) return "K must be a multiple of the tile's depth";
  return nullptr;
}

}  // namespace ladder
}  // namespace hgemm
