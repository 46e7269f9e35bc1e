// What a worker answers, whatever its GPU did: played without one.
#include "worker/answers.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

#include "base/channel.h"
#include "base/error.h"
#include "device/cuda.h"
#include "worker/messages.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::IsEmpty;
using testing::Not;

Gpu gpu() {
  Gpu gpu;
  gpu.name = "Fake H200";
  gpu.uuid = "GPU-1";
  gpu.compute_major = 9;
  gpu.compute_minor = 1;
  gpu.sm_count = 132;
  gpu.max_sm_mhz = 1980;
  gpu.l2_bytes = std::int64_t{60} << 20;
  gpu.memory_bytes = std::int64_t{140} << 30;
  gpu.driver_cuda_version = "13.1";
  return gpu;
}

TEST(MachineOf, IsWhatTheDriverAndNvmlSay) {
  const Machine machine = machine_of(gpu(), 650.5, "580.1");
  const Environment& environment = machine.environment;
  EXPECT_EQ(environment.gpu_name, "Fake H200");
  EXPECT_EQ(environment.compute_major, 9);
  EXPECT_EQ(environment.compute_minor, 1);
  EXPECT_EQ(environment.sm_count, 132);
  EXPECT_EQ(environment.max_sm_mhz, 1980);
  EXPECT_EQ(environment.l2_bytes, std::int64_t{60} << 20);
  EXPECT_EQ(environment.memory_bytes, std::int64_t{140} << 30);
  EXPECT_EQ(environment.power_limit_w, 650.5);
  EXPECT_EQ(environment.driver, "580.1");
  EXPECT_THAT(environment.cuda, Not(IsEmpty()));
  EXPECT_THAT(environment.cublas, Not(IsEmpty()));
  EXPECT_EQ(machine.run.gpu_uuid, "GPU-1");
  EXPECT_THAT(machine.run.host, Not(IsEmpty()));
  EXPECT_THAT(machine.run.git_revision, Not(IsEmpty()));
  EXPECT_THAT(machine.run.kernel_sources, Not(IsEmpty()));
}

TEST(MachineOf, WithoutNvmlTheDriverIsTheCudaThatItHas) {
  const Environment environment = machine_of(gpu(), std::nullopt, "").environment;
  EXPECT_EQ(environment.driver, "CUDA 13.1");
  EXPECT_EQ(environment.power_limit_w, 0);
}

StudyRequest request() {
  StudyRequest request;
  request.kind = "probe";
  request.label = "subject";
  request.problem = GemmProblem{.m = 1, .n = 2, .k = 3, .tag = "tag"};
  return request;
}

TEST(CarriedOut, WhatFailsInAStudyIsItsOutcome) {
  const auto expect_failed = [](const std::function<Study()>& run) {
    const Study study = carried_out(request(), run);
    EXPECT_EQ(study.status, Status::kLaunchFailed);
    EXPECT_EQ(study.message, "the reason");
    EXPECT_EQ(study.kind, "probe");
    EXPECT_EQ(study.label, "subject");
    ASSERT_TRUE(study.problem);
    EXPECT_TRUE(study.problem->same_problem(*request().problem));
  };
  expect_failed([]() -> Study { throw Error("the reason"); });
  expect_failed([]() -> Study { throw std::runtime_error("the reason"); });
  expect_failed([]() -> Study { throw CudaError(cudaErrorInvalidConfiguration, "the reason"); });

  Study fine;
  fine.label = "fine";
  EXPECT_EQ(carried_out(request(), [&] { return fine; }).label, "fine");
}

TEST(CarriedOut, WhatIsNotTheStudysFaultIsThrownOn) {
  EXPECT_THROW(carried_out(request(), []() -> Study { throw InputError("no room"); }), InputError);
  EXPECT_THROW(carried_out(request(), []() -> Study { throw ChannelClosed("no parent"); }),
               ChannelClosed);
  EXPECT_THROW(
      carried_out(request(), []() -> Study { throw CudaError(cudaErrorIllegalAddress, "lost"); }),
      CudaError);
}

template <class Failure>
Answer answer_of(const char* call, const Failure& failure) {
  return answer_to({{"call", call}}, [&](const json&) -> json { throw failure; });
}

TEST(AnswerTo, IsWhatWasHandled) {
  const Answer answer = answer_to({{"call", "it"}}, [](const json& request) {
    EXPECT_EQ(request.at("call"), "it");
    return json(42);
  });
  EXPECT_EQ(answer.message, json({{"ok", 42}}));
  EXPECT_FALSE(answer.context_lost);
}

TEST(AnswerTo, EachFailureHasItsKindAndTheWorkerGoesOn) {
  const auto expect_kind = [](const Answer& answer, const char* kind) {
    EXPECT_EQ(answer.message, json({{"error", "the reason"}, {"kind", kind}}));
    EXPECT_FALSE(answer.context_lost);
  };
  for (const char* call : {call::kOpen, call::kRounds}) {
    expect_kind(answer_of(call, Error("the reason")), kind::kError);
    expect_kind(answer_of(call, std::runtime_error("the reason")), kind::kError);
    expect_kind(answer_of(call, InputError("the reason")), kind::kInput);
    expect_kind(answer_of(call, NoDevice("the reason")), kind::kNoDevice);
  }
  expect_kind(answer_of(call::kPrepare, CudaError(cudaErrorInvalidConfiguration, "the reason")),
              kind::kError);
}

TEST(AnswerTo, ALostContextEndsTheWorker) {
  const auto expect_lost = [](const char* call, cudaError_t code) {
    const Answer answer = answer_of(call, CudaError(code, "the reason"));
    EXPECT_TRUE(answer.context_lost) << call;
    EXPECT_EQ(answer.message, json({{"error", "the reason"}, {"kind", kind::kContext}}));
  };
  expect_lost(call::kPrepare, cudaErrorIllegalAddress);
  // Who of those that are timed is at fault is not known: none of them is believed.
  for (const char* call : {call::kRounds, call::kSettle, call::kEnergy}) {
    expect_lost(call, cudaErrorInvalidConfiguration);
  }
}

TEST(AnswerTo, NobodyIsAnsweredWhereNobodyWaits) {
  EXPECT_THROW(answer_of(call::kRounds, ChannelClosed("no parent")), ChannelClosed);
}

}  // namespace
}  // namespace hgemm
