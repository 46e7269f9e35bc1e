// Runs a probed config on the GPU.
#pragma once

#include "worker/bench.h"

namespace hgemm {

/// `cubin` holds the plain and the probed kernel of the request's config.
Study run_probe(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

}  // namespace hgemm
