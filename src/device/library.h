#pragma once

#include <cuda_runtime_api.h>

#include "compile/cubin.h"

namespace hgemm {

/// Loads a compiled kernel; the caller frees it with cudaLibraryUnload(). It loads exactly the
/// bytes that read_cubin() checked (which throws InputError). Throws CudaError if the driver
/// refuses them.
cudaLibrary_t load_library(const Cubin& cubin);

}  // namespace hgemm
