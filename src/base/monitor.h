// A value that several threads use, one at a time.
#pragma once

#include <mutex>
#include <utility>

namespace hgemm {

/// The value can be reached only inside use(), which holds the lock, so no caller can forget it.
/// use() must not be called again inside itself.
template <class Value>
class Monitor {
 public:
  template <class... Arguments>
  explicit Monitor(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

  /// Calls `function` with the value and returns what it returns. Do not return a reference to a
  /// part of the value that may change.
  template <class Function>
  decltype(auto) use(Function&& function) {
    const std::scoped_lock lock(mutex_);
    return std::forward<Function>(function)(value_);
  }

 private:
  std::mutex mutex_;
  Value value_;
};

}  // namespace hgemm
