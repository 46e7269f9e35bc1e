#include "tune/race_queue.h"

#include <algorithm>
#include <utility>

#include "tune/stage.h"

namespace hgemm {
namespace {

/// A race that was given up so often is the cause itself.
constexpr std::size_t kMostTries = 2;

}  // namespace

RaceQueue::RaceQueue(std::vector<Missing> races, std::size_t gpus) : waiting_(std::move(races)) {
  if (gpus < 2) return;
  std::ranges::stable_sort(waiting_, std::ranges::greater(), [](const Missing& race) {
    return std::pair(!race.has_winner(), full_race_s(race, race.configs.size()));
  });
}

std::optional<Missing> RaceQueue::take(int gpu, const std::function<double(const Missing&)>& ready,
                                       double enough) {
  auto next = waiting_.end();
  double most_ready = 0;
  for (auto race = waiting_.begin(); race != waiting_.end() && most_ready < 1; ++race) {
    if (race->avoids.contains(gpu)) continue;
    const double fraction = ready(*race);
    if (fraction <= most_ready || fraction < enough) continue;
    next = race;
    most_ready = fraction;
  }
  if (next == waiting_.end()) return std::nullopt;
  Missing race = std::move(*next);
  waiting_.erase(next);
  running_.insert_or_assign(gpu, Running{race});
  return race;
}

double RaceQueue::busy_s(int gpu) const {
  double sum = 0;
  for (const auto& [other, running] : running_) {
    if (other == gpu) continue;
    const std::chrono::duration<double> left = running.end - Clock::now();
    sum += std::max(0.0, left.count());
  }
  return sum;
}

std::optional<Missing> RaceQueue::gave_up(int gpu, const std::set<int>& alive) {
  Missing race = std::move(running_.at(gpu).race);
  running_.erase(gpu);
  race.avoids.insert(gpu);
  ++race.given_up;
  const bool has_gpu = !std::ranges::includes(race.avoids, alive);
  if (race.given_up >= kMostTries || !has_gpu) return race;
  waiting_.insert(waiting_.begin(), std::move(race));
  return std::nullopt;
}

std::vector<Missing> RaceQueue::take_impossible(const std::set<int>& alive) {
  const auto possible = std::ranges::stable_partition(
      waiting_, [&](const Missing& race) { return !std::ranges::includes(race.avoids, alive); });
  std::vector<Missing> impossible(std::make_move_iterator(possible.begin()),
                                  std::make_move_iterator(possible.end()));
  waiting_.erase(possible.begin(), possible.end());
  return impossible;
}

}  // namespace hgemm
