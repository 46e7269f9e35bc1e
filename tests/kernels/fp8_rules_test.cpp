// The rules of kernels with 8-bit operands: each one rejects what it names, and says why.
#include <gtest/gtest.h>

#include <string>

#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

constexpr GemmKind kPromoted{.input = DataType::kE4m3};
constexpr GemmKind kFast{.input = DataType::kE4m3, .fast_sums = true};
constexpr GemmKind kFastTo8Bits{
    .input = DataType::kE4m3, .output = DataType::kE4m3, .fast_sums = true};
constexpr GemmKind kScaledRows{.input = DataType::kE4m3, .scaling = Scaling::kRows};
constexpr GemmKind kScaledBlocks{.input = DataType::kE4m3, .scaling = Scaling::kBlocks};
constexpr GemmKind kScaledPackedBlocks{.input = DataType::kE4m3, .scaling = Scaling::kPackedBlocks};
constexpr GemmKind kScaledRowBlocks{.input = DataType::kE4m3, .scaling = Scaling::kRowBlocks};

struct TiledCase {
  TiledRule rule;
  TiledConfig config;
  GemmKind gemm = kPromoted;
};
const TiledCase kTiled[] = {
    {TiledRule::kValid, {.bk = 128, .mma_depth = 0, .promote = 128}},
    {TiledRule::kValid, {.bk = 128, .promote = 256}},
    {TiledRule::kValid, {.bk = 64, .promote = 128}},
    {TiledRule::kValid, {.bk = 256, .stages = 3, .promote = 512}},
    {TiledRule::kValid, {.bk = 128}, kFast},
    {TiledRule::kValid,
     {.bk = 128},
     {.input = DataType::kE5m2, .output = DataType::kFp32, .b_is_other = true, .fast_sums = true}},
    {TiledRule::kValid,
     {.bk = 128},
     {.input = DataType::kE4m3, .output = DataType::kFp16, .fast_sums = true}},
    {TiledRule::kTileK, {.bk = 32, .promote = 128}},
    {TiledRule::kValid, {.bk = 128}, kFastTo8Bits},
    {TiledRule::kValid,
     {.bk = 128},
     {.input = DataType::kE4m3, .output = DataType::kE5m2, .adds_c = true, .fast_sums = true}},
    {TiledRule::kTypes,
     {.bk = 128},
     {.input = DataType::kE4m3,
      .output = DataType::kE4m3,
      .epilogue = {.activation = Activation::kGelu, .aux = true},
      .fast_sums = true}},
    {TiledRule::kTypes, {}, {.output = DataType::kE4m3}},
    // Rows of boxes of an 8-bit D are whole units of 16 bytes where the copy engine stores them.
    {TiledRule::kOutputBox, {.bn = 120, .bk = 128}, kFastTo8Bits},
    {TiledRule::kOutputBox, {.bn = 120, .bk = 128, .store = StorePath::kOverlapped}, kFastTo8Bits},
    {TiledRule::kOutputBox, {.bn = 48, .bk = 128, .schedule = Schedule::kColumns}, kFastTo8Bits},
    {TiledRule::kOutputBox,
     {.bn = 48, .bk = 128},
     {.input = DataType::kE4m3,
      .output = DataType::kE4m3,
      .epilogue = {.activation = Activation::kSilu, .gate = Gate::kHalves},
      .fast_sums = true}},
    {TiledRule::kValid, {.bn = 120, .bk = 128, .store = StorePath::kStaged}, kFastTo8Bits},
    {TiledRule::kValid, {.bn = 120, .bk = 128, .store = StorePath::kDirect}, kFastTo8Bits},
    {TiledRule::kValid, {.bm = 120, .bk = 128, .swap = true}, kFastTo8Bits},
    {TiledRule::kValid, {.bn = 120, .bk = 128}, kFast},
    {TiledRule::kTypes,
     {.bk = 128, .promote = 256},
     {.input = DataType::kE4m3, .a_major = Major::kMn}},
    {TiledRule::kTypes,
     {.bk = 128, .promote = 256},
     {.input = DataType::kE5m2, .b_major = Major::kMn}},
    {TiledRule::kTypes, {.bk = 128, .pack = true}, kFast},
    {TiledRule::kTypes, {}, {.fast_sums = true}},
    {TiledRule::kTypes, {}, {.scaling = Scaling::kTensor}},
    {TiledRule::kTypes, {}, {.b_is_other = true}},
    // Sums are promoted exactly if the problem wants them in fp32.
    {TiledRule::kPromote, {.bk = 128}},
    {TiledRule::kPromote, {.bk = 128, .promote = 256}, kFast},
    {TiledRule::kPromote, {.bk = 128, .promote = 64}},
    {TiledRule::kPromote, {.bk = 128, .promote = 1024}},
    {TiledRule::kPromote, {.bk = 256, .stages = 3, .promote = 128}},
    // Both sums have registers. With each stage they are promoted in pieces.
    {TiledRule::kAccumulators, {.bm = 256, .bn = 128, .bk = 128, .stages = 3, .promote = 256}},
    {TiledRule::kValid,
     {.bm = 256, .bn = 120, .bk = 128, .stages = 3, .mma_depth = 0, .promote = 128}},
    // With a stage in flight, the sums of two beside those of the tile.
    {TiledRule::kValid, {.bm = 128, .bn = 128, .bk = 128, .stages = 4, .promote = 128}},
    {TiledRule::kAccumulators, {.bm = 128, .bn = 144, .bk = 128, .stages = 4, .promote = 128}},
    {TiledRule::kAccumulators, {.bm = 256, .bn = 72, .bk = 128, .stages = 3, .promote = 128}},
    {TiledRule::kValid,
     {.bm = 128, .bn = 240, .bk = 128, .stages = 3, .mma_depth = 0, .promote = 128}},
    {TiledRule::kAccumulators, {.bm = 128, .bn = 208, .bk = 128, .stages = 3, .promote = 256}},
    {TiledRule::kValid, {.bm = 128, .bn = 200, .bk = 128, .stages = 3, .promote = 256}},
    // Stamps follow sums that are promoted, where there are registers for them.
    {TiledRule::kValid, {.bk = 128, .promote = 256, .probe = true}},
    {TiledRule::kValid,
     {.bn = 256, .bk = 128, .stages = 3, .mma_depth = 0, .promote = 128, .probe = true},
     kScaledPackedBlocks},
    {TiledRule::kValid,
     {.bm = 256, .bk = 128, .stages = 3, .mma_depth = 0, .promote = 128, .probe = true},
     kScaledBlocks},
    {TiledRule::kValid,
     {.bm = 64,
      .bn = 208,
      .bk = 128,
      .stages = 3,
      .schedule = Schedule::kColumns,
      .promote = 128,
      .store = StorePath::kOverlapped},
     kScaledRowBlocks},
    {TiledRule::kProbe,
     {.bm = 64,
      .bn = 208,
      .bk = 128,
      .stages = 3,
      .schedule = Schedule::kColumns,
      .promote = 128,
      .store = StorePath::kOverlapped,
      .probe = true},
     kScaledRowBlocks},
    {TiledRule::kProbe,
     {.bn = 64, .bk = 128, .schedule = Schedule::kPingPong, .promote = 256, .probe = true}},
    {TiledRule::kValid, {.bk = 128, .probe = true}, kFast},
    {TiledRule::kValid, {.bk = 128, .promote = 256}, kScaledRows},
};

