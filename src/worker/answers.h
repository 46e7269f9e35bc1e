// What a worker says of what happened, and whether it can go on. Nothing here calls the GPU.
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

/// The environment of results from this GPU, and where and by what they are made. `power_limit_w`
/// and `driver` are NVML's: none and empty where it does not answer.
Machine machine_of(const Gpu& device, std::optional<double> power_limit_w,
                   const std::string& driver);

/// The study that `run` returns. What fails in it ends the study, with the status launch_failed and
/// the message; but what is not its fault is thrown on: a CudaError that may have cost the context,
/// InputError (no room, no permission) and ChannelClosed (nobody waits for the study).
Study carried_out(const StudyRequest& request, const std::function<Study()>& run);

struct Answer {
  nlohmann::json message;     ///< "ok", or "error" and "kind" (worker/messages.h)
  bool context_lost = false;  ///< the worker must end: no later call could be believed
};

/// The answer to a request which `handle` carries out, or fails to. Throws ChannelClosed.
Answer answer_to(const nlohmann::json& request,
                 const std::function<nlohmann::json(const nlohmann::json&)>& handle);

}  // namespace hgemm
