// The GPU half of the studies: each runs one request in this process. The worker calls them; what
// fails in a way that may have cost the CUDA context is a CudaError. Any other Error that they
// throw becomes a study with the status launch_failed and its message; but InputError, for what is
// not the study's fault and would meet others too (no permission, no room), ends the whole run.
#pragma once

#include <filesystem>

#include "gpu/device.h"
#include "measure/session.h"
#include "study/lab.h"

namespace hgemm {

/// All that a study needs of this process. `on_step` announces what is about to run and for how
/// long, so that a hang is told from long work.
struct Bench {
  const Gpu& device;
  const Nvml* nvml;  ///< nullptr where it is not there
  const OnStep& on_step;
};

/// `cubin` holds the kernels of the request's source (study/micro_points.h).
Study run_micro(const StudyRequest& request, const std::filesystem::path& cubin,
                const Bench& bench);

/// Cycle stamps of a probed config. Of a ladder step: run_ladder_probe (bench/ladder.h).
Study run_probe(const StudyRequest& request, const std::filesystem::path& cubin,
                const Bench& bench);

/// Hardware counters of one launch of a config, a ladder step or a baseline ("cublas",
/// "cublaslt.<index>").
Study run_counters(const StudyRequest& request, const std::filesystem::path& cubin,
                   const Bench& bench);

/// A ladder step, verified, then timed in turns with cublas, rested (measure/protocol.h).
Study run_ladder(const StudyRequest& request, const std::filesystem::path& cubin,
                 const Bench& bench);

/// A chain of GEMMs (bench/chain.h) by its configs without PDL, by those with it, and by cublas:
/// verified link by link, then timed in turns in the sustained regime. A launch of its samples is
/// the whole chain.
Study run_chain(const StudyRequest& request, const Cubins& cubins, const Bench& bench);

}  // namespace hgemm
