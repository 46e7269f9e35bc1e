#include "compile/pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace hgemm {
namespace {

using std::chrono::steady_clock;

struct Slot {
  std::unique_ptr<Child> child;        // none: not started yet, or the previous child failed
  std::optional<std::size_t> request;  // none: idle
  Deadline deadline{};
};

/// Ends a child that owes an answer.
PoolAnswer give_up(Slot& slot, const std::string& reason) {
  slot.child.reset();
  slot.request.reset();
  return {nullptr, reason};
}

PoolAnswer timed_out(Slot& slot, const PoolOptions& options) {
  return give_up(slot, fmt::format("the compile process was killed after {:g} s",
                                   std::chrono::duration<double>(options.timeout).count()));
}

PoolAnswer garbled(Slot& slot) {
  return give_up(slot, "the compile process's answer was not understood");
}

PoolAnswer ended(Slot& slot, const PoolOptions& options) {
  return give_up(slot,
                 fmt::format("the compile process ended: {}", slot.child->wait(options.grace)));
}

/// Sends the slot a request. Returns an answer only if that failed.
std::optional<PoolAnswer> start(Slot& slot, std::size_t request, const nlohmann::json& message,
                                const PoolOptions& options) {
  if (!slot.child) slot.child = std::make_unique<Child>(options.command);
  slot.request = request;
  slot.deadline = steady_clock::now() + options.timeout;
  try {
    if (!slot.child->channel().send(message, slot.deadline)) return timed_out(slot, options);
    return std::nullopt;
  } catch (const ChannelClosed&) {
    return ended(slot, options);
  }
}

/// The slot's answer or failure; none while it is still working.
std::optional<PoolAnswer> poll_answer(Slot& slot, const PoolOptions& options) {
  try {
    if (auto message = slot.child->channel().receive(steady_clock::now())) {
      slot.request.reset();
      return PoolAnswer{std::move(*message), ""};
    }
  } catch (const ChannelClosed&) {
    return ended(slot, options);
  } catch (const NotAMessage&) {
    return garbled(slot);
  }
  if (steady_clock::now() >= slot.deadline) return timed_out(slot, options);
  return std::nullopt;
}

/// Sleeps until a busy child has sent something or the first deadline passes.
void wait_for_any(const std::vector<Slot>& slots) {
  std::vector<pollfd> entries;
  Deadline first = kNever;
  for (const Slot& slot : slots) {
    if (!slot.request) continue;
    entries.push_back({slot.child->channel().fd(), POLLIN, 0});
    first = std::min(first, slot.deadline);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - steady_clock::now());
  poll(entries.data(), entries.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
}

/// Ends all children at the same time: one after another, dozens would take seconds.
struct KillAll {
  std::vector<Slot>& slots;
  ~KillAll() {
    for (Slot& slot : slots) {
      if (slot.child) slot.child->kill();
    }
  }
};

}  // namespace

void run_in_children(std::size_t count, const PoolOptions& options,
                     const std::function<nlohmann::json(std::size_t)>& make_request,
                     const std::function<void(std::size_t, PoolAnswer)>& done) {
  std::vector<Slot> slots(std::min(count, static_cast<std::size_t>(std::max(options.children, 1))));
  const KillAll kill_all{slots};
  std::size_t next = 0;
  for (std::size_t finished = 0; finished < count;) {
    for (Slot& slot : slots) {
      while (!slot.request && next < count) {
        const std::size_t request = next++;
        if (auto failure = start(slot, request, make_request(request), options)) {
          ++finished;
          done(request, std::move(*failure));
        }
      }
    }
    if (finished == count) break;
    wait_for_any(slots);
    for (Slot& slot : slots) {
      if (!slot.request) continue;
      const std::size_t request = *slot.request;
      if (auto answer = poll_answer(slot, options)) {
        ++finished;
        done(request, std::move(*answer));
      }
    }
  }
}

}  // namespace hgemm
