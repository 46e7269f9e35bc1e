// How a workspace is laid out, in packages and in the library that loads bundles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "families/launch_parts.h"

namespace hgemm_tuned_table {

constexpr std::uintptr_t kWorkspaceUnit = 256;
/// Flags come first in a workspace, in a region of one size for all kernels. A kernel leaves its
/// flags zero, and the next kernel relies on that. Partial sums are never stored in this region.
constexpr std::size_t kFlagBytes = 64 << 10;

struct WorkspaceLayout {
  std::size_t partials = 0, packed_a = 0, packed_b = 0;  ///< offsets
  std::size_t total = 0;
};
inline std::size_t rounded(std::size_t bytes) {
  return (bytes + kWorkspaceUnit - 1) / kWorkspaceUnit * kWorkspaceUnit;
}
inline WorkspaceLayout layout_of(const hgemm::WorkspaceBytes& bytes) {
  WorkspaceLayout layout;
  if (bytes.flags + bytes.packed_b == 0) return layout;
  layout.partials = kFlagBytes;
  layout.packed_a = layout.partials + rounded(bytes.partials);
  layout.packed_b = layout.packed_a + rounded(bytes.packed_a);
  layout.total = layout.packed_b + rounded(bytes.packed_b);
  return layout;
}

}  // namespace hgemm_tuned_table
