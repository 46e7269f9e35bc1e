// Kernels compiled in a thread of its own while the driver's thread does something else. Private to
// the module.
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

#include "tune/tune.h"

namespace hgemm {

/// The driver's thread sees nothing but what take() hands over.
class CompileAhead {
 public:
  using Clock = std::chrono::steady_clock;

  /// Compiles in this order, as far as the compiler keeps one. `on_build` is called by take().
  CompileAhead(const CompileAll& compile_all, std::vector<KernelConfig> configs,
               const CompileOptions& options, std::function<void(const Build&)> on_build);
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  ~CompileAhead();  ///< what is not finished is given up

  /// Takes over what has ended since the last call. Throws what the compiler threw.
  void take();
  /// Takes until all of these are there, or until then; `poll` is called about ten times a second.
  void wait_for(std::span<const KernelConfig> configs, Clock::time_point until,
                const std::function<void()>& poll);

  void wait_for_all(Clock::time_point until, const std::function<void()>& poll);
  bool is_done() const { return builds_.size() == configs_.size(); }  ///< all are taken

  std::size_t total() const { return configs_.size(); }
  /// nullptr: not taken yet. Stays where it is.
  const Build* find(const std::string& label) const;

 private:
  std::vector<KernelConfig> configs_;
  std::function<void(const Build&)> on_build_;
  std::map<std::string, Build> builds_;  ///< by label

  std::mutex mutex_;
  std::condition_variable ended_;
  // Guarded by the mutex.
  std::vector<Build> new_builds_;
  std::exception_ptr failure_;
  bool finished_ = false;

  std::jthread thread_;  ///< the last member: it uses the others
};

}  // namespace hgemm
