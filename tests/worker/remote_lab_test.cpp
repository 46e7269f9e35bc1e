// RemoteLab and a worker that this test plays: studies over the wire, and workers that fail.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/channel.h"
#include "base/error.h"
#include "worker/messages.h"
#include "worker/remote.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// One with every field set to something of its own.
Study full_study() {
  Study study;
  study.kind = StudyKind::kLadder;
  study.label = "step";
  study.shape = Shape{.m = 1, .n = 2, .k = 3, .weight = 4, .tag = "tag"};
  study.cubin_hash = "hash";
  study.status = Status::kWrongResult;
  study.message = "message";
  study.micro = {{"metric", "clk", 5, 4, 6, 7}};
  study.cycles = {{"role", "phase", "tile", std::int64_t{1} << 40, 8.5}};
  study.spans = {{1, 2, "role", "phase", -1, 3.5, 4.5}};
  study.counters = {{"metric", "%", 9.5, "source"}};
  study.verdict = {.correct = false, .error = NAN, .tolerance = 0.25, .message = "a NaN"};
  Sample sample{.round = 3,
                .pace = Pace::kRested,
                .launches = 4,
                .time_us = 5.5,
                .sm_mhz = 1700,
                .power_w = {},
                .temperature_c = {},
                .clock_events = {}};
  study.links = {{*study.shape, "off", "on"}};
  study.cublas_samples = {sample};
  sample.power_w = 600.5;
  sample.temperature_c = 50;
  sample.clock_events = clock_event::kPowerCap;
  study.samples = {sample, sample};
  sample.round = 9;
  study.pdl_samples = {sample};
  return study;
}

void say(Channel& channel, const json& message) {
  if (!channel.send(message)) throw ChannelClosed("send");
}

void step(Channel& channel, const std::string& doing, double expected_ms) {
  say(channel,
      {{"step",
        Step{.doing = doing, .label = "subject", .alone = true, .expected_ms = expected_ms}}});
}

/// The worker: what it does is named by the label of the request.
int play(int fd) {
  Channel channel(fd);
  try {
    for (;;) {
      const json request = channel.receive().value();
      if (request.at("call") == call::kEnvironment) {
        Environment environment;
        environment.gpu_name = "Fake H200";
        say(channel, {{"ok", environment}});
        continue;
      }
      const auto what = request.at("request").get<StudyRequest>();
      if (what.label == "hangs") {
        step(channel, "the launch", 1);
        pause();
      } else if (what.label == "dies") {
        step(channel, "the launch", 1);
        _exit(3);
      } else if (what.label == "context") {
        say(channel, {{"error", "an illegal address"}, {"kind", kind::kContext}});
      } else if (what.label == "permission") {
        say(channel, {{"error", "no permission"}, {"kind", kind::kInput}});
      } else if (what.label == "echo") {
        Study study;
        study.kind = what.kind;
        study.shape = what.shape;
        study.links = what.links;
        for (const auto& [label, cubin] : request.at("cubins").get<Cubins>()) {
          study.message += label + " is " + cubin.string() + ", ";
        }
        study.message += "seed " + std::to_string(what.seed) + (what.timeline ? " timeline" : "");
        say(channel, {{"ok", study}});
      } else {
        step(channel, "the launch", 1);
        step(channel, "the samples", 1);
        say(channel, {{"ok", full_study()}});
      }
    }
  } catch (const ChannelClosed&) {
    return 0;
  }
}

class RemoteLabTest : public testing::Test {
 protected:
  Study run(const std::string& label) {
    StudyRequest request;
    request.label = label;
    return lab_.run(request, {{label, "some.cubin"}});
  }
  Status loss(const std::string& label, const std::string& expected) {
    try {
      run(label);
    } catch (const MeasurerLost& lost) {
      EXPECT_THAT(lost.what(), HasSubstr(expected));
      return lost.status;
    }
    ADD_FAILURE() << "not lost";
    return Status::kOk;
  }
  RemoteLab lab_{{kThisProgram, "play"}};
};

TEST_F(RemoteLabTest, AStudyArrivesWhole) {
  const Study study = run("full");
  // NaN is not equal to itself, but reads the same.
  EXPECT_EQ(json(study).dump(), json(full_study()).dump());
  EXPECT_TRUE(std::isnan(study.verdict.error));
  EXPECT_EQ(study.samples.at(1).clock_events, clock_event::kPowerCap);
  EXPECT_FALSE(study.cublas_samples.at(0).power_w);
  EXPECT_EQ(study.cycles.at(0).count, std::int64_t{1} << 40);
}

TEST_F(RemoteLabTest, TheRequestArrivesWhole) {
  StudyRequest request;
  request.kind = StudyKind::kProbe;
  request.label = "echo";
  request.seed = 0xfedcba9876543210;
  EXPECT_FALSE(lab_.run(request, {}).shape);
  request.shape = Shape{.m = 64, .n = 128, .k = 256, .dtype = Dtype::kFp16, .tag = ""};
  request.timeline = true;
  request.links = {{*request.shape, "off", "on"}};
  const Study study = lab_.run(request, {{"off", "x.cubin"}, {"on", "y.cubin"}});
  EXPECT_EQ(study.kind, StudyKind::kProbe);
  ASSERT_TRUE(study.shape);
  EXPECT_TRUE(study.shape->same_problem(*request.shape));
  EXPECT_EQ(study.message, "off is x.cubin, on is y.cubin, seed 18364758544493064720 timeline");
  ASSERT_EQ(study.links.size(), 1u);
  EXPECT_TRUE(study.links[0].shape.same_problem(*request.shape));
  EXPECT_EQ(study.links[0].pdl_off, "off");
  EXPECT_EQ(study.links[0].pdl_on, "on");
}

TEST_F(RemoteLabTest, AHangIsKilledAtItsDeadlineAndTheNextCallHasAFreshWorker) {
  EXPECT_EQ(loss("hangs", "the launch of subject did not end"), Status::kTimedOut);
  EXPECT_EQ(lab_.environment().gpu_name, "Fake H200");
  EXPECT_EQ(run("full").label, "step");
}

TEST_F(RemoteLabTest, ACrashIsALossAndTheNextCallHasAFreshWorker) {
  EXPECT_EQ(loss("dies", "exit code 3"), Status::kCrashed);
  EXPECT_EQ(run("full").label, "step");
  EXPECT_EQ(loss("context", "an illegal address"), Status::kCrashed);
  EXPECT_EQ(run("full").label, "step");
}

TEST_F(RemoteLabTest, WhatIsNotTheStudysFaultIsAnInputError) {
  EXPECT_THAT([&] { run("permission"); }, ThrowsMessage<InputError>(HasSubstr("no permission")));
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc > 2 && std::string(argv[1]) == "play" ? hgemm::play(std::atoi(argv[2]))
                                                    : RUN_ALL_TESTS();
}
