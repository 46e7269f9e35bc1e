// Hardware counters of one launch, in a process that times nothing: the profiler slows launches.
#pragma once

#include "worker/bench.h"

namespace hgemm {

/// Hardware counters of one launch of a config, a ladder step or a baseline ("cublas",
/// "cublaslt.<index>").
Study run_counters(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

/// The launch that run_counters() reads the counters of, after the same launches before it, between
/// cudaProfilerStart() and cudaProfilerStop(): for another profiler to count (`ncu
/// --profile-from-start off`).
void launch_for_profiler(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

}  // namespace hgemm
