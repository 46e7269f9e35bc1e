// Reads hardware counters of one launch, in a process that times nothing, because profiling slows
// launches.
#pragma once

#include "worker/bench.h"

namespace hgemm {

/// Reads the hardware counters of one launch of a config, a ladder step or a baseline ("cublas",
/// "cublaslt.<index>").
Study run_counters(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

/// Runs the launch that run_counters() counts, after the same launches before it, between
/// cudaProfilerStart() and cudaProfilerStop(), so that another profiler can count it (`ncu
/// --profile-from-start off`).
void launch_for_profiler(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

}  // namespace hgemm
