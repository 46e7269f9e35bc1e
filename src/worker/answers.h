// How a worker reports results and failures, and whether it can go on. Nothing here calls the GPU.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device/device.h"
#include "record/environment.h"
#include "record/study.h"
#include "worker/lab.h"

namespace hgemm {

/// The environment of results from this GPU, with the host and the program that measure them.
/// `power_limit_w` and `driver` are from NVML: nullopt and empty if it does not answer.
Machine machine_of(const Gpu& device, std::optional<double> power_limit_w,
                   const std::string& driver);

/// Returns the study that `run` returns. If `run` throws, the study ends with the status
/// launch_failed and the message. Exceptions that are not the fault of the study are passed on: a
/// CudaError that may have cost the context, InputError (no room, no permission) and ChannelClosed
/// (the other side no longer waits for the study).
Study carried_out(const StudyRequest& request, const std::function<Study()>& run);

struct Answer {
  nlohmann::json message;     ///< "ok", or "error" and "kind" (worker/messages.h)
  bool context_lost = false;  ///< the worker must end, because no later result would be reliable
};

/// The answer to a request: what `handle` returns, or an error if it throws. Throws ChannelClosed.
Answer answer_to(const nlohmann::json& request,
                 const std::function<nlohmann::json(const nlohmann::json&)>& handle);

}  // namespace hgemm
