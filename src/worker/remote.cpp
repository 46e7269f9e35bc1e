#include "worker/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "measure/protocol.h"
#include "worker/messages.h"

namespace hgemm {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Deadlines: far above what was seen, since to pass one costs the worker. The kernel's own bound on
// barrier waits (kWaitLimitNs, 2 s) fires before kPrepareLimit.
constexpr milliseconds kStartLimit{60'000};    ///< context, libraries
constexpr milliseconds kOpenLimit{30'000};     ///< and launch_limit() for the fp32 reference
constexpr milliseconds kPrepareLimit{10'000};  ///< and launch_limit(), however slow the config
constexpr milliseconds kForgetLimit{10'000};
constexpr milliseconds kSettleSlack{20'000};  ///< beyond the protocol's own limit
constexpr milliseconds kRoundSlack{10'000};
constexpr double kRoundFactor = 10;  ///< times what the estimates say
/// Far slower than any launch: the slowest config of results/h200 (64x8 at 16384^3) does 38e12.
constexpr double kLeastFlopsPerSecond = 1e12;

/// Time for everything that one call launches.
milliseconds launch_limit(const Shape& shape) {
  return milliseconds(static_cast<std::int64_t>(shape.flops() / kLeastFlopsPerSecond * 1e3));
}

}  // namespace

struct RemoteMeasurer::Impl {
  std::vector<std::string> command;
  std::optional<Child> worker;
  Shape shape;                                // the open one
  std::map<std::string, double> estimate_us;  // of what it has prepared

  json request(json message, milliseconds limit) {
    if (!worker) worker.emplace(command);
    const auto deadline = std::chrono::steady_clock::now() + limit;
    const auto call = message.at("call").get<std::string>();
    std::optional<json> reply;
    try {
      if (worker->channel().send(message, deadline)) reply = worker->channel().receive(deadline);
    } catch (const ChannelClosed&) {
      const std::string end = worker->wait();
      worker.reset();
      throw MeasurerLost(Status::kCrashed,
                         fmt::format("the worker process ended during {}: {}", call, end));
    }
    if (!reply) {
      worker.reset();  // kills it; the driver takes the GPU back
      throw MeasurerLost(
          Status::kTimedOut,
          fmt::format("no answer to {} within {} ms: the worker was killed", call, limit.count()));
    }
    if (reply->contains("ok")) return std::move(reply->at("ok"));

    const auto error = reply->at("error").get<std::string>();
    const auto error_kind = reply->at("kind").get<std::string>();
    if (error_kind == kind::kContext) {
      worker.reset();
      throw MeasurerLost(Status::kCrashed, error);
    }
    if (error_kind == kind::kNoDevice) throw NoDevice(error);
    if (error_kind == kind::kInput) throw InputError(error);
    throw Error(error);
  }

  void remember(const std::string& label, const Prepared& prepared) {
    if (prepared.status == Status::kOk) estimate_us[label] = prepared.estimate_us;
  }
};

RemoteMeasurer::RemoteMeasurer(std::vector<std::string> command) : impl_(std::make_unique<Impl>()) {
  impl_->command = std::move(command);
}
RemoteMeasurer::~RemoteMeasurer() = default;

Environment RemoteMeasurer::environment() {
  return impl_->request({{"call", call::kEnvironment}}, kStartLimit).get<Environment>();
}

Measurer::Opened RemoteMeasurer::open(const Shape& shape, std::uint64_t seed) {
  impl_->estimate_us.clear();
  impl_->shape = shape;
  const json reply = impl_->request({{"call", call::kOpen}, {"shape", shape}, {"seed", seed}},
                                    kOpenLimit + launch_limit(shape));
  Opened opened{reply.at("baselines").get<std::vector<std::string>>(),
                reply.at("prepared").get<std::vector<Prepared>>()};
  for (std::size_t i = 0; i < opened.baselines.size(); ++i) {
    impl_->remember(opened.baselines[i], opened.prepared[i]);
  }
  return opened;
}

Prepared RemoteMeasurer::prepare(const Build& build) {
  const auto prepared = impl_
                            ->request({{"call", call::kPrepare},
                                       {"label", build.facts.label},
                                       {"cubin", build.cubin.string()}},
                                      kPrepareLimit + launch_limit(impl_->shape))
                            .get<Prepared>();
  impl_->remember(build.facts.label, prepared);
  return prepared;
}

void RemoteMeasurer::forget(const std::string& label) {
  impl_->estimate_us.erase(label);
  impl_->request({{"call", call::kForget}, {"label", label}}, kForgetLimit);
}

void RemoteMeasurer::settle(Regime regime) {
  const milliseconds protocol_limit(static_cast<std::int64_t>(protocol::kSettleLimitMs));
  impl_->request({{"call", call::kSettle}, {"regime", to_string(regime)}},
                 protocol_limit + kSettleSlack + launch_limit(impl_->shape));
}

std::vector<Sample> RemoteMeasurer::round(std::span<const std::string> labels) {
  double expected_us = 0;
  for (const std::string& label : labels) {
    expected_us += std::max(impl_->estimate_us[label], protocol::kSampleUs);
  }
  const milliseconds limit(static_cast<std::int64_t>(kRoundFactor * expected_us * 1e-3));
  return impl_
      ->request({{"call", call::kRound},
                 {"labels", std::vector<std::string>(labels.begin(), labels.end())}},
                kRoundSlack + limit)
      .get<std::vector<Sample>>();
}

}  // namespace hgemm
