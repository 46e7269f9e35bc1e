// Labels of the time before kernels had families, as databases and notes have them.
#include "families/legacy_labels.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

struct Recorded {
  std::string was, is;
};

// From results/h200/*.db: every schedule, store, scheduler and option in them.
const Recorded kTiled[] = {
    {"bm128.bn128.bk64.q6.c2x1.pp2.d1.group8.staged.persist.bf16.pack",
     "bm128.bn128.bk64.q6.c2x1.pp2.d1.group8.staged.persist.pack"},
    {"bm128.bn136.bk64.q5.c2x1.pp2.d1.group8.tma.persist.bf16.pdl",
     "bm128.bn136.bk64.q5.c2x1.pp2.d1.group8.tma.persist.pdl"},
    {"bm128.bn16.bk64.q11.c1x1.coop1.d1.linear.tma.split8.bf16",
     "bm128.bn16.bk64.q11.c1x1.coop1.d1.linear.tma.split8"},
    {"bm128.bn160.bk128.q2.c1x1.coop2.d0.linear.tma.csplit3.bf16.p128",
     "bm128.bn160.bk128.q2.c1x1.coop2.d0.linear.tma.csplit3.p128"},
    {"bm128.bn176.bk64.q5.c2x1.pp2.d1.group8.tma.persist.bf16.dfirst.p64",
     "bm128.bn176.bk64.q5.c2x1.pp2.d1.group8.tma.persist.dfirst.p64"},
    {"bm128.bn176.bk64.q5.c2x1.pp2.d1.group8.tma.stream.bf16",
     "bm128.bn176.bk64.q5.c2x1.pp2.d1.group8.tma.stream"},
    {"bm128.bn192.bk128.q2.c1x1.coop2.d0.linear.tma.csplit4.bf16.p128.pdl",
     "bm128.bn192.bk128.q2.c1x1.coop2.d0.linear.tma.csplit4.p128.pdl"},
    {"bm128.bn192.bk64.q4.c2x1.coop2.d0.group8.late.persist.bf16.for2048x4096x4096",
     "bm128.bn192.bk64.q4.c2x1.coop2.d0.group8.overlap.persist.fixed"},
    {"bm128.bn208.bk32.q9.c2x1.coop2.d1.hilbert.tma.persist.bf16",
     "bm128.bn208.bk32.q9.c2x1.coop2.d1.hilbert.tma.persist"},
    {"bm128.bn256.bk64.q4.c2x1.coop2.d0.linear.late.dynamic.bf16.pdl",
     "bm128.bn256.bk64.q4.c2x1.coop2.d0.linear.overlap.dynamic.pdl"},
    {"bm128.bn256.bk64.q4.c2x1.coop2.d1.group8.tma.persist.bf16.afirst.bfirst",
     "bm128.bn256.bk64.q4.c2x1.coop2.d1.group8.tma.persist.afirst.bfirst"},
    {"bm128.bn256.bk64.q4.c2x1.coop2.d1.group8.tma.persist.bf16.dlast",
     "bm128.bn256.bk64.q4.c2x1.coop2.d1.group8.tma.persist.dlast"},
    {"bm128.bn64.bk64.q8.c1x1.coop2.d1.linear.tma.split16.bf16",
     "bm128.bn64.bk64.q8.c1x1.coop2.d1.linear.tma.split16"},
    {"bm128.bn8.bk64.q12.c1x1.coop1.d1.linear.tma.persist.bf16",
     "bm128.bn8.bk64.q12.c1x1.coop1.d1.linear.tma.persist"},
    {"bm128.bn80.bk64.q7.c2x1.coop2.d1.group8.tma.stream.bf16",
     "bm128.bn80.bk64.q7.c2x1.coop2.d1.group8.tma.stream"},
    {"bm128.bn88.bk64.q7.c1x1.coop2.d0.linear.tma.persist.bf16.p128.for2048x32000x4096",
     "bm128.bn88.bk64.q7.c1x1.coop2.d0.linear.tma.persist.p128.fixed"},
    {"bm192.bn200.bk64.q4.c1x2.coop3.d0.hilbert.direct.single.bf16",
     "bm192.bn200.bk64.q4.c1x2.coop3.d0.hilbert.direct.single"},
    {"bm192.bn96.bk64.q6.c1x2.coop3.d0.hilbert.direct.persist.bf16",
     "bm192.bn96.bk64.q6.c1x2.coop3.d0.hilbert.direct.persist"},
    {"bm256.bn128.bk64.q4.c1x2.coop2.d1.group8.tma.persist.bf16.afirst.blast",
     "bm256.bn128.bk64.q4.c1x2.coop2.d1.group8.tma.persist.afirst.blast"},
    {"bm256.bn168.bk64.q3.c2x1.coop2.d0.group8.staged.persist.bf16.pack",
     "bm256.bn168.bk64.q3.c2x1.coop2.d0.group8.staged.persist.pack"},
    {"bm256.bn184.bk64.q3.c1x2.coop2.d0.hilbert.tma.dynamic.bf16",
     "bm256.bn184.bk64.q3.c1x2.coop2.d0.hilbert.tma.dynamic"},
    {"bm256.bn192.bk64.q3.c1x2.coop2.d1.ngroup4.tma.persist.bf16",
     "bm256.bn192.bk64.q3.c1x2.coop2.d1.ngroup4.tma.persist"},
    {"bm256.bn192.bk64.q3.c1x2.coop2.d1.nsnake4.tma.persist.bf16",
     "bm256.bn192.bk64.q3.c1x2.coop2.d1.nsnake4.tma.persist"},
    {"bm256.bn192.bk64.q3.c2x1.coop2.d0.snake8.tma.persist.bf16",
     "bm256.bn192.bk64.q3.c2x1.coop2.d0.snake8.tma.persist"},
    {"bm320.bn64.bk64.q4.c1x2.cols2.d1.group8.tma.persist.bf16",
     "bm320.bn64.bk64.q4.c1x2.cols2.d1.group8.tma.persist"},
    {"bm384.bn72.bk64.q3.c1x2.coop2.d1.group8.tma.persist.bf16",
     "bm384.bn72.bk64.q3.c1x2.coop2.d1.group8.tma.persist"},
    {"bm64.bn112.bk64.q4.c1x1.coop1.d1.linear.tma.persist.bf16.cta2",
     "bm64.bn112.bk64.q4.c1x1.coop1.d1.linear.tma.persist.cta2"},
    {"bm64.bn128.bk64.q8.c1x1.coop1.d1.linear.tma.single.bf16.p128.pdl.for1x32000x4096",
     "bm64.bn128.bk64.q8.c1x1.coop1.d1.linear.tma.single.p128.pdl.fixed"},
    {"bm64.bn240.bk64.q4.c1x1.cols3.d1.group8.tma.persist.bf16",
     "bm64.bn240.bk64.q4.c1x1.cols3.d1.group8.tma.persist"},
    {"bm64.bn32.bk64.q16.c1x1.coop1.d1.linear.tma.persist.bf16.alast.bfirst.p64",
     "bm64.bn32.bk64.q16.c1x1.coop1.d1.linear.tma.persist.alast.bfirst.p64"},
    {"bm64.bn40.bk128.q3.c1x1.coop1.d1.linear.tma.persist.bf16.cta2.pdl",
     "bm64.bn40.bk128.q3.c1x1.coop1.d1.linear.tma.persist.cta2.pdl"},
    {"bm64.bn48.bk128.q7.c1x1.coop1.d1.linear.tma.persist.bf16.probe1",
     "bm64.bn48.bk128.q7.c1x1.coop1.d1.linear.tma.persist.probe1"},
    {"bm64.bn48.bk64.q15.c1x1.coop1.d1.linear.tma.split4.bf16",
     "bm64.bn48.bk64.q15.c1x1.coop1.d1.linear.tma.split4"},
    {"bm64.bn56.bk64.q14.c1x1.coop1.d1.linear.tma.persist.bf16",
     "bm64.bn56.bk64.q14.c1x1.coop1.d1.linear.tma.persist"},
    {"bm64.bn64.bk64.q13.c1x1.coop1.d1.linear.staged.csplit8.bf16.p128.pdl.pack",
     "bm64.bn64.bk64.q13.c1x1.coop1.d1.linear.staged.csplit8.p128.pdl.pack"},
    {"bm64.bn96.bk64.q10.c1x1.coop1.d1.linear.tma.persist.bf16.pdl.for128x4096x4096",
     "bm64.bn96.bk64.q10.c1x1.coop1.d1.linear.tma.persist.pdl.fixed"},
};
const Recorded kSwapAb[] = {
    {"bm112.bn64.bk64.q8.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128",
     "swap_ab.bm112.bn64.bk64.q8.d1.tma.csplit2.p128"},
    {"bm128.bn192.bk64.q3.c1x1.swap3.d0.linear.tma.csplit2.bf16.p128",
     "swap_ab.bm128.bn192.bk64.q3.d0.tma.csplit2.p128"},
    {"bm128.bn64.bk64.q9.c1x1.swap1.d1.linear.tma.single.bf16.p128.pdl",
     "swap_ab.bm128.bn64.bk64.q9.d1.tma.single.p128.pdl"},
    {"bm16.bn64.bk128.q5.c1x1.swap1.d1.linear.staged.csplit2.bf16.p128.pack",
     "swap_ab.bm16.bn64.bk128.q5.d1.staged.csplit2.p128.pack"},
    {"bm16.bn64.bk64.q11.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128.cta2.pdl",
     "swap_ab.bm16.bn64.bk64.q11.d1.tma.csplit2.p128.cta2.pdl"},
    {"bm24.bn64.bk128.q4.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128",
     "swap_ab.bm24.bn64.bk128.q4.d1.tma.csplit2.p128"},
    {"bm64.bn128.bk128.q2.c1x1.swap2.d0.linear.tma.single.bf16.p128.for64x32000x4096",
     "swap_ab.bm64.bn128.bk128.q2.d0.tma.single.p128.fixed"},
    {"bm64.bn64.bk128.q6.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128.pdl.for64x4096x4096",
     "swap_ab.bm64.bn64.bk128.q6.d1.tma.csplit2.p128.pdl.fixed"},
    {"bm8.bn128.bk64.q6.c1x1.swap2.d0.linear.tma.single.bf16.p128.cta2",
     "swap_ab.bm8.bn128.bk64.q6.d0.tma.single.p128.cta2"},
};
const Recorded kGemv[] = {
    {"bm1.bn1.bk256.q2.c1x1.vec2.d0.linear.direct.csplit8.bf16.pdl",
     "gemv.v1.r1.s256.q2.w8.csplit8.pdl"},
    {"bm1.bn16.bk512.q1.c1x1.vec2.d0.linear.direct.single.bf16.cta2.pdl",
     "gemv.v1.r16.s512.q1.w8.single.cta2.pdl"},
    {"bm1.bn8.bk2048.q2.c1x1.vec2.d0.linear.direct.single.bf16.cta2",
     "gemv.v1.r8.s2048.q2.w8.single.cta2"},
    {"bm16.bn1.bk1024.q1.c1x1.vec3.d0.linear.direct.csplit4.bf16",
     "gemv.v16.r1.s1024.q1.w12.csplit4"},
};