TEST(Fp8Rules, OfTiledKernelsRejectWhatTheyName) {
  for (const TiledCase& c : kTiled) {
    const TiledKernel kernel{c.config, c.gemm};
    const TiledRule rule = why_invalid(kernel);
    EXPECT_EQ(rule, c.rule) << build_name(kernel) << ": " << rule_text(rule).name;
  }
}

// A producer with 24 registers spills with stamps, and consumers that promote need no more than
// 232.
TEST(Fp8Rules, StampsLeaveTheProducerItsRegisters) {
  TiledKernel kernel{{.bn = 256, .bk = 128, .stages = 3, .mma_depth = 0, .promote = 128},
                     kScaledBlocks};
  EXPECT_EQ(consumer_registers(kernel), 240);
  EXPECT_EQ(producer_registers(kernel), 24);
  kernel.probe = true;
  EXPECT_EQ(consumer_registers(kernel), 232);
  EXPECT_EQ(producer_registers(kernel), 40);
  EXPECT_EQ(why_invalid(kernel), TiledRule::kValid);
}

// Registers for the epilogue are free in the main loop, where the tensor cores' sums are live.
TEST(Fp8Rules, SumsThatFitThePromotingLoopAreInOnePiece) {
  const auto kernel = [](int bm, int bn, int consumers, StorePath store = StorePath::kTma,
                         const GemmKind& kind = kScaledBlocks) {
    return TiledKernel{{.bm = bm,
                        .bn = bn,
                        .bk = 128,
                        .stages = 3,
                        .consumers = consumers,
                        .mma_depth = 0,
                        .promote = 128,
                        .store = store},
                       kind};
  };
  for (const TiledKernel& k :
       {kernel(128, 192, 2), kernel(192, 128, 3), kernel(128, 192, 2, StorePath::kDirect),
        kernel(128, 200, 2, StorePath::kTma, kPromoted)}) {
    EXPECT_EQ(promoted_pieces(k), 1) << build_name(k);
    EXPECT_EQ(why_invalid(k), TiledRule::kValid) << build_name(k);
  }
  for (const TiledKernel& k :
       {kernel(128, 208, 2, StorePath::kTma, kPromoted), kernel(128, 192, 2, StorePath::kStaged),
        kernel(192, 128, 3, StorePath::kTma, kScaledRowBlocks)}) {
    EXPECT_EQ(promoted_pieces(k), 2) << build_name(k);
  }
}

