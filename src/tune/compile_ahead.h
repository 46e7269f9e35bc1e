// Compiles kernels in a thread of its own while the driver's thread does other work. Private to the
// module.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "compile/compiler.h"

namespace hgemm {

/// The driver's thread sees only builds that take() has handed over.
class CompileAhead {
 public:
  using Clock = std::chrono::steady_clock;

  /// Compiles in this order, as far as the compiler keeps an order. take() calls `on_build`.
  CompileAhead(const Compiler& compiler, std::vector<Kernel> kernels, const CompileOptions& options,
               std::function<void(const Build&)> on_build);
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  ~CompileAhead();  ///< abandons kernels that are not finished

  /// Takes over the builds that have ended since the last call. Throws what the compiler threw.
  void take();
  /// Takes builds until all of these kernels are there or the time is `until`; calls `poll` about
  /// ten times a second.
  void wait_for(std::span<const Kernel> kernels, Clock::time_point until,
                const std::function<void()>& poll);

  void wait_for_all(Clock::time_point until, const std::function<void()>& poll);
  /// Whether all builds were taken.
  bool is_done() const { return builds_.size() == kernels_.size(); }

  std::size_t total() const { return kernels_.size(); }
  /// The build of a kernel; nullptr if it was not taken yet. The pointer stays valid.
  const Build* find(const Kernel& kernel) const;

 private:
  std::vector<Kernel> kernels_;
  std::function<void(const Build&)> on_build_;
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
