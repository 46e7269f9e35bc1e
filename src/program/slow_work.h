#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace hgemm::cli {

/// Reports the progress of slow work on stderr: nothing in the first five seconds, then a line
/// every five seconds.
class SlowWork {
 public:
  /// `what` names the items in messages ("shapes"); `count` is their number.
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
