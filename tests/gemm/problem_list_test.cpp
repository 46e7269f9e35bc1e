#include "gemm/problem_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "families/family.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kConfigs = HGEMM_SOURCE_DIR "/configs";

std::vector<std::string> names(const std::vector<GemmProblem>& problems) {
  std::vector<std::string> result;
  for (const GemmProblem& problem : problems) result.push_back(to_string(problem));
  return result;
}

std::string complaint(const std::string& argument, const std::string& configs = kConfigs) {
  try {
    load_problems(argument, configs);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

class ShapesFile : public ::testing::Test {
 protected:
  std::vector<GemmProblem> load(const std::string& text) {
    return load_problems(files_.write("shapes.yaml", text), kConfigs);
  }
  /// The complaint about a file, without the file's name: "2:5: found ...".
  std::string complaint_about(const std::string& text) {
    const std::string path = files_.write("shapes.yaml", text);
    const std::string message = complaint(path);
    EXPECT_THAT(message, StartsWith(path + ":"));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(std::min(message.size(), path.size() + 1));
  }

  ScratchFiles files_;
};

// ---- Inline lists ----

TEST(InlineShapes, AreExtentsInOrder) {
  const auto problems = load_problems("4096x2048x1024, 1x8x16.fp16", kConfigs);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].m, 4096);
  EXPECT_EQ(problems[0].n, 2048);
  EXPECT_EQ(problems[0].k, 1024);
  EXPECT_EQ(problems[0].kind(), GemmKind{});
  EXPECT_EQ(problems[0].weight, 1.0);
  EXPECT_EQ(problems[1].kind(), (GemmKind{DataType::kFp16, DataType::kFp16}));
  EXPECT_THAT(names(problems), ElementsAre("4096x2048x1024", "1x8x16.fp16"));
}

TEST(InlineShapes, ComplainWithItemAndPosition) {
  EXPECT_THAT(complaint("64x64x64,0x8x8"),
              AllOf(HasSubstr("item 2 at character 10"), HasSubstr("found \"0x8x8\""),
                    HasSubstr("from 1 to 1073741824")));
  for (const char* bad :
       {"-1x8x8", "1x8", "1x8x8x8", "1x8x8.5", "1x8xfoo", "4096", "1x8x8,", "1x8x8,,1x8x8",
        "1x8x1073741825", "1x8x99999999999999999999", "1x8x8.int8"})
    EXPECT_THAT(complaint(bad), AllOf(HasSubstr("--shapes, item"), HasSubstr("expected MxNxK")))
        << bad;
}

TEST(InlineShapes, KeepWhatTheKernelCannotCompute) {
  const auto problems = load_problems("3x5x7", kConfigs);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(why_not(TiledConfig{}, problems[0]), nullptr);
}

TEST(InlineShapes, HaveData) {
  const auto problems = load_problems("8x8x8,8x8x8.zeros,8x8x8.normal,8x8x8.lda9.sparse", kConfigs);
  EXPECT_THAT(names(problems), ElementsAre("8x8x8", "8x8x8.zeros", "8x8x8.lda9.sparse"));
  EXPECT_FALSE(problems[0].same_problem(problems[1]));
  EXPECT_THAT(names(parse_problems("- {m: 8, n: 8, k: 8, data: uniform}\n- 8x8x8\n", "list.yaml")),
              ElementsAre("8x8x8.uniform", "8x8x8"));
}

