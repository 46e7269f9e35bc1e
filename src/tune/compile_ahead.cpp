#include "tune/compile_ahead.h"

#include <algorithm>
#include <utility>

#include "families/family.h"

namespace hgemm {
namespace {

struct GivenUp {};

}  // namespace

CompileAhead::CompileAhead(const Compiler& compiler, std::vector<Kernel> kernels,
                           const CompileOptions& options,
                           std::function<void(const Build&)> on_build)
    : kernels_(std::move(kernels)), on_build_(std::move(on_build)) {
  thread_ = std::jthread(
      [this, compile_all = compiler.compile_all, options](const std::stop_token& give_up) {
        std::exception_ptr failure;
        try {
          if (!kernels_.empty()) {
            compile_all(kernels_, options, [&](Build build) {
              if (give_up.stop_requested()) throw GivenUp();
              const std::scoped_lock lock(mutex_);
              new_builds_.push_back(std::move(build));
              ended_.notify_one();
            });
          }
        } catch (const GivenUp&) {
        } catch (...) {
          failure = std::current_exception();
        }
        const std::scoped_lock lock(mutex_);
        failure_ = failure;
        finished_ = true;
        ended_.notify_one();
      });
}

CompileAhead::~CompileAhead() = default;

void CompileAhead::take() {
  std::vector<Build> taken;
  std::exception_ptr failure;
  {
    const std::scoped_lock lock(mutex_);
    taken.swap(new_builds_);
    failure = std::exchange(failure_, nullptr);
  }
  for (Build& build : taken) {
    const auto [at, is_new] = builds_.insert_or_assign(build_name(build.kernel), std::move(build));
    on_build_(at->second);
  }
  if (failure) std::rethrow_exception(failure);
}

void CompileAhead::wait_for(std::span<const Kernel> kernels, Clock::time_point until,
                            const std::function<void()>& poll) {
  std::vector<Kernel> waiting(kernels.begin(), kernels.end());
  for (;;) {
    take();
    poll();
    std::erase_if(waiting, [this](const Kernel& kernel) { return find(kernel) != nullptr; });
    if (waiting.empty() || Clock::now() >= until) return;
    std::unique_lock lock(mutex_);
    if (finished_ && new_builds_.empty() && !failure_) return;
    ended_.wait_until(lock, std::min(until, Clock::now() + std::chrono::milliseconds(100)),
                      [this] { return finished_ || !new_builds_.empty(); });
  }
}

void CompileAhead::wait_for_all(Clock::time_point until, const std::function<void()>& poll) {
  wait_for(kernels_, until, poll);
}

const Build* CompileAhead::find(const Kernel& kernel) const {
  const auto found = builds_.find(build_name(kernel));
  return found == builds_.end() ? nullptr : &found->second;
}

}  // namespace hgemm