TEST(Fp8Rules, AnOverlappedTileWaitsInPromotedSums) {
  TiledKernel kernel{{.bn = 256,
                      .bk = 128,
                      .schedule = Schedule::kColumns,
                      .mma_depth = 0,
                      .promote = 128,
                      .store = StorePath::kOverlapped},
                     kScaledBlocks};
  EXPECT_TRUE(waits_in_sums(kernel));
  EXPECT_EQ(waiting_registers(kernel), 0);
  EXPECT_EQ(why_invalid(kernel), TiledRule::kValid);
  kernel.gemm = kPromoted;
  kernel.promote = 256;
  EXPECT_FALSE(waits_in_sums(kernel));
  EXPECT_EQ(waiting_registers(kernel), 64);
  EXPECT_EQ(why_invalid(kernel), TiledRule::kAccumulators);
}

TEST(Fp8Rules, OfSwapAbKernelsRejectWhatTheyName) {
  const auto rule = [](const SwapAbConfig& config, const GemmKind& kind = kPromoted) {
    return why_invalid(SwapAbKernel{config, kind});
  };
  EXPECT_EQ(rule({.bk = 128, .promote = 256}), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bk = 256, .promote = 512}), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bk = 128, .mma_depth = 0, .promote = 128}), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bm = 64, .bk = 128, .promote = 128}), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bm = 152, .bk = 128, .mma_depth = 0, .promote = 128}), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bm = 152, .bk = 128, .promote = 128}), SwapAbRule::kAccumulators);
  EXPECT_EQ(rule({.bk = 128}, kFast), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bk = 128, .promote = 256}, kScaledRows), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bk = 64, .promote = 128}), SwapAbRule::kTileK);
  EXPECT_EQ(rule({.bk = 128}), SwapAbRule::kPromote);
  EXPECT_EQ(rule({.bk = 128, .promote = 256}, kFast), SwapAbRule::kPromote);
  EXPECT_EQ(rule({.bk = 128, .pack = true}, kFast), SwapAbRule::kTypes);
  EXPECT_EQ(rule({.bm = 256, .bk = 128, .stages = 2, .mma_depth = 0}, kFast), SwapAbRule::kValid);
  EXPECT_EQ(rule({.bm = 256, .bk = 128, .stages = 2, .mma_depth = 0, .promote = 128}),
            SwapAbRule::kAccumulators);
}

TEST(Fp8Rules, AGemvKernelSaysThatItHasNone) {
  EXPECT_EQ(why_invalid(GemvKernel{{}, kFast}), GemvRule::kTypes);
  EXPECT_EQ(why_invalid(GemvKernel{{}, kPromoted}), GemvRule::kTypes);
  EXPECT_NE(std::string(rule_text(GemvRule::kTypes).reason).find("8-bit"), std::string::npos);
}

