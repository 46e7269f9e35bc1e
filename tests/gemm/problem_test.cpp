#include "gemm/problem.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

using ::testing::HasSubstr;

TEST(Problem, IsTheSameWhateverItsTagAndWeight) {
  const GemmProblem problem = parse_problem("64x48x40.fp16.dfp32.lda48");
  GemmProblem other = problem;
  other.tag = "decode/qkv";
  other.weight = 32;
  EXPECT_TRUE(problem.same_problem(other));
  // Rows without padding have no leading dimension to speak of.
  other.ldb = 40;
  other.ldd = 48;
  EXPECT_TRUE(problem.same_problem(other));
  other.ldd = 56;
  EXPECT_FALSE(problem.same_problem(other));
}

TEST(Problem, TakesTheWorkAndTheBytesOfItsTypes) {
  const GemmProblem fp32 = parse_problem("64x32x16.fp32");
  EXPECT_DOUBLE_EQ(fp32.flops(), 2.0 * 64 * 32 * 16);
  EXPECT_DOUBLE_EQ(fp32.bytes(), 4 * (64.0 * 16 + 32 * 16 + 64 * 32));
  EXPECT_DOUBLE_EQ(fp32.intensity(), fp32.flops() / fp32.bytes());
  const GemmProblem wide_output = parse_problem("64x32x16.dfp32.lda100");
  EXPECT_DOUBLE_EQ(wide_output.a_bytes(), 2 * 64.0 * 16) << "without padding";
  EXPECT_DOUBLE_EQ(wide_output.b_bytes(), 2 * 32.0 * 16);
  EXPECT_DOUBLE_EQ(wide_output.d_bytes(), 4 * 64.0 * 32);
  const GemmProblem one = parse_problem("64x32x16");
  const GemmProblem three = parse_problem("64x32x16.batch3");
  EXPECT_DOUBLE_EQ(three.flops(), 3 * one.flops());
  EXPECT_DOUBLE_EQ(three.bytes(), 3 * one.bytes());
}

TEST(Problem, ABatchReadsWhatItsProductsShareOnce) {
  const GemmProblem one = parse_problem("64x32x16");
  const GemmProblem shared = parse_problem("64x32x16.batch3.sb0");
  EXPECT_DOUBLE_EQ(shared.a_bytes(), 3 * one.a_bytes());
  EXPECT_DOUBLE_EQ(shared.b_bytes(), one.b_bytes());
  EXPECT_DOUBLE_EQ(shared.d_bytes(), 3 * one.d_bytes());
  EXPECT_DOUBLE_EQ(shared.flops(), 3 * one.flops());
  EXPECT_FALSE(one.kind().batched);
  EXPECT_TRUE(shared.kind().batched);
  EXPECT_EQ(one.extents().batch, Batch{});
  EXPECT_EQ(shared.extents().batch, (Batch{3, 64 * 16, 0, 64 * 32}));
  // A single product has no strides, whatever they are.
  GemmProblem other = one;
  other.stride_a = 5;
  EXPECT_TRUE(other.same_problem(one));
  EXPECT_EQ(to_string(other), "64x32x16");
}

TEST(Problem, KindIsWhatAnyKernelOfItHasCompiledIn) {
  EXPECT_EQ(parse_problem("64x32x16").kind(), GemmKind{});
  EXPECT_EQ(parse_problem("64x32x16.fp16.dfp32").kind(),
            (GemmKind{DataType::kFp16, DataType::kFp32}));
  EXPECT_EQ(parse_problem("64x32x16.layoutNN").kind(), (GemmKind{.a_major = Major::kMn}));
  EXPECT_EQ(parse_problem("64x32x16.layoutNT").kind(),
            (GemmKind{.a_major = Major::kMn, .b_major = Major::kMn}));
  EXPECT_EQ(parse_problem("64x32x16.layoutTT").kind(), (GemmKind{.b_major = Major::kMn}));
}

