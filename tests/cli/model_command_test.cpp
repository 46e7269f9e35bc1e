// --model, which names a config.json in place of --shapes.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ModelCommand : public ProgramTest {
 protected:
  ModelCommand() {
    for (const char* name : {"llama-2-7b", "llama-3-70b", "mixtral-8x7b"})
      write_file(folder() / name / "config.json",
                 read_file(fmt::format("{}/tests/data/models/{}.json", HGEMM_SOURCE_DIR, name)));
  }

  void expect_refused(const std::string& arguments, const std::string& why) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(why)) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
  }
};

TEST_F(ModelCommand, PlanShowsTheShapesWithTagsAndWeights) {
  const Outcome table = run("plan --space smoke --model llama-3-70b --tp 8 --m 1,2048,1");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, testing::ContainsRegex("1x1280x8192 +[0-9]+ +80  decode/qkv\n"));
  EXPECT_THAT(table.out, testing::ContainsRegex("2048x7168x8192 +[0-9]+ +80  prefill/ffn_gate_up"));
  EXPECT_THAT(table.out, testing::ContainsRegex("1x16032x8192 +[0-9]+ +2  decode/logits.prefill"));
  EXPECT_THAT(table.err, AllOf(HasSubstr("llama-3-70b: llama, 80 layers, bf16, one of 8"),
                               HasSubstr("left out: "), HasSubstr("assumed: ")));

  const Outcome apart = run(
      "plan --space smoke --model llama-3-70b/config.json --unfused --dtype fp16 --format json");
  ASSERT_EQ(apart.exit_code, 0) << apart.err;
  const json shapes = json::parse(apart.out).at("shapes");
  EXPECT_EQ(shapes[0].at("shape"), "1x8192x8192.fp16") << "one row, if --m says nothing";
  EXPECT_EQ(shapes[0].at("tag"), "decode/q+decode/attn_out");
  EXPECT_EQ(shapes[1].at("tag"), "decode/k_v");
  EXPECT_EQ(shapes[1].at("weight"), 160);

  const Outcome gated = run("plan --space smoke --model llama-2-7b --gated --m 16 --format json");
  ASSERT_EQ(gated.exit_code, 0) << gated.err;
  EXPECT_THAT(gated.out, HasSubstr("\"16x22016x4096.fp16.swiglu\""));
}

TEST_F(ModelCommand, OtherCommandsTakeItToo) {
  const std::string model = " --model mixtral-8x7b --m 1";
  for (const char* command : {"best --recorded", "advise"}) {
    const Outcome outcome = run(command + model);
    EXPECT_EQ(outcome.exit_code, 0) << command << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("1x28672x4096")) << command;
  }
}

/// Without a GPU a tune says how to measure what is missing elsewhere.
TEST_F(ModelCommand, ATuneWithoutGpuNamesTheSameModel) {
  install_with_recorded({race(problem(1, 4096, 4096))});
  const Outcome tune = run("--model llama-2-7b --m 1 --dtype bf16");
  EXPECT_EQ(tune.exit_code, 0) << tune.err;
  EXPECT_THAT(tune.err + tune.out, AllOf(HasSubstr("1x4096x4096"), HasSubstr("1x22016x4096"),
                                         HasSubstr("--model llama-2-7b --m 1 --dtype bf16")));
}

TEST_F(ModelCommand, ChainHasTheRowsOfAPass) {
  const std::string config = "--config swap_ab.bm16.bn64.bk128.q5.d1.tma.csplit2.p128";
  // Experts have fewer rows than the pass, and make a chain of their own.
  const Outcome chain = run("chain --recorded --model mixtral-8x7b --m 16 " + config);
  EXPECT_THAT(chain.err, Not(HasSubstr("--m 16"))) << "not a choice among given shapes";
  expect_refused("chain --shapes 16x64x64 --m 8 " + config, "--m 8: no shape of 16x64x64");
}

TEST_F(ModelCommand, MisuseIsRefused) {
  expect_refused("plan --tp 8 --shapes 8x8x8", "--model");
  expect_refused("plan --m 8 --shapes 8x8x8", "--model");
  expect_refused("plan --unfused --shapes 8x8x8", "--model");
  expect_refused("plan --gated --shapes 8x8x8", "--model");
  expect_refused("plan --model llama-2-7b --unfused --gated", "--unfused");
  expect_refused("plan --model llama-2-7b --shapes 8x8x8", "--shapes");
  expect_refused("plan --model llama-2-7b --tp 0", "--tp");
  expect_refused("plan --model llama-2-7b --m 0", "--m");
  expect_refused("plan --model llama-2-7b --m 16,many", "--m");
  expect_refused("plan --model llama-2-7b --dtype fp32", "--dtype fp32: use bf16 or fp16");
  expect_refused("plan --model llama-2-7b --tp 5", "num_attention_heads: found 32, which --tp 5");
  expect_refused("plan --model llama-2-7b --m 1073741824", "an absurd size");
  expect_refused("plan --model meta-llama/Llama-2-7b-hf", "download its config.json");
  expect_refused("plan --shapes llama-2-7b/config.json", "give it with --model");
  write_file(folder() / "shapes.yaml", "shapes: [8x8x8]\n");
  expect_refused("plan --model shapes.yaml", "with --shapes");
  expect_refused("counters", "--shapes");
}

}  // namespace
}  // namespace hgemm
