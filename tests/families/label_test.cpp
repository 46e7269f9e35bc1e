// Labels: identity of a config, and back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kLabel = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist";
constexpr const char* kSwapAb = "swap_ab.bm16.bn64.bk128.q4.d1.tma.csplit2";
constexpr const char* kGemv = "gemv.v1.r16.s1024.q2.w8.single";

std::string complaint(const std::string& text) {
  try {
    parse_label(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string replaced(const std::string& from, const std::string& to, std::string text = kLabel) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Label, SpellsEveryField) {
  const TiledConfig hilbert{.bm = 128,
                            .bn = 256,
                            .bk = 64,
                            .stages = 4,
                            .cluster_m = 2,
                            .consumers = 2,
                            .mma_depth = 1,
                            .order = TileOrder::kHilbert};
  EXPECT_EQ(label(hilbert), kLabel);

  const TiledConfig other{.bm = 192,
                          .bn = 72,
                          .bk = 32,
                          .stages = 11,
                          .cluster_n = 2,
                          .consumers = 3,
                          .mma_depth = 0,
                          .order = TileOrder::kGroupedRows,
                          .group = 16,
                          .store = StorePath::kDirect,
                          .scheduler = TileScheduler::kSingle};
  EXPECT_EQ(label(other), "bm192.bn72.bk32.q11.c1x2.coop3.d0.group16.direct.single");
  EXPECT_EQ(parse_label(label(other)), KernelConfig(other));

  const SwapAbConfig swapped{.bm = 24,
                             .bn = 192,
                             .bk = 64,
                             .stages = 11,
                             .mma_depth = 0,
                             .store = StorePath::kStaged,
                             .splits = 3};
  EXPECT_EQ(label(swapped), "swap_ab.bm24.bn192.bk64.q11.d0.staged.csplit3");
  EXPECT_EQ(parse_label(label(swapped)), KernelConfig(swapped));

  const GemvConfig vectors{.vectors = 4, .rows = 2, .step = 512, .depth = 1, .warps = 12};
  EXPECT_EQ(label(vectors), "gemv.v4.r2.s512.q1.w12.single");
  EXPECT_EQ(parse_label(label(vectors)), KernelConfig(vectors));
}

TEST(Label, SpellsEveryWord) {
  const std::pair<TiledConfig, const char*> cases[] = {
      {{}, "coop2.d1.linear.tma.persist"},
      {{.schedule = Schedule::kColumns, .consumers = 3}, "cols3.d1.linear.tma.persist"},
      {{.schedule = Schedule::kPingPong}, "pp2.d1.linear.tma.persist"},
      {{.store = StorePath::kStaged}, "coop2.d1.linear.staged.persist"},
      {{.pdl = true, .pack = true}, "coop2.d1.linear.tma.persist.pdl.pack"},
      {{.order = TileOrder::kGroupedColumns, .group = 8}, "coop2.d1.ngroup8.tma.persist"},
      {{.order = TileOrder::kSnakeRows, .group = 16}, "coop2.d1.snake16.tma.persist"},
      {{.order = TileOrder::kSnakeColumns, .group = 1}, "coop2.d1.nsnake1.tma.persist"},
      {{.store = StorePath::kOverlapped}, "coop2.d1.linear.overlap.persist"},
      {{.scheduler = TileScheduler::kDynamic}, "coop2.d1.linear.tma.dynamic"},
      {{.scheduler = TileScheduler::kStreamK}, "coop2.d1.linear.tma.stream"},
      {{.scheduler = TileScheduler::kSplitK, .splits = 4}, "coop2.d1.linear.tma.split4"},
      {{.scheduler = TileScheduler::kClusterSplitK, .splits = 2}, "coop2.d1.linear.tma.csplit2"},
      {{.a_hint = CacheHint::kEvictFirst}, "coop2.d1.linear.tma.persist.afirst"},
      {{.b_hint = CacheHint::kEvictLast}, "coop2.d1.linear.tma.persist.blast"},
      {{.d_hint = CacheHint::kEvictFirst}, "coop2.d1.linear.tma.persist.dfirst"},
      {{.pdl = true, .fixed = true}, "coop2.d1.linear.tma.persist.pdl.fixed"},
      {{.promotion = 64}, "coop2.d1.linear.tma.persist.p64"},
      {{.mma_depth = 0, .promote = 128}, "coop2.d0.acc128.linear.tma.persist"},
      {{.ctas_per_sm = 2}, "coop2.d1.linear.tma.persist.cta2"},
      {{.sms = kFewestSms}, "coop2.d1.linear.tma.persist.smsfew"},
      {{.sms = 100, .pdl = true}, "coop2.d1.linear.tma.persist.sms100.pdl"},
      {{.pdl = true, .hold = true, .fixed = true}, "coop2.d1.linear.tma.persist.pdl.hold.fixed"},
      {{.gpc = true, .fixed = true}, "coop2.d1.linear.tma.persist.gpc.fixed"},
      {{.a_hint = CacheHint::kEvictLast,
        .b_hint = CacheHint::kEvictFirst,
        .d_hint = CacheHint::kEvictLast,
        .promotion = 128,
        .probe = true},
       "coop2.d1.linear.tma.persist.alast.bfirst.dlast.p128.probe1"},
  };
  for (const auto& [config, text] : cases) {
    EXPECT_EQ(label(config), std::string("bm128.bn128.bk64.q4.c1x1.") + text);
    EXPECT_EQ(parse_label(label(config)), KernelConfig(config)) << text;
  }
}

TEST(Label, SpellsEveryWordOfTheOtherFamilies) {
  const std::pair<KernelConfig, const char*> cases[] = {
      {SwapAbConfig{}, "swap_ab.bm16.bn64.bk64.q4.d1.tma.single"},
      {SwapAbConfig{.a_hint = CacheHint::kEvictFirst,
                    .b_hint = CacheHint::kEvictLast,
                    .d_hint = CacheHint::kEvictFirst,
                    .promotion = 128,
                    .ctas_per_sm = 2,
                    .pdl = true},
       "swap_ab.bm16.bn64.bk64.q4.d1.tma.single.afirst.blast.dfirst.p128.cta2.pdl"},
      {SwapAbConfig{.store = StorePath::kStaged, .splits = 8, .pack = true, .fixed = true},
       "swap_ab.bm16.bn64.bk64.q4.d1.staged.csplit8.pack.fixed"},
      {SwapAbConfig{.bk = 128, .promote = 512}, "swap_ab.bm16.bn64.bk128.q4.d1.acc512.tma.single"},
      {SwapAbConfig{.pdl = true, .late = true, .hold = true},
       "swap_ab.bm16.bn64.bk64.q4.d1.tma.single.pdl.late.hold"},
      {GemvConfig{}, "gemv.v1.r16.s1024.q2.w8.single"},
      {GemvConfig{.splits = 8, .ctas_per_sm = 2, .pdl = true, .fixed = true},
       "gemv.v1.r16.s1024.q2.w8.csplit8.cta2.pdl.fixed"},
  };
  for (const auto& [config, text] : cases) {
    EXPECT_EQ(label(config), text);
    EXPECT_EQ(parse_label(text), config) << text;
  }
}

TEST(Label, SaysThatExtentsAreConstantsAndNotWhich) {
  for (const char* text : {kLabel, kSwapAb, kGemv}) {
    const KernelConfig config = parse_label(text + std::string(".fixed"));
    EXPECT_TRUE(is_fixed(config));
    EXPECT_EQ(without_fixed(config), parse_label(text));
    for (const char* field : {".fixed0", ".fixed1", ".fixed.fixed", ".for512x512x512", ".for",
                              ".fixed.pdl", ".fixed."}) {
      EXPECT_NE(complaint(text + std::string(field)), "accepted") << field;
    }
  }
}

// ---- Random configs ----

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  bool coin() { return below(2) != 0; }
  int number() { return below(10'000); }
  /// One of the first `count` values of an enumeration.
  template <class Enum>
  Enum word(int count) {
    return Enum{static_cast<unsigned char>(below(count))};
  }

 private:
  std::mt19937 random_;
};

TiledConfig random_tiled(Random& random) {
  TiledConfig c{.bm = random.number(),
                .bn = random.number(),
                .bk = random.number(),
                .stages = random.number(),
                .cluster_m = random.number(),
                .cluster_n = random.number(),
                .schedule = random.word<Schedule>(3),
                .consumers = random.number(),
                .mma_depth = random.number(),
                .order = random.word<TileOrder>(6),
                .store = random.word<StorePath>(4),
                .scheduler = random.word<TileScheduler>(6),
                .a_hint = random.word<CacheHint>(3),
                .b_hint = random.word<CacheHint>(3),
                .d_hint = random.word<CacheHint>(3),
                .pdl = random.coin(),
                .hold = random.coin(),
                .pack = random.coin(),
                .fixed = random.coin(),
                .probe = random.coin()};
  if (has_bands(c.order)) c.group = random.number();
  if (c.scheduler == TileScheduler::kSplitK || c.scheduler == TileScheduler::kClusterSplitK) {
    c.splits = random.number();
  }
  if (random.coin()) c.promotion = random.coin() ? 64 : random.number();
  if (random.coin()) c.promote = random.coin() ? 128 : random.number();
  if (random.coin()) c.ctas_per_sm = random.below(10);
  return c;
}

SwapAbConfig random_swap_ab(Random& random) {
  SwapAbConfig c{.bm = random.number(),
                 .bn = random.number(),
                 .bk = random.number(),
                 .stages = random.number(),
                 .mma_depth = random.number(),
                 .store = random.coin() ? StorePath::kTma : StorePath::kStaged,
                 .a_hint = random.word<CacheHint>(3),
                 .b_hint = random.word<CacheHint>(3),
                 .d_hint = random.word<CacheHint>(3),
                 .pdl = random.coin(),
                 .late = random.coin(),
                 .hold = random.coin(),
                 .pack = random.coin(),
                 .fixed = random.coin()};
  if (random.coin()) c.splits = 2 + random.below(9998);
  if (random.coin()) c.promotion = random.coin() ? 64 : random.number();
  if (random.coin()) c.promote = random.coin() ? 128 : random.number();
  if (random.coin()) c.ctas_per_sm = random.below(10);
  return c;
}

GemvConfig random_gemv(Random& random) {
  GemvConfig c{.vectors = random.number(),
               .rows = random.number(),
               .step = random.number(),
               .depth = random.number(),
               .warps = random.number(),
               .pdl = random.coin(),
               .fixed = random.coin()};
  if (random.coin()) c.splits = 2 + random.below(9998);
  if (random.coin()) c.ctas_per_sm = random.below(10);
  return c;
}

// Valid or not: numbers of any size, and every combination of words.
TEST(Label, RoundTripsRandomConfigs) {
  Random random(5);
  std::set<std::string> labels;
  for (int i = 0; i < 20'000; ++i) {
    for (const KernelConfig& config :
         {KernelConfig(random_tiled(random)), KernelConfig(random_swap_ab(random)),
          KernelConfig(random_gemv(random))}) {
      const std::string text = label(config);
      ASSERT_EQ(parse_label(text), config) << text;
      labels.insert(text);
    }
  }
  EXPECT_EQ(labels.size(), 60'000u) << "different configs have different labels";
}

// A plain build's label says nothing of it.
TEST(Label, SaysThatABuildIsProbed) {
  const KernelConfig plain = parse_label(kLabel);
  EXPECT_FALSE(is_probed(plain));
  TiledConfig probed = std::get<TiledConfig>(plain);
  probed.probe = true;
  EXPECT_EQ(label(probed), std::string(kLabel) + ".probe1");
  EXPECT_EQ(parse_label(label(probed)), KernelConfig(probed));
  EXPECT_NE(parse_label(kLabel), KernelConfig(probed));
  for (const char* field : {".probe0", ".probe", ".probe1.probe1"}) {
    EXPECT_THAT(complaint(kLabel + std::string(field)), HasSubstr("follows the last field"))
        << field;
  }
  EXPECT_NE(complaint(std::string(kSwapAb) + ".probe1"), "accepted");
  EXPECT_NE(complaint(std::string(kGemv) + ".probe1"), "accepted");
}

// ---- Complaints ----

TEST(Label, NamesTheFieldAtFault) {
  EXPECT_THAT(complaint(replaced("bn256", "nb256")),
              AllOf(HasSubstr("field 2 is \"nb256\""), HasSubstr("bn<columns>")));
  EXPECT_THAT(complaint(replaced("c2x1", "c2")), HasSubstr("field 5 is \"c2\""));
  EXPECT_THAT(
      complaint(replaced("hilbert", "hilbret")),
      AllOf(HasSubstr("field 8 is \"hilbret\""), HasSubstr("linear, hilbert, or group, ngroup")));
  for (const char* order : {"ngroup", "snake-1", "nsnake10000", "hilbert8", "linear1", "group8x"})
    EXPECT_THAT(complaint(replaced("hilbert", order)), HasSubstr("field 8 is")) << order;
  for (const char* consumers : {"coop", "2", "rows2", "pp", "pp2x", "cols99999", "ppcols2", ""}) {
    EXPECT_THAT(complaint(replaced("coop2", consumers)),
                AllOf(HasSubstr("field 6 is"),
                      HasSubstr("coop<consumers>, cols<consumers> or pp<consumers>")))
        << consumers;
  }
  EXPECT_THAT(complaint(replaced("tma", "tmb")), HasSubstr("direct, tma, staged or overlap"));
  EXPECT_THAT(complaint(replaced("tma", "late")), HasSubstr("field 9 is \"late\""))
      << "a word of old labels alone";
  EXPECT_THAT(complaint(replaced("d1.", "")), HasSubstr("field 7 is \"hilbert\""));
  EXPECT_THAT(complaint(replaced(".persist", "")),
              HasSubstr("ends before field 10, persist, dynamic, single, split<parts>"));
  for (const char* field : {"fast", "cfirst", "amid", "a", "p", "px", "p-64", "first"}) {
    EXPECT_THAT(complaint(kLabel + std::string(".") + field),
                AllOf(HasSubstr(fmt::format("\"{}\" follows the last field", field)),
                      HasSubstr("afirst or alast, bfirst or blast")))
        << field;
  }
  for (const char* fields : {"blast.afirst", "p64.dfirst", "probe1.p64", "afirst.alast"}) {
    const std::string second = std::string(fields).substr(std::string(fields).find('.') + 1);
    EXPECT_THAT(complaint(kLabel + std::string(".") + fields),
                HasSubstr("\"" + second + "\" follows the last field"))
        << fields;
  }
  EXPECT_THAT(complaint(""), HasSubstr("field 1"));
}

TEST(Label, NamesTheFieldAtFaultOfTheOtherFamilies) {
  EXPECT_THAT(complaint(replaced("bm16", "v16", kSwapAb)),
              AllOf(HasSubstr("field 1 is \"v16\""), HasSubstr("bm<rows>"),
                    EndsWith("a label looks like " + label(SwapAbConfig{}))));
  EXPECT_THAT(complaint(replaced("tma", "direct", kSwapAb)),
              AllOf(HasSubstr("field 6 is \"direct\""), HasSubstr("tma or staged")));
  for (const char* scheduler : {"persist", "split2", "csplit", "csplit1", "csplit1x"}) {
    EXPECT_THAT(complaint(replaced("csplit2", scheduler, kSwapAb)),
                AllOf(HasSubstr("field 7 is"), HasSubstr("single or csplit<parts>")))
        << scheduler;
  }
  EXPECT_THAT(complaint(replaced("w8", "w", kGemv)),
              AllOf(HasSubstr("field 5 is \"w\""), HasSubstr("w<warps>"),
                    EndsWith("a label looks like " + label(GemvConfig{}))));
  EXPECT_THAT(complaint("gemv"), HasSubstr("ends before field 1, v<vectors>"));
  EXPECT_THAT(complaint("gemv."), HasSubstr("ends before field 1"));
  EXPECT_THAT(complaint(std::string(kGemv) + ".pack"),
              AllOf(HasSubstr("\"pack\" follows the last field"), HasSubstr("cta2, pdl, fixed")));
  // A name that no family has begins a label of the tiled one.
  EXPECT_THAT(complaint(replaced("gemv", "gemm", kGemv)), HasSubstr("field 1 is \"gemm\""));
  EXPECT_THAT(complaint("tiled." + std::string(kLabel)),
              HasSubstr(std::string("this config is written ") + kLabel));
}

TEST(Label, AcceptsExactlyWhatItWrites) {
  EXPECT_THAT(complaint(replaced("bm128", "bm0128")),
              HasSubstr(std::string("this config is written ") + kLabel));
  for (const char* number : {"bm-128", "bm+128", "bm 128", "bm1e2", "bm99999999999999999999", "bm"})
    EXPECT_THAT(complaint(replaced("bm128", number)), HasSubstr("field 1")) << number;
  for (const char* field : {".anone", ".p256", ".p064", ".bnone.p64", ".cta1", ".", ".probe1."})
    EXPECT_THAT(complaint(kLabel + std::string(field)), HasSubstr("this config is written"))
        << field;
  EXPECT_NE(complaint(std::string(kLabel) + " "), "accepted");
  EXPECT_NE(complaint(replaced("tma", "TMA")), "accepted");
}

TEST(Label, LeavesValidityToTheRules) {
  const auto rule = [](const std::string& text) {
    const auto rejection = why_invalid(parse_label(text));
    return rejection ? std::string(rejection->rule) : "valid";
  };
  EXPECT_EQ(rule(kLabel), "valid");
  EXPECT_EQ(rule(replaced("bm128", "bm100")), "tile_m");
  EXPECT_EQ(rule(kLabel + std::string(".p100")), "memory_hint");
  EXPECT_EQ(rule(replaced("bm16", "bm12", kSwapAb)), "tile_m");
  EXPECT_EQ(rule(replaced("v1", "v3", kGemv)), "vectors");
}

// ---- Builds and kernels ----

TEST(BuildName, IsTheLabelAndWhatOfTheProblemIsCompiledIn) {
  const auto name = [](const std::string& text, const char* problem) {
    return build_name(kernel_for(parse_label(text), parse_problem(problem)));
  };
  const std::string plain = kLabel;
  EXPECT_EQ(name(plain, "512x512x512"), plain + " of bf16");
  EXPECT_EQ(name(plain, "512x512x512.fp16"), plain + " of fp16");
  EXPECT_EQ(name(plain, "512x512x512.dfp32"), plain + " of bf16.dfp32");
  EXPECT_EQ(name(plain + ".fixed", "512x520x64.fp16"), plain + ".fixed of fp16.512x520x64");
  EXPECT_EQ(name(kGemv, "1x512x512.fp16.dfp32"), std::string(kGemv) + " of fp16.dfp32");
}

TEST(KernelName, IsAnIdentifierOfTheSame) {
  const auto kernel = [](const std::string& text, const char* problem) {
    return kernel_for(parse_label(text), parse_problem(problem));
  };
  EXPECT_EQ(kernel_name(kernel(kLabel, "512x512x512")),
            "hgemm_bm128_bn256_bk64_q4_c2x1_coop2_d1_hilbert_tma_persist_bf16");
  EXPECT_EQ(kernel_name(kernel(std::string(kSwapAb) + ".fixed", "16x512x64.fp16.dfp32")),
            "hgemm_swap_ab_bm16_bn64_bk128_q4_d1_tma_csplit2_fixed_fp16_dfp32_16x512x64");
  EXPECT_EQ(kernel_name(kernel(kSwapAb, "16x512x64.layoutNT")),
            "hgemm_swap_ab_bm16_bn64_bk128_q4_d1_tma_csplit2_bf16_layoutnt");
  EXPECT_EQ(build_name(kernel(kSwapAb, "16x512x64.layoutTT")),
            std::string(kSwapAb) + " of bf16.layoutTT");
  const Kernel packs = kernel(std::string(kLabel) + ".pack", "512x512x513");
  EXPECT_EQ(pack_kernel_name(packs), kernel_name(packs) + "_rows");
}

TEST(KernelFor, KeepsTheExtentsOfFixedKernelsOnly) {
  const GemmProblem problem = parse_problem("100x512x64.fp16");
  for (const char* text : {kLabel, kSwapAb, kGemv}) {
    const KernelConfig config = parse_label(text);
    EXPECT_EQ(kind_of(kernel_for(config, problem)),
              (GemmKind{DataType::kFp16, DataType::kFp16, 0, 0, 0}));
    EXPECT_EQ(config_of(kernel_for(config, problem)), config);
    const KernelConfig fixed = parse_label(text + std::string(".fixed"));
    EXPECT_EQ(kind_of(kernel_for(fixed, problem)),
              (GemmKind{DataType::kFp16, DataType::kFp16, 100, 512, 64}));
    EXPECT_EQ(config_of(kernel_for(fixed, problem)), fixed);
  }
}

}  // namespace
}  // namespace hgemm
