// All waits of the parent for a worker process, with their limits.
//
//   the program starts                         Child::kStartLimit (base/child.h)
//   a request is taken, then a first message   the limit of that request: start, open or step
//   each next message                          step_limit() of the step that the worker announced
//   a request with all its steps               request
//   the end of one that closed its socket      end, then it is killed
//   the end of one that was killed             Child::kReapLimit, then it is left behind
//   an answer of a compile process, its end    PoolOptions (compile/pool.h)
//
// A worker that exceeds a limit is killed. The limits hold also if it sleeps, is stopped, sends
// half a message or sends messages without end.
#pragma once

#include <chrono>

#include "base/child.h"

namespace hgemm {

/// Limits far above the durations seen, because exceeding one costs the worker. Tests use shorter
/// ones.
struct WorkerLimits {
  using milliseconds = std::chrono::milliseconds;
  milliseconds start{60'000};  ///< context, libraries
  milliseconds open{30'000};   ///< allocation, data, fp32 reference
  /// From one message of the worker to the next. It is longer than the kernel's own limit for
  /// barrier waits (kWaitLimitNs, 2 s), so that a deadlock can be distinguished from an endless
  /// loop.
  milliseconds step{4'000};
  milliseconds longest_step{600'000};  ///< whatever duration the worker expects
  milliseconds request{3'600'000};     ///< with all its steps; the longest seen took minutes
  milliseconds end = Child::kGrace;    ///< after the socket closed: the driver frees the memory
};

/// For one launch of `flops` by a kernel of unknown speed.
std::chrono::milliseconds launch_limit(double flops);

/// For a step that the worker expects to take `expected_ms`. If that is 0, negative or NaN, the
/// duration is unknown and `launch` is allowed for it.
std::chrono::milliseconds step_limit(const WorkerLimits& limits, double expected_ms,
                                     std::chrono::milliseconds launch);

}  // namespace hgemm
