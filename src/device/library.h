#pragma once

#include <cuda_runtime_api.h>

#include "compile/cubin.h"

namespace hgemm {

/// Loads a compiled kernel, for cudaLibraryUnload(): of the file just the bytes that were checked
/// (read_cubin(), which throws InputError). Throws CudaError if the driver refuses them.
cudaLibrary_t load_library(const Cubin& cubin);

}  // namespace hgemm
