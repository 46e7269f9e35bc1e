// The PTX instructions of the kernels, one function each, named after the instruction.
// Sources: PTX ISA 9.0, sections named beside each group.
#pragma once

#include "common/params.h"
#include "common/types.h"

namespace hgemm {

using u32 = unsigned;
using u64 = unsigned long long;

/// A wait longer than this is a bug in the kernel: it traps, and the launch fails instead of
/// hanging the GPU. 0: waits have no limit. The limit is below 2^32, because waits read only the
/// timer's low word: a producer has no registers to spare.
///
/// Only builds of the tuner have a limit, by this macro. In a program that uses an exported kernel
/// a wait may last long: a debugger, time slicing or a suspended process stops the GPU, and a trap
/// would end the CUDA context of the whole process.
#ifdef HGEMM_WAIT_LIMIT_NS
inline constexpr u32 kWaitLimitNs = HGEMM_WAIT_LIMIT_NS;
#else
inline constexpr u32 kWaitLimitNs = 0;
#endif

namespace ptx {

__device__ __forceinline__ u32 smem_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

/// Nanoseconds modulo 2^32.
__device__ __forceinline__ u32 globaltimer_low_ns() {
  u32 ns;
  asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(ns));
  return ns;
}

/// Traps if a wait that began at `start_ns` exceeds the limit.
__device__ __forceinline__ void check_wait(u32 start_ns) {
  if constexpr (kWaitLimitNs != 0) {
    if (globaltimer_low_ns() - start_ns > kWaitLimitNs) asm volatile("trap;");
  }
}
/// The time at which a wait begins; not read if waits have no limit.
__device__ __forceinline__ u32 wait_start_ns() {
  if constexpr (kWaitLimitNs != 0) return globaltimer_low_ns();
  return 0;
}

/// Traps if shared memory does not begin at a swizzle atom: atoms would be split, and the sums
/// would be wrong. CUDA aligns shared memory as declared, so exported builds do not check.
__device__ __forceinline__ void check_swizzle_alignment(u32 smem_base) {
  if constexpr (kWaitLimitNs != 0) {
    if (smem_base % 1024 != 0) asm volatile("trap;");
  }
}

// ---- mbarrier ("Parallel Synchronization and Communication Instructions: mbarrier") ----

__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialised barriers visible to the cluster and to the copy engine.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Arrives at the barrier with the same offset in CTA `rank` of the cluster. It may overtake
/// ordinary reads and writes of this thread: without a scope an arrival orders them for its own CTA
/// only.
__device__ __forceinline__ void mbarrier_arrive_cluster(u32 barrier, u32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// The same, after this thread's earlier reads and writes are done for the whole cluster.
__device__ __forceinline__ void mbarrier_arrive_cluster_release(u32 barrier, u32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// mbarrier_arrive_cluster(), if `arrives`. There is no branch, so that other instructions may lie
/// around it.
__device__ __forceinline__ void mbarrier_arrive_cluster_if(bool arrives, u32 barrier, u32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      ".reg .pred arrives;\n"
      "setp.ne.s32 arrives, %2, 0;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "@arrives mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank), "r"(static_cast<int>(arrives))
      : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// If `arrives`, without a branch.
__device__ __forceinline__ void mbarrier_arrive_if(bool arrives, u32 barrier) {
  asm volatile(
      "{\n"
      ".reg .pred arrives;\n"
      "setp.ne.s32 arrives, %1, 0;\n"
      "@arrives mbarrier.arrive.shared::cta.b64 _, [%0];\n"
      "}" ::"r"(barrier),
      "r"(static_cast<int>(arrives))
      : "memory");
}
__device__ __forceinline__ bool mbarrier_try_wait(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
/// Waits for the phase with this parity to complete, for at most kWaitLimitNs.
__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity) {
  if (mbarrier_try_wait(barrier, parity)) return;
  const u32 start_ns = wait_start_ns();
  while (!mbarrier_try_wait(barrier, parity)) check_wait(start_ns);
}

/// A zero that the compiler does not know: grids are one-dimensional.
__device__ __forceinline__ u32 unknown_zero() {
  u32 zero;
  asm("mov.u32 %0, %%ctaid.z;" : "=r"(zero));
  return zero;
}

// ---- Clusters ("barrier.cluster", special register %cluster_ctarank) ----

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// The threads of a warp need not be converged at a cluster barrier, and warps may be at different
/// places of the program. Every thread that has not ended must arrive, and must wait before it
/// arrives again.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
/// The same, if threads only wait for one another. It makes nothing visible except initialised
/// barriers, which have their own fence (fence_mbarrier_init). A release would wait until every
/// earlier write of the CTA has reached memory.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
__device__ __forceinline__ void cluster_sync_relaxed() {
  cluster_arrive_relaxed();
  cluster_wait();
}
/// The same for the threads of a CTA ("barrier").
__device__ __forceinline__ void cta_sync() { asm volatile("barrier.cta.sync 0;" ::: "memory"); }

/// The address with the same offset in CTA `rank` of the cluster ("mapa").
__device__ __forceinline__ u32 map_to_rank(u32 address, u32 rank) {
  u32 remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}
/// Writes four values to another CTA's shared memory; their bytes complete on a barrier there
/// ("st.async").
__device__ __forceinline__ void store_async_v4(u32 remote, const float* values,
                                               u32 remote_barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(remote),
      "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(remote_barrier)
      : "memory");
}

/// Writes one value in the same way.
__device__ __forceinline__ void store_async(u32 remote, u32 value, u32 remote_barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(remote),
      "r"(value), "r"(remote_barrier)
      : "memory");
}

// ---- Programmatic dependent launch ("griddepcontrol") ----

/// Waits until the kernels before this one have completed and their writes are visible.
__device__ __forceinline__ void griddepcontrol_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// ---- One thread of a warp ("elect.sync") ----

/// Whether this thread is the one that a warp elects, always the same. All threads of the warp call
/// it together. Copies by the copy engine belong behind it, rather than behind `lane == 0`: only
/// then does ptxas know that one thread is active. Otherwise each copy is a loop over the active
/// threads, which costs some 100 cycles (analysis/kernel-notes.md, "One thread that ptxas knows to
/// be alone").
__device__ __forceinline__ bool elect_one() {
  u32 elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected)::"memory");
  return elected != 0;
}