template <class Config>
void expect_mapped(const Recorded& label) {
  SCOPED_TRACE(label.was);
  EXPECT_EQ(modern_label(label.was), label.is);
  EXPECT_EQ(modern_label(label.is), label.is) << "once is enough";
  const KernelConfig config = parse_label(label.was);
  EXPECT_TRUE(std::holds_alternative<Config>(config));
  EXPECT_EQ(hgemm::label(config), label.is);
  EXPECT_EQ(parse_label(label.is), config);
  const auto rejection = why_invalid(config);
  // Parts of K were added in memory by one CTA, which stored the tile by the copy engine.
  if (rejection) {
    EXPECT_EQ(rejection->rule, "split_store") << "it was measured, but breaks it";
  }
}

TEST(LegacyLabels, OfTheTiledFamilyLoseTheirType) {
  for (const Recorded& label : kTiled) expect_mapped<TiledConfig>(label);
}

TEST(LegacyLabels, OfScheduleSwapAreSwapAb) {
  for (const Recorded& label : kSwapAb) expect_mapped<SwapAbConfig>(label);
}

TEST(LegacyLabels, OfScheduleVecAreGemv) {
  for (const Recorded& label : kGemv) expect_mapped<GemvConfig>(label);
}

TEST(LegacyLabels, OfBothTypesAreOneConfig) {
  const std::string fields = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist";
  for (const char* type : {".bf16", ".fp16"}) EXPECT_EQ(modern_label(fields + type), fields);
  EXPECT_EQ(modern_label(fields + ".fp16.blast.pdl"), fields + ".blast.pdl");
}

