// The smallest peer: one thread for each element of D, in fp16. Copy it, and replace the kernel.
//
//     nvcc -shared -Xcompiler -fPIC -arch=sm_90a -Iinclude examples/peers/naive.cu -o naive.so
//     hgemm-tune race --peer ./naive.so --shapes 512x512x512.fp16
#include <cuda_fp16.h>

#include <cstdint>

#include "hgemm_peer.h"

namespace {

__global__ void gemm(hgemm_peer_problem p, const __half* a, const __half* b, __half* d) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= p.m || column >= p.n) return;
  float sum = 0;
  for (std::int64_t l = 0; l < p.k; ++l) {
    sum += __half2float(a[row * p.lda + l]) * __half2float(b[column * p.ldb + l]);
  }
  d[row * p.ldd + column] = __float2half_rn(sum);
}

/// It needs nothing to get ready.
int open_peer(const char*, void**) { return 0; }
void close_peer(void*) {}
const char* error_of(void*) { return "the kernel was not launched"; }

/// One way to compute a problem in fp16, none for other types.
int variants(void*, const hgemm_peer_problem* p) {
  return p->a_type == HGEMM_PEER_FP16 && p->b_type == HGEMM_PEER_FP16 &&
         p->d_type == HGEMM_PEER_FP16;
}
const char* describe(void*, const hgemm_peer_problem*, int) { return "a thread for each element"; }
std::int64_t workspace_bytes(void*, const hgemm_peer_problem*, int) { return 0; }

int launch(void*, const hgemm_peer_problem* p, int, const hgemm_peer_operands* o,
           hgemm_peer_stream stream) {
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>((p->n + 31) / 32), static_cast<unsigned>((p->m + 7) / 8));
  gemm<<<grid, block, 0, stream>>>(*p, static_cast<const __half*>(o->a),
                                   static_cast<const __half*>(o->b), static_cast<__half*>(o->d));
  return cudaGetLastError() != cudaSuccess;
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const hgemm_peer kTable = {HGEMM_PEER_ABI, sizeof(hgemm_peer), "naive",  "1",
                                    open_peer,      close_peer,         error_of, variants,
                                    describe,       workspace_bytes,    launch};
  return &kTable;
}
