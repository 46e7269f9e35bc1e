// Keeps the process in the one of its two modes in which launches follow one another faster.
#pragma once

#include "device/cuda.h"

namespace hgemm {

/// Enqueues a few empty kernels with the launch attribute of PDL. Call it before the launches that
/// are timed, outside of a graph.
///
/// After six launches in a row without that attribute (kernels, memsets or copies on a stream; what
/// graphs launch does not count), or once kernels have run on two streams at the same time, each
/// later launch starts 0.2 to 0.35 us later, also in graphs that were captured before. cuBLASLt's
/// algorithms that split K, which are two kernels that PDL joins, take 1.0 us more. A launch with
/// the attribute ends this; after two streams at once it takes more of them than of others.
/// Measured on H100s (driver 580.159.04, CUDA 13.0, 2026-11-26;
/// results/h100-80gb-hbm3/launch-modes.md); NVIDIA documents none of it.
void keep_launches_fast(const Stream& stream);

}  // namespace hgemm
