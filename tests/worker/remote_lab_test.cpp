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
  study.kind = "ladder";
  study.label = "step";
  study.problem = GemmProblem{
      .m = 1, .n = 2, .k = 3, .d_type = DataType::kFp32, .lda = 8, .weight = 4, .tag = "tag"};
  study.kernel_id = "id";
  study.status = Status::kWrongResult;
  study.message = "message";
  study.figures = {{"point", "metric", "clk", 5, 4, 6, 7},
                   {"role.phase", "cycles", "clk/tile", 8.5, 8.25, 8.75, std::int64_t{1} << 40}};
  study.spans = {{1, 2, "role", "phase", -1, 3.5, 4.5}};
  study.parts = {{0, "off", *study.problem, "one"}, {1, "on", *study.problem, "another"}};
  study.verdict = {.correct = false, .error = NAN, .tolerance = 0.25, .message = "a NaN"};
  Sample sample{.round = 3,
                .pace = Pace::kRested,
                .launches = 4,
                .time_us = 5.5,
                .sm_mhz = 1700,
                .power_w = {},
                .temperature_c = {},
                .clock_events = {}};
  study.samples("cublas") = {sample};
  sample.power_w = 600.5;
  sample.temperature_c = 50;
  sample.clock_events = clock_event::kPowerCap;
  study.samples("step") = {sample, sample};
  sample.round = 9;
  study.samples("pdl_on") = {sample};
  return study;
}

/// Likewise.
Machine full_machine() {
  return {.environment = {.gpu_name = "Fake H200",
                          .compute_major = 9,
                          .compute_minor = 1,
                          .sm_count = 132,
                          .l2_bytes = std::int64_t{60} << 20,
                          .memory_bytes = std::int64_t{140} << 30,
                          .max_sm_mhz = 1980,
                          .power_limit_w = 700,
                          .driver = "580",
                          .cuda = "13.0",
                          .cublas = "13.1"},
          .run = {.gpu_uuid = "GPU-1",
                  .host = "host",
                  .git_revision = "revision",
                  .kernel_sources = "sources"}};
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
      if (request.at("call") == call::kMachine) {
        say(channel, {{"ok", full_machine()}});
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
        study.problem = what.problem;
        study.parts = what.parts;
        for (const auto& [label, cubin] : request.at("cubins").get<Cubins>()) {
          study.message += label + " is " + cubin.path.string() + " " + cubin.hash + ", ";
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
    return lab_.run(request, {{label, Cubin{"some.cubin", "hash", 0}}});
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
  RemoteLab lab_{{kThisProgram, "play"}, {.step = std::chrono::milliseconds(500)}};
};

TEST_F(RemoteLabTest, AStudyArrivesWhole) {
  const Study study = run("full");
  // NaN is not equal to itself, but reads the same.
  EXPECT_EQ(json(study).dump(), json(full_study()).dump());
  EXPECT_TRUE(std::isnan(study.verdict.error));
  EXPECT_EQ(study.problem->d_type, DataType::kFp32);
  EXPECT_EQ(study.problem->tag, "tag");
  EXPECT_EQ(study.samples("step").at(1).clock_events, clock_event::kPowerCap);
  EXPECT_FALSE(study.samples("cublas").at(0).power_w);
  EXPECT_EQ(study.samples("pdl_on").at(0).round, 9);
  EXPECT_EQ(study.figures.at(1).samples, std::int64_t{1} << 40);
  EXPECT_EQ(study.parts.at(1).label, "another");
}

TEST_F(RemoteLabTest, TheMachineArrivesWhole) {
  const Machine machine = lab_.machine();
  EXPECT_EQ(machine.environment, full_machine().environment);
  EXPECT_EQ(machine.run, full_machine().run);
}

TEST_F(RemoteLabTest, TheRequestArrivesWhole) {
  StudyRequest request;
  request.kind = "probe";
  request.label = "echo";
  request.seed = 0xfedcba9876543210;
  EXPECT_FALSE(lab_.run(request, {}).problem);
  request.problem = GemmProblem{.m = 64, .n = 128, .k = 256, .tag = ""};
  request.problem->set_types(DataType::kFp16);
  request.timeline = true;
  request.parts = {{0, "pdl_off", *request.problem, "off"}, {0, "pdl_on", *request.problem, "on"}};
  const Study study =
      lab_.run(request, {{"off", {"x.cubin", "h", 0}}, {"on", {"y.cubin", "i", 0}}});
  EXPECT_EQ(study.kind, "probe");
  ASSERT_TRUE(study.problem);
  EXPECT_TRUE(study.problem->same_problem(*request.problem));
  EXPECT_EQ(study.message, "off is x.cubin h, on is y.cubin i, seed 18364758544493064720 timeline");
  ASSERT_EQ(study.parts.size(), 2u);
  for (const StudyPart& part : study.parts) {
    EXPECT_TRUE(part.problem.same_problem(*request.problem));
    EXPECT_EQ(part.position, 0);
    EXPECT_EQ(part.variant, "pdl_" + part.label);
  }
  EXPECT_EQ(study.parts[0].label, "off");
  EXPECT_EQ(study.parts[1].label, "on");
}

TEST_F(RemoteLabTest, AHangIsKilledAtItsDeadlineAndTheNextCallHasAFreshWorker) {
  EXPECT_EQ(loss("hangs", "the launch of subject did not end"), Status::kTimedOut);
  EXPECT_EQ(lab_.machine().environment.gpu_name, "Fake H200");
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
