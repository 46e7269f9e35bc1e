// Shared by all kernel families: data types, the part of a problem that is compiled into a kernel,
// and the limits of the device.
//
// Compiled by the host compiler and by NVRTC, so it includes nothing.
#pragma once

#ifdef __CUDACC__
#define HGEMM_HOST_DEVICE __host__ __device__
#else
#define HGEMM_HOST_DEVICE
#endif

namespace hgemm {

enum class DataType : unsigned char {
  kBf16,
  kFp16,
  kFp32,
  kE4m3,  ///< 8 bits: sign, 4 of exponent, 3 of fraction; to 448, no infinity (OCP OFP8 E4M3)
  kE5m2,  ///< 8 bits: sign, 5 of exponent, 2 of fraction; to 57344 (OCP OFP8 E5M2)
};
HGEMM_HOST_DEVICE constexpr bool is_8_bit(DataType type) {
  return type == DataType::kE4m3 || type == DataType::kE5m2;
}
HGEMM_HOST_DEVICE constexpr int element_bytes(DataType type) {
  return type == DataType::kFp32 ? 4 : is_8_bit(type) ? 1 : 2;
}
/// The type of D where none is asked for.
HGEMM_HOST_DEVICE constexpr DataType default_output(DataType input) {
  return is_8_bit(input) ? DataType::kBf16 : input;
}

/// The type of C and the bias: that of D, or bf16 if D has 8 bits, as the library demands
/// (cuBLAS docs, cublasLtMatmul, types of 8-bit kernels).
HGEMM_HOST_DEVICE constexpr DataType addend_type(DataType output) {
  return is_8_bit(output) ? DataType::kBf16 : output;
}

/// The extent along which an operand is contiguous in memory: K, or the other one (M of A, N of B).
enum class Major : unsigned char { kK, kMn };

/// A vector that is added to the sums: an element for each column of D, or for each row.
enum class Bias : unsigned char { kNone, kAlongN, kAlongM };
enum class Activation : unsigned char {
  kNone,
  kRelu,
  kGelu,     ///< x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as cuBLASLt's
  kGeluErf,  ///< x / 2 (1 + erf(x / sqrt(2)))
  kSilu,     ///< x / (1 + exp(-x))
};
inline constexpr float kGeluScale = 0.7978845608f;  ///< sqrt(2 / pi)
inline constexpr float kGeluCube = 0.044715f;
inline constexpr float kHalfSqrt2 = 0.7071067812f;  ///< 1 / sqrt(2)

/// Whether the rows of B are gates and ups, in equal number, and D = activation(gate) * up has half
/// as many columns (GLU, SwiGLU, GeGLU: Shazeer, "GLU Variants Improve Transformer", 2020). Column
/// j of D belongs to
enum class Gate : unsigned char {
  kNone,
  kHalves,       ///< gate row j and up row N / 2 + j of B: two weights, one after the other
  kInterleaved,  ///< gate row 2 j and up row 2 j + 1
};

/// What is computed on the sums, in fp32, before they become D: activation(sum + C + bias), or with
/// `scaled` activation(alpha sum + beta C + bias). C and the bias have D's type (but see
/// addend_type()). With a gate: activation(sum of the gate) * sum of the up.
struct Epilogue {
  Bias bias = Bias::kNone;
  Activation activation = Activation::kNone;
  Gate gate = Gate::kNone;
  bool scaled = false;  ///< by numbers that a launch is given
  /// There is a second output, with D's type and leading dimension: what the activation is applied
  /// to, which the backward pass needs (cuBLASLt's "AUX" epilogues).
  bool aux = false;

