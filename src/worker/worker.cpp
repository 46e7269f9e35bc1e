// The worker process: owns the CUDA context, serves one request at a time.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/channel.h"
#include "base/revision.h"
#include "compile/compiler.h"
#include "device/blas.h"
#include "device/cuda.h"
#include "device/device.h"
#include "device/nvml.h"
#include "device/session.h"
#include "families/family.h"
#include "worker/messages.h"
#include "worker/remote.h"

namespace hgemm {
namespace {

using nlohmann::json;

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Machine describe_machine(const Gpu& device, const std::optional<Nvml>& nvml) {
  Machine machine;
  Environment& environment = machine.environment;
  environment.gpu_name = device.name;
  environment.compute_major = device.compute_major;
  environment.compute_minor = device.compute_minor;
  environment.sm_count = device.sm_count;
  environment.l2_bytes = device.l2_bytes;
  environment.memory_bytes = device.memory_bytes;
  environment.max_sm_mhz = device.max_sm_mhz;
  if (nvml) environment.power_limit_w = nvml->power_limit_w().value_or(0);
  if (nvml) environment.driver = nvml->driver_version();
  if (environment.driver.empty()) environment.driver = "CUDA " + device.driver_cuda_version;
  environment.cuda = cuda_runtime_version();
  environment.cublas = cublas_version();
  machine.run = {.gpu_uuid = device.uuid,
                 .host = host_name(),
                 .git_revision = std::string(git_revision()),
                 .kernel_sources = kernel_source_hash()};
  return machine;
}

class Server {
 public:
  Server(Channel& channel, const RunStudy& run_study) : channel_(channel), run_study_(run_study) {}

  json handle(const json& request) {
    const auto call = request.at("call").get<std::string>();
    if (!device_) {
      device_ = open_device();
      nvml_ = Nvml::open(device_->pci_bus_id);
    }
    if (call == call::kMachine) return describe_machine(*device_, nvml_);
    if (call == call::kOpen) return open(request);
    if (call == call::kStudy) return study(request);
    if (!session_) throw Error("no problem is open");
    if (call == call::kSettle) {
      return {{"power_capped", session_->settle(pace_of(request)).power_capped}};
    }
    if (call == call::kRounds) {
      return session_->rounds(request.at("labels").get<std::vector<std::string>>(),
                              pace_of(request));
    }
    const auto label = request.at("label").get<std::string>();
    if (call == call::kPrepare) {
      return session_->prepare(label, kernel_of(label), request.at("cubin").get<Cubin>());
    }
    if (call == call::kRestore) {
      return session_->restore(label, kernel_of(label), request.at("cubin").get<Cubin>(),
                               request.at("estimate_us").get<double>());
    }
    if (call == call::kForget) {
      session_->forget(label);
      return nullptr;
    }
    if (call == call::kEnergy) {
      const std::optional<Energy> energy = session_->energy(label);
      return energy ? json(*energy) : json();
    }
    throw Error("the worker does not know the call \"" + call + "\"");
  }

 private:
  json open(const json& request) {
    session_.reset();  // frees its memory before the next one asks how much there is
    session_.emplace(request.at("problem").get<GemmProblem>(),
                     request.at("seed").get<std::uint64_t>(), *device_, nvml_ ? &*nvml_ : nullptr,
                     on_step_, request.at("without").get<std::set<std::string>>(),
                     request.at("brief").get<bool>() ? Effort::kBrief : Effort::kFull);
    const Measurer::Opened& opened = session_->opened();
    return {
        {"baselines", opened.baselines}, {"prepared", opened.prepared}, {"timing", opened.timing}};
  }
  /// What fails in the study ends it, with a status; a CudaError that may have cost the context
  /// ends this process, and an InputError is not the study's fault (no room, no permission).
  Study study(const json& request) {
    session_.reset();  // frees its memory, and is not to run meanwhile
    const auto what = request.at("request").get<StudyRequest>();
    try {
      return run_study_(what, request.at("cubins").get<Cubins>(),
                        {*device_, nvml_ ? &*nvml_ : nullptr, on_step_});
    } catch (const CudaError& error) {
      if (error.sticky()) throw;
      return failed_launch(what, error);
    } catch (const InputError&) {
      throw;
    } catch (const ChannelClosed&) {  // in on_step: nobody is waiting for the study
      throw;
    } catch (const std::exception& error) {
      return failed_launch(what, error);
    }
  }
  /// Of the open problem.
  Kernel kernel_of(const std::string& label) const {
    return kernel_for(parse_label(label), session_->data().problem());
  }
  static Study failed_launch(const StudyRequest& request, const std::exception& error) {
    Study study;
    study.kind = request.kind;
    study.label = request.label;
    study.problem = request.problem;
    study.status = Status::kLaunchFailed;
    study.message = error.what();
    return study;
  }
  static Pace pace_of(const json& request) {
    return parse_pace(request.at("pace").get<std::string>());
  }

  Channel& channel_;
  const RunStudy& run_study_;
  const OnStep on_step_ = [this](const Step& step) {
    if (!channel_.send({{"step", step}})) throw ChannelClosed("no parent");
  };
  std::optional<Gpu> device_;
  std::optional<Nvml> nvml_;
  std::optional<Session> session_;
};

/// What fails while prepared candidates are being timed is one candidate's fault: as with a lost
/// context, the parent starts afresh, and where the last step does not tell whose, tries them one
/// by one.
bool is_timing(const json& request) {
  const auto call = request.at("call").get<std::string>();
  return call == call::kRounds || call == call::kSettle || call == call::kEnergy;
}

json failure(const char* kind, const std::exception& error) {
  return {{"error", error.what()}, {"kind", kind}};
}

}  // namespace

int worker_main(int socket_fd, const RunStudy& run_study) {
  Channel channel(socket_fd);
  Server server(channel, run_study);
  try {
    while (true) {
      const std::optional<json> request = channel.receive();
      json reply;
      bool context_lost = false;
      try {
        reply = {{"ok", server.handle(*request)}};
      } catch (const CudaError& error) {
        context_lost = error.sticky() || is_timing(*request);
        reply = failure(context_lost ? kind::kContext : kind::kError, error);
      } catch (const NoDevice& error) {
        reply = failure(kind::kNoDevice, error);
      } catch (const InputError& error) {
        reply = failure(kind::kInput, error);
      } catch (const std::exception& error) {
        reply = failure(kind::kError, error);
      }
      if (!channel.send(reply)) return 1;
      if (context_lost) return 1;
    }
  } catch (const ChannelClosed&) {
    return 0;  // the parent is done
  }
}

}  // namespace hgemm
