// The kernel families as one type: a config is a tagged value of one family, and so is a kernel,
// which is a config made for a kind of problem. Functions for any kernel are here; the families
// differ in kernels/<family> and in <family> of this folder. A new family is added to the two lists
// below.
//
// Needs only kernels/, because the packages that `export` writes contain a copy.
#pragma once

#include <variant>

#include "kernels/gemv/rules.h"
#include "kernels/swap_ab/rules.h"
#include "kernels/tiled/rules.h"

namespace hgemm {

using KernelConfig = std::variant<TiledConfig, SwapAbConfig, GemvConfig>;
using Kernel = std::variant<TiledKernel, SwapAbKernel, GemvKernel>;

inline int threads_per_cta(const Kernel& kernel) {
  return std::visit([](const auto& k) { return threads_per_cta(k); }, kernel);
}
/// CTAs of a cluster.
inline int cluster_size(const Kernel& kernel) {
  return std::visit([](const auto& k) { return cluster_size(k); }, kernel);
}
inline int ctas_per_sm(const Kernel& kernel) {
  return std::visit([](const auto& k) { return k.ctas_per_sm; }, kernel);
}
/// Bytes of dynamic shared memory of a launch.
inline int smem_bytes(const Kernel& kernel) {
  return std::visit([](const auto& k) { return smem_layout(k).total_bytes; }, kernel);
}
/// Whether A and B may be packed by a launch before the kernel's.
inline bool packs(const Kernel& kernel) {
  return std::visit([](const auto& k) { return packs(k); }, kernel);
}
/// Whether it is launched with programmatic dependent launch.
inline bool uses_pdl(const Kernel& kernel) {
  return std::visit([](const auto& k) { return k.pdl; }, kernel);
}
/// Whether its clusters are numbered by their GPC: it then takes NumberedParams.
inline bool is_numbered(const Kernel& kernel) {
  return std::visit(
      [](const auto& k) {
        if constexpr (requires { k.gpc; }) return k.gpc;
        return false;
      },
      kernel);
}
inline GemmKind kind_of(const Kernel& kernel) {
  return std::visit([](const auto& k) { return k.gemm; }, kernel);
}
/// Why the kernel cannot compute a problem of its types with these extents, or nullptr.
inline const char* why_unsupported(const Kernel& kernel, const ProblemExtents& extents) {
  return std::visit([&](const auto& k) { return why_unsupported(k, extents); }, kernel);
}

}  // namespace hgemm
