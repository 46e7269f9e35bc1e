// Advice against what others measured and what this project's kernels did.
#include "studies/advise/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gemm/codec.h"
#include "search/devices.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Device device(const std::string& name) {
  return choose_devices(load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml"), name)[0];
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem result;
  result.m = m;
  result.n = n;
  result.k = k;
  return result;
}

Advice advice(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k) {
  return advise(device(name), problem(m, n, k));
}

// ---- Roofline ----

TEST(Roofline, SaysWhichBoundAndTheFloor) {
  const Roofline square = roofline(device("H200"), problem(8192, 8192, 8192));
  EXPECT_FALSE(square.memory_bound());
  EXPECT_NEAR(square.floor_us(), 2.0 * 8192 * 8192 * 8192 / 989.4e6, 0.1);
  EXPECT_FALSE(square.fits_l2);

  const Roofline decode = roofline(device("H200"), problem(1, 4096, 4096));
  EXPECT_TRUE(decode.memory_bound());
  EXPECT_NEAR(decode.floor_us(), 2.0 * (4096.0 * 4096 + 8192) / 4.8e6, 0.01);
  EXPECT_TRUE(decode.fits_l2);
}

TEST(Roofline, TheSameShapeIsComputeBoundWhereTheRidgeIsLow) {
  const GemmProblem tokens64 = problem(64, 4096, 4096);
  EXPECT_FALSE(roofline(device("H20"), tokens64).memory_bound());
  EXPECT_TRUE(roofline(device("H200"), tokens64).memory_bound());
  EXPECT_TRUE(roofline(device("H100-PCIe"), tokens64).memory_bound());
}

TEST(Roofline, EightBitOperandsHaveHalfTheBytesAndTwiceTheRate) {
  const Roofline square = roofline(device("H200"), parse_problem("8192x8192x8192.e4m3"));
  EXPECT_NEAR(square.floor_us(), 2.0 * 8192 * 8192 * 8192 / 1978.9e6, 0.5);
  const Advice decode = advise(device("H200"), parse_problem("1x4096x4096.e4m3"));
  EXPECT_NEAR(decode.roofline.floor_us(), (4096.0 * 4096 + 4096 + 8192) / 4.8e6, 0.01);
  EXPECT_EQ(decode.kernel.kind, KernelKind::kThin) << "no GEMV kernel has 8-bit operands";
}

TEST(Roofline, EightBitOperandsHaveTwiceTheRidge) {
  // 256 rows of 16-bit operands have 228 FLOP per byte, above the H200's ridge of 206. 192 rows of
  // 8-bit ones have 337, which is above that, too, but below their own.
  EXPECT_FALSE(roofline(device("H200"), problem(256, 4096, 4096)).memory_bound());
  EXPECT_TRUE(roofline(device("H200"), parse_problem("192x4096x4096.e4m3")).memory_bound());
  EXPECT_NEAR(roofline(device("H200"), parse_problem("192x4096x4096.e4m3")).ridge, 412.3, 0.1);
}

TEST(KernelAdvice, TilesOfEightBitOperandsTakeHalfTheTimeAndTheirSumsTakeRegisters) {
  const auto kernel = [](const char* key) {
    return advise(device("H200"), parse_problem(key)).kernel;
  };
  const KernelAdvice bf16 = kernel("8192x8192x8192"), fast = kernel("8192x8192x8192.e4m3.accfast"),
                     promoted = kernel("8192x8192x8192.e4m3.scaling-blocks");
  EXPECT_NEAR(fast.whole_us / bf16.whole_us, 0.5, 0.05);
  EXPECT_NEAR(promoted.whole_us / bf16.whole_us, 0.5, 0.05);
  // A second set of sums takes registers.
  EXPECT_LT(promoted.whole.bm * promoted.whole.bn, bf16.whole.bm * bf16.whole.bn);
  EXPECT_THAT(kernel("512x512x256.e4m3").why, HasSubstr("8 blocks of 128"));
}

TEST(Roofline, NoticesWhatNoMemoryHolds) {
  EXPECT_FALSE(roofline(device("H100-SXM"), problem(200'000, 200'000, 8192)).fits_memory);
  EXPECT_TRUE(roofline(device("H200"), problem(200'000, 200'000, 8192)).fits_memory);
}

