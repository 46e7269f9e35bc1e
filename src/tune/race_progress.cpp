#include "tune/race_progress.h"

#include <algorithm>

namespace hgemm {
namespace {

double share_of(std::size_t done, std::size_t total) {
  return static_cast<double>(done) / static_cast<double>(total);
}

}  // namespace

/// Advances to `race_s`, in seconds of the race's parts, and calls `report` with the listener. The
/// fraction never decreases, although steps may be repeated after a loss, or more of them may be
/// left than was predicted.
template <class Report>
void RaceProgress::advance(double race_s, Report report) {
  fraction_ = std::max(fraction_, race_s / parts_.sum());
  context_.shared.use([&](SharedTune& tune) {
    tune.advance.at(context_.gpu, fraction_);
    tune.listener.advanced(tune.advance.share());
    report(tune.listener);
  });
}

void RaceProgress::prepared(std::size_t done, std::size_t total) {
  advance(parts_.when_prepared(share_of(done, total)), [&](TuneListener& listener) {
    listener.preparing(context_.gpu, static_cast<int>(done), static_cast<int>(total));
  });
}

void RaceProgress::measured(std::size_t done, std::size_t total) {
  advance(parts_.when_raced(phase_, phase_rounds_ + share_of(done, total)),
          [&](TuneListener& listener) {
            listener.measuring(context_.gpu, static_cast<int>(done), static_cast<int>(total));
          });
}

void RaceProgress::end_round(double staying, Stage next, int alive,
                             const Referee::Standing& standing) {
  ++rounds_;
  ++phase_rounds_;
  if (phase_ == Stage::kScreen && phase_rounds_ == 1) {  // from now on it is known how many stay
    parts_.later_round_s = parts_.first_round_s * staying;
  }
  if (next != phase_) phase_rounds_ = 0;
  advance(parts_.when_raced(next, phase_rounds_), [&](TuneListener& listener) {
    listener.racing(context_.gpu, rounds_, alive, standing.leader, standing.ratio_cublas);
  });
}

void RaceProgress::weighed(std::size_t done, std::size_t total) {
  advance(parts_.when_weighed(share_of(done, total)), [&](TuneListener& listener) {
    listener.weighing(context_.gpu, static_cast<int>(done), static_cast<int>(total));
  });
}

}  // namespace hgemm
