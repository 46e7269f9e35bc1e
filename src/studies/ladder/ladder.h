// The ladder: its steps by name, and the source of each. Its last steps are no kernels of its own:
// the best known config of the tuner, and the same with operands of 8 bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"
#include "kernels/studies/ladder/steps.h"

namespace hgemm {

inline constexpr std::string_view kLadderStudy = "ladder";
/// The series of a step's samples; the series of cublas is kCublasLabel.
inline constexpr std::string_view kStepSeries = "step";

std::string_view to_string(ladder::Family family);  ///< "hopper", "cuda_core" or "tensor_core"

/// All steps of all families that have kernels of their own; within a family from the slowest
/// design to the fastest.
const std::vector<ladder::Step>& ladder_steps();

/// The steps after them, of the Hopper family: "tuned", the best known config of the tuner at the
/// ladder's problem, and "e4m3", the best known one where A and B are e4m3.
const std::vector<ladder::Step>& tuned_ladder_steps();
bool is_tuned(const ladder::Step& step);
/// The type of A and B of a tuned step at a problem of the type `dtype`.
DataType operand_type(const ladder::Step& step, DataType dtype);

/// Steps by name: "hopper.03", a whole family "hopper", or several separated by commas. Each is
/// returned once, in the order of ladder_steps() and tuned_ladder_steps(). Throws InputError that
/// lists the names if one is unknown.
std::vector<ladder::Step> chosen_ladder_steps(std::string_view names);

/// A step with an element type.
struct LadderPoint {
  ladder::Step step;
  DataType dtype = DataType::kBf16;  ///< of A and B
  std::string config = {};           ///< of a tuned step: the label of its config
};
/// "ladder.hopper.03_larger_tile.bf16"; of a tuned step its config.
std::string ladder_label(const LadderPoint& point);
/// What the point computes in the ladder of `problem`: that, but with its own type of A and B.
GemmProblem problem_of(const LadderPoint& point, const GemmProblem& problem);
/// None unless it is the label of an existing step with a type that the step supports.
std::optional<LadderPoint> parse_ladder_label(std::string_view label);
bool supports(const ladder::Step& step, DataType dtype);

/// The translation unit of a step that is not tuned. Its kernel is
/// extern "C" __global__ void ladder_kernel(const __grid_constant__ hgemm::LadderParams).
/// `probe`: with cycle stamps.
std::string ladder_source(const LadderPoint& point, bool probe = false);

}  // namespace hgemm