TEST(SeparateEpilogue, MovesTheProductAndWhatIsAdded) {
  const Device h200 = device("H200");
  EXPECT_FALSE(advise(h200, problem(64, 4096, 4096)).epilogue);
  const auto moved = [&](const char* key) {
    const auto epilogue = advise(h200, parse_problem(key)).epilogue;
    return epilogue ? epilogue->bytes : 0;
  };
  EXPECT_DOUBLE_EQ(moved("64x4096x4096.gelu"), 2 * 2.0 * 64 * 4096);
  EXPECT_DOUBLE_EQ(moved("64x4096x4096.cbf16.bias"), 2 * (3.0 * 64 * 4096 + 4096));
  EXPECT_DOUBLE_EQ(moved("64x4096x4096.swiglu"), 2 * 1.5 * 64 * 4096);
  const auto prefill = advise(h200, parse_problem("2048x22016x4096.swiglu")).epilogue;
  ASSERT_TRUE(prefill);
  EXPECT_NEAR(prefill->us, 2 * 1.5 * 2048 * 22016 / 4.8e6, 1e-6);
  EXPECT_FALSE(prefill->fits_l2);
  EXPECT_TRUE(advise(h200, parse_problem("16x22016x4096.swiglu")).epilogue->fits_l2);
}

// ---- Swap-AB ----

/// fp8, as in DeepGEMM pull request 192: 16 groups of these, which scales all times alike.
SwapAdvice fp8_swap(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k) {
  const double bytes = static_cast<double>(m * k + n * k + 2 * m * n);
  const Device gpu = device(name);
  return advise_swap(gpu, {.input = MmaInput::kFp8}, m, n, k,
                     bytes / (gpu.memory_tbps.value * 1e6));
}

TEST(SwapAb, PaysOnAnH20AsWasMeasured) {
  // Measured 257 -> 154 us and 127 -> 84 us at M = 32.
  const SwapAdvice wide = fp8_swap("H20", 32, 4096, 7168);
  EXPECT_EQ(wide.verdict, SwapVerdict::kPays);
  EXPECT_NEAR(wide.speedup, 257.0 / 154, 0.1);
  const SwapAdvice narrow = fp8_swap("H20", 32, 7168, 2048);
  EXPECT_EQ(narrow.verdict, SwapVerdict::kPays);
  EXPECT_NEAR(narrow.speedup, 127.0 / 84, 0.2);
}

TEST(SwapAb, GainsNothingOnAnH100AsWasMeasured) {
  // Measured 168 -> 175 us and 94 -> 98 us at M = 32; 176 -> 255 us at M = 96.
  for (const std::int64_t m : {32, 96}) {
    const SwapAdvice swap = fp8_swap("H100-SXM", m, 4096, 7168);
    EXPECT_EQ(swap.verdict, SwapVerdict::kNoMatter) << m;
    EXPECT_EQ(swap.speedup, 1) << m;
    EXPECT_THAT(swap.why, HasSubstr("memory is the bound both ways"));
  }
}

TEST(SwapAb, PadsTheTokensTo8InsteadOf64) {
  for (const std::int64_t m : {1, 16, 32, 48}) {
    EXPECT_EQ(advice("H20", m, 4096, 4096).swap.verdict, SwapVerdict::kPays) << m;
  }
  EXPECT_EQ(advice("H20", 64, 4096, 4096).swap.verdict, SwapVerdict::kNoMatter);
  // Two blocks of 64 rows for 96 tokens.
  EXPECT_NEAR(advice("H20", 96, 4096, 4096).swap.speedup, 128.0 / 96, 0.01);
  const SwapAdvice swap = advice("H20", 33, 4096, 4096).swap;
  EXPECT_EQ(swap.swapped.n, 40);
  EXPECT_EQ(swap.swapped.blocks, 64);
  EXPECT_EQ(swap.as_is.blocks, 1);
  EXPECT_EQ(swap.swapped.instructions, 64 * 256);
}

TEST(SwapAb, NeverMattersForDecodeOnTheBigOnes) {
  for (const char* name : {"H100-PCIe", "H100-SXM", "H800", "H200"}) {
    for (const std::int64_t m : {1, 16, 64, 128}) {
      EXPECT_EQ(advice(name, m, 11008, 4096).swap.verdict, SwapVerdict::kNoMatter) << name << m;
    }
  }
}

TEST(SwapAb, DoesNotPayWhereItPadsTheOtherSide) {
  const SwapAdvice swap = advice("H20", 4096, 16, 4096).swap;
  EXPECT_EQ(swap.verdict, SwapVerdict::kDoesNotPay);
  EXPECT_LT(swap.speedup, 0.8);
  EXPECT_THAT(swap.why, HasSubstr("swapping costs"));
}

TEST(SwapAb, TheReasonHasTheNumbersThatDecided) {
  EXPECT_THAT(advice("H20", 32, 4096, 4096).swap.why,
              AllOf(HasSubstr("M = 32 on 1 x 64 rows, m64n256k16: 14.5 us"),
                    HasSubstr("N = 4096 on 64 x 64 rows, m64n32k16: 7.26 us"),
                    HasSubstr("memory 8.52 us"), HasSubstr("1.70x")));
}

