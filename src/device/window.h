// Computes how many replays of its graph a candidate gets at the own pace (device/protocol.h).
#pragma once

namespace hgemm {

/// The number of whole replays of `replay_ms` that take about `ms`; at least one.
int replays_in(double ms, double replay_ms);

/// The replays of a lead-in. Those in `timed` (its later half) give the time that sizes the
/// samples; those in `after` run while the host reads it and enqueues the samples.
struct LeadIn {
  int before = 0;
  int timed = 1;
  int after = 0;

  int replays() const { return before + timed + after; }
};

/// A lead-in of about `ms`. `replay_ms` is the earlier estimate, at whatever clock it was taken. At
/// least one replay is timed; with one or two replays in all, `after` is 0.
LeadIn lead_in_of(double ms, double replay_ms);

}  // namespace hgemm