// Shared memory counts the bytes of a row, not its elements.
TEST(Fp8Rules, AStageHasTheBytesOfASixteenBitOneWithHalfTheDepth) {
  const TiledKernel bytes{{.bm = 192, .bn = 136, .bk = 256, .stages = 2, .consumers = 3}, kFast};
  const TiledKernel pairs{{.bm = 192, .bn = 136, .bk = 128, .stages = 2, .consumers = 3}, {}};
  EXPECT_EQ(a_stage_bytes(bytes), a_stage_bytes(pairs));
  EXPECT_EQ(b_stage_bytes(bytes), b_stage_bytes(pairs));
  EXPECT_EQ(arriving_bytes(bytes), arriving_bytes(pairs));
  EXPECT_EQ(smem_layout(bytes).total_bytes, smem_layout(pairs).total_bytes);
  TiledKernel scaled = bytes;
  scaled.gemm.scaling = Scaling::kRows;
  EXPECT_EQ(smem_layout(scaled).scales % 16, 0);
  EXPECT_GE(smem_layout(scaled).scales, smem_layout(bytes).total_bytes);
  EXPECT_EQ(smem_layout(scaled).total_bytes - smem_layout(scaled).scales,
            3 * 4 * (consumer_rows(scaled) + consumer_cols(scaled)));
}

// Each warp has a word for the scale of D.
TEST(Fp8Rules, AnEightBitOutputHasRoomForItsScale) {
  const TiledKernel wide{{.bk = 128}, kFast};
  const TiledKernel narrow{{.bk = 128}, kFastTo8Bits};
  EXPECT_EQ(smem_layout(narrow).total_bytes - smem_layout(wide).total_bytes,
            threads_per_cta(narrow) / 32 * 4);
  EXPECT_EQ(smem_layout(narrow).output_scale % 4, 0);
}

// Scales that are found go to memory.
TEST(Fp8Rules, FoundScalesOfAnOutputHaveNoRoomInSharedMemory) {
  const TiledKernel wide{{.bk = 128}, kFast};
  TiledKernel found{{.bk = 128}, kFastTo8Bits};
  found.gemm.output_scaling = OutputScaling::kBlocks;
  EXPECT_EQ(why_invalid(found), TiledRule::kValid);
  EXPECT_EQ(smem_layout(found).total_bytes, smem_layout(wide).total_bytes);
  TiledKernel batched = found;
  batched.gemm.batched = true;
  EXPECT_EQ(why_invalid(batched), TiledRule::kTypes);
  TiledKernel of_bf16 = found;
  of_bf16.gemm.output = DataType::kBf16;
  EXPECT_EQ(why_invalid(of_bf16), TiledRule::kTypes);
}

/// Rows of D begin at multiples of 16 bytes unless the store is staged.
TEST(Fp8Rules, AnEightBitOutputIsAlignedUnlessItIsStaged) {
  const auto why = [](StorePath store, const char* key) {
    return why_not(TiledConfig{.bk = 128, .store = store}, parse_problem(key));
  };
  for (const StorePath store : {StorePath::kTma, StorePath::kDirect, StorePath::kOverlapped}) {
    EXPECT_EQ(why(store, "64x48x32.e4m3.de4m3.accfast"), nullptr);
    EXPECT_NE(why(store, "64x56x32.e4m3.de4m3.accfast"), nullptr);
    EXPECT_NE(why(store, "64x48x32.e4m3.de4m3.accfast.ldd56"), nullptr);
  }
  EXPECT_EQ(why(StorePath::kStaged, "64x47x32.e4m3.de4m3.accfast"), nullptr);
}

TEST(Fp8Rules, AreThoseOfTheProblem) {
  const TiledConfig promoted{.bk = 128, .promote = 256};
  const TiledConfig plain{.bk = 128};
  EXPECT_EQ(why_not(promoted, parse_problem("64x64x256.e4m3")), nullptr);
  EXPECT_NE(why_not(plain, parse_problem("64x64x256.e4m3")), nullptr);
  EXPECT_EQ(why_not(plain, parse_problem("64x64x256.e4m3.accfast")), nullptr);
  EXPECT_NE(why_not(promoted, parse_problem("64x64x256.e4m3.accfast")), nullptr);
  EXPECT_NE(why_not(promoted, parse_problem("64x64x256")), nullptr);
}

}  // namespace
}  // namespace hgemm
