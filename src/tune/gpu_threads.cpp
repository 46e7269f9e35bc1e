#include "tune/gpu_threads.h"

#include <utility>

namespace hgemm {

GpuThreads::GpuThreads(std::size_t gpus) {
  for (std::size_t gpu = 1; gpu < gpus; ++gpu) {
    threads_.emplace_back([this, gpu] { serve(gpu); });
  }
}

GpuThreads::~GpuThreads() {
  const std::scoped_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
}

void GpuThreads::serve(std::size_t gpu) {
  for (std::size_t done = 0;; ++done) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || jobs_begun_ > done; });
      if (closing_) return;
    }
    run_one(gpu);
    const std::scoped_lock lock(mutex_);
    --busy_;
    changed_.notify_all();
  }
}

void GpuThreads::run_one(std::size_t gpu) {
  try {
    (*job_)(gpu);
  } catch (...) {
    {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    (*on_error_)();
  }
}

void GpuThreads::run(const std::function<void(std::size_t)>& job,
                     const std::function<void()>& on_error) {
  {
    const std::scoped_lock lock(mutex_);
    job_ = &job;
    on_error_ = &on_error;
    busy_ = threads_.size();
    ++jobs_begun_;
    changed_.notify_all();
  }
  run_one(0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace hgemm
