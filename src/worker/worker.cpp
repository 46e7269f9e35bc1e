// The worker process: owns the CUDA context, serves one request at a time.
#include <optional>
#include <vector>

#include "base/channel.h"
#include "base/error.h"
#include "device/device.h"
#include "device/nvml.h"
#include "device/session.h"
#include "families/family.h"
#include "worker/answers.h"
#include "worker/messages.h"
#include "worker/remote.h"

namespace hgemm {
namespace {

using nlohmann::json;

class Server {
 public:
  Server(Channel& channel, const RunStudy& run_study) : channel_(channel), run_study_(run_study) {}

  json handle(const json& request) {
    const auto call = request.at("call").get<std::string>();
    if (call == call::kGpus) return visible_gpus();
    if (!device_) {
      device_ = open_device();
      nvml_ = Nvml::open(device_->pci_bus_id);
      if (nvml_) nvml_->bind_to_near_cpus();
    }
    if (!stream_) stream_.emplace();
    if (call == call::kMachine) return describe_machine();
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
    if (call == call::kCalls) return session_->calls(label);
    throw Error("the worker does not know the call \"" + call + "\"");
  }

 private:
  Machine describe_machine() const {
    return machine_of(*device_, nvml_ ? nvml_->power_limit_w() : std::nullopt,
                      nvml_ ? nvml_->driver_version() : std::string());
  }
  json open(const json& request) {
    session_.reset();  // frees its memory before the next session asks how much is free
    const auto peers = request.at("peers").get<std::vector<Peer>>();
    session_.emplace(*stream_, request.at("problem").get<GemmProblem>(),
                     request.at("opening").get<Opening>(), *device_, nvml_ ? &*nvml_ : nullptr,
                     on_step_, PeersInRace{peers, &loaded_peers_});
    const Measurer::Opened& opened = session_->opened();
    return {
        {"baselines", opened.baselines}, {"prepared", opened.prepared}, {"timing", opened.timing}};
  }
  Study study(const json& request) {
    session_.reset();  // frees its memory, and must not run during a study
    const auto what = request.at("request").get<StudyRequest>();
    return carried_out(what, [&] {
      return run_study_(what, request.at("cubins").get<Cubins>(),
                        {*device_, nvml_ ? &*nvml_ : nullptr, on_step_, *stream_});
    });
  }
  /// The kernel of a label at the open problem.
  Kernel kernel_of(const std::string& label) const {
    return kernel_for(parse_label(label), session_->data().problem());
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
  std::optional<Stream> stream_;  ///< for all sessions and studies
  LoadedPeers loaded_peers_;      ///< outlives the session
  std::optional<Session> session_;
};

}  // namespace

int worker_main(int socket_fd, const RunStudy& run_study) {
  Channel channel(socket_fd);
  Server server(channel, run_study);
  try {
    while (true) {
      const std::optional<json> request = channel.receive();
      const Answer answer =
          answer_to(*request, [&](const json& one) { return server.handle(one); });
      if (!channel.send(answer.message) || answer.context_lost) return 1;
    }
  } catch (const ChannelClosed&) {
    return 0;  // the parent is done
  }
}

}  // namespace hgemm
