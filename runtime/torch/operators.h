/* What Python calls of libhgemm_tune_torch.so, which makes torch.ops.hgemm_tune. */
#pragma once

#include <stdint.h>

#include "hgemm_bundle.h"

extern "C" {

/* Rises when a function changes so that pytorch.py must, too. */
enum { HGEMM_TORCH_ABI = 3 };
HGEMM_BUNDLE_API int hgemm_torch_abi(void);

/* Defines the operators, once in a process. Not 0: hgemm_torch_error() says why not. */
HGEMM_BUNDLE_API int hgemm_torch_register(void);
HGEMM_BUNDLE_API const char* hgemm_torch_error(void);

/* The operators take kernels from this bundle from now on; null: from none. It must stay open until
 * another one is taken. Counts begin at 0. */
HGEMM_BUNDLE_API void hgemm_torch_use(hgemm_bundle* bundle, int only_gains);
/* Calls on CUDA devices since then: computed by the bundle's kernels, and by torch. */
HGEMM_BUNDLE_API void hgemm_torch_counts(int64_t* tuned, int64_t* others);

/* A call of linear() on a CUDA device whose tensors are contiguous. */
typedef struct {
  int64_t m, n, k;
  int32_t is_bf16; /* else fp16 */
  int32_t has_bias;
  const char* activation; /* null: none */
} hgemm_torch_linear;
/* Whether torch computes such calls. Whoever knows it need not call the operator. */
HGEMM_BUNDLE_API int hgemm_torch_falls_back(const hgemm_torch_linear* call);
/* Counts that many of them that were computed so. */
HGEMM_BUNDLE_API void hgemm_torch_count_fallbacks(const hgemm_torch_linear* call, int64_t count);
}
