// Exports of kernels with 8-bit operands.
#include <gmock/gmock.h>

#include "gemm/codec.h"
#include "output/export/formats.h"
#include "tests/output/export/fixture.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace test;

const TiledConfig kPromoted{.bm = 128, .bn = 96, .bk = 128, .promote = 256};
/// With scales of blocks each block of K is promoted.
const TiledConfig kOfBlocks{.bm = 128, .bn = 96, .bk = 128, .mma_depth = 0, .promote = 128};
const TiledConfig kFast{.bm = 128, .bn = 96, .bk = 128};

/// cublas at 10 us, the kernel at `us`.
RecordedRace race_at(const char* key, const TiledConfig& config, double us) {
  const GemmProblem problem = parse_problem(key);
  EXPECT_EQ(why_not(config, problem), nullptr) << key;
  return recorded(problem, {timed(std::string(kCublasLabel), 10), timed(label(config), us)});
}

std::string text_of(const ExportPlan& plan, ExportFormat format, const char* path) {
  const Validity validity = validity_of(plan, "hash", "1");
  for (const ExportFile& file : export_files(plan, validity, format)) {
    if (file.path == path) return file.text;
  }
  return "";
}

TEST(Fp8Export, ARowHasItsTypesSumsAndScales) {
  const ExportPlan plan = plan_export({race_at("256x512x640.e4m3.be5m2.scaling-rows", kPromoted, 8),
                                       race_at("256x512x640.e5m2.dfp32.accfast.bias", kFast, 8)},
                                      {});
  ASSERT_THAT(plan.rows, SizeIs(2));
  const std::string table = text_of(plan, ExportFormat::kCpp, "src/table.h");
  EXPECT_THAT(table, HasSubstr("{.input = hgemm::DataType{3}, .output = hgemm::DataType{0}, "
                               ".b_is_other = true, .scaling = hgemm::Scaling{2}}"));
  EXPECT_THAT(table, HasSubstr("{.input = hgemm::DataType{4}, .output = hgemm::DataType{2},\n"
                               "      .epilogue = "));
  EXPECT_THAT(table, HasSubstr(".adds_c = false, .fast_sums = true}"));
  EXPECT_THAT(table,
              AllOf(HasSubstr("#include \"common/wgmma_fp8.cuh\""), HasSubstr("ScaledParams")));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "src/kernels/common/wgmma_fp8.cuh"),
              HasSubstr("wgmma"));
}

TEST(Fp8Export, ARowHasItsScalesOfBlocks) {
  const ExportPlan plan =
      plan_export({race_at("256x512x640.e4m3.scaling-blocks", kOfBlocks, 8),
                   race_at("256x512x640.e4m3.dfp32.scaling-row_blocks", kOfBlocks, 12),
                   race_at("256x512x640.e4m3.scaling-packed_blocks", kOfBlocks, 12),
                   race_at("255x512x640.e4m3.scaling-blocks", kOfBlocks, 12)},
                  {.with_cublaslt = true});
  ASSERT_THAT(plan.rows, SizeIs(4));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "src/table.h"),
              AllOf(HasSubstr("{.input = hgemm::DataType{3}, .output = hgemm::DataType{0}, "
                              ".scaling = hgemm::Scaling{3}}"),
                    HasSubstr("{.input = hgemm::DataType{3}, .output = hgemm::DataType{2}, "
                              ".scaling = hgemm::Scaling{4}}"),
                    HasSubstr(".scaling = hgemm::Scaling{5}}"), HasSubstr("ScaledParams")));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "src/library_table.h"),
              AllOf(HasSubstr("256x512x640.e4m3.dfp32.scaling-row_blocks"),
                    // A caller's matrices have no rows for the library to fill up, and no padding.
                    Not(HasSubstr("packed_blocks")), Not(HasSubstr("255x512x640"))));
  EXPECT_THAT(text_of(plan, ExportFormat::kJson, "hgemm_tuned.json"),
              HasSubstr("\"problem\": \"256x512x640.e4m3.scaling-blocks\""));
  EXPECT_THAT(losses(plan, ExportFormat::kCpp), IsEmpty());
}

/// A package computes an 8-bit D with its kernels alone.
TEST(Fp8Export, ARowWithAnEightBitOutputHasNoLibrary) {
  const ExportPlan plan =
      plan_export({race_at("256x512x640.e4m3.de4m3.bias", kPromoted, 12)}, {.with_cublaslt = true});
  ASSERT_THAT(plan.rows, SizeIs(1));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "src/table.h"),
              AllOf(HasSubstr("{.input = hgemm::DataType{3}, .output = hgemm::DataType{3},"),
                    HasSubstr("ScaledParams")));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "README.md"), HasSubstr("| ours |"));
  EXPECT_THAT(losses(plan, ExportFormat::kCpp), SizeIs(1));
}

TEST(Fp8Export, ARowFindsTheScalesOfItsOutput) {
  const TiledConfig whole{.bm = 128, .bn = 128, .bk = 128, .mma_depth = 0, .promote = 128};
  const ExportPlan plan = plan_export(
      {race_at("256x512x640.e4m3.de4m3.scaling-blocks.dscaling-blocks.silu", whole, 12)}, {});
  ASSERT_THAT(plan.rows, SizeIs(1));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "src/table.h"),
              HasSubstr(".output_scaling = hgemm::OutputScaling{1}}"));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "src/kernels/common/quantise_factor.cuh"),
              HasSubstr("factor_for"));
}

/// cublas is cuBLASLt's first choice, which a package can ask for without a handle.
TEST(Fp8Export, CublasIsTheFirstChoiceOfCublasLt) {
  const std::vector<RecordedRace> races = {race_at("256x512x640.e4m3", kPromoted, 12)};
  const ExportPlan with = plan_export(races, {.with_cublaslt = true});
  EXPECT_THAT(text_of(with, ExportFormat::kCpp, "src/library_table.h"),
              AllOf(HasSubstr("Library::kHeuristic"), Not(HasSubstr("kGemmEx"))));
  EXPECT_THAT(text_of(with, ExportFormat::kCpp, "README.md"), HasSubstr("| cuBLASLt |"));
  EXPECT_THAT(losses(with, ExportFormat::kCpp), IsEmpty());
  const ExportPlan without = plan_export(races, {});
  EXPECT_THAT(text_of(without, ExportFormat::kCpp, "README.md"),
              AllOf(HasSubstr("| ours |"), Not(HasSubstr("cuBLAS if linked"))));
}

TEST(Fp8Export, OtherFormatsSayThatTheyHaveNone) {
  const ExportPlan plan = plan_export(
      {race_at("256x512x640", kWide, 8), race_at("256x512x640.e4m3.scaling-tensor", kPromoted, 8)},
      {});
  for (const ExportFormat format : {ExportFormat::kTriton, ExportFormat::kCutlass}) {
    EXPECT_THAT(losses(plan, format),
                Contains(AllOf(HasSubstr("1 of 2 shapes (256x512x640.e4m3.scaling-tensor)"),
                               HasSubstr("8-bit operands"))));
  }
  EXPECT_THAT(losses(plan, ExportFormat::kJson), IsEmpty());
  EXPECT_THAT(text_of(plan, ExportFormat::kJson, "hgemm_tuned.json"),
              HasSubstr("\"problem\": \"256x512x640.e4m3.scaling-tensor\""));
}

}  // namespace
}  // namespace hgemm
