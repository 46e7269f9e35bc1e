#include "device/window.h"

#include <algorithm>
#include <cmath>

#include "device/protocol.h"

namespace hgemm {

int replays_in(double ms, double replay_ms) {
  return std::max(1, static_cast<int>(std::lround(ms / replay_ms)));
}

LeadIn lead_in_of(double ms, double replay_ms) {
  const int replays = replays_in(ms, replay_ms);
  const int later_half = (replays + 1) / 2;
  LeadIn lead_in;
  lead_in.before = replays - later_half;
  lead_in.after = std::min(replays_in(protocol::kSizingMs, replay_ms), later_half - 1);
  lead_in.timed = later_half - lead_in.after;
  return lead_in;
}

}  // namespace hgemm