// ---- Kinds of kernels ----

TEST(Kernels, OneTokenIsAGemv) {
  for (const char* name : {"H20", "H200"}) {
    EXPECT_EQ(advice(name, 1, 4096, 4096).kernel.kind, KernelKind::kGemv);
    EXPECT_EQ(advice(name, 8, 32000, 4096).kernel.kind, KernelKind::kGemv);
    EXPECT_NE(advice(name, 9, 32000, 4096).kernel.kind, KernelKind::kGemv);
  }
  EXPECT_EQ(advice("H200", 4096, 8, 4096).kernel.kind, KernelKind::kGemv) << "whichever side";
}

TEST(Kernels, FewTokensAreThinWhileMemoryOrTheSwapDecides) {
  EXPECT_EQ(advice("H200", 128, 11008, 4096).kernel.kind, KernelKind::kThin);
  EXPECT_EQ(advice("H20", 32, 11008, 4096).kernel.kind, KernelKind::kThin);
  EXPECT_EQ(advice("H20", 96, 11008, 4096).kernel.kind, KernelKind::kThin) << "swapping pays";
  EXPECT_GE(advice("H20", 128, 11008, 4096).kernel.kind, KernelKind::kStreamK)
      << "compute-bound, and 128 fills its rows";
}

TEST(Kernels, TooFewWeightRowsForTheSmsAskForASplit) {
  EXPECT_THAT(advice("H200", 16, 4096, 4096).kernel.why,
              HasSubstr("64 blocks of 64 rows cannot keep 132 SMs reading: split K"));
  EXPECT_THAT(advice("H200", 16, 11008, 4096).kernel.why, Not(HasSubstr("split K")));
}

TEST(Kernels, TheSquaresAndPrefillAreWholeTiles) {
  for (const auto& [m, n, k] : {std::tuple{2048, 2048, 2048},
                                {4096, 4096, 4096},
                                {8192, 8192, 8192},
                                {2048, 11008, 4096},
                                {2048, 12288, 4096},
                                {2048, 32000, 4096},
                                {4096, 4096, 1024}}) {
    const KernelAdvice kernel = advice("H200", m, n, k).kernel;
    EXPECT_EQ(kernel.kind, KernelKind::kGemm) << m << "x" << n << "x" << k << ": " << kernel.why;
    EXPECT_GE(kernel.whole.efficiency, 0.9) << kernel.why;
    EXPECT_GE(kernel.whole.bm * kernel.whole.bn, 128 * 128) << kernel.why;
  }
}

TEST(Kernels, FewTilesWithALongKAreStreamK) {
  const KernelAdvice kernel = advice("H200", 256, 2048, 8192).kernel;
  EXPECT_EQ(kernel.kind, KernelKind::kStreamK) << kernel.why;
  EXPECT_LT(kernel.split_us * kModelMargin, kernel.whole_us);
  EXPECT_THAT(kernel.why, AllOf(HasSubstr("tiles"), HasSubstr("with K split over all SMs")));
}

TEST(Kernels, AShortKIsNotSplit) {
  const KernelAdvice kernel = advice("H200", 256, 256, 256).kernel;
  EXPECT_EQ(kernel.kind, KernelKind::kGemm);
  EXPECT_EQ(kernel.split_us, 0);
  EXPECT_THAT(kernel.why, HasSubstr("too short to split"));
}

TEST(Kernels, WavesAddUp) {
  for (const char* name : {"H20", "H100-PCIe", "H200"}) {
    const Device gpu = device(name);
    for (const std::int64_t m : {300, 1000, 2048, 5000}) {
      const TileFit fit = advise(gpu, problem(m, 4096, 4096)).kernel.whole;
      const auto sms = static_cast<std::int64_t>(gpu.sms.value);
      EXPECT_EQ(fit.tiles, ((m + fit.bm - 1) / fit.bm) * ((4096 + fit.bn - 1) / fit.bn));
      EXPECT_LE(fit.tiles, fit.waves * sms);
      EXPECT_GT(fit.tiles, (fit.waves - 1) * sms);
      EXPECT_GE(fit.us, advise(gpu, problem(m, 4096, 4096)).kernel.whole_us);
      EXPECT_GE(advise(gpu, problem(m, 4096, 4096)).kernel.whole_us,
                roofline(gpu, problem(m, 4096, 4096)).memory_us);
    }
  }
}

}  // namespace
}  // namespace hgemm
