// Compares the sums of a kernel, or of the library, with exact ones on the GPU.
#pragma once

#include "worker/bench.h"

namespace hgemm {

/// One candidate (the label of a config, or kCublasLabel) at one problem, with each kind of data.
/// Its figures are those of add_figures(). Normal data also gives the verdict: errors within the
/// problem's tolerance.
Study run_accuracy(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

}  // namespace hgemm
