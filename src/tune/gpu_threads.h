// A thread for each GPU of a tune but the first, which has the caller's. Private to the module.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hgemm {

/// The threads live as long as this object, because a worker process is killed when the thread that
/// started it ends (base/child.h).
class GpuThreads {
 public:
  explicit GpuThreads(std::size_t gpus);
  GpuThreads(const GpuThreads&) = delete;
  GpuThreads& operator=(const GpuThreads&) = delete;
  ~GpuThreads();

  /// Calls `job` for each GPU at the same time and waits until all have returned. When a job
  /// throws, `on_error` is called at once, and the first exception is thrown in the end.
  void run(const std::function<void(std::size_t gpu)>& job, const std::function<void()>& on_error);

 private:
  void serve(std::size_t gpu);
  void run_one(std::size_t gpu);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex.
  const std::function<void(std::size_t)>* job_ = nullptr;
  const std::function<void()>* on_error_ = nullptr;
  std::size_t jobs_begun_ = 0;  ///< calls of run()
  std::size_t busy_ = 0;        ///< threads that have not finished the job
  bool closing_ = false;
  std::exception_ptr error_;

  std::vector<std::jthread> threads_;  ///< last member, because they use the others
};

}  // namespace hgemm
