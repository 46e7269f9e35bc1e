#include "tune/compile_ahead.h"

#include <utility>

#include "families/family.h"

namespace hgemm {
namespace {

struct GivenUp {};

}  // namespace

CompileAhead::CompileAhead(const Compiler& compiler, std::vector<Kernel> kernels,
                           const CompileOptions& options)
    : kernels_(std::move(kernels)) {
  thread_ = std::jthread(
      [this, compile_all = compiler.compile_all, options](const std::stop_token& give_up) {
        std::exception_ptr failure;
        try {
          if (!kernels_.empty()) {
            compile_all(kernels_, options, [&](Build build) {
              if (give_up.stop_requested()) throw GivenUp();
              const std::scoped_lock lock(mutex_);
              new_builds_.push_back(std::move(build));
              ended_.notify_all();
            });
          }
        } catch (const GivenUp&) {
        } catch (...) {
          failure = std::current_exception();
        }
        const std::scoped_lock lock(mutex_);
        failure_ = failure;
        finished_ = true;
        ended_.notify_all();
      });
}

CompileAhead::~CompileAhead() = default;

std::vector<const Build*> CompileAhead::take() {
  std::vector<Build> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended.swap(new_builds_);
    if (ended.empty() && failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  std::vector<const Build*> taken;
  for (Build& build : ended) {
    const auto [at, is_new] = builds_.insert_or_assign(build_name(build.kernel), std::move(build));
    taken.push_back(&at->second);
  }
  return taken;
}

void CompileAhead::wait_for_news(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  ended_.wait_until(lock, until, [this] { return !new_builds_.empty() || failure_; });
}

bool CompileAhead::will_be_done_by(Clock::time_point then) const {
  const auto done = static_cast<double>(builds_.size());
  const auto to_come = static_cast<double>(kernels_.size()) - done;
  const Clock::time_point now = Clock::now();
  return done == 0 || to_come == 0 || to_come * (now - begin_) <= done * (then - now);
}

const Build* CompileAhead::find(const Kernel& kernel) const {
  const auto found = builds_.find(build_name(kernel));
  return found == builds_.end() ? nullptr : &found->second;
}

}  // namespace hgemm
