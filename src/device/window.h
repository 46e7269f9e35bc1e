// How many replays of its graph a candidate has at the own pace (device/protocol.h).
#pragma once

namespace hgemm {

/// Whole replays of `replay_ms` that take about `ms`; at least one.
int replays_in(double ms, double replay_ms);

/// The replays of a lead-in. Samples are sized by the time that those of its later half take, but
/// for the last few, which run while the host reads it and enqueues the samples.
struct LeadIn {
  int before = 0;
  int timed = 1;
  int after = 0;

  int replays() const { return before + timed + after; }
};

/// Of about `ms`. `replay_ms` as estimated before, at whatever clock. At least one replay is timed;
/// one or two in all have none `after`.
LeadIn lead_in_of(double ms, double replay_ms);

}  // namespace hgemm
