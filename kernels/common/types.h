// What every kernel family shares: data types, what of a problem is compiled into a kernel, and the
// limits of the device.
//
// Compiled by the host compiler and by NVRTC, so it includes nothing.
#pragma once

#ifdef __CUDACC__
#define HGEMM_HOST_DEVICE __host__ __device__
#else
#define HGEMM_HOST_DEVICE
#endif

namespace hgemm {

enum class DataType : unsigned char { kBf16, kFp16, kFp32 };
HGEMM_HOST_DEVICE constexpr int element_bytes(DataType type) {
  return type == DataType::kFp32 ? 4 : 2;
}

/// The part of a GEMM problem that is compiled into its kernel.
struct GemmKind {
  DataType input = DataType::kBf16;   ///< of A and B
  DataType output = DataType::kBf16;  ///< of D; sums are fp32
  /// Rows of A, rows of B and depth, where the config makes them constants (`fixed`); else 0.
  int m = 0, n = 0, k = 0;

  constexpr bool operator==(const GemmKind&) const = default;
};

/// What L2 is told of an operand's lines: nothing, that they will not be needed again, or that they
/// will (PTX ISA, "cache eviction priority").
enum class CacheHint : unsigned char { kNone, kEvictFirst, kEvictLast };

/// How a tile of D is written.
enum class StorePath : unsigned char {
  kDirect,  ///< from registers to memory
  kTma,     ///< through shared memory, by the copy engine
  /// Through shared memory, by ordinary stores, which take any D: the copy engine's stores begin
  /// and end at multiples of 16 bytes, whatever their tensor map says (measured on H200:
  /// coordinates between them are an illegal instruction, and a row's last piece is stored whole).
  kStaged,
  kOverlapped,  ///< as kTma, but kept in registers first and stored while the next tile is
                ///< multiplied
};

/// What the rules need to know of a device. Defaults: sm_90 (H100, H200).
struct DeviceLimits {
  int smem_bytes_per_cta = 232448;     ///< cudaDevAttrMaxSharedMemoryPerBlockOptin, H200
  int registers_per_partition = 512;   ///< per lane: 64 K registers / 4 partitions / 32 lanes
  int max_registers_per_thread = 255;  ///< PTX ISA, sm_90
};

/// The unit in which the copy engine addresses memory: addresses and strides are multiples of 16
/// bytes (cuTensorMapEncodeTiled).
inline constexpr int kUnitBytes = 16;
HGEMM_HOST_DEVICE constexpr int unit_elements(DataType type) {
  return kUnitBytes / element_bytes(type);
}

/// Bytes of an element of A and B: types_are_supported() has 16-bit operands only.
inline constexpr int kInputBytes = 2;

inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kMmaM = 64;  ///< rows of one wgmma, PTX ISA "wgmma.mma_async"
inline constexpr int kMmaK = 16;  ///< depth of one wgmma for 16-bit types
inline constexpr int kMaxStages = 16;
inline constexpr int kMaxClusterSplits = 8;  ///< a portable cluster (CUDA programming guide)

/// Bytes of a row of a shared-memory box with 128-byte swizzle, and rows of its atom.
inline constexpr int kSwizzleBytes = 128;
inline constexpr int kSwizzleRows = 8;
/// TMA limit on every box extent (cuTensorMapEncodeTiled: boxDim[i] <= 256).
inline constexpr int kMaxBoxRows = 256;

/// Registers per thread at kernel entry: the register file is handed out in units of 8 per thread.
/// Measured with ptxas 13.0, one CTA per SM: 256 threads -> 255, 384 -> 168, 512 -> 128.
HGEMM_HOST_DEVICE constexpr int entry_registers(int threads, int ctas_per_sm,
                                                const DeviceLimits& limits = {}) {
  const int warps_per_partition = (threads / 32 + 3) / 4 * ctas_per_sm;
  const int registers = limits.registers_per_partition / warps_per_partition / 8 * 8;
  return registers < limits.max_registers_per_thread ? registers : limits.max_registers_per_thread;
}

/// Each CTA on an SM reserves 1 KB beside what it asks for
/// (cudaDevAttrReservedSharedMemoryPerBlock), one alone included: two have half of the SM's less
/// that.
HGEMM_HOST_DEVICE constexpr int smem_limit(int ctas_per_sm, const DeviceLimits& limits) {
  return ctas_per_sm == 1 ? limits.smem_bytes_per_cta
                          : (limits.smem_bytes_per_cta + 1024) / ctas_per_sm - 1024;
}

}  // namespace hgemm
