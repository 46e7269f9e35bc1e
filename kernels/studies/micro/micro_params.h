// Shared by the host and the microbenchmark kernels: parameters, results, and the layout of shared
// memory.
#pragma once

#ifdef __CUDACC__
#define HGEMM_MICRO_HOST_DEVICE __host__ __device__
#else
#define HGEMM_MICRO_HOST_DEVICE
#endif

namespace hgemm::micro {

/// Every kernel times its work three times: a first run to warm up the caches, a short one and a
/// long one. The cost of one operation is the slope (long - short) / (additional operations), which
/// cancels the cost of starting, draining and reading the clock.
inline constexpr int kSections = 3;
inline constexpr int kWarmUp = 0, kShort = 1, kLong = 2;

struct Lengths {
  int count[kSections];  ///< rounds of the kernel's loop
};

/// Start and end of a section for one actor (a CTA, or one of its warpgroups), on its SM's clock
/// and on the timer that all SMs share.
struct SectionTime {
  unsigned long long start_clk, stop_clk, start_ns, stop_ns;
};

/// For kernels that work on registers and shared memory. times[(cta * actors + actor) * kSections].
struct ComputeParams {
  const void* operands;  ///< 16-bit elements, kOperandBytes
  SectionTime* times;
  float* checksums;  ///< one per CTA: the result of the last round
  Lengths lengths;
  int row_bytes;  ///< stmatrix: pitch of a row
  int row_xor;    ///< stmatrix: 7 swizzles, 0 does not
};
inline constexpr int kOperandBytes = 1 << 19;

// ---- wgmma: a ring of stages of 128-byte rows, as in a main loop ----

inline constexpr int kSmemLimit = 232448;  ///< bytes of one CTA
inline constexpr int kRowBytes = 128;
inline constexpr int kATileBytes = 64 * kRowBytes;  ///< for one warpgroup and stage
/// k steps of 32 bytes that a row of 128 bytes holds
inline constexpr int kStepsPerStage = 4;

/// Bytes of a stage: an A tile per warpgroup unless A is in registers, and a B tile for all.
HGEMM_MICRO_HOST_DEVICE constexpr int wgmma_stage_bytes(int n, bool a_from_registers,
                                                        int warpgroups) {
  return n * kRowBytes + (a_from_registers ? 0 : warpgroups * kATileBytes);
}
/// Number of stages: four if they fit.
HGEMM_MICRO_HOST_DEVICE constexpr int wgmma_stages(int n, bool a_from_registers, int warpgroups) {
  return 4 * wgmma_stage_bytes(n, a_from_registers, warpgroups) <= kSmemLimit ? 4 : 3;
}
HGEMM_MICRO_HOST_DEVICE constexpr int wgmma_smem_bytes(int n, bool a_from_registers,
                                                       int warpgroups) {
  return wgmma_stages(n, a_from_registers, warpgroups) *
         wgmma_stage_bytes(n, a_from_registers, warpgroups);
}
/// Number of wgmmas in one round of the issue loop, which goes once around the ring. A round of the
/// latency loop is one stage.
HGEMM_MICRO_HOST_DEVICE constexpr int wgmma_per_round(int n, bool a_from_registers,
                                                      int warpgroups) {
  return wgmma_stages(n, a_from_registers, warpgroups) * kStepsPerStage;
}

/// wgmmas (k32) from one promotion of their sums to the next, every so many elements of K
HGEMM_MICRO_HOST_DEVICE constexpr int promoted_per_round(int every) { return every / 32; }

// ---- mma.sync ----

inline constexpr int kMmaChains = 8;  ///< independent accumulators of a warp in the issue loop
inline constexpr int kMmaPerRoundAndChain = 2;

// ---- stmatrix ----

inline constexpr int kStmatrixPerRound = 8;
inline constexpr int kStmatrixWarpBytes = 16 * 144;  ///< 16 rows of the widest pitch

// ---- Copies from global to shared memory: TMA boxes, bulk copies ----

/// The source is a matrix of `rows` x `columns` items. A CTA begins at item cta * chunk + first, in
/// row-major order, and steps on by (step_rows, step_columns), around the ends.
struct ItemWalk {
  unsigned rows, columns, first, chunk, step_rows, step_columns;
};

/// For TMA an item is a box of box_rows x box_columns, and the tensor map is a separate argument.
struct CopyParams {
  const void* source;       ///< for bulk copies: consecutive items
  SectionTime* times;       ///< [cta * kSections]
  unsigned* latencies_clk;  ///< latency kernel: one per copy of CTA 0 in the last section
  Lengths lengths;          ///< copies that a CTA issues: multiples of in_flight
  ItemWalk walk;
  int item_bytes, box_rows, box_columns;
  int in_flight;  ///< copies that a CTA has in flight
  int cluster;    ///< CTAs; if more than one, each copy goes to all of them
};
inline constexpr int kMaxInFlight = 16;
/// Barriers, before the slots, which are aligned to 1024 bytes.
inline constexpr int kCopyBarrierBytes = 1024;
static_assert(2 * kMaxInFlight * 8 <= kCopyBarrierBytes);
/// A slot has room for the items of all CTAs of a cluster.
HGEMM_MICRO_HOST_DEVICE constexpr int copy_smem_bytes(int item_bytes, int in_flight, int cluster) {
  return kCopyBarrierBytes + item_bytes * in_flight * cluster;
}

// ---- Plain loads ----

struct ReadParams {
  const void* source;
  SectionTime* times;  ///< [cta * kSections]
  unsigned* sink;
  Lengths lengths;           ///< rounds, each of 1 to 8 loads of 16 bytes per thread
  unsigned long long first;  ///< offset in bytes at which CTA 0 begins
  unsigned long long chunk;  ///< bytes from the beginning of one CTA to that of the next
  unsigned long long bytes;  ///< size of the source, a multiple of a round's; reading wraps around
};

struct StreamParams {
  const void* source;        ///< at a multiple of 16 bytes
  unsigned* sink;            ///< one number, which is never written
  unsigned long long units;  ///< of 16 bytes
};

// ---- Barriers and distributed shared memory ----

struct ClusterParams {
  SectionTime* times;  ///< [cta * kSections]
  unsigned* sink;
  Lengths lengths;
  int across;  ///< round trips: 1 with the other CTA of the cluster, 0 within the CTA
};
inline constexpr int kDsmemBytes = 64 * 1024;
inline constexpr int kDsmemLoadsPerRound = 4;  ///< loads of 16 bytes per thread, all in flight
inline constexpr int kChasesPerRound = 16;

// ---- What a wgmma keeps of a sum ----

/// One sum: the first rows of A and B (one step: 32 bytes), and the incoming accumulator.
struct AccumulatorCase {
  unsigned char a[32];
  unsigned char b[32];
  float c;
};
struct AccumulatorParams {
  const AccumulatorCase* cases;
  float* sums;  ///< one for each case
  int count;
};

// ---- wgmma beside TMA ----

/// Boxes are kFillBoxRows rows of 128 bytes; the tensor map is an argument of its own.
struct ContentionParams {
  const void* operands;
  SectionTime* times;  ///< [(cta * (warpgroups + 1) + actor) * kSections]; the last actor fills
  unsigned* boxes;     ///< one per CTA: boxes that arrived between the filler's start and stop
  float* checksums;    ///< one per CTA
  Lengths lengths;     ///< rounds of the issue loop
  int warpgroups;
  unsigned interval_clk;  ///< between two boxes; 0: as fast as they go
  int fills;              ///< 0: no boxes at all
  ItemWalk walk;
};
/// Large, because one thread issues at most one copy in about 300 cycles.
inline constexpr int kFillBoxRows = 256;
inline constexpr int kFillBoxBytes = kFillBoxRows * kRowBytes;
inline constexpr int kContentionStages = 2;
inline constexpr int kFillSlots = 3;
HGEMM_MICRO_HOST_DEVICE constexpr int contention_ring_bytes(int n, int warpgroups) {
  return kContentionStages * wgmma_stage_bytes(n, false, warpgroups);
}
HGEMM_MICRO_HOST_DEVICE constexpr int contention_smem_bytes(int n, int warpgroups) {
  return contention_ring_bytes(n, warpgroups) + kFillSlots * kFillBoxBytes + kFillSlots * 8;
}
static_assert(contention_smem_bytes(256, 2) <= kSmemLimit);

}  // namespace hgemm::micro
