// Makes values in several threads, and uses them in order in one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <future>
#include <thread>
#include <vector>

namespace hgemm {

/// Calls `use` with make(0), make(1), ... make(count - 1), in this order and in this thread. `make`
/// is called in other threads, one for each core, for at most twice as many values ahead; it must
/// not depend on `use`. What `make` throws is thrown here.
template <class Make, class Use>
void make_in_parallel(std::size_t count, const Make& make, const Use& use) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::promise<decltype(make(count))>> made(count);
  std::atomic<std::size_t> next = 0, used = 0;
  std::atomic<bool> stopped = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < count && !stopped; i = next++) {
      for (std::size_t now = used; i >= now + 2 * cores; now = used) used.wait(now);
      try {
        made[i].set_value(make(i));
      } catch (...) {
        made[i].set_exception(std::current_exception());
      }
    }
  };
  const auto advance = [&used](std::size_t to) {
    used = to;
    used.notify_all();
  };
  // A thread for each value would begin with memory of its own, for which the kernel has to work.
  std::vector<std::jthread> threads;
  struct StopAtEnd {
    const decltype(advance)& release;
    std::atomic<bool>& stopped;
    std::size_t end;
    ~StopAtEnd() {
      stopped = true;
      release(end);
    }
  };
  const StopAtEnd stop{advance, stopped, count};  // before the threads are joined
  for (std::size_t i = 0; i < std::min(cores, count); ++i) threads.emplace_back(work);
  for (std::size_t i = 0; i < count; ++i) {
    use(made[i].get_future().get());
    advance(i + 1);
  }
}

}  // namespace hgemm
