/* Problems, operands and answers of tuned GEMMs, as hgemm_tuned.h and hgemm_bundle.h have them.
 * Needs no header of CUDA.
 */
#ifndef HGEMM_TUNED_TYPES_H_
#define HGEMM_TUNED_TYPES_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  HGEMM_TUNED_OK = 0,
  HGEMM_TUNED_NULL_POINTER = 1, /* an operand that the problem has, or the place for an answer */
  HGEMM_TUNED_BAD_PROBLEM = 2,  /* an extent below 1 or above 2^30, a leading dimension that is
                                   shorter than a row, an unknown layout or epilogue, a gate
                                   with an odd n or with layout NT or TT, a batch below 0 or above
                                   2^25, a stride that is negative (HGEMM_TUNED_SHARED aside) or
                                   above 2^36, products that share elements of D, or pointers
                                   with a stride or for a single product */
  HGEMM_TUNED_BAD_DTYPE = 3,    /* an unknown type, or output; fast sums, scales or two types of
                                   A and B without 8 bits, or scales of D that are found, without
                                   a D of 8 bits */
  HGEMM_TUNED_MISALIGNED = 4,   /* no kernel here accepts the address of an operand */
  HGEMM_TUNED_NO_KERNEL = 5,    /* no kernel here computes the problem, and cuBLAS is not there or
                                   has no such epilogue */
  HGEMM_TUNED_SMALL_WORKSPACE = 6,      /* fewer bytes than hgemm_tuned_workspace_bytes() */
  HGEMM_TUNED_MISALIGNED_WORKSPACE = 7, /* not at a multiple of 256 bytes */
  HGEMM_TUNED_NO_HOPPER_GPU = 8,        /* no driver, no GPU, or the current one is not an sm_90 */
  HGEMM_TUNED_CUDA_ERROR = 9,           /* hgemm_tuned_last_cuda_error() has CUDA's code */
  HGEMM_TUNED_CUBLAS_ERROR = 10,
  /* hgemm_tuned_init_workspace() was not called for this address, or not in this CUDA context */
  HGEMM_TUNED_WORKSPACE_NOT_INITIALISED = 11
} hgemm_tuned_status;

/* Type of A and B. The last two have 8 bits: e4m3 without infinities (to 448), and e5m2. Kernels
 * for them take layout TN only, K at multiples of 16, and rows that begin at multiples of 16 bytes.
 */
typedef enum {
  HGEMM_TUNED_BF16 = 0,
  HGEMM_TUNED_FP16 = 1,
  HGEMM_TUNED_E4M3 = 2,
  HGEMM_TUNED_E5M2 = 3
} hgemm_tuned_dtype;
/* Type of D. SAME: that of A and B, or bf16 with 8-bit A and B. (There are kernels for fp16 beside
 * bf16, the other way round, and for 8 bits with 8-bit A and B only.) A D of 8 bits is `scale_d` of
 * the operands times what D would be otherwise, rounded to the nearest value, or beyond the largest
 * one to that (but see hgemm_tuned_output_scaling). C and the bias are then bf16, and there is no
 * second output. */
typedef enum {
  HGEMM_TUNED_OUTPUT_SAME = 0,
  HGEMM_TUNED_OUTPUT_FP32 = 1,
  HGEMM_TUNED_OUTPUT_BF16 = 2,
  HGEMM_TUNED_OUTPUT_FP16 = 3,
  HGEMM_TUNED_OUTPUT_E4M3 = 4,
  HGEMM_TUNED_OUTPUT_E5M2 = 5
} hgemm_tuned_output;

/* Factors of 8-bit A and B, which multiply the sums before all of the epilogue: fp32 numbers in
 * device memory that a kernel of the same stream may write before.
 *
 * With the last three each 128 of k, and the rest of k at the end, has scales of its own, and what
 * it adds to a sum is multiplied by them. They begin at multiples of 16 bytes. With
 * L = ceil(k / 128), and up4(x) for x rounded up to a multiple of 4, the scale of row i and block l
 * of k is scales[l * up4(rows) + i] where each row has its own, of up4(rows) * L numbers, and
 * scales[i / 128 * up4(L) + l] where 128 rows of B share one, of up4(L) * ceil(n / 128). Numbers
 * that rounding up adds are not used, and may be any. cuBLASLt's VEC128_32F and BLK128x128_32F lie
 * likewise. Packed blocks of B have no padding: scales[i / 128 * L + l], of L * ceil(n / 128)
 * numbers, as vLLM and DeepGEMM take them. */