TEST(Problem, AnEpilogueIsAWordOfABiasAndAnActivation) {
  const GemmProblem problem = parse_problem("64x32x16.cbf16.bias-gelu");
  EXPECT_EQ(problem.kind().epilogue, (Epilogue{Bias::kAlongN, Activation::kGelu}));
  EXPECT_TRUE(problem.kind().adds_c);
  EXPECT_EQ(to_string(problem), "64x32x16.cbf16.bias-gelu");
  for (const Bias bias : {Bias::kNone, Bias::kAlongN, Bias::kAlongM}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                        Activation::kGeluErf, Activation::kSilu}) {
      for (const bool scaled : {false, true}) {
        for (const bool aux : {false, true}) {
          const Epilogue epilogue{bias, activation, Gate::kNone, scaled, aux};
          EXPECT_EQ(find_epilogue(to_string(epilogue)), epilogue) << to_string(epilogue);
        }
      }
    }
  }
  for (const char* bad :
       {"", "-", "bias-", "-gelu", "gelu-bias", "bias-bias", "plain-relu", "bias-scaled", "tanh"}) {
    EXPECT_EQ(find_epilogue(bad), std::nullopt) << bad;
  }
  // 64 x 32 elements of C, and 32 or 64 of the bias, of two bytes.
  EXPECT_DOUBLE_EQ(problem.epilogue_bytes(), 2 * (64 * 32 + 32));
  EXPECT_DOUBLE_EQ(parse_problem("64x32x16.biasm").epilogue_bytes(), 2 * 64);
  EXPECT_DOUBLE_EQ(parse_problem("64x32x16.relu").epilogue_bytes(), 0);
  EXPECT_DOUBLE_EQ(problem.bytes() - problem.epilogue_bytes(), parse_problem("64x32x16").bytes());
}

TEST(Problem, ASecondOutputIsWhatAnActivationIsAppliedTo) {
  const GemmProblem problem = parse_problem("64x32x16.bias-gelu-aux");
  EXPECT_TRUE(problem.epilogue.aux);
  EXPECT_DOUBLE_EQ(problem.epilogue_bytes(), 2 * (64 * 32 + 32)) << "and the bias";
  EXPECT_FALSE(problem.product().epilogue.aux);
  EXPECT_FALSE(problem.same_problem(parse_problem("64x32x16.bias-gelu")));
  EXPECT_EQ(why_unsupported(problem), nullptr);
  const auto reason = [](const char* text) {
    return std::string(why_unsupported(parse_problem(text)));
  };
  EXPECT_THAT(reason("64x32x16.aux"), HasSubstr("without one it would be D"));
  EXPECT_THAT(reason("64x32x16.bias-aux"), HasSubstr("without one it would be D"));
  EXPECT_THAT(reason("64x32x16.swiglu-aux"), HasSubstr("a gate has no second output yet"));
  EXPECT_THAT(reason("64x32x16.batch4.gelu-aux"), HasSubstr("the products of a batch"));
}

/// A library's call has an alpha, so there is nothing left to do after it.
TEST(Problem, TheProductOfALibraryHasAlpha) {
  const GemmProblem scaled = parse_problem("64x32x16.scaled");
  EXPECT_FALSE(scaled.exceeds_product());
  EXPECT_TRUE(parse_problem("64x32x16.scaled-bias").exceeds_product());
  EXPECT_TRUE(parse_problem("64x32x16.cbf16.scaled").exceeds_product());
  EXPECT_TRUE(parse_problem("64x96x32.swiglu").exceeds_product());
  EXPECT_FALSE(parse_problem("64x32x16").exceeds_product());
  EXPECT_EQ(to_string(parse_problem("64x32x16.cbf16.scaled-bias-gelu").product()),
            "64x32x16.scaled");
  EXPECT_GT(scaled.tolerance(), parse_problem("64x32x16").tolerance());
  EXPECT_FALSE(scaled.same_problem(parse_problem("64x32x16")));
  EXPECT_EQ(why_unsupported(parse_problem("64x32x16.batch3.scaled")), nullptr);
  EXPECT_THAT(std::string(why_unsupported(parse_problem("64x96x32.scaled-swiglu"))),
              HasSubstr("a gate goes with an activation only"));
}

