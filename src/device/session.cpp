#include "device/session.h"

#include <fmt/format.h>

#include <utility>

#include "device/protocol.h"

namespace hgemm {
namespace {

/// Converts the exception being handled into a failed candidate; call it in a handler. A refusal by
/// CUDA or a library is the candidate's own failure. If the context is lost, the error is rethrown.
/// So is an InputError: a changed cubin says nothing about the candidate, and must not be recorded
/// as its failure.
Prepared launch_failure(const Error& error) {
  const auto* const cuda_error = dynamic_cast<const CudaError*>(&error);
  if (cuda_error != nullptr && cuda_error->sticky()) throw;
  if (dynamic_cast<const InputError*>(&error) != nullptr) throw;
  return {.status = Status::kLaunchFailed, .message = error.what(), .verdict = {}};
}

bool is_light(const GemmProblem& problem) { return problem.intensity() <= protocol::kLightLoad; }

}  // namespace

Session::Session(const GemmProblem& problem, std::uint64_t seed, const Gpu& device,
                 const Nvml* nvml, OnStep on_step, const std::set<std::string>& without,
                 Effort effort)
    : data_(problem, seed, device, stream_),
      sampler_(stream_, {.sets = data_.sets(), .light = is_light(problem), .effort = effort},
               device, nvml, std::move(on_step)) {
  opened_.timing.cold = data_.cold();
  opened_.timing.brief = effort == Effort::kBrief;
  for (Baseline& baseline : make_baselines(data_)) {
    if (without.contains(baseline.label)) continue;
    const std::string description = baseline.candidate->describe();
    Prepared prepared = check_candidate(baseline.label, std::move(baseline.candidate));
    prepared.message = prepared.status == Status::kOk
                           ? description
                           : fmt::format("{}: {}", description, prepared.message);
    opened_.baselines.push_back(baseline.label);
    opened_.prepared.push_back(std::move(prepared));
  }
}

Prepared Session::prepare(const std::string& label, const Kernel& kernel, const Cubin& cubin) {
  sampler_.announce("loading", label, 0);
  std::unique_ptr<Candidate> candidate;
  try {
    candidate = make_kernel_candidate(kernel, cubin, data_, workspaces_);
  } catch (const Error& error) {
    return launch_failure(error);
  }
  return check_candidate(label, std::move(candidate));
}

Prepared Session::prepare(const std::string& label, std::unique_ptr<Candidate> candidate) {
  return check_candidate(label, std::move(candidate));
}

Prepared Session::restore(const std::string& label, const Kernel& kernel, const Cubin& cubin,
                          double estimate_us) {
  sampler_.announce("loading", label, 0);
  try {
    auto candidate = make_kernel_candidate(kernel, cubin, data_, workspaces_);
    sampler_.add(label, std::move(candidate), estimate_us);
  } catch (const Error& error) {
    return launch_failure(error);
  }
  return {.status = Status::kOk, .message = {}, .verdict = {}, .estimate_us = estimate_us};
}

Prepared Session::check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate) {
  sampler_.announce("the first launch", label, 0);
  Prepared prepared;
  try {
    data_.poison(stream_);
    candidate->launch(0, stream_.get());
    prepared.verdict = data_.verify(stream_, candidate->roundings());
    if (!prepared.verdict.correct) {
      prepared.status = Status::kWrongResult;
      prepared.message = prepared.verdict.message;
      return prepared;
    }
    prepared.estimate_us = sampler_.estimate_us(*candidate);
    sampler_.add(label, std::move(candidate), prepared.estimate_us);
    return prepared;
  } catch (const Error& error) {
    return launch_failure(error);
  }
}

}  // namespace hgemm
