// Logs as NVRTC 13.0 writes them.
#include "compile/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Judge, ReadsResources) {
  const Judgement clean = judge(true, R"(ptxas info    : 120 bytes gmem
ptxas info    : Compiling entry function 'hgemm_kernel' for 'sm_90a'
ptxas info    : Function properties for hgemm_kernel
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 128 bytes smem
ptxas info    : Compile time = 303.303 ms
)");
  EXPECT_EQ(clean.objection, "");
  EXPECT_EQ(clean.registers, 168);
  EXPECT_EQ(clean.spill_bytes, 0);
  EXPECT_EQ(clean.static_smem_bytes, 128);
}

TEST(Judge, RejectsSerialisedWgmmaWithItsText) {
  const Judgement spilled = judge(true, R"(ptxas info    : 120 bytes gmem
ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the function 'hgemm_kernel'
ptxas info    : Compiling entry function 'hgemm_kernel' for 'sm_90a'
ptxas info    : Function properties for hgemm_kernel
ptxas         .     1328 bytes stack frame, 1764 bytes spill stores, 2196 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 1328 bytes cumulative stack size
)");
  EXPECT_THAT(spilled.objection,
              StartsWith("wgmma is serialised (C7512)\n"
                         "ptxas info    : (C7512) Potential Performance Loss: "));
  EXPECT_THAT(spilled.objection, HasSubstr("1764 bytes spill stores"));
  EXPECT_THAT(spilled.objection, Not(HasSubstr("gmem"))) << "noise before the reason";
  EXPECT_EQ(spilled.spill_bytes, 1764 + 2196);
  EXPECT_EQ(spilled.registers, 168);
}

TEST(Judge, RejectsEveryAdvisoryThatMakesAKernelNotWhatItSays) {
  for (const char* code : {"C7504", "C7508", "C7511", "C7512", "C7514", "C7515", "C7520"}) {
    const Judgement judgement = judge(
        true, fmt::format("ptxas info    : ({}) Potential Performance Loss: of some kind\n"
                          "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes "
                          "spill loads\nptxas info    : Used 90 registers, used 1 barriers\n",
                          code));
    EXPECT_THAT(judgement.objection, HasSubstr(code));
  }
  EXPECT_THAT(judge(true,
                    "ptxas info    : (C7599) Potential Performance Loss: wgmma.mma_async "
                    "instructions are serialized due to the weather\n"
                    "ptxas info    : Used 90 registers, used 1 barriers\n")
                  .objection,
              HasSubstr("C7599"));
  // Informational: a wait was inserted where one was needed.
  EXPECT_EQ(judge(true,
                  "ptxas info    : (C7519) warpgroup.arrive is injected in around line 7\n"
                  "ptxas info    : Used 90 registers, used 1 barriers\n")
                .objection,
            "");
}

TEST(Judge, RejectsSpillsOfAnyFunctionAndStackFrames) {
  const Judgement spilled = judge(true, R"(ptxas info    : Function properties for helper
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for hgemm_kernel
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 8 bytes cumulative stack size
)");
  EXPECT_EQ(spilled.spill_bytes, 8);
  EXPECT_THAT(spilled.objection, StartsWith("spills registers (8 bytes)\nptxas  "));

  EXPECT_THAT(
      judge(true,
            "ptxas   .     16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
            "ptxas info    : Used 64 registers, used 0 barriers, 16 bytes cumulative stack size\n")
          .objection,
      StartsWith("uses a stack frame (16 bytes)"));
}

TEST(Judge, ExplainsErrors) {
  EXPECT_THAT(judge(false,
                    "ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction "
                    "at line 600 in function hgemm_kernel. Try to compile with register target of "
                    "154 or higher.\nptxas fatal   : Ptx assembly aborted due to errors\n")
                  .objection,
              HasSubstr("C7602) Insufficient registers (128)"));

  std::string log = "hgemm.cuh(1): warning: unused\nhgemm.cuh(2): error: the first\n";
  for (int i = 0; i < 500; ++i) log += "  candidate template\n";
  const std::string objection = judge(false, log).objection;
  EXPECT_THAT(objection,
              StartsWith("the kernel does not compile\nhgemm.cuh(2): error: the first\n"));
  EXPECT_LT(objection.size(), 1000U) << "pages of template errors";
  EXPECT_THAT(objection, HasSubstr("481 more lines"));
}

TEST(Judge, AKernelWithoutKnownResourcesIsNotOk) {
  EXPECT_NE(judge(true, "").objection, "");
  EXPECT_NE(judge(false, "").objection, "");
}

}  // namespace
}  // namespace hgemm