TEST(LegacyLabels, OfEveryWordBecomeTheFieldsOfToday) {
  const Recorded all[] = {
      {"bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.late.persist.bf16.pdl.for1x4096x1073741824",
       "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.overlap.persist.pdl.fixed"},
      {"bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16.alast.bfirst.dlast.p128.probe1",
       "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.alast.bfirst.dlast.p128.probe1"},
      {"bm64.bn128.bk64.q4.c1x1.coop1.d1.linear.staged.single.fp16.pdl.pack.for64x512x64",
       "bm64.bn128.bk64.q4.c1x1.coop1.d1.linear.staged.single.pdl.pack.fixed"},
      {"bm16.bn128.bk64.q4.c1x1.swap2.d1.linear.staged.single.fp16.afirst.blast.dfirst.p64.cta2",
       "swap_ab.bm16.bn128.bk64.q4.d1.staged.single.afirst.blast.dfirst.p64.cta2"},
      {"bm8.bn32.bk256.q2.c1x1.vec2.d0.linear.direct.single.fp16.for8x512x512",
       "gemv.v8.r32.s256.q2.w8.single.fixed"},
      {"bm4.bn4.bk512.q2.c1x1.vec3.d0.linear.direct.csplit3.fp16.pdl",
       "gemv.v4.r4.s512.q2.w12.csplit3.pdl"},
  };
  for (const auto& [was, is] : all) {
    EXPECT_EQ(modern_label(was), is);
    EXPECT_EQ(modern_label(is), is);
    EXPECT_EQ(label(parse_label(was)), is);
  }
}

