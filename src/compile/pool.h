// Has requests answered by child processes, so that a child that crashes or hangs costs one
// request.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/child.h"

namespace hgemm {

struct PoolOptions {
  /// See Child; it answers each message on its socket with one message.
  std::vector<std::string> command;
  int children = 1;
  std::chrono::milliseconds timeout{60'000};  ///< per request
  /// Time for a child to end by itself after it closed its socket; then it is killed
  /// (base/child.h).
  std::chrono::milliseconds grace = Child::kGrace;
};

struct PoolAnswer {
  nlohmann::json message;
  /// Why there is no message (the child ended, was too slow, or sent none); empty if there is one.
  std::string failure;
};

/// Sends requests 0..count-1 to the children; each child works on one at a time. `make_request` and
/// `done` are called in the calling thread. A child that failed is replaced. Throws Error if the
/// command cannot be run, and passes on exceptions of the callbacks. All children have ended when
/// the call returns.
void run_in_children(std::size_t count, const PoolOptions& options,
                     const std::function<nlohmann::json(std::size_t)>& make_request,
                     const std::function<void(std::size_t, PoolAnswer)>& done);

}  // namespace hgemm
