// Hardware counters of one launch: run_counters() of bench/bench.h, and what it is checked against.
// In a process that times nothing: the profiler slows launches.
#pragma once

#include <filesystem>

#include "bench/bench.h"

namespace hgemm {

/// The launch that run_counters() reads the counters of, after the same launches before it, between
/// cudaProfilerStart() and cudaProfilerStop(): for another profiler to count (`ncu
/// --profile-from-start off`).
void launch_for_profiler(const StudyRequest& request, const std::filesystem::path& cubin,
                         const Bench& bench);

}  // namespace hgemm