// ---- Named barriers ("bar") ----

/// Waits until `kThreads` threads have arrived at barrier `id` of the CTA, including those that
/// wait.
template <int kThreads>
__device__ __forceinline__ void named_barrier_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}
template <int kThreads>
__device__ __forceinline__ void named_barrier_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

// ---- wgmma ("Asynchronous Warpgroup Level Matrix Instructions") ----

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// ---- Memory that CTAs share ("Memory Consistency Model"), and prefetches ("prefetch") ----

__device__ __forceinline__ void prefetch_l1(const void* address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address) : "memory");
}

/// Stores and loads through L2, for data that another SM reads or wrote.
__device__ __forceinline__ void store_v4(float* address, const float* values) {
  asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(values[0]),
               "f"(values[1]), "f"(values[2]), "f"(values[3])
               : "memory");
}
__device__ __forceinline__ void load_v4(float* values, const float* address) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "l"(address)
               : "memory");
}
/// Loads 16 bytes that are not read again.
__device__ __forceinline__ uint4 load_once(const uint4* address) {
  uint4 value;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address)
               : "memory");
  return value;
}
__device__ __forceinline__ void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}
/// Stores a flag. A thread that sees it also sees this thread's earlier writes, and those that it
/// knows of through a barrier.
__device__ __forceinline__ void store_release(u32* flag, u32 value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
__device__ __forceinline__ u32 load_acquire(const u32* flag) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
/// Adds to a counter. A thread that sees the sum also sees this thread's earlier writes, and those
/// that it knows of through a barrier.
__device__ __forceinline__ void add_release(u32* counter, u32 value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}
/// Returns the value before the addition. Relaxed, because it orders no other access.
__device__ __forceinline__ u32 atomic_add(u32* address, u32 value) {
  u32 before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(value)
               : "memory");
  return before;
}
/// Waits for at most kWaitLimitNs.
__device__ __forceinline__ void wait_until_set(const u32* flag) {
  const u32 start_ns = wait_start_ns();
  while (load_acquire(flag) == 0) check_wait(start_ns);
}
__device__ __forceinline__ void wait_until_is(const u32* counter, u32 value) {
  const u32 start_ns = wait_start_ns();
  while (load_acquire(counter) != value) check_wait(start_ns);
}

