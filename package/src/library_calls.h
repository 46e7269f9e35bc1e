// The part of hgemm_tuned.cu that runs a library where it is faster: that file includes it after
// its own types and helpers.
#pragma once

#include "library.h"
#include "library_table.h"

namespace {

/// Index in kLibraryRows of the library that is faster than the chosen kernel; -1: none is.
int library_of(const Choice& choice, const Operands& operands) {
  if (choice.source != HGEMM_TUNED_EXACT) return -1;
  for (const void* address : {operands.a, operands.b, static_cast<const void*>(operands.d)}) {
    if (!is_multiple_of(address, hgemm_tuned_library::kOperandUnit)) return -1;
  }
  for (const float* scale : {operands.scale_a, operands.scale_b}) {
    if (!is_multiple_of(scale, kUnitBytes)) return -1;
  }
  for (int i = 0; i < kLibraryRowCount; ++i) {
    if (&kRows[kLibraryRows[i].row] == choice.row) return i;
  }
  return -1;
}

/// Flags of kernels stay as they are: the library has what follows them.
std::size_t library_bytes(const hgemm_tuned_library::Plan& plan) {
  return plan.workspace_bytes() > 0 ? kFlagBytes + rounded(plan.workspace_bytes()) : 0;
}

/// The plan of a library; null if cuBLASLt cannot compute the problem.
hgemm_tuned_status find_plan(int library, hgemm_tuned_library::Plan** found) {
  Context* context = nullptr;
  if (const auto status = current_context(&context); status != HGEMM_TUNED_OK) return status;
  hgemm_tuned_library::Plan& plan = context->plans[library];
  *found =
      plan.is_usable(kLibraryRows[library], kRows[kLibraryRows[library].row]) ? &plan : nullptr;
  return HGEMM_TUNED_OK;
}

hgemm_tuned_status prepare_libraries() {
  for (int i = 0; i < kLibraryRowCount; ++i) {
    hgemm_tuned_library::Plan* plan = nullptr;
    if (const auto status = find_plan(i, &plan); status != HGEMM_TUNED_OK) return status;
  }
  return HGEMM_TUNED_OK;
}

/// Adds what the library of a problem needs to the bytes that its kernel needs: which of the two
/// runs depends on the addresses, which may not be known yet.
hgemm_tuned_status add_library_bytes(const Choice& choice, const Operands& operands,
                                     std::size_t* bytes) {
  const int library = library_of(choice, operands);
  if (library < 0) return HGEMM_TUNED_OK;
  hgemm_tuned_library::Plan* plan = nullptr;
  if (const auto status = find_plan(library, &plan); status != HGEMM_TUNED_OK) return status;
  if (plan != nullptr && library_bytes(*plan) > *bytes) *bytes = library_bytes(*plan);
  return HGEMM_TUNED_OK;
}

/// Whether a library computed the problem, or failed to; then `status` says which.
bool launch_library(cudaStream_t stream, const Choice& choice, const ProblemExtents& p,
                    const GemmKind& kind, const Operands& operands, void* workspace,
                    std::size_t bytes, void* cublas, hgemm_tuned_status* status) {
  const int library = library_of(choice, operands);
  if (library < 0) return false;
  if (kLibraryRows[library].library == Library::kGemmEx && cublas != nullptr) {
    *status = launch_cublas(stream, p, kind, operands, cublas);
    return true;
  }
  hgemm_tuned_library::Plan* plan = nullptr;
  *status = find_plan(library, &plan);
  if (*status != HGEMM_TUNED_OK) return true;
  if (plan == nullptr) {  // 8-bit operands, which cublasGemmEx lacks, are left to the kernel
    if (cublas == nullptr || is_8_bit(kind.input)) return false;
    *status = launch_cublas(stream, p, kind, operands, cublas);
    return true;
  }
  const std::size_t needed = library_bytes(*plan);
  if (needed > 0 && (workspace == nullptr || bytes < needed)) {
    *status = HGEMM_TUNED_SMALL_WORKSPACE;
  } else if (needed > 0 && !is_multiple_of(workspace, kWorkspaceUnit)) {
    *status = HGEMM_TUNED_MISALIGNED_WORKSPACE;
  } else {
    void* const scratch =
        needed > 0 ? static_cast<unsigned char*>(workspace) + kFlagBytes : nullptr;
    const bool ok = plan->run(stream, operands, scratch);
    *status = ok ? HGEMM_TUNED_OK : HGEMM_TUNED_CUBLAS_ERROR;
  }
  return true;
}

}  // namespace
