#include "worker/connection.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "worker/messages.h"

namespace hgemm {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr double kStepFactor = 10;  ///< times what the worker expects of a step
/// Where it does not know yet: far slower than any launch. The slowest config of results/h200 (64x8
/// at 16384^3) does 38e12.
constexpr double kLeastFlopsPerSecond = 1e12;

milliseconds milliseconds_of(double ms) { return milliseconds(static_cast<std::int64_t>(ms)); }

}  // namespace

void Connection::expect_launches_of(double flops) {
  launch_limit_ = milliseconds_of(flops / kLeastFlopsPerSecond * 1e3);
}

json Connection::request(const json& message, milliseconds limit) {
  if (!worker_) worker_.emplace(command_);
  Step step{.doing = message.at("call").get<std::string>(), .label = {}, .alone = true};
  const auto culprit = [&step] { return step.alone ? step.label : std::string(); };
  const auto named = [&step] {
    return step.label.empty() ? step.doing : fmt::format("{} of {}", step.doing, step.label);
  };
  auto deadline = std::chrono::steady_clock::now() + limit;
  try {
    std::optional<json> reply;
    if (worker_->channel().send(message, deadline)) reply = worker_->channel().receive(deadline);
    while (reply && reply->contains("step")) {
      reply->at("step").get_to(step);
      limit = limit::kStep + (step.expected_ms > 0 ? milliseconds_of(kStepFactor * step.expected_ms)
                                                   : launch_limit_);
      deadline = std::chrono::steady_clock::now() + limit;
      reply = worker_->channel().receive(deadline);
    }
    if (reply) return unpack(std::move(*reply), culprit());
  } catch (const ChannelClosed&) {
    const std::string end = worker_->wait();
    worker_.reset();
    throw MeasurerLost(Status::kCrashed,
                       fmt::format("the worker process ended during {}: {}", named(), end),
                       culprit());
  }
  worker_.reset();  // kills it; the driver takes the GPU back
  // Samples end in order: what the worker waited for is what hangs.
  throw MeasurerLost(
      Status::kTimedOut,
      fmt::format("{} did not end within {} ms: the worker was killed", named(), limit.count()),
      step.label);
}

json Connection::unpack(json reply, const std::string& culprit) {
  if (reply.contains("ok")) return std::move(reply.at("ok"));
  const auto error = reply.at("error").get<std::string>();
  const auto error_kind = reply.at("kind").get<std::string>();
  if (error_kind == kind::kContext) {
    worker_.reset();
    throw MeasurerLost(Status::kCrashed, error, culprit);
  }
  if (error_kind == kind::kNoDevice) throw NoDevice(error);
  if (error_kind == kind::kInput) throw InputError(error);
  throw Error(error);
}

}  // namespace hgemm
