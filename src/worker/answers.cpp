#include "worker/answers.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <exception>

#include "base/channel.h"
#include "base/error.h"
#include "base/revision.h"
#include "compile/compiler.h"
#include "device/blas.h"
#include "device/cuda.h"
#include "worker/messages.h"

namespace hgemm {
namespace {

using nlohmann::json;

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Study failed_launch(const StudyRequest& request, const std::exception& error) {
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.problem = request.problem;
  study.status = Status::kLaunchFailed;
  study.message = error.what();
  return study;
}

/// Whether a failure of the call is the fault of one of the prepared candidates, because they are
/// being timed. The parent then starts a new worker, as with a lost context. If the last step does
/// not name the candidate at fault, the parent tries them one by one.
bool is_timing(const json& request) {
  const auto call = request.at("call").get<std::string>();
  return call == call::kRounds || call == call::kSettle || call == call::kEnergy ||
         call == call::kCalls;
}

json failure(const char* kind, const std::exception& error) {
  return {{"error", error.what()}, {"kind", kind}};
}

}  // namespace

Machine machine_of(const Gpu& device, std::optional<double> power_limit_w,
                   const std::string& driver) {
  Machine machine;
  Environment& environment = machine.environment;
  environment.gpu_name = device.name;
  environment.compute_major = device.compute_major;
  environment.compute_minor = device.compute_minor;
  environment.sm_count = device.sm_count;
  environment.l2_bytes = device.l2_bytes;
  environment.memory_bytes = device.memory_bytes;
  environment.max_sm_mhz = device.max_sm_mhz;
  environment.power_limit_w = power_limit_w.value_or(0);
  environment.driver = driver.empty() ? "CUDA " + device.driver_cuda_version : driver;
  environment.cuda = cuda_runtime_version();
  environment.cublas = cublas_version();
  machine.run = {.gpu_uuid = device.uuid,
                 .host = host_name(),
                 .git_revision = std::string(git_revision()),
                 .kernel_sources = kernel_source_hash()};
  return machine;
}

Study carried_out(const StudyRequest& request, const std::function<Study()>& run) {
  try {
    return run();
  } catch (const CudaError& error) {
    if (error.sticky()) throw;
    return failed_launch(request, error);
  } catch (const InputError&) {
    throw;
  } catch (const ChannelClosed&) {
    throw;
  } catch (const std::exception& error) {
    return failed_launch(request, error);
  }
}

Answer answer_to(const json& request, const std::function<json(const json&)>& handle) {
  Answer answer;
  try {
    answer.message = {{"ok", handle(request)}};
  } catch (const ChannelClosed&) {
    throw;
  } catch (const CudaError& error) {
    answer.context_lost = error.sticky() || is_timing(request);
    answer.message = failure(answer.context_lost ? kind::kContext : kind::kError, error);
  } catch (const NoDevice& error) {
    answer.message = failure(kind::kNoDevice, error);
  } catch (const InputError& error) {
    answer.message = failure(kind::kInput, error);
  } catch (const std::exception& error) {
    answer.message = failure(kind::kError, error);
  }
  return answer;
}

}  // namespace hgemm
