/* The interface of a peer: a kernel from anywhere that races against hgemm-tune's own and against
 * cuBLAS, under the same protocol. Plain C, version 2.
 *
 *     nvcc -shared -Xcompiler -fPIC -arch=sm_90a -I.../include my_peer.cu -o my_peer.so
 *     hgemm-tune race --peer ./my_peer.so --shapes llama7b.yaml
 *
 * A peer is a shared library that exports one function, hgemm_peer_table(). The library is loaded
 * only inside a worker process of hgemm-tune: a crash, a hang or a wrong result of a peer costs one
 * trial. The worker is single-threaded and calls the functions below one at a time, in this order:
 *
 *     open()                                  once, after the CUDA context was made current
 *     variants(problem)                       once for each problem
 *     describe(), workspace_bytes()           once for each variant
 *     launch()                                many times
 *     close()                                 at the end of the process, unless it was killed
 *
 * How a variant is judged: D is filled with NaN, launch() runs once on an idle GPU, and D is
 * compared with an fp32 reference. Memory around D and the padding between its rows must keep the
 * NaN, and A and B must keep their content. Then launch() is captured into a CUDA graph, the graph
 * is replayed, and D is compared once more. That graph is what is timed.
 *
 * Rules for launch():
 *   - It enqueues work on the given stream only, and returns without waiting for it.
 *   - The stream may be capturing a CUDA graph: no allocation, no synchronisation, no blocking
 *     copies, no work on other streams (unless forked from this one and joined again by events).
 *     Do such things in open() or workspace_bytes(), or in the first launch(), which is never
 *     captured.
 *   - Every call computes D anew from A and B. Pointers differ from call to call.
 *   - Host time of launch() is not part of the measured time.
 */
#ifndef HGEMM_PEER_H
#define HGEMM_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. A library with another number is refused. */
#define HGEMM_PEER_ABI 2

/* A name has 1 to 32 characters of a-z, 0-9, _ and -. */
#define HGEMM_PEER_LONGEST_NAME 32

/* Variants of one problem beyond this number are not raced. */
#define HGEMM_PEER_MOST_VARIANTS 64

/* Types of matrix elements. E4M3 and E5M2 have 8 bits (OCP OFP8, as __nv_fp8_e4m3 and
 * __nv_fp8_e5m2): A and B both have such a type, not always the same one, or neither has. D never
 * has. */
enum {
  HGEMM_PEER_BF16 = 1,
  HGEMM_PEER_FP16 = 2,
  HGEMM_PEER_FP32 = 3,
  HGEMM_PEER_E4M3 = 4,
  HGEMM_PEER_E5M2 = 5
};

/* What a problem may ask for beyond A * B in 16 or 32 bits: bits of hgemm_peer.knows. A peer is
 * asked about a problem only if it knows everything that the problem asks for, so a peer need not
 * look at the rest of the struct. Later versions of the program may have more bits. */
enum {
  /* A and B of 8 bits: E4M3 and E5M2, and `accumulator` */
  HGEMM_PEER_KNOWS_8_BIT = 1,
  /* scales: `scaling`, and scale_a and scale_b of the operands */
  HGEMM_PEER_KNOWS_SCALES = 2
};

/* How sums are kept. Results of the second kind are less exact, so it is another problem. */
enum {
  /* In fp32. Hopper's tensor cores keep about 14 bits of a sum of 8-bit products, so a kernel adds
   * them up in registers ("promotes" them) every 512 products or more often. */
  HGEMM_PEER_SUMS_FP32 = 0,
  /* In the tensor cores to the end, which cuBLASLt calls fast accumulation. More exact sums are
   * right, too. Only with 8-bit operands. */
  HGEMM_PEER_SUMS_FAST = 1
};

/* Factors of the operands: each product A[i][l] * B[j][l] is multiplied by a scale of A and by one
 * of B. They are fp32 numbers in device memory. With up4(x) = x rounded up to a multiple of 4: */