TEST(Problem, AGateHalvesTheColumnsOfD) {
  const GemmProblem problem = parse_problem("64x96x32.swiglu");
  EXPECT_EQ(problem.kind().epilogue, (Epilogue{Bias::kNone, Activation::kSilu, Gate::kHalves}));
  EXPECT_EQ(problem.d_columns(), 48);
  EXPECT_EQ(problem.leading_d(), 48);
  EXPECT_TRUE(problem.is_packed());
  EXPECT_DOUBLE_EQ(problem.flops(), parse_problem("64x96x32").flops());
  EXPECT_DOUBLE_EQ(problem.d_bytes(), parse_problem("64x48x32").d_bytes());
  EXPECT_EQ(to_string(parse_problem("64x96x32.swiglu-interleaved.ldd56")),
            "64x96x32.ldd56.swiglu-interleaved");
  // Before the gate all columns, in rows without padding.
  const GemmProblem product = parse_problem("64x96x32.swiglu.ldd56").product();
  EXPECT_EQ(to_string(product), "64x96x32");
  EXPECT_EQ(to_string(parse_problem("64x96x32.bias-gelu.cbf16.ldd104").product()),
            "64x96x32.ldd104");
  for (const char* activation : {"bilinear", "reglu", "geglu", "geglu_erf", "swiglu"}) {
    for (const char* order : {"", "-interleaved"}) {
      const std::string word = std::string(activation) + order;
      const auto epilogue = find_epilogue(word);
      ASSERT_TRUE(epilogue) << word;
      EXPECT_NE(epilogue->gate, Gate::kNone);
      EXPECT_EQ(to_string(*epilogue), word);
    }
  }
  for (const char* bad : {"interleaved", "silu-interleaved", "swiglu-", "swiglu-silu"}) {
    EXPECT_EQ(find_epilogue(bad), std::nullopt) << bad;
  }
}

TEST(Problem, ABatchWithOneSharedMatrixIsAProductOfAllRowsOrColumns) {
  const auto merged = [](const char* key) { return to_string(parse_problem(key).merged()); };
  EXPECT_EQ(merged("64x32x16.batch3.sb0"), "192x32x16");
  EXPECT_EQ(merged("64x32x16.ldd96.batch3.sa0.sd32"), "64x96x16");
  EXPECT_EQ(merged("64x32x16.layoutNN.ldb24.ldd100.batch3.sa0.sd32"),
            "64x96x16.layoutNN.ldb24.ldd100");
  EXPECT_EQ(merged("64x32x16.layoutTT.lda24.ldd40.batch3.sb0"), "192x32x16.layoutTT.lda24.ldd40");
  for (const char* key :
       {"64x32x16", "64x32x16.batch3", "64x32x16.batch3.sa0.sb0", "64x32x16.batch3.sa4096.sb0",
        "64x32x16.batch3.sb0.sd4096", "64x32x16.batch3.pointers", "64x32x16.layoutNN.batch3.sb0",
        "64x32x16.batch3.sa0", "64x32x16.ldd128.batch3.sa0.sd40",
        "64x32x16.layoutTT.ldd96.batch3.sa0.sd32"}) {
    EXPECT_EQ(merged(key), key);
  }
}

TEST(Problem, AGateNeedsPairsOfRowsThatCanBeFetched) {
  const auto reason = [](const char* key) -> std::string {
    const char* const text = why_unsupported(parse_problem(key));
    return text ? text : "";
  };
  EXPECT_EQ(reason("64x96x32.swiglu"), "");
  EXPECT_EQ(reason("64x96x32.layoutNN.swiglu"), "");
  EXPECT_THAT(reason("64x97x32.swiglu"), HasSubstr("with a gate N is even"));
  EXPECT_THAT(reason("64x96x32.layoutNT.swiglu"), HasSubstr("B must be contiguous in K"));
  EXPECT_THAT(reason("64x96x32.layoutTT.swiglu"), HasSubstr("B must be contiguous in K"));
  EXPECT_THAT(reason("64x96x32.bias-swiglu"), HasSubstr("a gate goes with an activation only"));
  EXPECT_THAT(reason("64x96x32.cbf16.swiglu"), HasSubstr("a gate goes with an activation only"));
}

