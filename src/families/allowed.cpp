#include "families/allowed.h"

#include "families/sum_order.h"

namespace hgemm {

bool allows(const Allowed& allowed, const KernelConfig& config) {
  if (allowed.batch_invariant && why_bits_follow_m(sum_order(config)) != nullptr) return false;
  return allowed.pdl == PdlKind::kWeights || pdl_kind(config) <= allowed.pdl;
}

const char* why_none_allowed(const Allowed& allowed, const GemmKind& kind) {
  return allowed.batch_invariant ? why_bits_follow_m(kind) : nullptr;
}

bool allows(const Allowed& allowed, const KernelConfig& config, const GemmKind& kind) {
  return why_none_allowed(allowed, kind) == nullptr && allows(allowed, config);
}

}  // namespace hgemm