TEST(LegacyLabels, NameTheirBuilds) {
  const auto expect_name = [](const std::string& was, const std::string& problem,
                              const std::string& type_and_extents) {
    const std::string name = modern_build_name(was);
    EXPECT_EQ(name, modern_label(was) + " of " + type_and_extents);
    EXPECT_EQ(name, build_name(kernel_for(parse_label(was), parse_problem(problem))))
        << "as that build is named today";
    EXPECT_EQ(modern_build_name(name), name);
  };
  expect_name(kTiled[0].was, "512x512x512", "bf16");
  expect_name("bm64.bn64.bk64.q4.c1x1.coop1.d1.linear.tma.persist.fp16.pdl", "512x512x512.fp16",
              "fp16");
  expect_name("bm64.bn64.bk64.q4.c1x1.coop1.d1.linear.tma.persist.fp16.pdl.for100x512x64",
              "100x512x64.fp16", "fp16.100x512x64");
  expect_name("bm8.bn64.bk128.q4.c1x1.swap1.d1.linear.tma.csplit2.bf16.for8x4096x4096",
              "8x4096x4096", "bf16.8x4096x4096");
}

// Baselines, microbenchmarks and steps of the ladder stand beside configs in the same columns.
TEST(LegacyLabels, LeaveAnyOtherTextAsItIs) {
  for (const char* text :
       {"", "cublas", "cublaslt.3", "wgmma.m64n256k16.f32.bf16.ss.random.issue.wg1",
        "contention.m64n256k16.wg2.fill96.all", "tma.box128x64.sw128.mc1.hbm.latency.q1",
        "hopper_05_two_consumers", "a.b.c.d.e.f.g.h.i.j.k.l",
        "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist",
        "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist of bf16",
        "swap_ab.bm16.bn64.bk128.q4.d1.tma.csplit2.p128.pdl.fixed",
        "gemv.v1.r16.s1024.q2.w8.single.cta2.pdl.fixed of fp16.1x512x512"}) {
    EXPECT_EQ(modern_label(text), text);
    EXPECT_EQ(modern_build_name(text), text);
  }
}

TEST(LegacyLabels, AreReadAsStrictlyAsTheyWereWritten) {
  const auto accepted = [](const std::string& text) {
    try {
      parse_label(text);
    } catch (const InputError&) {
      return false;
    }
    return true;
  };
  const std::string tiled = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16";
  const std::string swap = "bm16.bn64.bk128.q4.c1x1.swap1.d1.linear.tma.csplit2.bf16";
  const std::string vec = "bm1.bn16.bk1024.q2.c1x1.vec2.d0.linear.direct.single.bf16";
  for (const std::string& text : {tiled, swap, vec}) {
    ASSERT_TRUE(accepted(text + ".for512x512x512"));
    for (const char* field : {".for", ".for512", ".for512x512", ".for512x512x512x512", ".for1x2x",
                              ".for-1x8x8", ".for3000000000x8x8", ".for0x0x0", ".for01x8x8",
                              ".for8x8x8.for8x8x8", ".fast", ".p064", "."}) {
      EXPECT_FALSE(accepted(text + field)) << text << field;
    }
  }
  for (const char* text : {"bm128.bn256.bk64.q4.c2x1.swap.d1.hilbert.tma.persist.bf16",
                           "bm1.bn16.bk1024.q2.c1x1.vec.d0.linear.direct.single.bf16",
                           "bm1.bn16.bk1024.q2.c1x1.vecx.d0.linear.direct.single.bf16",
                           "xm1.bn16.bk1024.q2.c1x1.vec2.d0.linear.direct.single.bf16",
                           "bm16.bn64.bk128.q4.c1x1.swap1.d1.linear.direct.csplit2.bf16",
                           "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.fp32"}) {
    EXPECT_FALSE(accepted(text)) << text;
  }
}

}  // namespace
}  // namespace hgemm