TEST(Problem, LayoutsSayHowTheOperandsAreStored) {
  const auto stored = [](const char* key) {
    const ProblemExtents p = parse_problem(key).extents();
    const StoredMatrix a = stored_a(p);
    const StoredMatrix b = stored_b(p);
    return fmt::format("{}x{} by {}, {}x{} by {}", a.rows, a.cols, a.leading, b.rows, b.cols,
                       b.leading);
  };
  EXPECT_EQ(stored("64x32x16"), "64x16 by 16, 32x16 by 16");
  EXPECT_EQ(stored("64x32x16.layoutNN"), "16x64 by 64, 32x16 by 16");
  EXPECT_EQ(stored("64x32x16.layoutNT.lda72"), "16x64 by 72, 16x32 by 32");
  EXPECT_EQ(stored("64x32x16.layoutTT.ldb40"), "64x16 by 16, 16x32 by 40");
  EXPECT_TRUE(parse_problem("64x32x16.layoutNT.lda64.ldb32").is_packed());
  EXPECT_FALSE(parse_problem("64x32x16.layoutNT.lda72").is_packed());
  EXPECT_DOUBLE_EQ(parse_problem("64x32x16.layoutNT.lda72").bytes(),
                   parse_problem("64x32x16").bytes());
}

// The bounds that problem.cpp derives.
TEST(Problem, ToleranceIsOfRoundingAndAccumulation) {
  const auto tolerance = [](const char* key, int roundings = 1) {
    return parse_problem(key).tolerance(roundings);
  };
  EXPECT_DOUBLE_EQ(tolerance("8x8x4096"), 0x1p-8 + 256 * 0x1p-23);
  EXPECT_DOUBLE_EQ(tolerance("8x8x4096.fp16"), 0x1p-11 + 256 * 0x1p-23);
  EXPECT_DOUBLE_EQ(tolerance("8x8x4096.fp32"), 0x1p-24 + 64 * 0x1p-21);
  // Nothing hides the reference's own roundings.
  EXPECT_DOUBLE_EQ(tolerance("8x8x4096.dfp32"), 0x1p-24 + 256 * 0x1p-23 + 64 * 0x1p-21);
  EXPECT_DOUBLE_EQ(tolerance("8x8x4096.dfp32"), tolerance("8x8x4096.fp16.dfp32"));
  EXPECT_DOUBLE_EQ(tolerance("8x8x4096", 3), tolerance("8x8x4096") + 2 * 0x1p-8);
  EXPECT_GT(tolerance("8x8x8192"), tolerance("8x8x4096"));
}

TEST(Problem, ScalesOfBlocksHaveBaselinesIfNIsAMultipleOf4) {
  for (const char* key : {"4x8x16.e4m3.scaling-blocks", "12x132x144.e4m3.scaling-row_blocks",
                          "1x8x16.e4m3.scaling-blocks", "7x8x16.e4m3.scaling-packed_blocks"}) {
    EXPECT_TRUE(parse_problem(key).baselines().cublas) << key;
    EXPECT_TRUE(parse_problem(key).baselines().cublaslt) << key;
    EXPECT_EQ(parse_problem(key).baselines().why_none, nullptr) << key;
  }
  for (const char* key :
       {"4x9x16.e4m3.scaling-packed_blocks", "12x130x144.e4m3.scaling-row_blocks"}) {
    EXPECT_FALSE(parse_problem(key).baselines().cublas) << key;
    EXPECT_FALSE(parse_problem(key).baselines().cublaslt) << key;
    EXPECT_THAT(parse_problem(key).baselines().why_none, HasSubstr("a multiple of 4")) << key;
  }
  EXPECT_TRUE(parse_problem("1x8x16.e4m3.scaling-rows").baselines().cublas);
  EXPECT_THAT(parse_problem("16x16x16.e5m2").baselines().why_none, HasSubstr("two e5m2"));
}

