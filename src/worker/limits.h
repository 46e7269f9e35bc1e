// Every wait of the parent for a worker process, and its bound.
//
//   the program starts                         Child::kStartLimit (base/child.h)
//   a request is taken, then a first word      what the request is given: start, open, step
//   each next word                             step_limit() of what the worker said it is doing
//   all of a request, whatever the worker says request
//   the end of one that closed its socket      end, then it is killed
//   the end of one that was killed             Child::kReapLimit, then it is left behind
//   an answer of a compile process, its end    PoolOptions (compile/pool.h)
//
// Whoever passes one is killed; to sleep, stop, send half a message or messages without end helps
// nobody over it.
#pragma once

#include <chrono>

#include "base/child.h"

namespace hgemm {

/// Far above what was seen, since to pass one costs the worker. Tests have shorter ones.
struct WorkerLimits {
  using milliseconds = std::chrono::milliseconds;
  milliseconds start{60'000};  ///< context, libraries
  milliseconds open{30'000};   ///< allocation, data, fp32 reference
  /// From one word of the worker to the next. Above the kernel's own bound on barrier waits
  /// (kWaitLimitNs, 2 s), so that a kernel that deadlocks is told from one that runs for ever.
  milliseconds step{4'000};
  milliseconds longest_step{600'000};  ///< whatever the worker expects
  milliseconds request{3'600'000};     ///< with all its steps; the longest seen took minutes
  milliseconds end = Child::kGrace;    ///< after the socket: the driver takes its memory back
};

/// For one launch of a kernel of which nothing is known.
std::chrono::milliseconds launch_limit(double flops);

/// For a step that the worker expects to take `expected_ms`; 0, or what is no time, if it does not
/// know: then for `launch`.
std::chrono::milliseconds step_limit(const WorkerLimits& limits, double expected_ms,
                                     std::chrono::milliseconds launch);

}  // namespace hgemm
