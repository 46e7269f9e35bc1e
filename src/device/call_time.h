// Times calls of a candidate from the host: the host's own time, and the kernels' by CUPTI.
#pragma once

#include <functional>

#include "record/trial.h"

namespace hgemm {

/// A call from the host in three steps.
struct TimedCall {
  std::function<void()> rest;    ///< leaves the GPU idle
  std::function<void()> call;    ///< enqueues the work; this is timed
  std::function<void()> finish;  ///< waits for its end
};

/// Makes `calls` calls and times the host; if `traces`, it makes as many under CUPTI's activity
/// trace. Without CUPTI the result has no kernel_us. CUPTI stays loaded and slows later launches of
/// the process down: do not take samples afterwards.
CallTime time_calls(int calls, bool traces, const TimedCall& timed);

}  // namespace hgemm
