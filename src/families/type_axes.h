// Values of axes that the types of a problem rule out, whatever the other axes are.
#pragma once

#include "families/axis.h"
#include "kernels/swap_ab/rules.h"
#include "kernels/tiled/rules.h"

namespace hgemm {

/// Whether kernels for problems of this kind can have the axis's value, which is that of `value`.
template <class Config>
bool suits_types(const Axis<Config>& axis, const Config& value, const GemmKind& kind) {
  if constexpr (requires { value.promote; }) {
    const bool is_block = is_of_blocks(kind.scaling);
    if (axis.text.name == "promote") {
      return is_block ? value.promote == kScaleBlock : (value.promote != 0) == promotes_sums(kind);
    }
    if (axis.text.name == "bk") {
      return is_block ? value.bk == kScaleBlock : depth_is_valid(value, kind);
    }
  }
  return true;
}

}  // namespace hgemm
