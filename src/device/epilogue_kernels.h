// Epilogues in launches of their own: what finishes a library's product, and the reference.
#pragma once

#include <cuda_runtime_api.h>

#include "families/operands.h"
#include "gemm/problem.h"

namespace hgemm {

/// D = activation(product + beta C + bias), in fp32 and rounded once: what a program runs after a
/// library's GEMM that has no such epilogue. A D of 8 bits is scaled, too, or its scales are found.
/// `product` is what GemmProblem::product() computes (with the scales and alpha): D or the second
/// output, which are finished in place, or with a gate or a D of 8 bits m x n elements without
/// padding. With the kernels' own activations, and 16 bytes at a time where the rows of D are whole
/// units of them, so that memory is the bound. Nothing if the product is all.
void finish_product(const GemmProblem& problem, const void* product, const Operands& operands,
                    cudaStream_t stream);

/// The same in fp32, with the scales and alpha, and with the functions of CUDA's math library in
/// full precision, for all products of a batch. `product` is m x n sums of multiply_reference(),
/// which are scaled in place, `reference` what D should be, and `aux_reference` what the second
/// output should be (null without one), all without padding. `product` may be the same as
/// `reference` without a gate. Where D's scales are found, `reference` is without them.
void finish_reference(float* reference, float* aux_reference, float* product,
                      const GemmProblem& problem, const Operands& operands, cudaStream_t stream);

/// The scales of a D of 8 bits that are found, from what D is without them, in `reference`: for
/// each 128 columns those of all rows, without padding.
void find_scales(float* scales, const float* reference, const GemmProblem& problem,
                 cudaStream_t stream);

}  // namespace hgemm
