#include "tune/compile_ahead.h"

#include <algorithm>
#include <utility>

#include "space/label.h"

namespace hgemm {
namespace {

struct GivenUp {};

}  // namespace

CompileAhead::CompileAhead(const CompileAll& compile_all, std::vector<KernelConfig> configs,
                           const CompileOptions& options,
                           std::function<void(const Build&)> on_build)
    : configs_(std::move(configs)), on_build_(std::move(on_build)) {
  thread_ = std::jthread([this, compile_all, options](const std::stop_token& give_up) {
    std::exception_ptr failure;
    try {
      if (!configs_.empty()) {
        compile_all(configs_, options, [&](Build build) {
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
    const auto [at, is_new] = builds_.insert_or_assign(label(build.config), std::move(build));
    on_build_(at->second);
  }
  if (failure) std::rethrow_exception(failure);
}

void CompileAhead::wait_for(std::span<const KernelConfig> configs, Clock::time_point until,
                            const std::function<void()>& poll) {
  std::vector<std::string> waiting;
  for (const KernelConfig& config : configs) waiting.push_back(label(config));
  for (;;) {
    take();
    poll();
    std::erase_if(waiting, [this](const std::string& label) { return find(label) != nullptr; });
    if (waiting.empty() || Clock::now() >= until) return;
    std::unique_lock lock(mutex_);
    if (finished_ && new_builds_.empty() && !failure_) return;
    ended_.wait_until(lock, std::min(until, Clock::now() + std::chrono::milliseconds(100)),
                      [this] { return finished_ || !new_builds_.empty(); });
  }
}

void CompileAhead::wait_for_all(Clock::time_point until, const std::function<void()>& poll) {
  wait_for(configs_, until, poll);
}

const Build* CompileAhead::find(const std::string& label) const {
  const auto found = builds_.find(label);
  return found == builds_.end() ? nullptr : &found->second;
}

}  // namespace hgemm