TEST(Problem, CublasLtIsGivenRowsAndScalesThatItTakes) {
  for (const auto& [key, given] :
       {std::pair("1x8x640.e4m3.scaling-blocks", "4x8x640.e4m3.scaling-blocks"),
        std::pair("6x8x640.e4m3.scaling-row_blocks", "8x8x640.e4m3.scaling-row_blocks"),
        std::pair("8x8x640.e4m3.lda656.scaling-packed_blocks",
                  "8x8x640.e4m3.lda656.scaling-blocks"),
        std::pair("7x8x640.e4m3.scaling-rows", "7x8x640.e4m3.scaling-rows"),
        std::pair("7x8x640", "7x8x640")}) {
    EXPECT_EQ(to_string(parse_problem(key).for_cublaslt()), given) << key;
  }
  // 5 blocks of K and 2 of rows of B.
  EXPECT_EQ(parse_problem("8x200x640.e4m3.scaling-blocks").scales_of_b(), 16);
  EXPECT_EQ(parse_problem("8x200x640.e4m3.scaling-packed_blocks").scales_of_b(), 10);
}

TEST(Problem, OnlyFp32HasOneBaseline) {
  for (const char* key : {"8x8x8", "8x8x8.fp16", "8x8x8.dfp32"}) {
    EXPECT_TRUE(parse_problem(key).baselines().cublas) << key;
    EXPECT_TRUE(parse_problem(key).baselines().cublaslt) << key;
  }
  EXPECT_TRUE(parse_problem("8x8x8.fp32").baselines().cublas);
  EXPECT_FALSE(parse_problem("8x8x8.fp32").baselines().cublaslt);
}

std::string reason(const char* text) { return text ? text : ""; }

TEST(Problem, Fp32IsOfStudiesAndNotOfTheKernels) {
  const GemmProblem problem = parse_problem("64x32x16.fp32");
  EXPECT_EQ(problem.a_type, DataType::kFp32);
  EXPECT_EQ(to_string(problem), "64x32x16.fp32");
  EXPECT_EQ(why_unsupported(problem), nullptr) << "studies compute it";
  EXPECT_THAT(reason(why_no_kernel(problem)), HasSubstr("fp32"));
  EXPECT_EQ(why_no_kernel(parse_problem("64x32x16.fp16")), nullptr);
  EXPECT_EQ(why_no_kernel(parse_problem("64x32x16.dfp32")), nullptr);
  EXPECT_EQ(why_no_kernel(parse_problem("64x32x16.fp16.dfp32")), nullptr);
  EXPECT_EQ(why_no_kernel(parse_problem("63x31x17")), nullptr);
  EXPECT_NE(why_no_kernel(parse_problem("64x32x16.fp16.dbf16")), nullptr);
}

TEST(Problem, SaysWhichOfItsAttributesNoKernelHas) {
  const auto why = [](const char* key) { return reason(why_unsupported(parse_problem(key))); };
  EXPECT_EQ(why("64x32x16.lda24"), "");
  EXPECT_THAT(why("64x32x16.bfp16"), HasSubstr("the same type"));
  EXPECT_THAT(why("64x32x16.accfast"), HasSubstr("fast sums are for 8-bit operands"));
  EXPECT_EQ(why("64x32x16.cbf16"), "");
  EXPECT_EQ(why("64x32x16.dfp32.cfp32.biasm-gelu_erf"), "");
  EXPECT_THAT(why("64x32x16.cfp32"), HasSubstr("C must have the type of D"));
  EXPECT_EQ(why("64x32x16.batch2.sa0.sd4096"), "");
  for (const char* key : {"64x32x16.batch2.bias", "64x32x16.batch2.relu", "64x32x16.batch2.cbf16",
                          "64x32x16.batch2.swiglu"}) {
    EXPECT_THAT(why(key), HasSubstr("the products of a batch have no ")) << key;
  }
  EXPECT_THAT(why("64x32x16.batch33554433"), HasSubstr("from 1 to 2^25 products"));
  EXPECT_NE(why_unsupported(GemmProblem{.m = 0, .n = 8, .k = 8, .tag = ""}), nullptr);
  for (const char* key :
       {"64x32x16.bfp16", "64x32x16.accfast", "64x32x16.cbf16", "64x32x16.batch2.relu"}) {
    EXPECT_EQ(reason(why_no_kernel(parse_problem(key))), why(key));
    EXPECT_EQ(reason(why_not(TiledConfig{}, parse_problem(key))), why(key));
  }
}

