// Plain 16-byte loads from L2 or HBM: bytes per cycle against bytes in flight.
//
// Each thread issues kUnroll loads, then waits for all of them, so a CTA has threads x kUnroll x 16
// bytes in flight. The loads are volatile asm in program order (the compiler neither adds loads of
// the next round nor removes any). They are coalesced and skip the L1 (.cg). Each CTA walks through
// its own part of the source. The host chooses a source that fits in the L2, or one that is much
// larger.
#pragma once

#include "studies/micro/timing.cuh"

namespace hgemm::micro {

__device__ __forceinline__ uint4 load_cg(const unsigned char* address) {
  uint4 value;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address)
               : "memory");
  return value;
}

/// Launched with any number of threads.
template <int kUnroll>
__device__ __forceinline__ void time_reads(const ReadParams& params) {
  const auto* source = static_cast<const unsigned char*>(params.source);
  const u64 row_bytes = blockDim.x * 16ull;  // one load of all threads
  u64 offset = (params.first + blockIdx.x * params.chunk) % params.bytes;
  u32 seen = 0;
  timed_sections(
      params.lengths, threadIdx.x == 0 ? params.times + blockIdx.x * kSections : nullptr,
      [] { __syncthreads(); },
      [&](int, int rounds) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
          const unsigned char* address = source + offset + threadIdx.x * 16;
          uint4 values[kUnroll];
#pragma unroll
          for (int i = 0; i < kUnroll; ++i) values[i] = load_cg(address + i * row_bytes);
#pragma unroll
          for (int i = 0; i < kUnroll; ++i) {
            seen ^= values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
          }
          offset += kUnroll * row_bytes;
          if (offset >= params.bytes) offset -= params.bytes;
        }
        __syncthreads();  // the first thread's clock is that of the whole CTA
      });
  params.sink[blockIdx.x * blockDim.x + threadIdx.x] = seen;
}

/// Reads all once. Each CTA has a part, whose end may be shorter. The next launch may begin at
/// once: nothing that a launch reads depends on another.
template <int kUnroll>
__device__ __forceinline__ void stream(const StreamParams& params) {
  ptx::griddepcontrol_launch_dependents();
  const auto* source = static_cast<const unsigned char*>(params.source);
  constexpr u64 kLine = 8;  // of 128 bytes
  const u64 part = ((params.units + kLine - 1) / kLine + gridDim.x - 1) / gridDim.x * kLine;
  const u64 first = blockIdx.x * part;
  const u64 end = first + part < params.units ? first + part : params.units;
  const u64 step = blockDim.x;
  u64 unit = first + threadIdx.x;
  u32 seen = 0;
  const auto add = [&](const uint4& value) { seen ^= value.x ^ value.y ^ value.z ^ value.w; };
#pragma unroll 1
  for (; unit + (kUnroll - 1) * step < end; unit += kUnroll * step) {
    uint4 values[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) values[i] = load_cg(source + (unit + i * step) * 16);
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) add(values[i]);
  }
  for (; unit < end; unit += step) add(load_cg(source + unit * 16));
  if (params.units == 0) *params.sink = seen;
}

}  // namespace hgemm::micro
