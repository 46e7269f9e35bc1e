#include "tune/loss_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gemm/codec.h"

namespace hgemm {
namespace {

/// If this many candidates in a row each take the measurer down and no step works in between, the
/// GPU is at fault rather than the candidates.
constexpr std::size_t kMaxBlamed = 8;
constexpr int kMaxUnexplained = 2;

}  // namespace

void LossPolicy::worked() {
  unexplained_ = 0;
  clear_suspicion();
}

std::optional<std::string> LossPolicy::unexplained(const MeasurerLost& loss,
                                                   const GemmProblem& problem) {
  if (++unexplained_ < kMaxUnexplained) return std::nullopt;
  return fmt::format(
      "the GPU worker was lost twice in a row at {} with no kernel to blame: {}; what has ended is "
      "recorded. Check the GPU with `hgemm-tune doctor`, then run the same command to go on",
      to_string(problem), loss.what());
}

std::optional<std::string> LossPolicy::explained(const std::string& label, const MeasurerLost& loss,
                                                 const GemmProblem& problem) {
  unexplained_ = 0;
  blamed_.push_back(fmt::format("{} at {} ({})", label, to_string(problem), loss.what()));
  if (blamed_.size() < kMaxBlamed) return std::nullopt;
  return fmt::format(
      "the GPU worker was lost to {} candidates in a row, and nothing worked in between: {}. They "
      "are recorded as such and not tried again, but the GPU itself may be at fault. Check it with "
      "`hgemm-tune doctor`, then run the same command to go on with the others",
      blamed_.size(), fmt::join(blamed_, "; "));
}

}  // namespace hgemm
