// How many replays a candidate has at its own pace.
#include "device/window.h"

#include <gtest/gtest.h>

#include "device/protocol.h"

namespace hgemm {
namespace {

TEST(Replays, AreTheWholeNumberThatComesNearest) {
  EXPECT_EQ(replays_in(350, 2), 175);
  EXPECT_EQ(replays_in(350, 2.36), 148);
  EXPECT_EQ(replays_in(350, 200), 2);
}

TEST(Replays, AreAtLeastOne) {
  EXPECT_EQ(replays_in(350, 1000), 1);
  EXPECT_EQ(replays_in(5, 200), 1);
}

TEST(LeadIn, LastsAsLongAsTheProtocolSaysAndTimesItsLaterHalf) {
  const LeadIn lead_in = lead_in_of(100, 2);
  EXPECT_EQ(lead_in.before, 25);
  EXPECT_EQ(lead_in.timed, 22);
  EXPECT_EQ(lead_in.after, 3);
}

TEST(LeadIn, AlwaysHasATimedReplayAndKeepsTheGpuBusyIfItHasThree) {
  for (const double ms : {protocol::kLeadInMs, protocol::kLeadInMs / 2}) {
    for (double replay_ms = 0.01; replay_ms < 1000; replay_ms *= 1.1) {
      const LeadIn lead_in = lead_in_of(ms, replay_ms);
      EXPECT_EQ(lead_in.replays(), replays_in(ms, replay_ms)) << replay_ms;
      EXPECT_GE(lead_in.before, 0) << replay_ms;
      EXPECT_GE(lead_in.timed, 1) << replay_ms;
      EXPECT_EQ(lead_in.after > 0, lead_in.replays() > 2) << replay_ms;
      EXPECT_GE(lead_in.before + 1, lead_in.timed + lead_in.after) << replay_ms;
    }
  }
}

}  // namespace
}  // namespace hgemm
