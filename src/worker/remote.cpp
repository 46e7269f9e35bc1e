#include "worker/remote.h"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "families/family.h"
#include "worker/connection.h"
#include "worker/messages.h"

namespace hgemm {

using nlohmann::json;

namespace {

// A reply with impossible values throws std::out_of_range, which counts as an invalid reply.

void check_size(std::size_t size, std::size_t expected) {
  if (size != expected) throw std::out_of_range("as many as were asked for");
}

void check_time(double time) {
  if (!std::isfinite(time) || time < 0) throw std::out_of_range("a time");
}

Prepared prepared_from(const json& reply) {
  auto prepared = reply.get<Prepared>();
  check_time(prepared.estimate_us);
  return prepared;
}

}  // namespace

// ---- Trials ----

struct RemoteMeasurer::Impl : Connection {
  using Connection::Connection;
  std::vector<Peer> peers;
  bool has_opened = false;
  bool is_brief = false;    ///< the open problem is measured in brief
  bool was_traced = false;  ///< the present worker has traced kernels, which slows it down
};

namespace {

/// CUDA_VISIBLE_DEVICES must be set before CUDA is initialised, so the worker gets it when it
/// starts.
std::vector<std::string> environment_for(const std::string& gpu_uuid,
                                         std::vector<std::string> variables) {
  if (!gpu_uuid.empty()) variables.push_back("CUDA_VISIBLE_DEVICES=" + gpu_uuid);
  return variables;
}

}  // namespace

std::vector<VisibleGpu> list_gpus(const std::vector<std::string>& command,
                                  const WorkerLimits& limits) {
  return Connection(command, limits)
      .request<std::vector<VisibleGpu>>({{"call", call::kGpus}}, limits.start);
}

RemoteMeasurer::RemoteMeasurer(std::vector<std::string> command, const WorkerLimits& limits,
                               const std::string& gpu_uuid, std::vector<Peer> peers,
                               std::vector<std::string> variables)
    : impl_(std::make_unique<Impl>(std::move(command), limits,
                                   environment_for(gpu_uuid, std::move(variables)))) {
  impl_->peers = std::move(peers);
}
RemoteMeasurer::~RemoteMeasurer() = default;

Machine RemoteMeasurer::machine() {
  return impl_->request<Machine>({{"call", call::kMachine}}, impl_->limits().start);
}

Measurer::Opened RemoteMeasurer::open(const GemmProblem& problem, const Opening& opening) {
  const bool is_fresh = !std::exchange(impl_->has_opened, true);
  const bool was_traced = std::exchange(impl_->was_traced, false);
  impl_->is_brief = opening.effort == Effort::kBrief;
  if (!is_fresh && (was_traced || !impl_->is_brief)) impl_->restart();
  impl_->expect_launches_of(problem.flops());
  const WorkerLimits& limits = impl_->limits();
  return impl_->request(
      {{"call", call::kOpen}, {"problem", problem}, {"opening", opening}, {"peers", impl_->peers}},
      limits.start + limits.open + impl_->launch_limit(), [](const json& reply) {
        Opened opened{reply.at("baselines").get<std::vector<std::string>>(),
                      {},
                      reply.at("timing").get<Timing>()};
        for (const json& one : reply.at("prepared")) {
          opened.prepared.push_back(prepared_from(one));
        }
        check_size(opened.prepared.size(), opened.baselines.size());
        return opened;
      });
}

Prepared RemoteMeasurer::prepare(const Build& build) {
  return impl_->request(
      {{"call", call::kPrepare}, {"label", label(config_of(build.kernel))}, {"cubin", build.cubin}},
      impl_->limits().step, prepared_from);
}

Prepared RemoteMeasurer::restore(const Build& build, double estimate_us) {
  return impl_->request({{"call", call::kRestore},
                         {"label", label(config_of(build.kernel))},
                         {"cubin", build.cubin},
                         {"estimate_us", estimate_us}},
                        impl_->limits().step, prepared_from);
}

void RemoteMeasurer::forget(const std::string& label) {
  impl_->request<json>({{"call", call::kForget}, {"label", label}}, impl_->limits().step);
}

Measurer::Settled RemoteMeasurer::settle(Pace pace) {
  return impl_->request(
      {{"call", call::kSettle}, {"pace", to_string(pace)}}, impl_->limits().step,
      [](const json& reply) { return Settled{reply.at("power_capped").get<bool>()}; });
}

std::vector<std::vector<Sample>> RemoteMeasurer::rounds(std::span<const std::string> labels,
                                                        Pace pace) {
  return impl_->request({{"call", call::kRounds},
                         {"labels", std::vector<std::string>(labels.begin(), labels.end())},
                         {"pace", to_string(pace)}},
                        impl_->limits().step, [&](const json& reply) {
                          auto rounds = reply.get<std::vector<std::vector<Sample>>>();
                          if (rounds.empty()) throw std::out_of_range("a round at least");
                          for (const std::vector<Sample>& round : rounds) {
                            check_size(round.size(), labels.size());
                            for (const Sample& sample : round) check_time(sample.time_us);
                          }
                          return rounds;
                        });
}

std::optional<Energy> RemoteMeasurer::energy(const std::string& label) {
  return impl_->request({{"call", call::kEnergy}, {"label", label}}, impl_->limits().step,
                        [](const json& reply) -> std::optional<Energy> {
                          if (reply.is_null()) return std::nullopt;
                          return reply.get<Energy>();
                        });
}

CallTime RemoteMeasurer::calls(const std::string& label) {
  impl_->was_traced = !impl_->is_brief;
  return impl_->request({{"call", call::kCalls}, {"label", label}}, impl_->limits().step,
                        [](const json& reply) {
                          const auto time = reply.get<CallTime>();
                          check_time(time.host_us);
                          check_time(time.kernel_us.value_or(0));
                          if (time.calls < 1 || time.kernels < 0) throw std::out_of_range("calls");
                          return time;
                        });
}

// ---- Studies ----

struct RemoteLab::Impl : Connection {
  using Connection::Connection;
};

RemoteLab::RemoteLab(std::vector<std::string> command, const WorkerLimits& limits)
    : impl_(std::make_unique<Impl>(std::move(command), limits)) {}
RemoteLab::~RemoteLab() = default;

Machine RemoteLab::machine() {
  return impl_->request<Machine>({{"call", call::kMachine}}, impl_->limits().start);
}

Study RemoteLab::run(const StudyRequest& request, const Cubins& cubins) {
  impl_->expect_launches_of(request.flops());
  return impl_->request<Study>({{"call", call::kStudy}, {"request", request}, {"cubins", cubins}},
                               impl_->limits().open + impl_->launch_limit());
}

}  // namespace hgemm
