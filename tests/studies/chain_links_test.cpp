// What a chain consists of: whose links follow whose, how many, and what they read.
#include "studies/chain/chain.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "gemm/codec.h"
#include "gemm/problem.h"
#include "gemm/problem_list.h"
#include "worker/lab.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

GemmProblem gemm(std::int64_t m, std::int64_t n, std::int64_t k, double weight = 1,
                 const std::string& tag = "") {
  return {.m = m, .n = n, .k = k, .weight = weight, .tag = tag};
}

std::vector<std::string> texts(const std::vector<GemmProblem>& problems) {
  std::vector<std::string> texts;
  for (const GemmProblem& problem : problems) texts.push_back(to_string(problem));
  return texts;
}

std::vector<GemmProblem> shipped(const std::string& file) {
  return load_problems(file, HGEMM_SOURCE_DIR "/configs");
}

TEST(Chain, HasALayersShapesAsOftenAsALayerHasThem) {
  const std::vector<Chain> chains = chains_of(shipped("llama7b-decode.yaml"), 20);
  ASSERT_THAT(chains, SizeIs(4)) << "one for each M";
  const Chain& one = chains[0];
  EXPECT_EQ(one.label, "chain.m1.12288x4096+4096x4096+2*11008x4096+4096x11008.x20.bf16");
  ASSERT_THAT(one.links, SizeIs(20));
  EXPECT_THAT(texts({one.links.begin(), one.links.begin() + 6}),
              ElementsAre("1x12288x4096", "1x4096x4096", "1x11008x4096", "1x11008x4096",
                          "1x4096x11008", "1x12288x4096"));
  EXPECT_THAT(texts(one.left_out), ElementsAre("1x32000x4096")) << "once a step, not a layer";
  EXPECT_EQ(chains[3].links[0].m, 128);
}

TEST(Chain, EveryLinkOfADecoderReadsWhatTheOneBeforeItWrote) {
  for (const Chain& chain : chains_of(shipped("llama7b-decode.yaml"), 32)) {
    for (std::size_t i = 1; i < chain.links.size(); ++i) {
      EXPECT_TRUE(feeds(chain.links[i - 1], chain.links[i])) << chain.label << " " << i;
    }
  }
}

TEST(Chain, ModelsTypesAndRowsAreNotMixed) {
  GemmProblem half = gemm(1, 64, 64, 1, "a/qkv");
  half.set_types(DataType::kFp16);
  const std::vector<Chain> chains =
      chains_of(std::vector{gemm(1, 64, 64, 1, "a/qkv"), gemm(1, 128, 64, 1, "b/qkv"), half,
                            gemm(2, 64, 64, 1, "a/qkv"), gemm(1, 32, 64, 1, "a/out+b/out")},
                8);
  ASSERT_THAT(chains, SizeIs(4));
  EXPECT_EQ(chains[0].label, "chain.m1.64x64+32x64.x8.bf16");
  EXPECT_EQ(chains[1].label, "chain.m1.128x64.x8.bf16");
  EXPECT_EQ(chains[2].label, "chain.m1.64x64.x8.fp16");
  EXPECT_EQ(chains[3].label, "chain.m2.64x64.x8.bf16");
  std::set<std::string> labels;
  for (const Chain& chain : chains_of(shipped("decode.yaml"), 20)) labels.insert(chain.label);
  EXPECT_THAT(labels, SizeIs(16)) << "two models, eight numbers of rows";
}

TEST(Chain, ShapesWithoutWeightsComeOnceALayer) {
  const Chain chain =
      chains_of(std::vector{gemm(1, 64, 64), gemm(1, 128, 64), gemm(1, 64, 128)}, 8).at(0);
  EXPECT_EQ(chain.label, "chain.m1.64x64+128x64+64x128.x8.bf16");
  EXPECT_THAT(texts(chain.links), ElementsAre("1x64x64", "1x128x64", "1x64x128", "1x64x64",
                                              "1x128x64", "1x64x128", "1x64x64", "1x128x64"))
      << "the last layer is cut short";
  EXPECT_THAT(chain.left_out, IsEmpty());
}

