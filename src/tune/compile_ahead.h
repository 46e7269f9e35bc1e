// Compiles kernels in a thread of its own while the GPUs' threads do other work. Private to the
// module.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compile/compiler.h"

namespace hgemm {

/// Only builds that take() has handed over are seen. One thread at a time calls take(), is_done(),
/// will_be_done_by() and find(); any thread may wait.
class CompileAhead {
 public:
  using Clock = std::chrono::steady_clock;

  /// Compiles in this order, as far as the compiler keeps an order.
  CompileAhead(const Compiler& compiler, std::vector<Kernel> kernels,
               const CompileOptions& options);
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  ~CompileAhead();  ///< abandons kernels that are not finished

  /// Takes over the builds that have ended since the last call, and returns them. Throws what the
  /// compiler threw, once all builds before are taken. The pointers stay valid.
  std::vector<const Build*> take();
  /// Waits until there is something for take(), or until the time.
  void wait_for_news(Clock::time_point until);

  /// Whether all builds were taken.
  bool is_done() const { return builds_.size() == kernels_.size(); }

  /// Whether all will be compiled by then, at the rate so far. True while there is no rate.
  bool will_be_done_by(Clock::time_point then) const;

  std::size_t total() const { return kernels_.size(); }
  /// The build of a kernel; nullptr if it was not taken yet. The pointer stays valid.
  const Build* find(const Kernel& kernel) const;

 private:
  const Clock::time_point begin_ = Clock::now();
  std::vector<Kernel> kernels_;
  std::map<std::string, Build> builds_;  ///< by build_name()

  std::mutex mutex_;
  std::condition_variable ended_;
  // Guarded by the mutex.
  std::vector<Build> new_builds_;
  std::exception_ptr failure_;
  bool finished_ = false;

  std::jthread thread_;  ///< last member, because it uses the others
};

}  // namespace hgemm