// What no kernel has of 8-bit operands has a line that says why.
TEST(Problem, EightBitOperandsHaveReasonsOfTheirOwn) {
  const auto why = [](const char* key) { return reason(why_unsupported(parse_problem(key))); };
  EXPECT_EQ(why("64x32x16.e4m3"), "");
  EXPECT_EQ(why("1x1x16.e5m2.be4m3"), "");
  EXPECT_EQ(why("63x31x48.e4m3.lda64.ldd33"), "");
  for (const char* key : {"64x32x16.e4m3.de4m3", "63x31x48.e5m2.be4m3.de5m2.scaling-rows.bias-gelu",
                          "64x32x16.e4m3.de4m3.cbf16.scaling-blocks", "64x32x16.e4m3.de4m3.swiglu",
                          "64x32x16.e4m3.de4m3.batch3.scaling-tensor",
                          "63x31x48.e4m3.de4m3.scaling-blocks.dscaling-blocks.bias-silu",
                          "64x32x16.e5m2.de5m2.dscaling-blocks.swiglu"}) {
    EXPECT_EQ(why(key), "") << key;
    EXPECT_EQ(why_no_kernel(parse_problem(key)), nullptr) << key;
  }
  EXPECT_THAT(why("64x32x16.de5m2"), HasSubstr("D of 8 bits goes with 8-bit A and B"));
  for (const char* key :
       {"64x32x16.dscaling-blocks", "64x32x16.e4m3.scaling-rows.dscaling-blocks"}) {
    EXPECT_THAT(why(key), HasSubstr("add de4m3 or de5m2")) << key;
  }
  EXPECT_THAT(why("64x32x16.e4m3.de4m3.batch3.dscaling-blocks"), HasSubstr("no scales of D"));
  EXPECT_THAT(why("64x32x16.e4m3.de4m3.gelu-aux"), HasSubstr("no 8-bit type yet"));
  for (const char* key : {"64x32x16.e4m3.de4m3.ce4m3", "64x32x16.e4m3.de5m2.cfp32"}) {
    EXPECT_THAT(why(key), HasSubstr("C is bf16 where D has 8 bits")) << key;
  }
  for (const char* key :
       {"64x32x16.e4m3.layoutNN", "64x32x16.e4m3.layoutNT", "64x32x16.e5m2.layoutTT"}) {
    EXPECT_THAT(why(key), HasSubstr("contiguous in K (layout TN)")) << key;
  }
  for (const char* key : {"64x32x24.e4m3", "1x1x8.e4m3", "64x32x16.e4m3.lda24",
                          "64x32x16.e4m3.ldb40", "64x32x16.e4m3.batch2.sa1032"}) {
    EXPECT_THAT(why(key), HasSubstr("multiples of 16")) << key;
  }
  EXPECT_EQ(why("64x32x16.e4m3.be4m3"), "");
  EXPECT_THAT(why("64x32x16.be4m3"), HasSubstr("come in pairs"));
  EXPECT_THAT(why("64x32x16.e4m3.bbf16"), HasSubstr("come in pairs"));
  EXPECT_THAT(why("64x32x16.scaling-tensor"), HasSubstr("scales are for 8-bit operands"));
  EXPECT_EQ(why("64x32x16.e4m3.batch2.scaling-tensor"), "");
  EXPECT_THAT(why("64x32x16.e4m3.batch2.scaling-rows"), HasSubstr("no scales of rows yet"));
  EXPECT_THAT(why("64x32x16.e4m3.batch2.scaling-blocks"), HasSubstr("no scales of blocks yet"));
  EXPECT_THAT(why("64x32x16.e4m3.scaling-row_blocks.swiglu"), HasSubstr("no scales of blocks yet"));
  EXPECT_THAT(why("64x32x16.e4m3.accfast.scaling-blocks"), HasSubstr("go with fp32 sums"));
  for (const char* key : {"64x32x16.e4m3", "64x32x16.e4m3.accfast.scaling-rows"}) {
    EXPECT_EQ(why_no_kernel(parse_problem(key)), nullptr) << key;
  }
}

