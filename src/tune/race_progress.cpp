#include "tune/race_progress.h"

#include <algorithm>

namespace hgemm {
namespace {

double share_of(std::size_t done, std::size_t total) {
  return static_cast<double>(done) / static_cast<double>(total);
}

}  // namespace

/// Advances to `race_s`, in seconds of the race's parts. The share never decreases, although steps
/// may be repeated after a loss, or more of them may be left than was predicted.
void RaceProgress::advance(double race_s) {
  share_ = std::max(share_, outlook_.share(race_s));
  listener_.advanced(share_);
}

void RaceProgress::prepared(std::size_t done, std::size_t total) {
  advance(outlook_.parts.when_prepared(share_of(done, total)));
  listener_.preparing(static_cast<int>(done), static_cast<int>(total));
}

void RaceProgress::measured(std::size_t done, std::size_t total) {
  advance(outlook_.parts.when_raced(phase_, phase_rounds_ + share_of(done, total)));
  listener_.measuring(static_cast<int>(done), static_cast<int>(total));
}

void RaceProgress::end_round(double staying, Stage next, int alive,
                             const Referee::Standing& standing) {
  ++rounds_;
  ++phase_rounds_;
  if (phase_ == Stage::kScreen && phase_rounds_ == 1) {  // from now on it is known how many stay
    outlook_.parts.later_round_s = outlook_.parts.first_round_s * staying;
  }
  if (next != phase_) phase_rounds_ = 0;
  advance(outlook_.parts.when_raced(next, phase_rounds_));
  listener_.racing(rounds_, alive, standing.leader, standing.ratio_cublas);
}

void RaceProgress::weighed(std::size_t done, std::size_t total) {
  advance(outlook_.parts.when_weighed(share_of(done, total)));
  listener_.weighing(static_cast<int>(done), static_cast<int>(total));
}

}  // namespace hgemm