enum {
  HGEMM_PEER_SCALING_NONE = 0,
  /* scale_a[0] and scale_b[0] */
  HGEMM_PEER_SCALING_TENSOR = 1,
  /* scale_a[i], of m numbers, and scale_b[j], of n */
  HGEMM_PEER_SCALING_ROWS = 2,
  /* 1 x 128 blocks of A and 128 x 128 blocks of B:
   * scale_a[l / 128 * up4(m) + i] and scale_b[j / 128 * up4(ceil(k / 128)) + l / 128] */
  HGEMM_PEER_SCALING_BLOCKS = 3,
  /* 1 x 128 blocks of both:
   * scale_a[l / 128 * up4(m) + i] and scale_b[l / 128 * up4(n) + j] */
  HGEMM_PEER_SCALING_ROW_BLOCKS = 4,
  /* the blocks of SCALING_BLOCKS, those of B without padding:
   * scale_a[l / 128 * up4(m) + i] and scale_b[j / 128 * ceil(k / 128) + l / 128] */
  HGEMM_PEER_SCALING_PACKED_BLOCKS = 5
};

/* D[i][j] = sum over l of A[i][l] * B[j][l], accumulated in fp32. All matrices are row-major; A is
 * m x k, B is n x k, D is m x n (BLAS calls this TN: a linear layer with weight B). A peer is not
 * asked about problems of other layouts, with an epilogue, or about batches. */
typedef struct hgemm_peer_problem {
  int64_t m, n, k;
  int64_t lda, ldb, ldd; /* elements from one row to the next; at least k, k and n */
  int32_t a_type, b_type, d_type;
  int32_t accumulator; /* HGEMM_PEER_SUMS_FP32 unless the peer knows 8-bit operands */
  int32_t scaling;     /* HGEMM_PEER_SCALING_NONE unless the peer knows scales */
  int32_t reserved;    /* 0 */
} hgemm_peer_problem;

/* Device pointers, aligned to 16 bytes at least. D is write-only: its old content is not a number.
 */
typedef struct hgemm_peer_operands {
  const void* a;
  const void* b;
  void* d;
  void* workspace; /* aligned to 256 bytes; its content is undefined at the first launch, and what
                      other kernels left there at later ones; NULL if no bytes were asked for */
  const float* scale_a; /* in the order that the problem's scaling says; NULL if it has none */
  const float* scale_b;
} hgemm_peer_operands;

/* The same type as cudaStream_t and CUstream. */
typedef struct CUstream_st* hgemm_peer_stream;

/* What a peer consists of. A function that returns an int returns 0 for success; otherwise the
 * worker asks error() for the reason, which stands in the table of results. */
typedef struct hgemm_peer {
  uint32_t abi;        /* HGEMM_PEER_ABI */
  uint32_t table_size; /* sizeof(hgemm_peer) */
  const char* name;    /* short, of the characters above: "cutlass"; the user may give another */
  const char* version; /* for people: "4.2.1"; one line */
  uint32_t knows;      /* bits of HGEMM_PEER_KNOWS_*; 0: products in 16 or 32 bits */
  uint32_t reserved;   /* 0 */

  /* Gets ready. `options` is the text that the user gave after the file name, or "". `*state` is
   * handed to all other functions. */
  int (*open)(const char* options, void** state);
  void (*close)(void* state);
  /* Why the last call failed: one line. Valid until the next call. `state` is NULL if open()
   * failed. */
  const char* (*error)(void* state);

  /* The number of ways to compute the problem; 0 if there is none; negative for an error. */
  int (*variants)(void* state, const hgemm_peer_problem* problem);
  /* One line for people about a variant, 0 <= variant < variants(): "128x256x64, ping-pong". Valid
   * until the next call. */
  const char* (*describe)(void* state, const hgemm_peer_problem* problem, int variant);
  /* Bytes of device memory that a launch may write; negative for an error. */
  int64_t (*workspace_bytes)(void* state, const hgemm_peer_problem* problem, int variant);

  int (*launch)(void* state, const hgemm_peer_problem* problem, int variant,
                const hgemm_peer_operands* operands, hgemm_peer_stream stream);
} hgemm_peer;

#if defined(__GNUC__)
#define HGEMM_PEER_EXPORT __attribute__((visibility("default")))
#else
#define HGEMM_PEER_EXPORT
#endif

/* The one function that a peer defines. The table lives as long as the library. */
HGEMM_PEER_EXPORT const hgemm_peer* hgemm_peer_table(void);

#ifdef __cplusplus
}
#endif
#endif
