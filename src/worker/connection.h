// The parent's end of a worker process: requests with deadlines. Internal to worker.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/child.h"
#include "device/measurer.h"

namespace hgemm {

// Deadlines: far above what was seen, since to pass one costs the worker.
namespace limit {
using std::chrono::milliseconds;
inline constexpr milliseconds kStart{60'000};  ///< context, libraries
inline constexpr milliseconds kOpen{30'000};   ///< allocation, data, fp32 reference
/// From one word of the worker to the next. Above the kernel's own bound on barrier waits
/// (kWaitLimitNs, 2 s), so that a kernel that deadlocks is told from one that runs for ever.
inline constexpr milliseconds kStep{4'000};
}  // namespace limit

/// A worker is started by the first request, and by the first after one was lost.
class Connection {
 public:
  explicit Connection(std::vector<std::string> command) : command_(std::move(command)) {}

  /// What a step takes of which nothing is known: a launch of so much, by a slow kernel.
  void expect_launches_of(double flops);
  std::chrono::milliseconds launch_limit() const { return launch_limit_; }

  /// The reply. `limit` is that of the time before the first step; each step sets the next
  /// deadline. Throws MeasurerLost if one passes or the worker ends, and what the worker reported:
  /// NoDevice, InputError, Error.
  nlohmann::json request(const nlohmann::json& message,
                         std::chrono::milliseconds limit = limit::kStep);

  /// Ends the worker, if there is one: the next request has a fresh one.
  void restart() { worker_.reset(); }

 private:
  nlohmann::json unpack(nlohmann::json reply, const std::string& culprit);

  std::vector<std::string> command_;
  std::optional<Child> worker_;
  std::chrono::milliseconds launch_limit_{0};
};

}  // namespace hgemm
