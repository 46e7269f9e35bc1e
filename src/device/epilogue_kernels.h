// Epilogues in launches of their own: what finishes a library's product, and the reference.
#pragma once

#include <cuda_runtime_api.h>

#include "families/operands.h"
#include "gemm/problem.h"

namespace hgemm {

/// D = activation(D + C + bias) in place, in fp32 and rounded once: what a program runs after a
/// library's GEMM that has no such epilogue. At memory speed where the rows of D are whole units of
/// 16 bytes. Nothing for a plain problem.
void finish_in_place(const GemmProblem& problem, const Operands& operands, cudaStream_t stream);

/// The same for the fp32 reference, m x n without padding, with the functions of CUDA's math
/// library in full precision.
void finish_reference(float* reference, const GemmProblem& problem, const Operands& operands,
                      cudaStream_t stream);

}  // namespace hgemm
