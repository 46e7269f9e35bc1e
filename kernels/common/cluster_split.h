// How the CTAs of a cluster that cut K of one tile divide the additions: each box of the tile has
// one owner. For families whose kernels have `splits`, consumer_count(), store_boxes(),
// box_value(), box_values() and sums_of_value().
#pragma once

#include "common/types.h"

namespace hgemm {

/// Rank `rank` of the cluster adds up and stores boxes [first_box(rank), first_box(rank + 1));
/// there may be none.
template <class Kernel>
HGEMM_HOST_DEVICE constexpr int first_box(const Kernel& k, int rank) {
  return store_boxes(k) * rank / k.splits;
}
template <class Kernel>
HGEMM_HOST_DEVICE constexpr int box_owner(const Kernel& k, int box) {
  return ((box + 1) * k.splits - 1) / store_boxes(k);
}
template <class Kernel>
HGEMM_HOST_DEVICE constexpr int most_boxes(const Kernel& k) {
  return (store_boxes(k) + k.splits - 1) / k.splits;
}
/// Bytes of one sum from all threads of a consumer.
inline constexpr int kSumBytes = kWarpgroupThreads * 4;
/// The most bytes that one peer's consumer sends.
template <class Kernel>
HGEMM_HOST_DEVICE constexpr int sent_bytes(const Kernel& k) {
  return most_boxes(k) * box_values(k) * sums_of_value(k) * kSumBytes;
}
/// The bytes that all peers send to a CTA.
template <class Kernel>
HGEMM_HOST_DEVICE constexpr int received_bytes(const Kernel& k) {
  return (k.splits - 1) * consumer_count(k) * sent_bytes(k);
}

}  // namespace hgemm
