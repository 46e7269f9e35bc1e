#include "worker/remote.h"

#include <fmt/format.h>

#include <optional>

#include "worker/messages.h"

namespace hgemm {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Deadlines: far above what was seen, since to pass one costs the worker.
constexpr milliseconds kStartLimit{60'000};  ///< context, libraries
constexpr milliseconds kOpenLimit{30'000};   ///< allocation, data, fp32 reference
/// From one word of the worker to the next. Above the kernel's own bound on barrier waits
/// (kWaitLimitNs, 2 s), so that a kernel that deadlocks is told from one that runs for ever.
constexpr milliseconds kStepLimit{4'000};
constexpr double kStepFactor = 10;  ///< times what the worker expects of a step
/// Where it does not know yet: far slower than any launch. The slowest config of results/h200 (64x8
/// at 16384^3) does 38e12.
constexpr double kLeastFlopsPerSecond = 1e12;

milliseconds milliseconds_of(double ms) { return milliseconds(static_cast<std::int64_t>(ms)); }

}  // namespace

struct RemoteMeasurer::Impl {
  std::vector<std::string> command;
  std::optional<Child> worker;
  Shape shape;  // the open one

  /// Time for a launch of a candidate that nothing is known of.
  milliseconds launch_limit() const {
    return milliseconds_of(shape.flops() / kLeastFlopsPerSecond * 1e3);
  }
  milliseconds step_limit(const Step& step) const {
    return kStepLimit + (step.expected_ms > 0 ? milliseconds_of(kStepFactor * step.expected_ms)
                                              : launch_limit());
  }

  /// `limit` is that of the time before the first step.
  json request(const json& message, milliseconds limit = kStepLimit) {
    if (!worker) worker.emplace(command);
    Step step{.doing = message.at("call").get<std::string>(), .label = {}, .alone = true};
    const auto culprit = [&step] { return step.alone ? step.label : std::string(); };
    const auto named = [&step] {
      return step.label.empty() ? step.doing : fmt::format("{} of {}", step.doing, step.label);
    };
    auto deadline = std::chrono::steady_clock::now() + limit;
    try {
      std::optional<json> reply;
      if (worker->channel().send(message, deadline)) reply = worker->channel().receive(deadline);
      while (reply && reply->contains("step")) {
        reply->at("step").get_to(step);
        limit = step_limit(step);
        deadline = std::chrono::steady_clock::now() + limit;
        reply = worker->channel().receive(deadline);
      }
      if (reply) return unpack(std::move(*reply), culprit());
    } catch (const ChannelClosed&) {
      const std::string end = worker->wait();
      worker.reset();
      throw MeasurerLost(Status::kCrashed,
                         fmt::format("the worker process ended during {}: {}", named(), end),
                         culprit());
    }
    worker.reset();  // kills it; the driver takes the GPU back
    // Samples end in order: what the worker waited for is what hangs.
    throw MeasurerLost(
        Status::kTimedOut,
        fmt::format("{} did not end within {} ms: the worker was killed", named(), limit.count()),
        step.label);
  }

 private:
  json unpack(json reply, const std::string& culprit) {
    if (reply.contains("ok")) return std::move(reply.at("ok"));
    const auto error = reply.at("error").get<std::string>();
    const auto error_kind = reply.at("kind").get<std::string>();
    if (error_kind == kind::kContext) {
      worker.reset();
      throw MeasurerLost(Status::kCrashed, error, culprit);
    }
    if (error_kind == kind::kNoDevice) throw NoDevice(error);
    if (error_kind == kind::kInput) throw InputError(error);
    throw Error(error);
  }
};

RemoteMeasurer::RemoteMeasurer(std::vector<std::string> command) : impl_(std::make_unique<Impl>()) {
  impl_->command = std::move(command);
}
RemoteMeasurer::~RemoteMeasurer() = default;

Environment RemoteMeasurer::environment() {
  return impl_->request({{"call", call::kEnvironment}}, kStartLimit).get<Environment>();
}

Measurer::Opened RemoteMeasurer::open(const Shape& shape, std::uint64_t seed,
                                      const std::set<std::string>& without) {
  impl_->shape = shape;
  const json reply = impl_->request(
      {{"call", call::kOpen}, {"shape", shape}, {"seed", seed}, {"without", without}},
      kOpenLimit + impl_->launch_limit());
  return {reply.at("baselines").get<std::vector<std::string>>(),
          reply.at("prepared").get<std::vector<Prepared>>(), reply.at("timing").get<Timing>()};
}

Prepared RemoteMeasurer::prepare(const Build& build) {
  return impl_
      ->request(
          {{"call", call::kPrepare}, {"label", build.facts.label}, {"cubin", build.cubin.string()}})
      .get<Prepared>();
}

Prepared RemoteMeasurer::restore(const Build& build, double estimate_us) {
  return impl_
      ->request({{"call", call::kRestore},
                 {"label", build.facts.label},
                 {"cubin", build.cubin.string()},
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

}  // namespace hgemm
