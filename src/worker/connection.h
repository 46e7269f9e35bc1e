// The parent's end of a worker process: requests with deadlines. Internal to worker.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "device/measurer.h"
#include "device/sampler.h"
#include "worker/limits.h"

namespace hgemm {

/// Starts a worker for the first request, and for the first request after a worker was lost.
class Connection {
 public:
  /// `environment`: variables of the worker (base/child.h).
  Connection(std::vector<std::string> command, const WorkerLimits& limits,
             std::vector<std::string> environment = {})
      : command_(std::move(command)), environment_(std::move(environment)), limits_(limits) {}

  const WorkerLimits& limits() const { return limits_; }
  /// Sets the time allowed for a step of unknown duration: one launch of `flops` by a slow kernel.
  void expect_launches_of(double flops) { launch_limit_ = hgemm::launch_limit(flops); }
  std::chrono::milliseconds launch_limit() const { return launch_limit_; }

  /// Sends a request and returns the reply as `read` gives it. `limit` bounds the time to the first
  /// step; each step sets the next deadline. Throws MeasurerLost if a deadline passes, if the
  /// worker ends, or if its reply is invalid (`read` throws json::exception, InputError or
  /// std::out_of_range). Also throws the error that the worker reports: NoDevice, InputError or
  /// Error.
  template <class Read>
  auto request(const nlohmann::json& message, std::chrono::milliseconds limit, Read read) {
    const nlohmann::json reply = ask(message, limit);
    try {
      return read(reply);
    } catch (const nlohmann::json::exception&) {
    } catch (const InputError&) {  // an unknown word
    } catch (const std::out_of_range&) {
    }
    lose_to_nonsense();
  }
  template <class Value>
  Value request(const nlohmann::json& message, std::chrono::milliseconds limit) {
    return request(message, limit, [](const nlohmann::json& reply) { return reply.get<Value>(); });
  }

  /// Ends the worker, if there is one; the next request starts another.
  void restart() { worker_.reset(); }

 private:
  nlohmann::json ask(const nlohmann::json& message, std::chrono::milliseconds limit);
  /// The worker's reply, or none if a deadline passed; `limit` is then that deadline's time.
  std::optional<nlohmann::json> converse(const nlohmann::json& message,
                                         std::chrono::milliseconds& limit);
  nlohmann::json unpack(nlohmann::json reply);
  [[noreturn]] void lose_to_nonsense();

  std::vector<std::string> command_, environment_;
  WorkerLimits limits_;
  std::optional<Child> worker_;
  std::chrono::milliseconds launch_limit_{0};
  Step step_;  ///< the step under way; before the first one, the call
};

}  // namespace hgemm
