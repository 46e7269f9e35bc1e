// The ladder: its steps by name, and the source that each is compiled from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"
#include "kernels/studies/ladder/steps.h"

namespace hgemm {

inline constexpr std::string_view kLadderStudy = "ladder";
/// The series of its samples; cublas' is kCublasLabel.
inline constexpr std::string_view kStepSeries = "step";

std::string_view to_string(ladder::Family family);  ///< "hopper", "cuda_core" or "tensor_core"

/// All steps of all families, each family from the bottom to the top.
const std::vector<ladder::Step>& ladder_steps();

/// "hopper.03" or a whole family, "hopper"; several with commas between. Once each, in the order of
/// ladder_steps(). Throws InputError for a name that is none, naming those that are.
std::vector<ladder::Step> chosen_ladder_steps(std::string_view names);

/// A step for one type of element.
struct LadderPoint {
  ladder::Step step;
  DataType dtype = DataType::kBf16;
};
/// "ladder.hopper.03_larger_tile.bf16"
std::string ladder_label(const LadderPoint& point);
/// None if it is not the label of a step there is, or not of a type that the step supports.
std::optional<LadderPoint> parse_ladder_label(std::string_view label);
bool supports(const ladder::Step& step, DataType dtype);

/// The translation unit of a step, as extern "C" __global__ void ladder_kernel(const
/// __grid_constant__ hgemm::LadderParams). `probe`: with cycle stamps.
std::string ladder_source(const LadderPoint& point, bool probe = false);

}  // namespace hgemm
