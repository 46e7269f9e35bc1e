// All microbenchmarks, as values. Each has a label that names all its axes, and the source of its
// kernel. Points that differ only in arguments of the kernel (data, threads, bytes in flight) share
// one source text, so that it is compiled once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hgemm {

inline constexpr std::string_view kMicroStudy = "micro";

/// Types of an instruction: accumulators, then operands.
enum class MmaTypes : std::uint8_t {
  kF32Bf16,
  kF32F16,
  kF16F16,
  kF32E4m3,
  kF16E4m3,
  kF32E5m2,  ///< only where values matter: it takes the times of e4m3
};
enum class MicroData : std::uint8_t { kRandom, kZeros };
/// kIssue keeps the pipe full; kLatency waits for each operation before the next.
enum class MicroPace : std::uint8_t { kIssue, kLatency };
enum class MemoryLevel : std::uint8_t { kL2, kHbm };
enum class MicroSwizzle : std::uint8_t { kNone, k32, k64, k128 };
enum class StmatrixRows : std::uint8_t { kSwizzled, kPadded, kPlain };
enum class SmemOwner : std::uint8_t { kOwn, kPeer };
/// How a thread waits at a barrier: with a poll that returns at once, or one that may suspend it.
enum class BarrierWait : std::uint8_t { kTest, kTry };
enum class Extent : std::uint8_t { kOneSm, kAllSms };

/// wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1: cycles per instruction and SM.
struct WgmmaPoint {
  int n = 128;
  MmaTypes types = MmaTypes::kF32Bf16;
  bool a_from_registers = false;
  MicroData data = MicroData::kRandom;
  MicroPace pace = MicroPace::kIssue;
  int warpgroups = 1;
  bool operator==(const WgmmaPoint&) const = default;
};
/// promoted.m64n128k32.every128.wg2: wgmma (f32 <- e4m3, ss, random) whose sums are added to fp32
/// registers every so many elements of K, or with `never` (0) are not: cycles per instruction and
/// SM. The kernels with `never` differ from wgmma's in the registers that they may have.
struct PromotedPoint {
  int n = 128;
  int every = 128;
  int warpgroups = 2;
  bool operator==(const PromotedPoint&) const = default;
};
inline constexpr int kPromotedWarpgroups = 2;  ///< at most
/// mma.m16n8k16.f32.bf16.random.issue.w4: cycles per instruction and SM, over all warps.
struct MmaPoint {
  MmaTypes types = MmaTypes::kF32Bf16;
  MicroData data = MicroData::kRandom;
  MicroPace pace = MicroPace::kIssue;
  int warps = 4;
  bool operator==(const MmaPoint&) const = default;
};
/// tma.box64x64.sw128.mc1.l2.issue.q4: copies boxes of bf16 (rows x columns), q of them in flight
/// per CTA; mc: number of CTAs that each box goes to.
struct TmaPoint {
  int box_rows = 64;
  int box_columns = 64;
  MicroSwizzle swizzle = MicroSwizzle::k128;
  int multicast = 1;
  MemoryLevel level = MemoryLevel::kL2;
  MicroPace pace = MicroPace::kIssue;
  int in_flight = 1;
  bool operator==(const TmaPoint&) const = default;
};
/// bulk.b8192.l2.issue.q4: one-dimensional bulk copies.
struct BulkPoint {
  int bytes = 8192;
  MemoryLevel level = MemoryLevel::kL2;
  MicroPace pace = MicroPace::kIssue;
  int in_flight = 1;
  bool operator==(const BulkPoint&) const = default;
};
/// read.l2.t512.u4: each of t threads per SM has u loads of 16 bytes in flight.
struct ReadPoint {
  MemoryLevel level = MemoryLevel::kL2;
  int threads = 512;
  int unroll = 4;
  bool operator==(const ReadPoint&) const = default;
};
/// stream.kib16384.pdl.t1024.u4: launches one after another that each read so many KiB of their own
/// from HBM, and do nothing else, as a GEMM of few rows reads its weights. `pdl`: with programmatic
/// dependent launch, so that one begins while the one before it ends.
struct StreamPoint {
  int kib = 16384;
  bool pdl = true;
  int threads = 1024;  ///< per SM, each with u loads of 16 bytes in flight
  int unroll = 4;
  bool operator==(const StreamPoint&) const = default;
};
/// mbarrier.own.test: between two warps of a CTA, waiting with test_wait in a loop;
/// mbarrier.peer.try: between the CTAs of a cluster, waiting with try_wait.
struct MbarrierPoint {
  SmemOwner owner = SmemOwner::kOwn;
  BarrierWait wait = BarrierWait::kTest;
  bool operator==(const MbarrierPoint&) const = default;
};
/// smem.peer.issue.t256: loads of a peer's shared memory (DSMEM), or of the CTA's own.
struct SmemPoint {
  SmemOwner owner = SmemOwner::kPeer;
  MicroPace pace = MicroPace::kIssue;
  int threads = 32;
  bool operator==(const SmemPoint&) const = default;
};
/// stmatrix.x4.swizzled.w4: stores by w warps.
struct StmatrixPoint {
  StmatrixRows rows = StmatrixRows::kSwizzled;
  int warps = 4;
  bool operator==(const StmatrixPoint&) const = default;
};
/// accumulator.f32.e4m3: the bits that a wgmma keeps of a sum.
struct AccumulatorPoint {
  MmaTypes types = MmaTypes::kF32E4m3;
  bool operator==(const AccumulatorPoint&) const = default;
};
/// contention.m64n256k16.wg2.fill48.one: wgmma (f32 <- bf16, ss, random) while TMA fills other
/// stages, at this many bytes per cycle if possible.
struct ContentionPoint {
  int n = 256;
  int warpgroups = 2;
  int fill_bytes_per_clk = 0;
  Extent extent = Extent::kOneSm;
  bool operator==(const ContentionPoint&) const = default;
};