typedef enum {
  HGEMM_TUNED_NO_SCALING = 0,
  HGEMM_TUNED_SCALING_TENSOR = 1, /* one number for A and one for B, also of a batch */
  HGEMM_TUNED_SCALING_ROWS = 2,   /* m numbers, for rows of A, and n for rows of B */
  HGEMM_TUNED_SCALING_BLOCKS = 3, /* for each 128 of k: of each row of A, and of 128 rows of B */
  HGEMM_TUNED_SCALING_ROW_BLOCKS = 4,   /* for each 128 of k: of each row of A, and of B */
  HGEMM_TUNED_SCALING_PACKED_BLOCKS = 5 /* as BLOCKS, and those of B have no padding */
} hgemm_tuned_scaling;

/* Where the scale of a D of 8 bits is from. With BLOCKS the kernel finds one for each row and each
 * 128 columns of D, and the rest of its columns at the end, and writes it to `scales_d` of the
 * operands: the largest magnitude among them over the largest value of the type (448 or 57344), and
 * not below 2^-96 over that. D is divided by it. With up4(x) for x rounded up to a multiple of 4,
 * the scale of row i and block j of columns is scales_d[j * up4(m) + i], of up4(m) * ceil(columns /
 * 128) numbers, which begin at a multiple of 16 bytes; those that rounding up adds are not written.
 * So D and its scales are the A and the scale_a of a problem with scales of blocks. */
typedef enum {
  HGEMM_TUNED_OUTPUT_SCALE_GIVEN = 0,  /* `scale_d` of the operands */
  HGEMM_TUNED_OUTPUT_SCALES_BLOCKS = 1 /* of single products */
} hgemm_tuned_output_scaling;

/* How A and B are stored. The first letter is A's: T is m rows of k elements, N is k rows of m. The
 * second is B's: N is n rows of k elements, T is k rows of n. D always has m rows of n, or of
 * n / 2 with a gate. With these letters the passes of a linear layer are TN (forward), TT (gradient
 * of the inputs) and NT (gradient of the weight). */
typedef enum {
  HGEMM_TUNED_TN = 0,
  HGEMM_TUNED_NN = 1,
  HGEMM_TUNED_NT = 2,
  HGEMM_TUNED_TT = 3
} hgemm_tuned_layout;

/* A vector that is added: an element for each column of D, or for each row. It has D's type, or
 * bf16 if D has 8 bits. */
typedef enum {
  HGEMM_TUNED_NO_BIAS = 0,
  HGEMM_TUNED_BIAS_ALONG_N = 1,
  HGEMM_TUNED_BIAS_ALONG_M = 2
} hgemm_tuned_bias;
typedef enum {
  HGEMM_TUNED_NO_ACTIVATION = 0,
  HGEMM_TUNED_RELU = 1,
  HGEMM_TUNED_GELU = 2,     /* with tanh */
  HGEMM_TUNED_GELU_ERF = 3, /* with erf */
  HGEMM_TUNED_SILU = 4
} hgemm_tuned_activation;

/* Whether the rows of B are gates and ups, as many of each, and D = activation(gates) * ups has n /
 * 2 columns (SwiGLU: HGEMM_TUNED_SILU). It goes without a bias, a C, factors and a second output,
 * and with layouts TN and NN. */
typedef enum {
  HGEMM_TUNED_NO_GATE = 0,
  HGEMM_TUNED_GATE_HALVES = 1,     /* the first n / 2 rows are gates */
  HGEMM_TUNED_GATE_INTERLEAVED = 2 /* row 2 j is a gate, and row 2 j + 1 its up */
} hgemm_tuned_gate;

/* A stride of A or B: all products of a batch have the same matrix. (cuBLAS says so with 0, which
 * here means no gap, as it means no padding in leading dimensions.) */
enum { HGEMM_TUNED_SHARED = -1 };

/* A leading dimension is the number of elements from one row to the next; 0: rows without padding.
 * The types are numbers, not enumerations, because callers may pass any value; calls refuse unknown
 * values. */
