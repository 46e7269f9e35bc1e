// Makes values in several threads, and uses them in order in one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <future>
#include <thread>
#include <utility>

namespace hgemm {

/// Calls `use` with make(0), make(1), ... make(count - 1), in this order and in this thread. `make`
/// is called in other threads, for as many values ahead as the machine has cores; it must not
/// depend on `use`. What `make` throws is thrown here.
template <class Make, class Use>
void make_in_parallel(std::size_t count, const Make& make, const Use& use) {
  const std::size_t ahead = std::max(1U, std::thread::hardware_concurrency());
  std::deque<std::future<decltype(make(count))>> coming;
  for (std::size_t begun = 0, used = 0; used < count; ++used) {
    for (; begun < count && coming.size() < ahead; ++begun) {
      coming.push_back(std::async(std::launch::async, [&make, begun] { return make(begun); }));
    }
    use(coming.front().get());
    coming.pop_front();
  }
}

}  // namespace hgemm
