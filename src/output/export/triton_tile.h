// A config as Triton has it. Internal to export.
#pragma once

#include <optional>

#include "families/family.h"

namespace hgemm {

struct TritonTile {
  int block_m = 0, block_n = 0, block_k = 0;
  int group_m = 0;  ///< tiles along M of a band
  int num_warps = 0, num_stages = 0;

  bool operator==(const TritonTile&) const = default;
};

/// None for kernels that multiply by CUDA cores.
std::optional<TritonTile> triton_tile(const KernelConfig& config);

}  // namespace hgemm