TEST(InlineShapes, HaveLeadingDimensions) {
  const auto problems = load_problems(
      "64x48x40.lda48,64x48x40.fp16.ldb41.ldd50,64x48x40.lda40.ldb40.ldd48", kConfigs);
  EXPECT_THAT(names(problems),
              ElementsAre("64x48x40.lda48", "64x48x40.fp16.ldb41.ldd50", "64x48x40"));
  EXPECT_EQ(problems[0].leading_a(), 48);
  EXPECT_EQ(problems[0].leading_b(), 40);
  EXPECT_EQ(problems[1].leading_d(), 50);
  EXPECT_TRUE(problems[2].is_packed());
  EXPECT_FALSE(problems[0].same_problem(problems[2]));
  for (const GemmProblem& problem : problems) {
    EXPECT_TRUE(load_problems(to_string(problem), kConfigs)[0].same_problem(problem))
        << to_string(problem);
  }
  EXPECT_EQ(load_problems("8x8x8,8x8x8.lda8", kConfigs).size(), 1u) << "the same problem";
  EXPECT_THAT(complaint("64x48x40.lda39"),
              AllOf(HasSubstr("found 39 for lda"), HasSubstr("at least K, 40")));
  EXPECT_THAT(complaint("64x48x40.ldd47"), HasSubstr("at least N, 48"));
  std::string many = "8x8x8";
  for (int i = 0; i < 10'000; ++i) many += ",8x8x8";
  EXPECT_THAT(complaint(many), HasSubstr("more than 10000 shapes"));
  for (const char* bad : {"8x8x8.lda", "8x8x8.ldax", "8x8x8.ldc9", "8x8x8.", "8x8x8.lda9.",
                          "8x8x8.fp16.bf16", "8x8x8.lda9.lda10"})
    EXPECT_THAT(complaint(bad), HasSubstr("expected MxNxK")) << bad;
}

// ---- The files that are shipped ----

TEST(ShippedShapes, Llama7b) {
  const auto problems = load_problems("llama7b.yaml", kConfigs);
  EXPECT_THAT(
      names(problems),
      ElementsAre("2048x12288x4096", "2048x4096x4096", "2048x11008x4096", "2048x4096x11008",
                  "2048x32000x4096", "1x12288x4096", "1x4096x4096", "1x11008x4096", "1x4096x11008",
                  "1x32000x4096", "16x12288x4096", "16x4096x4096", "16x11008x4096", "16x4096x11008",
                  "16x32000x4096", "64x12288x4096", "64x4096x4096", "64x11008x4096",
                  "64x4096x11008", "64x32000x4096", "128x12288x4096", "128x4096x4096",
                  "128x11008x4096", "128x4096x11008", "128x32000x4096"));
  EXPECT_EQ(problems[0].tag, "prefill/qkv");
  EXPECT_EQ(problems[0].weight, 32);  // once per layer
  EXPECT_EQ(problems[2].tag, "prefill/ffn_gate_up");
  EXPECT_EQ(problems[2].weight, 64);  // twice per layer
  EXPECT_EQ(problems[4].tag, "prefill/logits");
  EXPECT_EQ(problems[4].weight, 1);  // once per pass
  EXPECT_EQ(problems[5].tag, "decode/qkv");
}

TEST(ShippedShapes, Square) {
  EXPECT_THAT(names(load_problems("square", kConfigs)),
              ElementsAre("512x512x512", "1024x1024x1024", "2048x2048x2048", "4096x4096x4096",
                          "8192x8192x8192", "16384x16384x16384"));
}

TEST(ShippedShapes, Seeds) {
  const auto problems = load_problems("seeds", kConfigs);
  EXPECT_THAT(names(problems), ElementsAre("8192x8192x8192", "4096x4096x4096", "2048x2048x2048",
                                           "4096x4096x1024", "1024x1024x1024", "512x512x512"));
  for (const GemmProblem& problem : problems) EXPECT_NE(problem.tag, "") << to_string(problem);
}

TEST(ShippedShapes, BatchesAreInTurnSideBySideOfOneWeightAndByPointers) {
  const auto problems = load_problems("batched", kConfigs);
  EXPECT_EQ(problems.size(), 18u);
  bool in_turn = false, heads_of_a = false, heads_of_d = false, shared = false, tt = false;
  bool by_pointers = false;
  for (const GemmProblem& s : problems) {
    const ProblemExtents p = s.extents();
    EXPECT_EQ(why_unsupported(s), nullptr) << to_string(s);
    EXPECT_TRUE(inputs_are_aligned(p, s.a_type) && output_is_aligned(p, s.d_type)) << to_string(s);
    EXPECT_GT(s.batch, 1) << to_string(s);
    in_turn |= p.batch == batch_without_gaps(p, p.batch.count);
    heads_of_a |= p.batch.stride_a == s.k && s.lda == s.batch * s.k;
    heads_of_d |= p.batch.stride_d == s.n && s.ldd == s.batch * s.n;
    shared |= p.batch.stride_b == 0;
    tt |= s.layout == Layout::kTT;
    by_pointers |= s.by_pointers;
  }
  EXPECT_TRUE(in_turn && heads_of_a && heads_of_d && shared && tt && by_pointers);
}

TEST(ShippedShapes, SmokeReachesTheCornersOfTheKernelQuickly) {
  double flops = 0;
  bool one_row = false, m_tail = false, n_tail = false, k_tail = false, fp16 = false, wide = false;
  for (const GemmProblem& s : load_problems("smoke", kConfigs)) {
    EXPECT_EQ(why_not(TiledConfig{}, s), nullptr) << to_string(s);
    flops += s.flops();
    one_row |= s.m == 1;
    m_tail |= s.m > 64 && s.m % 8 != 0;
    n_tail |= s.n % 16 == 8;
    k_tail |= s.k % 16 == 8;
    fp16 |= s.a_type == DataType::kFp16;
    wide |= s.d_type == DataType::kFp32;
  }
  EXPECT_TRUE(one_row && m_tail && n_tail && k_tail && fp16 && wide);
  EXPECT_LT(flops, 1e10);
  bool odd = false, padded = false, vectors = false, wide_odd = false;
  for (const GemmProblem& s : load_problems("smoke-odd", kConfigs)) {
    EXPECT_EQ(why_no_kernel(s), nullptr) << to_string(s);
    EXPECT_NE(why_not(TiledConfig{}, s), nullptr) << to_string(s);
    odd |= s.n % 2 != 0 && s.k % 2 != 0;
    padded |= !s.is_packed();
    vectors |= s.n < 8 && s.m > 64;
    wide_odd |= s.n % 2 != 0 && s.d_type == DataType::kFp32;
  }
  EXPECT_TRUE(odd && padded && vectors && wide_odd);
}

// ---- Lists ----

TEST_F(ShapesFile, ListsAndRangesGiveTheirProduct) {
  EXPECT_THAT(names(load("shapes:\n  - {m: [1, 16], n: \"64:192:64\", k: 32}\n")),
              ElementsAre("1x64x32", "1x128x32", "1x192x32", "16x64x32", "16x128x32", "16x192x32"));
  // A range stops at the last step before its end, and may be one item of a list.
  EXPECT_THAT(names(load("shapes:\n  - {m: [1:6:2, 9], n: 8, k: 8}\n")),
              ElementsAre("1x8x8", "3x8x8", "5x8x8", "9x8x8"));
}

TEST_F(ShapesFile, DescriptionsAndDefaults) {
  const auto problems = load(
      "dtype: fp16\n"
      "shapes:\n"
      "  - {m: 1, n: 8, k: 8, tag: a, weight: 2.5, layout: TN}\n"
      "  - {m: 2, n: 8, k: 8, dtype: bf16}\n"
      "  - 3x8x8\n"
      "  - 4x8x8.bf16\n");
  EXPECT_THAT(names(problems), ElementsAre("1x8x8.fp16", "2x8x8", "3x8x8.fp16", "4x8x8"));
  EXPECT_EQ(problems[0].tag, "a");
  EXPECT_EQ(problems[0].weight, 2.5);
  EXPECT_EQ(problems[1].tag, "");
}

TEST_F(ShapesFile, OperandsHaveTypesOfTheirOwn) {
  EXPECT_THAT(names(load("dtype: fp16\n"
                         "shapes:\n"
                         "  - {m: 1, n: 8, k: 8, d_dtype: fp32}\n"
                         "  - {m: 2, n: 8, k: 8, dtype: bf16, d_dtype: fp32}\n"
                         "  - {m: [3, 4], n: 8, k: 8, b_dtype: bf16, c_dtype: fp32, batch: 2}\n"
                         "  - 5x8x8.dfp32\n")),
              ElementsAre("1x8x8.fp16.dfp32", "2x8x8.dfp32", "3x8x8.fp16.bbf16.cfp32.batch2",
                          "4x8x8.fp16.bbf16.cfp32.batch2", "5x8x8.fp16.dfp32"));
  EXPECT_THAT(complaint_about("shapes: [{m: 1, n: 8, k: 8, d_dtype: fp61}]"),
              AllOf(StartsWith("1:38: found \"fp61\" for d_dtype"),
                    HasSubstr("expected bf16, fp16, fp32, e4m3 or e5m2")));
  EXPECT_THAT(complaint_about("shapes: [{m: 1, n: 8, k: 8, d_dtpye: fp32}]"),
              AllOf(StartsWith("1:29: unknown key \"d_dtpye\" in a shape"),
                    EndsWith("did you mean \"d_dtype\"?")));
  EXPECT_THAT(complaint_about("shapes: [{m: 1, n: 8, k: 8, batch: 0}]"),
              StartsWith("1:36: found \"0\" for batch; expected a whole number"));
  EXPECT_THAT(complaint_about("shapes: [{m: 1, n: 8, k: 9, lda: 8}]"),
              AllOf(StartsWith("1:10: found 8 for lda"), HasSubstr("at least K, 9")));
}

TEST_F(ShapesFile, BatchesHaveStrides) {
  EXPECT_THAT(
      names(load("shapes:\n"
                 "  - {m: [8, 16], n: 8, k: 8, lda: 32, batch: 4, stride_a: 8, stride_b: 0}\n"
                 "  - {m: 8, n: 8, k: 8, stride_d: 72, batch: 4}\n"
                 "  - {m: 8, n: 8, k: 8, batch: 4, stride_a: 64, stride_b: 64, stride_d: 64}\n"
                 "  - 8x8x8.batch4.sd72\n")),
      ElementsAre("8x8x8.lda32.batch4.sa8.sb0", "16x8x8.lda32.batch4.sa8.sb0", "8x8x8.batch4.sd72",
                  "8x8x8.batch4"));
  EXPECT_THAT(complaint_about("shapes: [{m: 8, n: 8, k: 8, stride_a: 64}]"),
              AllOf(StartsWith("1:10: found 64 for stride_a"),
                    HasSubstr("a stride needs a batch of 2 or more")));
  EXPECT_THAT(complaint_about("shapes: [{m: [8, 16], n: 8, k: 8, batch: 2, stride_d: 64}]"),
              AllOf(StartsWith("1:10: found the strides 128 of A, 64 of B and 64 of D for 2"),
                    HasSubstr("must not share elements of D")));
  EXPECT_THAT(
      complaint_about("shapes: [{m: 8, n: 8, k: 8, batch: 2, stride_b: -8}]"),
      StartsWith("1:49: found \"-8\" for stride_b; expected a whole number from 0 to 2^36"));
}

TEST_F(ShapesFile, MayBeJustTheList) {
  EXPECT_THAT(names(load("- 1x8x8\n- {m: 2, n: 8, k: 8}\n")), ElementsAre("1x8x8", "2x8x8"));
}

TEST_F(ShapesFile, MergesTheSameProblem) {
  const auto problems = load(
      "shapes:\n"
      "  - {m: 1, n: 8, k: 8, tag: first, weight: 2}\n"
      "  - {m: 2, n: 8, k: 8}\n"
      "  - {m: 1, n: 8, k: 8, tag: second, weight: 3}\n"
      "  - {m: 1, n: 8, k: 8, tag: first}\n"
      "  - {m: 1, n: 8, k: 8, dtype: fp16}\n");
  EXPECT_THAT(names(problems), ElementsAre("1x8x8", "2x8x8", "1x8x8.fp16"));
  EXPECT_EQ(problems[0].weight, 6);
  EXPECT_EQ(problems[0].tag, "first+second");
}

// ---- Models ----

// Each kind of sums is a problem of its own; what has no 8-bit operands has no choice.
TEST(SumsOfProblems, AreChosenForEightBitOperandsOnly) {
  const auto with = [](const char* shapes, const char* word) {
    return names(with_sums(load_problems(shapes, kConfigs), find_sums(word).value()));
  };
  const char* const shapes = "64x64x64,64x64x64.e4m3,64x64x128.e5m2.be4m3.accfast.scaling-rows";
  EXPECT_THAT(with(shapes, "promoted"),
              ElementsAre("64x64x64", "64x64x64.e4m3", "64x64x128.e5m2.be4m3.scaling-rows"));
  EXPECT_THAT(with(shapes, "fast"), ElementsAre("64x64x64", "64x64x64.e4m3.accfast",
                                                "64x64x128.e5m2.be4m3.accfast.scaling-rows"));
  EXPECT_THAT(with("64x64x64,64x64x64.e4m3,64x64x64.e4m3.accfast", "any"),
              ElementsAre("64x64x64", "64x64x64.e4m3", "64x64x64.e4m3.accfast"))
      << "two that become equal are one";
  EXPECT_THAT(with("64x64x128.e4m3.scaling-blocks", "any"),
              ElementsAre("64x64x128.e4m3.scaling-blocks"))
      << "which has no fast sums";
  EXPECT_FALSE(find_sums("fp32"));
}

TEST_F(ShapesFile, ModelWithGroupedHeadsAndTensorParallelism) {
  const auto problems = load(
      "model: {name: some-70b, hidden: 8192, ffn: 28672, heads: 64, kv_heads: 8,\n"
      "        vocab: 128256, layers: 80, tensor_parallel: 8, m: [255, 256], dtype: fp16}\n");
  ASSERT_EQ(problems.size(), 10u);
  // 8 query heads and one key and one value head of 128 per rank.
  EXPECT_EQ(to_string(problems[0]), "255x1280x8192.fp16");
  EXPECT_EQ(to_string(problems[1]), "255x8192x1024.fp16");
  EXPECT_EQ(to_string(problems[2]), "255x3584x8192.fp16");
  EXPECT_EQ(to_string(problems[3]), "255x8192x3584.fp16");
  EXPECT_EQ(to_string(problems[4]), "255x16032x8192.fp16");
  EXPECT_EQ(problems[0].tag, "decode/qkv");
  EXPECT_EQ(problems[5].tag, "prefill/qkv");
  EXPECT_EQ(problems[2].weight, 160);
}

TEST_F(ShapesFile, HeadDimNeedNotBeHiddenOverHeads) {
  const auto problems =
      load("model: {hidden: 3072, ffn: 24576, heads: 16, head_dim: 256, vocab: 256000, m: 1}");
  EXPECT_EQ(to_string(problems[0]), "1x12288x3072");
  EXPECT_EQ(to_string(problems[1]), "1x3072x4096");
  EXPECT_EQ(problems[0].weight, 1);
}

TEST_F(ShapesFile, SeveralModelsPrefixTheirTags) {
  const auto problems = load(
      "model:\n"
      "  - {name: a, hidden: 512, ffn: 1024, heads: 4, vocab: 1000, m: 1}\n"
      "  - {name: b, hidden: 512, ffn: 2048, heads: 4, vocab: 1000, m: 1}\n"
      "shapes: [7x8x8]\n");
  EXPECT_EQ(to_string(problems[0]), "7x8x8");
  EXPECT_EQ(problems[1].tag, "a/decode/qkv+b/decode/qkv");
  EXPECT_EQ(problems.back().tag, "b/decode/ffn_down");
  EXPECT_THAT(complaint_about("model:\n"
                              "  - {name: a, hidden: 512, ffn: 1024, heads: 4, vocab: 1000, m: 1}\n"
                              "  - {hidden: 512, ffn: 2048, heads: 4, vocab: 1000, m: 1}\n"),
              StartsWith("3:5: no \"name\" in a model"));
}

TEST_F(ShapesFile, ModelMustDivide) {
  const std::string rest = ", ffn: 1024, vocab: 1000, m: 1";
  EXPECT_THAT(
      complaint_about("model: {hidden: 528, heads: 12, kv_heads: 3, tensor_parallel: 2" + rest +
                      "}"),
      StartsWith("1:43: found kv_heads 3, which tensor_parallel 2 does not divide; expected a "
                 "multiple of 2; change"));
  EXPECT_THAT(complaint_about("model: {hidden: 500, heads: 8" + rest + "}"),
              StartsWith("1:17: found hidden 500, which heads 8 does not divide"));
  EXPECT_THAT(complaint_about("model: {hidden: 512, heads: 8, kv_heads: 3" + rest + "}"),
              HasSubstr("found heads 8, which kv_heads 3 does not divide"));
  EXPECT_THAT(complaint_about("model: {hidden: 512, heads: 16, tensor_parallel: 16" + rest + "}"),
              HasSubstr("found vocab 1000, which tensor_parallel 16 does not divide"));
  EXPECT_THAT(complaint_about("model: {hidden: 512, heads: 8, layers: 0" + rest + "}"),
              StartsWith("1:40: found \"0\" for layers"));
}

TEST_F(ShapesFile, MoreRanksThanKvHeadsHaveCopiesOfThem) {
  const auto problems = load(
      "model: {hidden: 512, heads: 8, kv_heads: 2, tensor_parallel: 4, ffn: 1024, vocab: 1000,\n"
      "        m: 1}\n");
  EXPECT_EQ(to_string(problems[0]), "1x256x512") << "2 heads, and one of keys and of values";
}

TEST_F(ShapesFile, AConfigJsonPointsToModel) {
  EXPECT_THAT(
      complaint_about("{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 4096}\n"),
      AllOf(HasSubstr("config.json of a Hugging Face model"), HasSubstr("--model")));
  EXPECT_THAT(complaint_about("{\n  \"hidden_size\": 4096,\n  \"model_type\": \"llama\"\n}\n"),
              HasSubstr("--model"));
}

// ---- Bad input ----

TEST_F(ShapesFile, UnknownKeysNameTheNearestKnownOne) {
  EXPECT_THAT(complaint_about("shapes:\n  - {m: 1, n: 8, k: 8, wieght: 2}\n"),
              AllOf(StartsWith("2:24: unknown key \"wieght\" in a shape"),
                    EndsWith("did you mean \"weight\"?")));
  EXPECT_THAT(complaint_about("shape: []\n"), EndsWith("did you mean \"shapes\"?"));
  EXPECT_THAT(complaint_about("model: {hiden: 8}\n"), EndsWith("did you mean \"hidden\"?"));
  EXPECT_THAT(
      complaint_about("shapes: [{m: 1, n: 8, k: 8, dtype: fp61}]"),
      AllOf(StartsWith("1:36: found \"fp61\" for dtype"), EndsWith("did you mean \"fp16\"?")));
  EXPECT_THAT(complaint_about("shapes: [{m: 1, n: 8, k: 8, layout: NX}]"),
              StartsWith("1:37: found \"NX\" for layout; expected TN, NN, NT or TT"));
}

TEST_F(ShapesFile, SizesMustBeWholeAndSane) {
  for (const char* bad :
       {"0", "-4", "1.5", "1e3", "1073741825", "99999999999999999999", "x", "[]", "[1, [2]]", "{}",
        "1:5", "9:5:1", "1:9:0", "0:9:1", "1:9:1:1", "1:1000000:1"})
    EXPECT_THAT(complaint_about(std::string("shapes:\n  - n: 8\n    k: 8\n    m: ") + bad + "\n"),
                AllOf(StartsWith("4:"), HasSubstr("for m; expected")))
        << bad;
  for (const char* bad : {"0", "-1", "inf", "nan", "many", "[1]", "1e16", "1e999"})
    EXPECT_THAT(complaint_about(std::string("shapes: [{m: 1, n: 8, k: 8, weight: ") + bad + "}]"),
                AllOf(StartsWith("1:37: "), HasSubstr("for weight")))
        << bad;
  EXPECT_THAT(complaint_about("shapes:\n  - n: 8\n    k:\n    m: 1\n"),
              StartsWith("3:5: no value for k in a shape"));
  EXPECT_THAT(complaint_about("shapes: [{m: 1:4000:1, n: [8, 16, 24], k: 8}]"),
              HasSubstr("more than 10000 shapes"));
}

TEST_F(ShapesFile, WrongStructureIsOneClearLine) {
  EXPECT_THAT(complaint_about(""), StartsWith("1:1: the file is empty; expected a map with"));
  EXPECT_THAT(complaint_about("# nothing yet\n"), StartsWith("1:1: the file is empty"));
  EXPECT_THAT(complaint_about("hello\n"), StartsWith("1:1: found \"hello\" for a shapes file"));
  EXPECT_THAT(complaint_about("shapes: [1, 2\nfoo: : bar\n"), StartsWith("2:4: not YAML: "));
  EXPECT_THAT(complaint_about("shapes:\n\t- {m: 1}\n"), StartsWith("2:2: not YAML: "));
  EXPECT_THAT(complaint_about(std::string("\0\1\2\xff\"\\\xfe", 7)), HasSubstr(": "));
  EXPECT_THAT(complaint_about("dtype: fp16\n"), StartsWith("1:1: neither `shapes:` nor `model:`"));
  EXPECT_THAT(complaint_about("shapes: 5\n"), StartsWith("1:9: found \"5\" for shapes"));
  EXPECT_THAT(complaint_about("shapes: []\n"), StartsWith("1:9: found an empty list for shapes"));
  EXPECT_THAT(complaint_about("shapes: [[1, 2, 3]]\n"),
              StartsWith("1:10: found a list for a shape"));
  EXPECT_THAT(complaint_about("shapes: [1x8x8, 2x0x8]\n"), StartsWith("1:17: found \"2x0x8\""));
  EXPECT_THAT(complaint_about("shapes:\n  - {m: 1, n: 8}\n"),
              StartsWith("2:5: no \"k\" in a shape"));
  EXPECT_THAT(complaint_about("shapes:\n  - {m: 1, n: 8, k: 8, m: 2}\n"),
              StartsWith("2:24: a second \"m\""));
  EXPECT_THAT(complaint_about("shapes: [1x8x8]\n---\nshapes: [2x8x8]\n"),
              StartsWith("3:1: a second YAML document"));
  // Once five gigabytes in 17 seconds.
  EXPECT_THAT(complaint_about("[64x64x64], [64x64x64]"),
              StartsWith("1:11: found \", [64x64x64]\""));
  EXPECT_THAT(complaint_about(R"(shapes: [{m: 1, n: 8, k: 8, tag: "\e[2J"}])"),
              AllOf(StartsWith("1:34: "), HasSubstr("for tag; expected one short line")));
}

TEST_F(ShapesFile, OfOtherSystemsAreRead) {
  EXPECT_THAT(names(load("\xef\xbb\xbfshapes:\r\n  - 1x8x8\r\n  - 2x8x8\r\n")),
              ElementsAre("1x8x8", "2x8x8"));
}

TEST_F(ShapesFile, ThatAreNoRegularFilesAreNotWaitedFor) {
  const auto pipe = files_.folder() / "pipe.yaml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(complaint(pipe.string()), HasSubstr("not a regular file"));
}

TEST_F(ShapesFile, TenThousandAreMergedAtOnce) {
  std::string text = "shapes:\n";
  for (int i = 0; i < 10'000; ++i) text += "  - " + std::to_string(i % 5'000 + 1) + "x8x8\n";
  const auto problems = load(text);
  EXPECT_EQ(problems.size(), 5'000u);
  EXPECT_EQ(problems.back().weight, 2);
  EXPECT_THAT(complaint_about(text + "  - 1x8x8\n"), HasSubstr("more than 10000 shapes"));
}

// ---- Where files are looked for ----

TEST_F(ShapesFile, TheWorkingFolderComesBeforeTheConfigs) {
  files_.write("configs/shapes/mine.yaml", "shapes: [1x8x8]");
  const std::string configs = (files_.folder() / "configs").string();
  const auto working_folder = std::filesystem::current_path();
  std::filesystem::current_path(files_.folder());
  EXPECT_THAT(names(load_problems("mine", configs)), ElementsAre("1x8x8"));
  EXPECT_THAT(names(load_problems("mine.yaml", configs)), ElementsAre("1x8x8"));
  std::filesystem::create_directory("mine");  // a folder is no shapes file, and in nobody's way
  EXPECT_THAT(names(load_problems("mine", configs)), ElementsAre("1x8x8"));
  files_.write("mine.yaml", "shapes: [2x8x8]");
  EXPECT_THAT(names(load_problems("mine", configs)), ElementsAre("2x8x8"));
  EXPECT_THAT(complaint("./mine", configs), "accepted");
  EXPECT_THAT(complaint("./other", configs), HasSubstr("no such shapes file"));
  std::filesystem::current_path(working_folder);
}

TEST_F(ShapesFile, MissingFilesSayWhereTheyWereLookedFor) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(
      complaint("lama7b"),
      AllOf(HasSubstr("no such shapes file"), HasSubstr(here + "/lama7b"),
            HasSubstr(kConfigs + "/shapes/lama7b.yaml"), HasSubstr("did you mean llama7b?"),
            HasSubstr("batched, block, decode, epilogues, fp32-out, fp8, fp8-blocks, fp8-rows, "
                      "gated, grid, "
                      "llama7b, llama7b-decode, llama7b-decode-fused, llama7b-prefill, odd, rows, "
                      "rows-of-layers, rows-to-512, seeds, smoke, smoke-odd, square")));
  EXPECT_THAT(complaint("/nowhere/x.yaml"), HasSubstr("looked for /nowhere/x.yaml;"));
  EXPECT_THAT(complaint(files_.folder().string()), HasSubstr("a folder, not a file"));
  EXPECT_THAT(complaint(""), HasSubstr("no shapes file named"));
  EXPECT_THAT(complaint("x.yaml", files_.folder().string()), HasSubstr("holds no .yaml files"));
}

}  // namespace
}  // namespace hgemm
