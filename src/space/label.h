// Label = identity of a config: database key, --config argument, log line.
//   bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16
//   bm128.bn192.bk64.q4.c2x1.pp2.d1.nsnake8.tma.persist.bf16.blast.p128
#pragma once

#include <string>
#include <string_view>

#include "kernels/config.h"

namespace hgemm {

/// Fields in order: bm, bn, bk, q (stages), c (cluster_m x cluster_n), consumer warpgroups by how
/// they share the work (coop<C>: rows of a tile, cols<C>: its columns, pp<C>: tiles in turn,
/// swap<C>: 64 columns each, of the kernel for few rows; vec<C>: that for vectors, four warps
/// each), d (mma_depth), tile order (linear | hilbert, or in bands of rows group<G> | snake<G>, of
/// columns ngroup<G> | nsnake<G>), epilogue (direct | tma | staged | late), walk (persist | dynamic
/// | single | split<S> | csplit<S> | stream), bf16 | fp16.
///
/// Then, each only where it is not the default: what L2 is told of A, B and D (afirst | alast,
/// bfirst | blast, dfirst | dlast), its promotion (p64 | p128), two CTAs on an SM (cta2),
/// programmatic dependent launch (pdl), A and B copied first where they must be (pack), the only
/// problem that the kernel is made for, whose extents
/// are constants in it (for<M>x<N>x<K>), and probe1 for a build with cycle stamps.
std::string label(const KernelConfig& config);

/// The name of the kernel that is built for the config, as profilers and sanitizers show it: the
/// label, made an identifier (hgemm_bm128_bn256_...).
std::string kernel_name(const KernelConfig& config);
/// Of the one that packs A and B before it.
std::string pack_kernel_name(const KernelConfig& config);

/// Inverse of label(). Throws InputError that names the field at fault and what it must look like.
/// Accepts exactly what label() writes; does not judge validity (why_invalid does).
KernelConfig parse_label(std::string_view text);

}  // namespace hgemm
