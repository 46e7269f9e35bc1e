// The chain command where there is no GPU, or no wish to use it.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "studies/chain/chain.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kPlain = "swap_ab.bm8.bn64.bk128.q5.d1.tma.csplit2.p128";
const std::string kOverlapped = "swap_ab.bm8.bn64.bk128.q10.d1.tma.csplit2.p128.pdl";

using ChainCommand = ProgramTest;

/// A chain of 8 equal links, measured by the program that install_with_recorded() is given.
Study measured_chain() {
  Study study;
  study.kind = kChainStudy;
  study.label = "chain.m1.4096x4096.x8.bf16";
  study.verdict.correct = true;
  study.parts = parts_of(std::vector<ChainLink>(8, {problem(1, 4096, 4096), kPlain, kOverlapped}));
  for (int round = 0; round < 9; ++round) {
    Sample sample;
    sample.round = round;
    sample.launches = 10;
    sample.time_us = 80;
    study.samples(kPdlOff).push_back(sample);
    sample.time_us = 64;
    study.samples(kPdlOn).push_back(sample);
    sample.time_us = 96;
    study.samples(kCublasLabel).push_back(sample);
  }
  return study;
}

TEST_F(ChainCommand, HelpTeachesByExample) {
  EXPECT_THAT(run("--help").out, HasSubstr("\n  chain "));
  EXPECT_THAT(run("chain --help").out,
              AllOf(HasSubstr("Examples:\n  hgemm-tune chain"), HasSubstr("[8 - 32]=20"),
                    HasSubstr("cublasGemmEx, whose")));
}

TEST_F(ChainCommand, WithoutAGpuItSaysWhatWouldMeasure) {
  const Outcome outcome = run("chain --shapes llama7b-decode.yaml --m 1,16 --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(json::parse(outcome.out).is_array());
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("nothing is measured now"),
                    HasSubstr("left out: 1x32000x4096 decode/logits: it comes less often than "
                              "once in a layer")));
  EXPECT_EQ(run("chain --shapes llama7b-decode.yaml --require-gpu").exit_code, 1);
}

TEST_F(ChainCommand, WhatWasRecordedAnswers) {
  install_with_recorded({race(problem(1, 4096, 4096))});
  {
    Store store = Store::open(recorded("h200").replace_filename("study.db").string(),
                              Store::Mode::kReadWrite);
    store.record_study(store.begin_run(machine(), "hgemm-tune chain"), measured_chain());
  }
  const Outcome table = run("chain --recorded --shapes 1x4096x4096 --length 8");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("Recorded on NVIDIA H200"), HasSubstr("1.250 [1.250, 1.250]"),
                    HasSubstr("8 of 1x4096x4096: " + kPlain + "; with PDL " + kOverlapped)));
  const Outcome objects = run("chain --recorded --shapes 1x4096x4096 --length 8 --format json");
  const json rows = json::parse(objects.out);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1]["time_us"], 64);
  EXPECT_EQ(rows[1]["read_tbps"], 4.67) << "what configs/devices.yaml has of this GPU";

  const Outcome other = run("chain --recorded --shapes 1x4096x4096 --length 9");
  EXPECT_THAT(other.out, HasSubstr("Nothing of this was recorded elsewhere."));
}

TEST_F(ChainCommand, OfSeveralRevisionsTheNewestAnswersOnEachGpu) {
  install_with_recorded({race(problem(1, 4096, 4096))});
  {
    Store store = Store::open(recorded("h200").replace_filename("study.db").string(),
                              Store::Mode::kReadWrite);
    const auto record_with = [&](const char* gpu, const char* kernels, double time_us,
                                 Status status) {
      Machine where = machine();
      where.environment.gpu_name = gpu;
      where.run.kernel_sources = kernels;
      Study study = measured_chain();
      for (Sample& sample : study.samples(kPdlOff)) sample.time_us = time_us;
      study.status = status;
      store.record_study(store.begin_run(where, "hgemm-tune chain"), study);
    };
    record_with("NVIDIA H200", "of long ago", 90, Status::kOk);
    record_with("NVIDIA H200", "newest", 80, Status::kOk);
    record_with("NVIDIA H200", "failed since", 70, Status::kTimedOut);
    record_with("NVIDIA H100", "of another", 120, Status::kOk);
  }
  const std::string command = "chain --recorded --shapes 1x4096x4096 --length 8";
  const json rows = json::parse(run(command + " --format json").out);
  ASSERT_THAT(rows, SizeIs(6)) << "of two GPUs";
  std::map<std::string, double> times;
  for (const json& row : rows) {
    if (row["kernels"] == "pdl_off") times[row["gpu"]] = row["time_us"];
  }
  EXPECT_EQ(times, (std::map<std::string, double>{{"NVIDIA H100", 120}, {"NVIDIA H200", 80}}));
}

TEST_F(ChainCommand, BadInputNamesWhatIsWrong) {
  const auto refused = [&](const std::string& arguments, const std::string& because) {
    const Outcome outcome = run("chain --recorded " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(because)) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
  };
  refused("", "which shapes? Give --shapes");
  refused("--shapes llama7b-decode.yaml --length 7", "--length: Value 7 not in range 8 to 32");
  refused("--shapes llama7b-decode.yaml --length 33", "--length");
  refused("--shapes llama7b-decode.yaml --m 1,3",
          "--m 3: no shape of llama7b-decode.yaml has so many rows; there are 1, 16, 64, 128");
  refused("--shapes 1x64x64.fp32", "no kernel can compute 1x64x64.fp32");
  refused("--shapes 3x64x72", "no configuration is known to be the best at 3x64x72");
  refused("--shapes 1x4096x4096 --config nonsense", "nonsense");
  refused("--shapes 1x4096x4096.dfp32 --config " + std::string(kNotForFp32),
          "cannot compute 1x4096x4096.dfp32, a link");
  refused("--shapes 1x4096x4096 --config swap_ab.bm8.bn64.bk128.q16.d1.tma.single",
          "must fit one CTA's limit");
  refused("--shapes 1x4096x4099 --config " + kPlain, "cannot compute 1x4096x4099, a link");
  refused("--shapes 16x4099x4099 --config swap_ab.bm16.bn64.bk128.q5.d1.staged.csplit2.pack",
          "the one that packs B, is done; unless it is read late (rule pack)");
  refused("--shapes 1x4096x4096.lda4104", "have none: leave its leading dimensions out");
  refused("--shapes 1x4096x4096 --format xml", "xml");
  refused("--shapes 1x4096x4096 --db none.db", "none.db");
}

}  // namespace
}  // namespace hgemm