// ---- Registers and output ----

/// NaN if one of them is ("max.NaN").
__device__ __forceinline__ float max_nan(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}

template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// Two fp32 values rounded to nearest even and packed, `low` in the low half: of a word, or of 8
/// bits in the low half of a word. Beyond the largest 8-bit value that is the result, and NaN stays
/// NaN (PTX ISA, "cvt": .satfinite).
template <DataType kType>
__device__ __forceinline__ u32 pack(float low, float high) {
  static_assert(element_bytes(kType) <= 2, "fp32 values stay what they are");
  u32 packed;
  if constexpr (is_8_bit(kType)) {
    unsigned short bytes;
    if constexpr (kType == DataType::kE4m3) {
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bytes) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bytes) : "f"(high), "f"(low));
    }
    packed = bytes;
  } else if constexpr (kType == DataType::kBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
}
/// Copies the bits of a value to another register.
__device__ __forceinline__ u32 copy_bits(float value) {
  u32 bits;
  asm volatile("mov.b32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
/// Converts back to fp32, exactly.
template <DataType kType>
__device__ __forceinline__ void unpack(u32 packed, float& low, float& high) {
  static_assert(element_bytes(kType) == 2, "only 16-bit types come in pairs");
  if constexpr (kType == DataType::kBf16) {
    low = __uint_as_float(packed << 16);
    high = __uint_as_float(packed & 0xffff0000u);
  } else {
    asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.f32.f16 %0, low;\n"
        "cvt.f32.f16 %1, high;\n}"
        : "=f"(low), "=f"(high)
        : "r"(packed));
  }
}
/// Stores four 8x8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i
/// / 8.
__device__ __forceinline__ void stmatrix_x4(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
__device__ __forceinline__ void stmatrix_x2(u32 address, u32 r0, u32 r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0),
               "r"(r1)
               : "memory");
}

/// Stores them transposed: lane i gives the address of column i % 8 of matrix i / 8.
__device__ __forceinline__ void stmatrix_x4_transposed(u32 address, u32 r0, u32 r1, u32 r2,
                                                       u32 r3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(r0), "r"(r1), "r"(r2), "r"(r3)
      : "memory");
}
/// The 8x8 matrix of 16-bit elements that a warp holds, two in each lane, transposed ("movmatrix").
__device__ __forceinline__ u32 transposed(u32 pair) {
  u32 result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

/// Stores two of them transposed: lane i % 16 gives the address of column i % 8 of matrix i / 8.
__device__ __forceinline__ void stmatrix_x2_transposed(u32 address, u32 r0, u32 r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(r0), "r"(r1)
               : "memory");
}
/// Loads four 8x8 matrices of 16-bit elements, as stmatrix_x4 stores them.
__device__ __forceinline__ void ldmatrix_x4(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_transposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x2_transposed(u32 (&r)[2], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
}
/// Copies four bytes to shared memory; complete after this thread's copy_async_wait_all().
__device__ __forceinline__ void copy_async(u32 target, const float* source) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target), "l"(source) : "memory");
}
__device__ __forceinline__ void copy_async_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
__device__ __forceinline__ u32 load_shared(u32 address) {
  u32 value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
/// One 16-bit element, in the low half.
__device__ __forceinline__ u32 load_shared_u16(u32 address) {
  unsigned short value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}
__device__ __forceinline__ void load_shared_v2(float (&values)[2], u32 address) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(values[0]), "=f"(values[1])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void store_shared(u32 address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
/// The low half of a word.
__device__ __forceinline__ void store_shared_u16(u32 address, u32 value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(static_cast<unsigned short>(value))
               : "memory");
}
__device__ __forceinline__ void store_shared_v2(u32 address, u32 first, u32 second) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second)
               : "memory");
}
/// Stores to the same offset in CTA `rank` of the cluster.
__device__ __forceinline__ void store_to_rank(u32 address, u32 rank, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(map_to_rank(address, rank)), "f"(value)
               : "memory");
}
__device__ __forceinline__ uint4 load_shared_unit(u32 address) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}
__device__ __forceinline__ void store_shared_unit(u32 address, const uint4& value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}
__device__ __forceinline__ void load_shared_v4(float* values, u32 address) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(address)
               : "memory");
}

}  // namespace ptx
}  // namespace hgemm