TEST(Chain, OneShapeFarMoreOftenThanTheOthersEndsTheChain) {
  const Chain chain = chains_of(std::vector{gemm(1, 64, 64), gemm(1, 128, 64, 1e9)}, 8).at(0);
  ASSERT_THAT(chain.links, SizeIs(8));
  EXPECT_EQ(chain.links[0].n, 64);
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(chain.links[i].n, 128);
}

TEST(Chain, AnOutputFeedsWhatNeedsNoMoreElements) {
  EXPECT_TRUE(feeds(gemm(16, 64, 8), gemm(16, 8, 64)));
  EXPECT_FALSE(feeds(gemm(16, 64, 8), gemm(16, 8, 72)));
  GemmProblem half = gemm(16, 8, 64);
  half.set_types(DataType::kFp16);
  EXPECT_FALSE(feeds(gemm(16, 64, 8), half)) << "the bits of another type";
}

TEST(Chain, LinksOfALayerHaveEpiloguesOfTheirOwn) {
  std::vector<GemmProblem> layer{gemm(16, 64, 64), gemm(16, 256, 64), gemm(16, 64, 128)};
  layer[1].epilogue = {.activation = Activation::kSilu, .gate = Gate::kHalves};
  layer[2].c_type = DataType::kBf16;
  const std::vector<Chain> chains = chains_of(layer, 8);
  ASSERT_THAT(chains, SizeIs(1));
  EXPECT_EQ(chains[0].label, "chain.m16.64x64+256x64.swiglu+64x128.c.x8.bf16");
  for (std::size_t i = 1; i < 8; ++i) {
    EXPECT_TRUE(feeds(chains[0].links[i - 1], chains[0].links[i])) << i;
  }
  EXPECT_FALSE(feeds(layer[1], gemm(16, 64, 256))) << "half as many columns as it computes";
}

/// Rows grow apart with each gate, until a C comes in.
TEST(Chain, ALinkBehindManyGatesHasAMatrixOfItsOwn) {
  GemmProblem gate = gemm(16, 128, 64);
  gate.epilogue = {.activation = Activation::kSilu, .gate = Gate::kHalves};
  const std::vector<GemmProblem> gates(8, gate);
  EXPECT_THAT(fed_links(gates), ElementsAre(false, true, true, true, true, false, true, true));
  GemmProblem residual = gemm(16, 64, 64);
  residual.c_type = DataType::kBf16;
  std::vector<GemmProblem> layers;
  for (int i = 0; i < 6; ++i) layers.insert(layers.end(), {gate, residual});
  std::vector<bool> all_but_the_first(12, true);
  all_but_the_first[0] = false;
  EXPECT_EQ(fed_links(layers), all_but_the_first);
  EXPECT_THAT(fed_links(std::vector{gemm(16, 64, 64), gemm(16, 64, 128)}),
              ElementsAre(false, false))
      << "too few elements";
}

TEST(Chain, CountsItsWeightsAndItsWork) {
  StudyRequest request;
  EXPECT_EQ(request.flops(), 0);
  const std::vector<ChainLink> links = {{gemm(2, 64, 32), "", ""}, {gemm(2, 32, 64), "", ""}};
  EXPECT_EQ(weight_bytes(links), 2 * 64 * 32 * 2);
  request.parts = parts_of(links);
  EXPECT_EQ(request.flops(), 2 * 2 * 2.0 * 2 * 64 * 32) << "of both ways to compute it";
}

TEST(Chain, LinksAreRecordedAsPartsAndReadBack) {
  const std::vector<ChainLink> links = {{gemm(2, 64, 32, 3, "a/qkv"), "x", "y"},
                                        {gemm(2, 32, 64), "y", "y"}};
  std::vector<StudyPart> parts = parts_of(links);
  ASSERT_THAT(parts, SizeIs(4)) << "one for each way to compute a link";
  std::ranges::reverse(parts);  // the database returns them in an order of its own
  const std::vector<ChainLink> read = links_of(parts);
  ASSERT_THAT(read, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(read[i].problem.same_problem(links[i].problem)) << i;
    EXPECT_EQ(read[i].pdl_off, links[i].pdl_off);
    EXPECT_EQ(read[i].pdl_on, links[i].pdl_on);
  }
}

}  // namespace
}  // namespace hgemm
