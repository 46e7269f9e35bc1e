// Label = identity of a config: database key, --config argument, log line.
//   bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16
#pragma once

#include <string>
#include <string_view>

#include "kernels/config.h"

namespace hgemm {

/// Fields in order: bm, bn, bk, q (stages), c (cluster_m x cluster_n), coop (consumer warpgroups
/// that cooperate on one tile), d (mma_depth), tile order (linear | group<G> | hilbert), epilogue
/// (direct | tma), persist | single, bf16 | fp16; and probe1 if the build has cycle stamps.
std::string label(const KernelConfig& config);

/// Inverse of label(). Throws InputError that names the field at fault and what it must look like.
/// Accepts exactly what label() writes; does not judge validity (why_invalid does).
KernelConfig parse_label(std::string_view text);

}  // namespace hgemm
