// Which configs a search, a table or an export may choose from, as --pdl and --batch-invariant say.
#pragma once

#include "families/family.h"

namespace hgemm {

struct Allowed {
  PdlKind pdl = PdlKind::kWeights;  ///< the most that a kernel may do; kWeights: any kind
  /// Only kernels that give a row of D the same bits whatever M is (families/sum_order.h).
  bool batch_invariant = false;

  constexpr bool operator==(const Allowed&) const = default;
};

/// Whether a config may answer at problems at which any may (why_none_allowed()).
bool allows(const Allowed& allowed, const KernelConfig& config);
/// Why no config may answer at problems of this kind, or nullptr.
const char* why_none_allowed(const Allowed& allowed, const GemmKind& kind);
/// Both: whether a config may answer at problems of this kind.
bool allows(const Allowed& allowed, const KernelConfig& config, const GemmKind& kind);

}  // namespace hgemm
