// A peer that misbehaves as its options say: "good", or one of the words of misbehave(). Each word
// concerns variant 1 only; variant 0 is always good, except where the word concerns opening. With
// "anything" it says that it computes whatever it is asked about.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "include/hgemm_peer.h"

#ifndef HGEMM_TEST_ABI
#define HGEMM_TEST_ABI HGEMM_PEER_ABI
#endif
#ifndef HGEMM_TEST_KNOWS
#define HGEMM_TEST_KNOWS 0
#endif

namespace {

struct State {
  std::string mode;
  std::string error;
  std::string text;
  cudaStream_t other = nullptr;
  int launches = 0;
};
State failed_to_open{.mode = "", .error = "the options say that it must fail", .text = ""};

template <class T>
__device__ T from_float(float value);
template <>
__device__ __nv_bfloat16 from_float(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ __half from_float(float value) {
  return __float2half_rn(value);
}
__device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ float to_float(__half value) { return __half2float(value); }

/// One thread for each element: slow, and obviously right.
template <class T>
__global__ void gemm(hgemm_peer_problem p, hgemm_peer_operands o, float factor) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= p.m || column >= p.n) return;
  float sum = 0;
  for (std::int64_t l = 0; l < p.k; ++l) {
    sum += to_float(static_cast<const T*>(o.a)[row * p.lda + l]) *
           to_float(static_cast<const T*>(o.b)[column * p.ldb + l]);
  }
  static_cast<T*>(o.d)[row * p.ldd + column] = from_float<T>(sum * factor);
}

__global__ void write_at(unsigned short* address) { *address = 1; }
__global__ void run_for_ever() {
  for (;;) __nanosleep(100);
}

/// Enqueues the product; `factor` 1 is right.
void compute(const hgemm_peer_problem& p, const hgemm_peer_operands& o, float factor,
             cudaStream_t stream) {
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>((p.n + 31) / 32), static_cast<unsigned>((p.m + 7) / 8));
  if (p.a_type == HGEMM_PEER_BF16) {
    gemm<__nv_bfloat16><<<grid, block, 0, stream>>>(p, o, factor);
  } else {
    gemm<__half><<<grid, block, 0, stream>>>(p, o, factor);
  }
}

/// What variant 1 does instead of computing, or beside it.
int misbehave(State& state, const hgemm_peer_problem& p, const hgemm_peer_operands& o,
              cudaStream_t stream) {
  auto* const d = static_cast<unsigned short*>(o.d);
  auto* const a = static_cast<unsigned short*>(const_cast<void*>(o.a));
  if (state.mode == "crashes") std::raise(SIGSEGV);
  if (state.mode == "exits") _exit(0);
  if (state.mode == "waits") pause();
  if (state.mode == "runs-for-ever") run_for_ever<<<1, 1, 0, stream>>>();
  if (state.mode == "illegal-address") write_at<<<1, 1, 0, stream>>>(nullptr);
  if (state.mode == "wrong") {
    compute(p, o, 1.1f, stream);  // the tolerance is that of libraries: some percent
    return 0;
  }
  if (state.mode == "nan") return 0;  // D keeps its poison
  if (state.mode == "fails") {
    state.error = "it does not like\nthis problem";
    return 1;
  }
  compute(p, o, 1, stream);
  if (state.mode == "writes-after-d") write_at<<<1, 1, 0, stream>>>(d + p.m * p.ldd);
  if (state.mode == "writes-before-d") write_at<<<1, 1, 0, stream>>>(d - 1);
  if (state.mode == "writes-inputs") write_at<<<1, 1, 0, stream>>>(a);
  if (state.mode == "synchronises") return cudaStreamSynchronize(stream) != cudaSuccess;
  return 0;
}

/// Right when it is launched, absent from a graph.
int launch_elsewhere(State& state, const hgemm_peer_problem& p, const hgemm_peer_operands& o) {
  compute(p, o, 1, state.other);
  if (++state.launches == 1) cudaStreamSynchronize(state.other);
  return 0;
}

State& state_of(void* state) { return *static_cast<State*>(state); }

int open_peer(const char* options, void** state) {
  const std::string mode = options;
  if (mode == "crashes-on-open") std::abort();
  if (mode == "refuses-to-open") return 1;
  auto* const opened = new State{.mode = mode, .error = "", .text = ""};
  if (mode == "elsewhere") cudaStreamCreateWithFlags(&opened->other, cudaStreamNonBlocking);
  *state = opened;
  return 0;
}
void close_peer(void* state) { delete static_cast<State*>(state); }
const char* error_of(void* state) {
  return (state == nullptr ? failed_to_open : state_of(state)).error.c_str();
}

int variants(void* state, const hgemm_peer_problem* p) {
  const std::string& mode = state_of(state).mode;
  if (mode == "anything") return 1;
  if (p->a_type == HGEMM_PEER_FP32 || p->d_type != p->a_type) return 0;
  if (mode == "none") return 0;
  if (mode == "all-crash") return 10;
  return mode == "good" || mode.empty() ? 1 : 2;
}
const char* describe(void* state, const hgemm_peer_problem*, int variant) {
  state_of(state).text = "naive, variant " + std::to_string(variant);
  return state_of(state).text.c_str();
}
std::int64_t workspace_bytes(void* state, const hgemm_peer_problem*, int variant) {
  return state_of(state).mode == "asks-for-too-much" && variant == 1 ? std::int64_t{1} << 45 : 256;
}

int launch(void* state, const hgemm_peer_problem* p, int variant, const hgemm_peer_operands* o,
           hgemm_peer_stream stream) {
  State& own = state_of(state);
  if (own.mode == "all-crash") std::abort();
  if (variant == 0) {
    compute(*p, *o, 1, stream);
    return 0;
  }
  return own.mode == "elsewhere" ? launch_elsewhere(own, *p, *o) : misbehave(own, *p, *o, stream);
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const hgemm_peer kTable = {
      HGEMM_TEST_ABI, sizeof(hgemm_peer), "naive",  "1.0",    HGEMM_TEST_KNOWS, 0,     open_peer,
      close_peer,     error_of,           variants, describe, workspace_bytes,  launch};
  return &kTable;
}