using MicroPoint =
    std::variant<WgmmaPoint, PromotedPoint, MmaPoint, TmaPoint, BulkPoint, ReadPoint, StreamPoint,
                 MbarrierPoint, SmemPoint, StmatrixPoint, AccumulatorPoint, ContentionPoint>;

/// K of one instruction, its FLOPs, and the peak of an SM's dense tensor cores in FLOP per cycle.
int mma_k(MmaTypes types);
double wgmma_flops(const WgmmaPoint& point);
double mma_flops();
double peak_flops_per_clk(MmaTypes types);

std::string micro_label(const MicroPoint& point);
/// The point of a label; none if the text is not a label. The point may be impossible.
std::optional<MicroPoint> read_micro(std::string_view label);
/// The point of a label. Throws InputError if the text is not a label, or the point is impossible.
MicroPoint parse_micro(std::string_view label);
/// Why there cannot be such a point (the broken rule); none if it is possible.
std::optional<std::string> why_impossible(const MicroPoint& point);

/// The largest number of warpgroups with which the point's wgmma kernel can be launched; registers
/// limit it.
int max_warpgroups(const WgmmaPoint& point);

/// NVRTC's input, and the kernel's name in it.
std::string micro_source(const MicroPoint& point);
std::string micro_kernel(const MicroPoint& point);

struct MicroPlan {
  std::vector<MicroPoint> points;
  struct LeftOut {
    std::string label;
    std::string reason;
  };
  std::vector<LeftOut> left_out;  ///< impossible points of the plan's axes
};
/// The default plan covers every axis for the types that matter; `full` is the cross product of the
/// axes of each family.
MicroPlan micro_plan(bool full);

/// The points of the default plan that `only` selects: labels, prefixes of labels, or patterns with
/// * and ?, separated by commas; empty: all. A pattern without a match there is looked up in the
/// full plan. Throws InputError for a pattern that matches nothing.
MicroPlan micro_plan(bool full, std::string_view only);

}  // namespace hgemm
