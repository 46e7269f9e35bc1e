// Requests answered by child processes, so that one that crashes or hangs costs one request.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/child.h"

namespace hgemm {

struct PoolOptions {
  std::vector<std::string> command;  ///< see Child; answers each message on its socket with one
  int children = 1;
  std::chrono::milliseconds timeout{60'000};  ///< per request
  /// For one that closed its socket to end by itself; then it is killed (base/child.h).
  std::chrono::milliseconds grace = Child::kGrace;
};

struct Answer {
  nlohmann::json message;
  std::string failure;  ///< why there is no message: the child ended, was too slow or sent none;
                        ///< else empty
};

/// Has requests 0..count-1 answered, each child working on one at a time; `make_request` and `done`
/// are called in the calling thread. A child that failed is replaced. Throws Error if the command
/// cannot be run, and lets exceptions of the callbacks through; no child outlives the call.
void run_in_children(std::size_t count, const PoolOptions& options,
                     const std::function<nlohmann::json(std::size_t)>& make_request,
                     const std::function<void(std::size_t, Answer)>& done);

}  // namespace hgemm
