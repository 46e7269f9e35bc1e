#include "space/label.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

#include "base/error.h"
#include "kernels/rules.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kLabel = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16";

std::string complaint(const std::string& text) {
  try {
    parse_label(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kLabel;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Label, SpellsEveryField) {
  const KernelConfig hilbert{.bm = 128,
                             .bn = 256,
                             .bk = 64,
                             .stages = 4,
                             .cluster_m = 2,
                             .consumers = 2,
                             .mma_depth = 1,
                             .order = TileOrder::kHilbert};
  EXPECT_EQ(label(hilbert), kLabel);

  const KernelConfig other{.bm = 192,
                           .bn = 72,
                           .bk = 32,
                           .stages = 11,
                           .cluster_n = 2,
                           .consumers = 3,
                           .mma_depth = 0,
                           .order = TileOrder::kGroupedRows,
                           .group = 16,
                           .epilogue = Epilogue::kDirect,
                           .walk = Walk::kSingle,
                           .dtype = Dtype::kFp16};
  EXPECT_EQ(label(other), "bm192.bn72.bk32.q11.c1x2.coop3.d0.group16.direct.single.fp16");
  EXPECT_EQ(parse_label(label(other)), other);
}

TEST(Label, SpellsEveryWord) {
  const std::pair<KernelConfig, const char*> cases[] = {
      {{}, "coop2.d1.linear.tma.persist.bf16"},
      {{.schedule = Schedule::kColumns, .consumers = 3}, "cols3.d1.linear.tma.persist.bf16"},
      {{.schedule = Schedule::kPingPong}, "pp2.d1.linear.tma.persist.bf16"},
      {{.schedule = Schedule::kSwapped}, "swap2.d1.linear.tma.persist.bf16"},
      {{.schedule = Schedule::kVector}, "vec2.d1.linear.tma.persist.bf16"},
      {{.epilogue = Epilogue::kStaged}, "coop2.d1.linear.staged.persist.bf16"},
      {{.pdl = true, .pack = true}, "coop2.d1.linear.tma.persist.bf16.pdl.pack"},
      {{.order = TileOrder::kGroupedColumns, .group = 8}, "coop2.d1.ngroup8.tma.persist.bf16"},
      {{.order = TileOrder::kSnakeRows, .group = 16}, "coop2.d1.snake16.tma.persist.bf16"},
      {{.order = TileOrder::kSnakeColumns, .group = 1}, "coop2.d1.nsnake1.tma.persist.bf16"},
      {{.epilogue = Epilogue::kLate}, "coop2.d1.linear.late.persist.bf16"},
      {{.walk = Walk::kDynamic}, "coop2.d1.linear.tma.dynamic.bf16"},
      {{.a_hint = CacheHint::kEvictFirst}, "coop2.d1.linear.tma.persist.bf16.afirst"},
      {{.b_hint = CacheHint::kEvictLast}, "coop2.d1.linear.tma.persist.bf16.blast"},
      {{.d_hint = CacheHint::kEvictFirst}, "coop2.d1.linear.tma.persist.bf16.dfirst"},
      {{.pdl = true, .m = 1, .n = 4096, .k = 1 << 30},
       "coop2.d1.linear.tma.persist.bf16.pdl.for1x4096x1073741824"},
      {{.promotion = 64}, "coop2.d1.linear.tma.persist.bf16.p64"},
      {{.a_hint = CacheHint::kEvictLast,
        .b_hint = CacheHint::kEvictFirst,
        .d_hint = CacheHint::kEvictLast,
        .promotion = 128,
        .probe = true},
       "coop2.d1.linear.tma.persist.bf16.alast.bfirst.dlast.p128.probe1"},
  };
  for (const auto& [config, text] : cases) {
    EXPECT_EQ(label(config), std::string("bm128.bn128.bk64.q4.c1x1.") + text);
    EXPECT_EQ(parse_label(label(config)), config) << text;
  }
}

TEST(Label, SaysWhichProblemItIsMadeFor) {
  for (const char* field : {".for", ".for512", ".for512x512", ".for512x512x512x512", ".for1x2x",
                            ".for-1x8x8", ".for3000000000x8x8", ".for0x0x0", ".for01x8x8"}) {
    EXPECT_NE(complaint(kLabel + std::string(field)), "accepted") << field;
  }
}

// Valid or not: numbers of any size, and every combination of words.
TEST(Label, RoundTripsRandomConfigs) {
  std::mt19937 random(5);
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  const auto coin = [&] { return below(2) != 0; };
  std::set<std::string> labels;
  for (int i = 0; i < 20'000; ++i) {
    KernelConfig c{.bm = below(10'000),
                   .bn = below(10'000),
                   .bk = below(10'000),
                   .stages = below(10'000),
                   .cluster_m = below(10'000),
                   .cluster_n = below(10'000),
                   .schedule = Schedule{static_cast<unsigned char>(below(4))},
                   .consumers = below(10'000),
                   .mma_depth = below(10'000),
                   .order = TileOrder{static_cast<unsigned char>(below(6))},
                   .epilogue = Epilogue{static_cast<unsigned char>(below(3))},
                   .walk = Walk{static_cast<unsigned char>(below(6))},
                   .dtype = coin() ? Dtype::kBf16 : Dtype::kFp16,
                   .a_hint = CacheHint{static_cast<unsigned char>(below(3))},
                   .b_hint = CacheHint{static_cast<unsigned char>(below(3))},
                   .d_hint = CacheHint{static_cast<unsigned char>(below(3))},
                   .probe = coin()};
    if (has_bands(c.order)) c.group = below(10'000);
    if (c.walk == Walk::kSplitK || c.walk == Walk::kClusterSplit) c.splits = below(10'000);
    if (coin()) c.promotion = coin() ? 64 : below(10'000);
    if (coin()) c.ctas_per_sm = below(10);
    c.pdl = coin();
    if (coin()) {
      c.m = below(1 << 30);
      c.n = below(10'000);
      c.k = 1 + below(1 << 30);
    }
    ASSERT_EQ(parse_label(label(c)), c) << label(c);
    labels.insert(label(c));
  }
  EXPECT_EQ(labels.size(), 20'000u) << "different configs have different labels";
}

// A plain build's label says nothing of it: those of recorded results stay as they are.
TEST(Label, SaysThatABuildIsProbed) {
  KernelConfig config = parse_label(kLabel);
  EXPECT_FALSE(config.probe);
  config.probe = true;
  EXPECT_EQ(label(config), std::string(kLabel) + ".probe1");
  EXPECT_EQ(parse_label(label(config)), config);
  EXPECT_NE(parse_label(kLabel), config);
  for (const char* field : {".probe0", ".probe", ".probe1.probe1", ".probe1."}) {
    EXPECT_THAT(complaint(kLabel + std::string(field)), HasSubstr("follows the last field"))
        << field;
  }
}

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
    EXPECT_THAT(
        complaint(replaced("coop2", consumers)),
        AllOf(HasSubstr("field 6 is"),
              HasSubstr("coop<consumers>, cols<consumers>, pp<consumers>, swap<consumers> or vec")))
        << consumers;
  }
  EXPECT_THAT(complaint(replaced("tma", "tmb")), HasSubstr("direct, tma, staged or late"));
  EXPECT_THAT(complaint(replaced("d1.", "")), HasSubstr("field 7 is \"hilbert\""));
  EXPECT_THAT(complaint(replaced(".bf16", "")), HasSubstr("ends before field 11, bf16 or fp16"));
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

TEST(Label, AcceptsExactlyWhatItWrites) {
  EXPECT_THAT(complaint(replaced("bm128", "bm0128")),
              HasSubstr(std::string("this config is written ") + kLabel));
  for (const char* number : {"bm-128", "bm+128", "bm 128", "bm1e2", "bm99999999999999999999", "bm"})
    EXPECT_THAT(complaint(replaced("bm128", number)), HasSubstr("field 1")) << number;
  for (const char* field : {".anone", ".p256", ".p064", ".bnone.p64"})
    EXPECT_THAT(complaint(kLabel + std::string(field)), HasSubstr("this config is written"))
        << field;
  EXPECT_NE(complaint(std::string(kLabel) + " "), "accepted");
  EXPECT_NE(complaint(std::string(kLabel) + "."), "accepted");
  EXPECT_NE(complaint(replaced("tma", "TMA")), "accepted");
}

TEST(Label, LeavesValidityToTheRules) {
  EXPECT_EQ(why_invalid(parse_label(replaced("bm128", "bm100"))), Rule::kTileM);
  EXPECT_EQ(why_invalid(parse_label(kLabel + std::string(".p100"))), Rule::kMemoryHint);
}

}  // namespace
}  // namespace hgemm
