// The smallest peer: one thread for each element of D, in fp16, or with e4m3 operands and any
// scales. Copy it, and replace the kernel. Without 8-bit operands, leave out whatever has to do
// with scales, and say in the table that the peer knows nothing of them.
//
//     nvcc -shared -Xcompiler -fPIC -arch=sm_90a -Iinclude examples/peers/naive.cu -o naive.so
//     hgemm-tune race --peer ./naive.so --shapes 512x512x512.fp16
//     hgemm-tune race --peer ./naive.so --shapes 512x512x512.e4m3.scaling-blocks
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "hgemm_peer.h"

namespace {

constexpr std::int64_t kBlock = 128;

__device__ std::int64_t up4(std::int64_t value) { return (value + 3) / 4 * 4; }

/// The scale of A[row][l]. B's are the same, but with blocks.
__device__ float scale_of_row(int scaling, const float* scales, std::int64_t row, std::int64_t l,
                              std::int64_t rows) {
  switch (scaling) {
    case HGEMM_PEER_SCALING_TENSOR:
      return scales[0];
    case HGEMM_PEER_SCALING_ROWS:
      return scales[row];
    case HGEMM_PEER_SCALING_BLOCKS:
    case HGEMM_PEER_SCALING_ROW_BLOCKS:
    case HGEMM_PEER_SCALING_PACKED_BLOCKS:
      return scales[l / kBlock * up4(rows) + row];
    default:
      return 1;
  }
}
__device__ float scale_of_b(const hgemm_peer_problem& p, const float* scales, std::int64_t column,
                            std::int64_t l) {
  const std::int64_t k_blocks = (p.k + kBlock - 1) / kBlock;
  if (p.scaling == HGEMM_PEER_SCALING_BLOCKS) {
    return scales[column / kBlock * up4(k_blocks) + l / kBlock];
  }
  if (p.scaling == HGEMM_PEER_SCALING_PACKED_BLOCKS) {
    return scales[column / kBlock * k_blocks + l / kBlock];
  }
  return scale_of_row(p.scaling, scales, column, l, p.n);
}

template <class In, class Out>
__global__ void gemm(hgemm_peer_problem p, hgemm_peer_operands o) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= p.m || column >= p.n) return;
  const In* const a = static_cast<const In*>(o.a) + row * p.lda;
  const In* const b = static_cast<const In*>(o.b) + column * p.ldb;
  float sum = 0;
  for (std::int64_t l = 0; l < p.k; ++l) {
    sum += scale_of_row(p.scaling, o.scale_a, row, l, p.m) * static_cast<float>(a[l]) *
           scale_of_b(p, o.scale_b, column, l) * static_cast<float>(b[l]);
  }
  static_cast<Out*>(o.d)[row * p.ldd + column] = Out(sum);
}

bool has_types(const hgemm_peer_problem& p, int input, int output) {
  return p.a_type == input && p.b_type == input && p.d_type == output;
}

/// It needs nothing to get ready.
int open_peer(const char*, void**) { return 0; }
void close_peer(void*) {}
const char* error_of(void*) { return "the kernel was not launched"; }

/// One way to compute a problem in fp16, or from e4m3 to bf16; none for other types.
int variants(void*, const hgemm_peer_problem* p) {
  return has_types(*p, HGEMM_PEER_FP16, HGEMM_PEER_FP16) ||
         has_types(*p, HGEMM_PEER_E4M3, HGEMM_PEER_BF16);
}
const char* describe(void*, const hgemm_peer_problem*, int) { return "a thread for each element"; }
std::int64_t workspace_bytes(void*, const hgemm_peer_problem*, int) { return 0; }

int launch(void*, const hgemm_peer_problem* p, int, const hgemm_peer_operands* o,
           hgemm_peer_stream stream) {
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>((p->n + 31) / 32), static_cast<unsigned>((p->m + 7) / 8));
  if (p->a_type == HGEMM_PEER_E4M3) {
    gemm<__nv_fp8_e4m3, __nv_bfloat16><<<grid, block, 0, stream>>>(*p, *o);
  } else {
    gemm<__half, __half><<<grid, block, 0, stream>>>(*p, *o);
  }
  return cudaGetLastError() != cudaSuccess;
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const hgemm_peer kTable = {HGEMM_PEER_ABI,
                                    sizeof(hgemm_peer),
                                    "naive",
                                    "2",
                                    HGEMM_PEER_KNOWS_8_BIT | HGEMM_PEER_KNOWS_SCALES,
                                    0,
                                    open_peer,
                                    close_peer,
                                    error_of,
                                    variants,
                                    describe,
                                    workspace_bytes,
                                    launch};
  return &kTable;
}