  constexpr bool operator==(const Epilogue&) const = default;
};

/// Factors of 8-bit operands, fp32 numbers in device memory. They are applied to the sums before
/// all of the epilogue, which acts on scaled sums as on others.
enum class Scaling : unsigned char {
  kNone,
  kTensor,        ///< one number for A, one for B
  kRows,          ///< m numbers, one for each row of A, and n, one for each row of B
  kBlocks,        ///< for each kScaleBlock of K: one for each row of A, and for so many rows of B
  kRowBlocks,     ///< for each kScaleBlock of K: one for each row of A and of B
  kPackedBlocks,  ///< as kBlocks, but those of B have no padding
};
inline constexpr int kScaleBlock = 128;
/// Each block of K has scales of its own, which its sums are multiplied by before they are added
/// up. They lie in memory as cuBLASLt's VEC128_32F and BLK128x128_32F do. For rows: all rows'
/// number of the first block of K, then those of the next, each time scale_leading(rows) numbers
/// further. For blocks of B: the number of each block of K for its first 128 rows, then for the
/// next 128, each time scale_leading(blocks of K) numbers further. Packed ones follow one another
/// without a gap, as in checkpoints of DeepSeek-V3, and as vLLM and DeepGEMM take them.
HGEMM_HOST_DEVICE constexpr bool is_of_blocks(Scaling scaling) {
  return scaling == Scaling::kBlocks || scaling == Scaling::kRowBlocks ||
         scaling == Scaling::kPackedBlocks;
}
/// Whether kScaleBlock rows of B share the scale of a block of K.
HGEMM_HOST_DEVICE constexpr bool has_row_blocks_of_b(Scaling scaling) {
  return scaling == Scaling::kBlocks || scaling == Scaling::kPackedBlocks;
}
HGEMM_HOST_DEVICE constexpr long long scale_leading(long long numbers) {
  return (numbers + 3) / 4 * 4;  // 16 bytes
}
HGEMM_HOST_DEVICE constexpr long long scale_blocks(long long elements) {
  return (elements + kScaleBlock - 1) / kScaleBlock;
}

/// Where the scale of an 8-bit D is from, an fp32 number in device memory.
enum class OutputScaling : unsigned char {
  kGiven,  ///< one number that a launch is given, by which D is multiplied
  /// The kernel finds one for each row and each kScaleBlock columns of D, and writes it: the
  /// largest magnitude among them over the largest value of the type. D is divided by it. Scales
  /// lie as those of the rows of an A with scales of blocks do, so the next layer can read both.
  kBlocks,
};

/// The part of a GEMM problem that is compiled into its kernel.
struct GemmKind {
  DataType input = DataType::kBf16;  ///< of A and B (but see `b_is_other`)
  /// The type of D; sums are always fp32. If it has 8 bits, D is a number in device memory
  /// (scale_d) times what it would be otherwise, rounded to the nearest value, or the largest one
  /// beyond that (but see `output_scaling`).
  DataType output = DataType::kBf16;
  /// Rows of A, rows of B and depth, if the config makes them constants (`fixed`); otherwise 0.
  int m = 0, n = 0, k = 0;
  Major a_major = Major::kK;
  Major b_major = Major::kK;
  Epilogue epilogue = {};
  bool adds_c = false;  ///< C, which has D's leading dimension
  /// The kernel computes many independent products, each of which has tiles of its own.
  bool batched = false;
  /// With `batched`: the launch is given arrays of the addresses of their A, B and D.
  bool by_pointers = false;
  /// With 8-bit operands: B has the other 8-bit type than A.
  bool b_is_other = false;
  /// With 8-bit operands: the sums stay in the tensor cores to the end, which keep about 14 bits of
  /// them. Otherwise they are added up in fp32 registers now and then (TiledConfig::promote).
  bool fast_sums = false;
  Scaling scaling = Scaling::kNone;
  OutputScaling output_scaling = OutputScaling::kGiven;  ///< of a D of 8 bits

