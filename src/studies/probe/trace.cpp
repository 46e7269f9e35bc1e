#include "studies/probe/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace hgemm {
namespace {

using Json = nlohmann::ordered_json;
using Cta = std::pair<int, int>;  // SM, CTA

/// The slot of each CTA among those that shared its SM at the same time; 0 for all if they ran one
/// after another.
std::map<Cta, int> slots_of(std::span<const Span> spans) {
  struct Stay {
    double start_ns, end_ns;
    Cta cta;
  };
  std::map<Cta, Stay> stays;
  for (const Span& span : spans) {
    const Cta cta{span.sm, span.cta};
    Stay& stay = stays.try_emplace(cta, Stay{span.start_ns, span.end_ns, cta}).first->second;
    stay.start_ns = std::min(stay.start_ns, span.start_ns);
    stay.end_ns = std::max(stay.end_ns, span.end_ns);
  }
  std::vector<Stay> by_start;
  for (const auto& [cta, stay] : stays) by_start.push_back(stay);
  std::ranges::stable_sort(by_start, {}, &Stay::start_ns);

  std::map<Cta, int> slots;
  std::map<int, std::vector<double>> free_from;  // for each slot of an SM
  for (const Stay& stay : by_start) {
    auto& ends_ns = free_from[stay.cta.first];
    const auto free =
        std::ranges::find_if(ends_ns, [&](double end_ns) { return end_ns <= stay.start_ns; });
    slots[stay.cta] = static_cast<int>(free - ends_ns.begin());
    if (free == ends_ns.end()) {
      ends_ns.push_back(stay.end_ns);
    } else {
      *free = stay.end_ns;
    }
  }
  return slots;
}

Json metadata(const char* what, int pid, int tid, const char* key, Json value) {
  return {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{key, value}}}};
}

}  // namespace

std::string chrome_trace(std::span<const Span> spans, const std::string& title) {
  std::vector<std::string> roles;  // in the order of the threads
  for (const Span& span : spans) {
    if (std::ranges::find(roles, span.role) == roles.end()) roles.push_back(span.role);
  }
  const std::map<Cta, int> slots = slots_of(spans);
  const auto thread_of = [&](const Span& span) {
    const auto role = std::ranges::find(roles, span.role) - roles.begin();
    return slots.at({span.sm, span.cta}) * static_cast<int>(roles.size()) + static_cast<int>(role) +
           1;
  };

  Json events = Json::array();
  std::map<std::pair<int, int>, std::string> threads;
  for (const Span& span : spans) {
    const int slot = slots.at({span.sm, span.cta});
    threads.try_emplace({span.sm, thread_of(span)},
                        slot == 0 ? span.role : fmt::format("{} ({})", span.role, slot + 1));
  }
  int named = -1;
  for (const auto& [where, name] : threads) {
    const auto [sm, thread] = where;
    if (sm != named) {
      events.push_back(metadata("process_name", sm, 0, "name", fmt::format("SM {}", sm)));
      events.push_back(metadata("process_sort_index", sm, 0, "sort_index", sm));
      named = sm;
    }
    events.push_back(metadata("thread_name", sm, thread, "name", name));
    events.push_back(metadata("thread_sort_index", sm, thread, "sort_index", thread));
  }
  for (const Span& span : spans) {
    Json arguments;
    if (span.tile >= 0) arguments["tile"] = span.tile;
    arguments["cta"] = span.cta;
    events.push_back({{"ph", "X"},
                      {"name", span.phase},
                      {"pid", span.sm},
                      {"tid", thread_of(span)},
                      {"ts", span.start_ns * 1e-3},
                      {"dur", (span.end_ns - span.start_ns) * 1e-3},
                      {"args", std::move(arguments)}});
  }
  const Json trace = {{"displayTimeUnit", "ns"},
                      {"otherData", {{"title", title}}},
                      {"traceEvents", std::move(events)}};
  return trace.dump(1) + "\n";
}

}  // namespace hgemm