TEST(Problem, EightBitOperandsHaveBytesKindsAndBaselinesOfTheirOwn) {
  const GemmProblem plain = parse_problem("64x32x16.e4m3");
  EXPECT_DOUBLE_EQ(plain.a_bytes(), 64.0 * 16);
  EXPECT_DOUBLE_EQ(plain.b_bytes(), 32.0 * 16);
  EXPECT_DOUBLE_EQ(plain.d_bytes(), 2 * 64.0 * 32);
  EXPECT_DOUBLE_EQ(plain.flops(), 2.0 * 64 * 32 * 16);
  const GemmProblem scaled = parse_problem("64x32x16.e4m3.scaling-rows");
  EXPECT_DOUBLE_EQ(scaled.bytes() - plain.bytes(), 4.0 * (64 + 32));
  EXPECT_EQ(plain.kind(), (GemmKind{.input = DataType::kE4m3}));
  EXPECT_EQ(input_b(plain.kind()), DataType::kE4m3);
  const GemmProblem other = parse_problem("64x32x16.e5m2.be4m3.accfast.scaling-tensor");
  EXPECT_EQ(other.kind(), (GemmKind{.input = DataType::kE5m2,
                                    .b_is_other = true,
                                    .fast_sums = true,
                                    .scaling = Scaling::kTensor}));
  EXPECT_EQ(input_b(other.kind()), DataType::kE4m3);
  EXPECT_TRUE(plain.baselines().cublas);
  EXPECT_TRUE(plain.baselines().cublaslt);
  EXPECT_TRUE(other.baselines().cublaslt);
  EXPECT_FALSE(parse_problem("64x32x16.e5m2").baselines().cublas);
  EXPECT_FALSE(parse_problem("64x32x16.e5m2").baselines().cublaslt);
  // What a library computes has the scales, and nothing else of the epilogue.
  EXPECT_TRUE(parse_problem("64x32x16.e4m3.scaling-rows.bias").exceeds_product());
  EXPECT_FALSE(parse_problem("64x32x16.e4m3.scaling-rows").exceeds_product());
}

// C and the bias of an 8-bit D are bf16, and so is the product of a library that cannot store it.
TEST(Problem, AnEightBitOutputHasBytesAProductAndATolerance) {
  const GemmProblem plain = parse_problem("64x32x16.e4m3.de4m3");
  EXPECT_DOUBLE_EQ(plain.d_bytes(), 64.0 * 32);
  EXPECT_DOUBLE_EQ(parse_problem("64x32x16.e4m3.de4m3.cbf16.bias").epilogue_bytes(),
                   2 * 64.0 * 32 + 2 * 32.0);
  EXPECT_EQ(plain.kind(), (GemmKind{.input = DataType::kE4m3, .output = DataType::kE4m3}));
  EXPECT_TRUE(plain.exceeds_product());
  const GemmProblem product = parse_problem("64x32x16.e4m3.de4m3.ldd48.bias").product();
  EXPECT_EQ(to_string(product), "64x32x16.e4m3");
  EXPECT_TRUE(plain.baselines().cublas);
  // The last rounding is no error: the verdict takes an output for what rounds to it.
  const GemmProblem wide = parse_problem("64x32x16.e4m3");
  EXPECT_NEAR(plain.tolerance(), wide.tolerance() - 0x1p-8, 1e-9);
  EXPECT_NEAR(plain.tolerance(2) - plain.tolerance(), 0x1p-8, 1e-9);
}

