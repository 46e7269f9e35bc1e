#include "families/sum_order.h"

#include <variant>

namespace hgemm {
namespace {

/// The smallest interval of promoted sums, which is the only one with scales of blocks, and the
/// most exact.
constexpr int kPromotion = 128;

SumOrder of_tensor_cores(bool cuts_k, int promote, bool is_swapped) {
  if (cuts_k) return SumOrder::kCutK;
  if (promote != 0 && promote != kPromotion) return SumOrder::kOtherPromotion;
  if (is_swapped && !kSwappingKeepsBits) return SumOrder::kSwappedOperands;
  return SumOrder::kSequential;
}
SumOrder order_of(const TiledConfig& config) {
  return of_tensor_cores(cuts_k(config), config.promote, config.swap);
}
SumOrder order_of(const SwapAbConfig& config) {
  return of_tensor_cores(config.splits > 1, config.promote, true);
}
SumOrder order_of(const GemvConfig&) { return SumOrder::kCudaCores; }

}  // namespace

SumOrder sum_order(const KernelConfig& config) {
  return std::visit([](const auto& one) { return order_of(one); }, config);
}

const char* why_bits_follow_m(SumOrder order) {
  switch (order) {
    case SumOrder::kSequential:
      return nullptr;
    case SumOrder::kCutK:
      return "sums parts of K apart";
    case SumOrder::kCudaCores:
      return "sums in the CUDA cores, in another order than the tensor cores";
    case SumOrder::kOtherPromotion:
      return "promotes sums after more than 128 elements of K";
    case SumOrder::kSwappedOperands:
      return "multiplies with A and B swapped";
  }
  return "has an unknown order of sums";
}

const char* why_bits_follow_m(const GemmKind& kind) {
  const Epilogue& epilogue = kind.epilogue;
  const bool multiplies = epilogue.scaled || scales_tiles(kind.scaling);
  const bool adds =
      kind.adds_c || epilogue.bias != Bias::kNone || epilogue.activation == Activation::kGelu;
  return multiplies && adds
             ? "alpha, or the scale of a tensor or a row, multiplies the sums before C, a bias or "
               "GELU with tanh adds to them, and the compiler may join the two operations, with "
               "one rounding, in one kernel and not in another"
             : nullptr;
}

}  // namespace hgemm
