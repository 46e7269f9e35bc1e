// A microbenchmark on the GPU.
#pragma once

#include <filesystem>

#include "worker/bench.h"

namespace hgemm {

/// `cubin` holds the kernels of the request's source (points.h).
Study run_micro(const StudyRequest& request, const std::filesystem::path& cubin,
                const Bench& bench);

}  // namespace hgemm
