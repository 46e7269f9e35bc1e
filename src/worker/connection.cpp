#include "worker/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "worker/messages.h"

namespace hgemm {

using nlohmann::json;
using std::chrono::milliseconds;

namespace {

std::string name_of(const Step& step) {
  return step.label.empty() ? step.doing : fmt::format("{} of {}", step.doing, step.label);
}

std::string culprit_of(const Step& step) { return step.alone ? step.label : std::string(); }

}  // namespace

json Connection::ask(const json& message, milliseconds limit) {
  if (!worker_) worker_.emplace(command_, environment_);
  step_ = {.doing = message.at("call").get<std::string>(), .label = {}, .alone = true};
  try {
    if (auto reply = converse(message, limit)) return unpack(std::move(*reply));
  } catch (const ChannelClosed&) {
    const std::string end = worker_->wait(limits_.end);
    worker_.reset();
    throw MeasurerLost(Status::kCrashed,
                       fmt::format("the worker process ended during {}: {}", name_of(step_), end),
                       culprit_of(step_));
  } catch (const NotAMessage&) {
    lose_to_nonsense();
  } catch (const json::exception&) {
    lose_to_nonsense();
  }
  worker_.reset();  // kills it; the driver takes the GPU back
  // Samples end in order, so the step that the worker waited for is the one that hangs.
  throw MeasurerLost(Status::kTimedOut,
                     fmt::format("{} did not end within {} ms: the worker was killed",
                                 name_of(step_), limit.count()),
                     step_.label);
}

std::optional<json> Connection::converse(const json& message, milliseconds& limit) {
  const auto last = std::chrono::steady_clock::now() + limits_.request;
  const auto deadline = [&] {
    const auto at = std::chrono::steady_clock::now() + limit;
    if (at > last) limit = limits_.request;
    return std::min(at, last);
  };
  auto until = deadline();
  if (!worker_->channel().send(message, until)) return std::nullopt;
  for (;;) {
    // Steps without end must not block this call, even if each one is in time.
    if (std::chrono::steady_clock::now() >= last) return std::nullopt;
    std::optional<json> reply = worker_->channel().receive(until);
    if (!reply || !reply->contains("step")) return reply;
    step_ = reply->at("step").get<Step>();
    limit = step_limit(limits_, step_.expected_ms, launch_limit_);
    until = deadline();
  }
}

json Connection::unpack(json reply) {
  if (reply.contains("ok")) return std::move(reply.at("ok"));
  const auto error = reply.at("error").get<std::string>();
  const auto error_kind = reply.at("kind").get<std::string>();
  if (error_kind == kind::kContext) {
    worker_.reset();
    throw MeasurerLost(Status::kCrashed, error, culprit_of(step_));
  }
  if (error_kind == kind::kNoDevice) throw NoDevice(error);
  if (error_kind == kind::kInput) throw InputError(error);
  throw Error(error);
}

void Connection::lose_to_nonsense() {
  worker_.reset();
  throw MeasurerLost(
      Status::kCrashed,
      fmt::format("the worker's reply during {} was not understood: it was killed", name_of(step_)),
      culprit_of(step_));
}

}  // namespace hgemm
