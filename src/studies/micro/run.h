// Runs a microbenchmark on the GPU.
#pragma once

#include "worker/bench.h"

namespace hgemm {

/// `cubin` holds the kernels of the request's source (points.h).
Study run_micro(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

}  // namespace hgemm
