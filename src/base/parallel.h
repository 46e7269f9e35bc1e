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
/// is called in other threads, one for each core; it must not depend on `use`. What `make` throws
/// is thrown here.
template <class Make, class Use>
void make_in_parallel(std::size_t count, const Make& make, const Use& use) {
  std::vector<std::promise<decltype(make(count))>> made(count);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        made[i].set_value(make(i));
      } catch (...) {
        made[i].set_exception(std::current_exception());
      }
    }
  };
  struct StopAtEnd {
    std::atomic<std::size_t>& next;
    std::size_t end;
    ~StopAtEnd() { next = end; }
  };
  // A thread for each value would begin with memory of its own, for which the kernel has to work.
  std::vector<std::jthread> threads;
  const StopAtEnd stop{next, count};  // before the threads are joined
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(cores, count); ++i) threads.emplace_back(work);
  for (auto& promise : made) use(promise.get_future().get());
}

}  // namespace hgemm