typedef struct {
  int64_t m, n, k;
  int32_t dtype; /* hgemm_tuned_dtype */
  int64_t lda, ldb, ldd;
  int32_t output; /* hgemm_tuned_output */
  int32_t layout; /* hgemm_tuned_layout */
  /* The epilogue. A kernel computes the one that it was tuned for, and no other. */
  int32_t bias;       /* hgemm_tuned_bias */
  int32_t activation; /* hgemm_tuned_activation */
  int32_t adds_c;     /* 1: C is added. It has D's type (bf16 if D has 8 bits), rows and leading
                       * dimension. It may be D if D has not 8 bits, but must not overlap D
                       * otherwise */
  int32_t gate;       /* hgemm_tuned_gate */
  /* Independent products, each as above; 0 and 1: a single one, whose strides have no meaning.
   * There are no kernels for a batch with an epilogue other than alpha. A stride is the number of
   * elements from one product's A, B or D to the next. 0: each begins after the last row of the one
   * before, with its padding. HGEMM_TUNED_SHARED: all products have the same A, or B. The products
   * may lie between the rows of one another, but must not share elements of D. */
  int64_t batch;
  int64_t stride_a, stride_b, stride_d;
  int32_t scaled; /* 1: alpha and beta of the operands count, which may differ in each call. Part of
                   * the epilogue: a kernel that was tuned without it computes no scaled problem */
  int32_t aux; /* 1: what the activation is applied to is written, too, as the backward pass needs
                * it. It lies as D does, in memory of its own. Part of the epilogue */
  int32_t by_pointers; /* 1: of a batch of 2 products or more, `a`, `b` and `d` of the operands are
                        * arrays in device memory, of `batch` addresses each. Strides are 0: the
                        * products lie anywhere, at multiples of 16 bytes, D's disjoint. (Nothing
                        * checks that, and results at other addresses are wrong.) The rows of A and
                        * B begin at multiples of 16 bytes, too. A kernel of the same stream may
                        * write the arrays before. Verified with driver 580.159.04: cuda.h does not
                        * promise the tensor maps that this takes */
  /* With 8-bit A and B: */
  int32_t b_is_other; /* 1: B has the other 8-bit type than A (`dtype`) */
  int32_t fast_sums; /* 1: sums may stay in the tensor cores to the end, which keep about 14 bits of
                      * them. 0: they are added up in fp32. A kernel that was tuned for one computes
                      * no problem of the other */
  int32_t scaling;   /* hgemm_tuned_scaling */
  int32_t output_scaling; /* hgemm_tuned_output_scaling, of a D of 8 bits */
} hgemm_tuned_problem;

/* Device addresses, and factors. `c` and `bias` are read, and `aux` is written, only if the problem
 * has them; alpha and beta count only if it is scaled, and beta only with a C, which is read even
 * if beta is 0. As the epilogue says, without rounding in between: D = activation(alpha A B^T +
 * beta C + bias). The scales are read only if the problem has them: the A B^T of 8-bit A and B is
 * then scale_a scale_b A B^T, or with scales of blocks the sum of that for each 128 of k. `scale_d`
 * is read only if D has 8 bits and is given its scale: a number in device memory, as the other
 * scales are. `scales_d` is written only if D's scales are found. */
typedef struct {
  const void* a;
  const void* b;
  void* d;
  const void* c;
  const void* bias;
  float alpha, beta;
  void* aux;
  const float* scale_a;
  const float* scale_b;
  const float* scale_d;
  float* scales_d;
} hgemm_tuned_operands;

/* How a kernel was chosen, in the order of the search. */
typedef enum {
  HGEMM_TUNED_EXACT = 0,       /* tuned for this shape */
  HGEMM_TUNED_BUCKET = 1,      /* tuned for this N and K, with another M or another batch */
  HGEMM_TUNED_NEAREST = 2,     /* tuned for the nearest shape whose kernel computes this one */
  HGEMM_TUNED_CUBLAS_ONLY = 3, /* no kernel here computes it, but cuBLAS may */
  HGEMM_TUNED_NONE = 4         /* nothing computes it: see `status` */
} hgemm_tuned_source;

typedef struct {
  hgemm_tuned_status status; /* why there is no kernel, otherwise HGEMM_TUNED_OK */
  hgemm_tuned_source source;
  const char* label; /* label of the kernel's config; null if there is none */
  int gain;          /* whether it was measured to be faster than cuBLAS at its tuned shape */
  int uses_cublas;   /* gemm() with a cuBLAS handle calls cuBLAS: no gain, or no kernel */
  /* The shape that the kernel was tuned for, and the measurements there: the medians of its time
   * and of its speed over cublasGemmEx's (with 8-bit A and B that of the first choice of cuBLASLt's
   * heuristic; with an epilogue other than alpha: and that of a second launch, which computes it),
   * with the 95 % interval of the latter (NaN: unknown). */
  int64_t tuned_m, tuned_n, tuned_k;
  double tuned_us, ratio_cublas, ratio_cublas_low, ratio_cublas_high;
  int uses_cublaslt;   /* a library was faster here: gemm() calls cuBLASLt instead, or cublasGemmEx.
                        * Only in packages of `hgemm-tune export --with-cublaslt` */
  int64_t tuned_batch; /* products of the shape that the kernel was tuned for; 1: a single one */
} hgemm_tuned_selection;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* HGEMM_TUNED_TYPES_H_ */
