#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace hgemm::cli {

/// Says on stderr how far work has come that takes longer than people wait without a word: nothing
/// in the first five seconds, then a line every five.
class SlowWork {
 public:
  /// `what`: "shapes".
  SlowWork(std::string what, std::size_t count) : what_(std::move(what)), count_(count) {}

  void one_done();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::size_t count_;
  std::size_t done_ = 0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace hgemm::cli