  constexpr bool operator==(const GemmKind&) const = default;
};

HGEMM_HOST_DEVICE constexpr bool finds_output_scales(const GemmKind& kind) {
  return kind.output_scaling == OutputScaling::kBlocks;
}
HGEMM_HOST_DEVICE constexpr bool has_given_output_scale(const GemmKind& kind) {
  return is_8_bit(kind.output) && !finds_output_scales(kind);
}

HGEMM_HOST_DEVICE constexpr DataType input_a(const GemmKind& kind) { return kind.input; }
HGEMM_HOST_DEVICE constexpr DataType input_b(const GemmKind& kind) {
  if (!kind.b_is_other) return kind.input;
  return kind.input == DataType::kE4m3 ? DataType::kE5m2 : DataType::kE4m3;
}

/// Whether D is more than the sums, and whether the epilogue reads a matrix or a vector.
HGEMM_HOST_DEVICE constexpr bool has_epilogue(const GemmKind& kind) {
  return kind.adds_c || kind.epilogue != Epilogue{};
}
HGEMM_HOST_DEVICE constexpr bool reads_operands(const GemmKind& kind) {
  return kind.adds_c || kind.epilogue.bias != Bias::kNone;
}
/// Whether alpha is all there is to the epilogue.
HGEMM_HOST_DEVICE constexpr bool is_only_scaled(const GemmKind& kind) {
  return !kind.adds_c && kind.epilogue == Epilogue{.scaled = true};
}
/// The activation of sums before they are stored first: none if they are the second output, too.
HGEMM_HOST_DEVICE constexpr Activation first_activation(const GemmKind& kind) {
  return kind.epilogue.aux ? Activation::kNone : kind.epilogue.activation;
}
HGEMM_HOST_DEVICE constexpr bool is_gated(const GemmKind& kind) {
  return kind.epilogue.gate != Gate::kNone;
}

/// Hint to L2 about an operand's lines: none, not needed again, or needed again (PTX ISA, "cache
/// eviction priority").
enum class CacheHint : unsigned char { kNone, kEvictFirst, kEvictLast };

/// How a tile of D is written.
enum class StorePath : unsigned char {
  kDirect,  ///< from registers to memory
  kTma,     ///< through shared memory, by the copy engine
  /// Through shared memory, by ordinary stores, which support any D. Stores of the copy engine
  /// begin and end at multiples of 16 bytes, whatever their tensor map says (measured on H200:
  /// other coordinates are an illegal instruction, and the last piece of a row is stored whole).
  kStaged,
  /// As kTma, but first kept in registers, and stored while the next tile is multiplied.
  kOverlapped,
};

/// The limits of a device that rules use. Defaults: sm_90 (H100, H200).
struct DeviceLimits {
  int smem_bytes_per_cta = 232448;     ///< cudaDevAttrMaxSharedMemoryPerBlockOptin, H200
  int registers_per_partition = 512;   ///< per lane: 64 K registers / 4 partitions / 32 lanes
  int max_registers_per_thread = 255;  ///< PTX ISA, sm_90
};

/// Shared memory of an SM, and what each of its CTAs takes of it for the system (cuda.h, H200).
inline constexpr int kSmemBytesPerSm = 233472;
inline constexpr int kReservedSmemBytes = 1024;

/// The unit in which the copy engine addresses memory: addresses and strides are multiples of 16
/// bytes (cuTensorMapEncodeTiled).
inline constexpr int kUnitBytes = 16;
HGEMM_HOST_DEVICE constexpr int unit_elements(DataType type) {
  return kUnitBytes / element_bytes(type);
}

/// Bytes of an element of 16-bit operands. 8-bit ones are K-major and are not packed.
inline constexpr int kInputBytes = 2;

inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kMmaM = 64;  ///< rows of one wgmma, PTX ISA "wgmma.mma_async"
inline constexpr int kMmaK = 16;  ///< depth of one wgmma for 16-bit types
/// Depth of one wgmma, 32 bytes of a row (PTX ISA: k16 for 16-bit types, k32 for 8-bit ones).
HGEMM_HOST_DEVICE constexpr int mma_k(DataType type) {
  return kMmaK * kInputBytes / element_bytes(type);
}
inline constexpr int kMaxStages = 16;
inline constexpr int kMaxClusterSplits = 8;  ///< a portable cluster (CUDA programming guide)

/// Bytes of a row of a shared-memory box with 128-byte swizzle, and rows of its atom.
inline constexpr int kSwizzleBytes = 128;
inline constexpr int kSwizzleRows = 8;
/// TMA limit on every box extent (cuTensorMapEncodeTiled: boxDim[i] <= 256).
inline constexpr int kMaxBoxRows = 256;

/// Registers per thread at kernel entry: the register file is allocated in units of 8 per thread.
/// Measured with ptxas 13.0, one CTA per SM: 256 threads -> 255, 384 -> 168, 512 -> 128.
HGEMM_HOST_DEVICE constexpr int entry_registers(int threads, int ctas_per_sm,
                                                const DeviceLimits& limits = {}) {
  const int warps_per_partition = (threads / 32 + 3) / 4 * ctas_per_sm;
  const int registers = limits.registers_per_partition / warps_per_partition / 8 * 8;
  return registers < limits.max_registers_per_thread ? registers : limits.max_registers_per_thread;
}

/// Each CTA on an SM, also a single one, reserves 1 KB in addition to its request
/// (cudaDevAttrReservedSharedMemoryPerBlock): each of two CTAs gets half of the SM's memory less 1
/// KB.
HGEMM_HOST_DEVICE constexpr int smem_limit(int ctas_per_sm, const DeviceLimits& limits) {
  return ctas_per_sm == 1 ? limits.smem_bytes_per_cta
                          : (limits.smem_bytes_per_cta + 1024) / ctas_per_sm - 1024;
}

}  // namespace hgemm
