// The messages between parent and worker (base/channel.h). Requests are objects with "call";
// replies are objects with "ok", or with "error" and "kind". Before its reply the worker sends an
// object with "step" for each step that it is about to do; each has its own deadline.
#pragma once

#include <nlohmann/json.hpp>

#include "device/device.h"
#include "device/measurer.h"
#include "device/sampler.h"
#include "gemm/codec.h"
#include "record/environment.h"
#include "record/peer.h"
#include "record/study.h"
#include "record/trial.h"
#include "worker/lab.h"

namespace hgemm {

namespace call {
inline constexpr const char* kGpus = "gpus";  ///< lists them; opens none
inline constexpr const char* kMachine = "machine";
inline constexpr const char* kOpen = "open";
inline constexpr const char* kPrepare = "prepare";
inline constexpr const char* kRestore = "restore";
inline constexpr const char* kForget = "forget";
inline constexpr const char* kSettle = "settle";
inline constexpr const char* kRounds = "rounds";
inline constexpr const char* kEnergy = "energy";
inline constexpr const char* kCalls = "calls";
inline constexpr const char* kStudy = "study";  ///< any StudyRequest; closes the open problem
}  // namespace call

/// Kinds of error; they select the exception that the parent throws.
namespace kind {
inline constexpr const char* kNoDevice = "no_device";
inline constexpr const char* kInput = "input";      ///< the problem does not fit
inline constexpr const char* kContext = "context";  ///< the CUDA context is lost; the worker exits
inline constexpr const char* kError = "error";
}  // namespace kind

void to_json(nlohmann::json& json, const Prepared& prepared);
void from_json(const nlohmann::json& json, Prepared& prepared);
void to_json(nlohmann::json& json, const Sample& sample);
void from_json(const nlohmann::json& json, Sample& sample);
void to_json(nlohmann::json& json, const CallTime& time);
void from_json(const nlohmann::json& json, CallTime& time);
void to_json(nlohmann::json& json, const Opening& opening);
void from_json(const nlohmann::json& json, Opening& opening);
void to_json(nlohmann::json& json, const StudyRequest& request);  ///< without its sources
void from_json(const nlohmann::json& json, StudyRequest& request);
void to_json(nlohmann::json& json, const Study& study);
void from_json(const nlohmann::json& json, Study& study);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Environment, gpu_name, compute_major, compute_minor, sm_count,
                                   l2_bytes, memory_bytes, max_sm_mhz, power_limit_w, driver, cuda,
                                   cublas)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VisibleGpu, index, uuid, name, why_unusable, busy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunInfo, gpu_uuid, host, git_revision, kernel_sources)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Machine, environment, run)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Verdict, correct, error, tolerance, message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Timing, cold, graph, pdl, brief)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Energy, window_s, power_w, time_us)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cubin, path, hash, owner)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Step, doing, label, alone, expected_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Figure, point, metric, unit, value, low, high, samples)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Span, sm, cta, role, phase, tile, start_ns, end_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StudyPart, position, variant, problem, label)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Series, name, samples)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Peer, name, file, hash, options)

}  // namespace hgemm
