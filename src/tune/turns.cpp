#include "tune/turns.h"

#include <algorithm>
#include <chrono>

namespace hgemm {
namespace {

constexpr std::chrono::milliseconds kPollInterval{100};

}  // namespace

void Turns::enable() {
  const std::scoped_lock lock(mutex_);
  enabled_ = true;
}

void Turns::race_begins(int gpu) {
  const std::scoped_lock lock(mutex_);
  racing_.insert(gpu);
}

void Turns::race_ends(int gpu) {
  const std::scoped_lock lock(mutex_);
  racing_.erase(gpu);
  if (turn_of_ == gpu) turn_of_.reset();
  changed_.notify_all();
}

int Turns::busy_neighbours(int gpu) {
  const std::scoped_lock lock(mutex_);
  if (turn_of_ == gpu) return 0;
  return static_cast<int>(racing_.size() - racing_.count(gpu));
}

/// Waits for the condition; `poll` is called without the lock.
template <class Condition>
void Turns::wait(std::unique_lock<std::mutex>& lock, const std::function<void()>& poll,
                 Condition condition) {
  while (!changed_.wait_for(lock, kPollInterval, condition)) {
    lock.unlock();
    poll();
    lock.lock();
  }
}

bool Turns::wait_for_others(int gpu, const std::function<void()>& poll) {
  std::unique_lock lock(mutex_);
  if (!turn_of_ || turn_of_ == gpu) return false;
  waiting_.insert(gpu);
  changed_.notify_all();
  try {
    wait(lock, poll, [this] { return !turn_of_; });
  } catch (...) {
    lock.lock();
    waiting_.erase(gpu);
    throw;
  }
  waiting_.erase(gpu);
  return true;
}

void Turns::begin_turn(int gpu, const std::function<void()>& poll) {
  for (;;) {
    wait_for_others(gpu, poll);
    std::unique_lock lock(mutex_);
    if (!enabled_ || turn_of_ == gpu) return;
    if (turn_of_) continue;  // another GPU was faster
    turn_of_ = gpu;
    const auto others_rest = [&] {
      return std::ranges::all_of(
          racing_, [&](int other) { return other == gpu || waiting_.contains(other); });
    };
    try {
      wait(lock, poll, others_rest);
    } catch (...) {
      lock.lock();
      turn_of_.reset();
      changed_.notify_all();
      throw;
    }
    return;
  }
}

void Turns::end_turn(int gpu) {
  const std::scoped_lock lock(mutex_);
  if (turn_of_ == gpu) turn_of_.reset();
  changed_.notify_all();
}

}  // namespace hgemm
