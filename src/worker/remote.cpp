#include "worker/remote.h"

#include <optional>
#include <utility>

#include "families/family.h"
#include "worker/connection.h"
#include "worker/messages.h"

namespace hgemm {

using nlohmann::json;

// ---- Trials ----

struct RemoteMeasurer::Impl : Connection {
  using Connection::Connection;
  bool has_opened = false;
};

RemoteMeasurer::RemoteMeasurer(std::vector<std::string> command)
    : impl_(std::make_unique<Impl>(std::move(command))) {}
RemoteMeasurer::~RemoteMeasurer() = default;

Machine RemoteMeasurer::machine() {
  return impl_->request({{"call", call::kMachine}}, limit::kStart).get<Machine>();
}

Measurer::Opened RemoteMeasurer::open(const GemmProblem& problem, std::uint64_t seed,
                                      const std::set<std::string>& without, Effort effort) {
  const bool brief = effort == Effort::kBrief;
  if (std::exchange(impl_->has_opened, true) && !brief) impl_->restart();
  impl_->expect_launches_of(problem.flops());
  const json reply = impl_->request({{"call", call::kOpen},
                                     {"problem", problem},
                                     {"seed", seed},
                                     {"without", without},
                                     {"brief", brief}},
                                    limit::kStart + limit::kOpen + impl_->launch_limit());
  return {reply.at("baselines").get<std::vector<std::string>>(),
          reply.at("prepared").get<std::vector<Prepared>>(), reply.at("timing").get<Timing>()};
}

Prepared RemoteMeasurer::prepare(const Build& build) {
  return impl_
      ->request({{"call", call::kPrepare},
                 {"label", label(config_of(build.kernel))},
                 {"cubin", build.cubin}})
      .get<Prepared>();
}

Prepared RemoteMeasurer::restore(const Build& build, double estimate_us) {
  return impl_
      ->request({{"call", call::kRestore},
                 {"label", label(config_of(build.kernel))},
                 {"cubin", build.cubin},
                 {"estimate_us", estimate_us}})
      .get<Prepared>();
}

void RemoteMeasurer::forget(const std::string& label) {
  impl_->request({{"call", call::kForget}, {"label", label}});
}

Measurer::Settled RemoteMeasurer::settle(Pace pace) {
  const json reply = impl_->request({{"call", call::kSettle}, {"pace", to_string(pace)}});
  return {reply.at("power_capped").get<bool>()};
}

std::vector<std::vector<Sample>> RemoteMeasurer::rounds(std::span<const std::string> labels,
                                                        Pace pace) {
  return impl_
      ->request({{"call", call::kRounds},
                 {"labels", std::vector<std::string>(labels.begin(), labels.end())},
                 {"pace", to_string(pace)}})
      .get<std::vector<std::vector<Sample>>>();
}

std::optional<Energy> RemoteMeasurer::energy(const std::string& label) {
  const json reply = impl_->request({{"call", call::kEnergy}, {"label", label}});
  if (reply.is_null()) return std::nullopt;
  return reply.get<Energy>();
}

// ---- Studies ----

struct RemoteLab::Impl : Connection {
  using Connection::Connection;
};

RemoteLab::RemoteLab(std::vector<std::string> command)
    : impl_(std::make_unique<Impl>(std::move(command))) {}
RemoteLab::~RemoteLab() = default;

Machine RemoteLab::machine() {
  return impl_->request({{"call", call::kMachine}}, limit::kStart).get<Machine>();
}

Study RemoteLab::run(const StudyRequest& request, const Cubins& cubins) {
  impl_->expect_launches_of(request.flops());
  return impl_
      ->request({{"call", call::kStudy}, {"request", request}, {"cubins", cubins}},
                limit::kOpen + impl_->launch_limit())
      .get<Study>();
}

}  // namespace hgemm