// Rows of scales are whole units of 16 bytes.
TEST(Problem, ScalesOfBlocksArePadded) {
  const auto scales = [](const char* key) {
    const GemmProblem problem = parse_problem(key);
    return std::pair(problem.scales_of_a(), problem.scales_of_b());
  };
  EXPECT_EQ(scales("6x200x384.e4m3.scaling-blocks"), std::pair(3L * 8, 2L * 4));
  EXPECT_EQ(scales("6x200x384.e4m3.scaling-row_blocks"), std::pair(3L * 8, 3L * 200));
  EXPECT_EQ(scales("1x129x16.e4m3.scaling-blocks"), std::pair(1L * 4, 2L * 4));
  EXPECT_EQ(scales("64x2112x7168.e4m3.scaling-blocks"), std::pair(56L * 64, 17L * 56));
  const GemmProblem problem = parse_problem("6x200x384.e4m3.scaling-blocks");
  EXPECT_DOUBLE_EQ(problem.bytes() - parse_problem("6x200x384.e4m3").bytes(), 4.0 * (24 + 8));
}

// D and its scales are the A and the scales of the next layer's problem.
TEST(Problem, FoundScalesOfDAreThoseOfAnA) {
  const GemmProblem given = parse_problem("6x200x384.e4m3.de4m3");
  const GemmProblem found = parse_problem("6x200x384.e4m3.de4m3.dscaling-blocks");
  const GemmProblem next = parse_problem("6x64x200.e4m3.scaling-blocks");
  EXPECT_EQ(given.scales_of_d(), 0);
  EXPECT_EQ(found.scales_of_d(), next.scales_of_a());
  EXPECT_EQ(found.scales_of_d(), 2L * 8);
  EXPECT_DOUBLE_EQ(found.bytes() - given.bytes(), 4.0 * 2 * 8);
  EXPECT_EQ(parse_problem("6x512x384.e4m3.de4m3.dscaling-blocks.swiglu").scales_of_d(), 2L * 8);
  EXPECT_TRUE(found.exceeds_product());
  EXPECT_EQ(to_string(found.product()), "6x200x384.e4m3");
  EXPECT_FALSE(found.same_problem(given));
}

// Fast sums lose more, and ever more with K; promoted ones lose the same at any K.
TEST(Problem, ToleratesWhatTensorCoresLoseOfEightBitSums) {
  const auto accumulation = [](const char* key) {
    const GemmProblem problem = parse_problem(key);
    return problem.tolerance() - parse_problem("8x8x16").tolerance();
  };
  const double promoted = accumulation("8x8x512.e4m3");
  EXPECT_GT(promoted, 1e-3);
  EXPECT_LT(promoted, 4e-3);
  EXPECT_NEAR(accumulation("8x8x4096.e4m3"), promoted, 1e-4);
  EXPECT_GT(accumulation("8x8x4096.e4m3.accfast"), 3 * promoted);
  EXPECT_GT(accumulation("8x8x16384.e4m3.accfast"), 2 * accumulation("8x8x4096.e4m3.accfast"));
}

TEST(ProblemWords, RoundTrip) {
  for (const DataType type :
       {DataType::kBf16, DataType::kFp16, DataType::kFp32, DataType::kE4m3, DataType::kE5m2}) {
    EXPECT_EQ(find_data_type(to_string(type)), type);
  }
  for (const Scaling scaling : {Scaling::kNone, Scaling::kTensor, Scaling::kRows, Scaling::kBlocks,
                                Scaling::kRowBlocks, Scaling::kPackedBlocks}) {
    EXPECT_EQ(find_scaling(to_string(scaling)), scaling);
  }
  for (const OutputScaling scaling : {OutputScaling::kGiven, OutputScaling::kBlocks}) {
    EXPECT_EQ(find_output_scaling(to_string(scaling)), scaling);
  }
  for (const Accumulator accumulator : {Accumulator::kFp32, Accumulator::kFast}) {
    EXPECT_EQ(find_accumulator(to_string(accumulator)), accumulator);
  }
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT}) {
    EXPECT_EQ(find_layout(to_string(layout)), layout);
  }
  EXPECT_EQ(find_layout("nt"), std::nullopt);
  EXPECT_EQ(find_data_type("fp64"), std::nullopt);
  EXPECT_EQ(types_text(parse_problem("8x8x8")), "bf16");
  EXPECT_EQ(types_text(parse_problem("8x8x8.fp16.dfp32")), "fp16.dfp32");
  EXPECT_EQ(types_text(parse_problem("8x8x8.bfp16")), "bf16.bfp16");
}

}  // namespace
}  // namespace hgemm
