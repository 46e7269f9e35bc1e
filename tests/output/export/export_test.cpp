// What is exported, and in which words: every text format against its golden files in golden/.
// HGEMM_WRITE_GOLDEN=1 writes them anew, for a look at what changed.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "tests/output/export/fixture.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace test;

constexpr ExportFormat kAllFormats[] = {ExportFormat::kCpp,    ExportFormat::kJson,
                                        ExportFormat::kCsv,    ExportFormat::kMarkdown,
                                        ExportFormat::kTriton, ExportFormat::kCutlass};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> labels(const ExportPlan& plan) {
  std::vector<std::string> all;
  for (const ExportRow& row : plan.rows) all.push_back(*row.best.label);
  return all;
}

TEST(ExportPlan, PassesOverDependentLaunchUnlessItIsAllowed) {
  EXPECT_THAT(labels(planned()), Not(testing::Contains(HasSubstr(".pdl"))));
  EXPECT_THAT(labels(planned(PdlKind::kWeights)), testing::Contains(HasSubstr(".pdl")));
}

TEST(ExportPlan, AGainIsAnIntervalAboveOne) {
  const ExportPlan plan = planned();
  ASSERT_THAT(plan.rows, SizeIs(5));
  EXPECT_TRUE(plan.rows[0].gain);
  EXPECT_FALSE(plan.rows[2].gain) << "level with cuBLAS";
  // Fast, but seen in too few rounds for an interval.
  Trial cublas = timed(std::string(kCublasLabel), 20);
  Trial ours = timed(label(kWide), 10);
  cublas.samples.resize(3);
  ours.samples.resize(3);
  const ExportPlan few = plan_export({recorded(export_shape(64, 64, 64), {cublas, ours})}, {});
  EXPECT_FALSE(few.rows.at(0).gain);
}

TEST(ExportPlan, SaysWhatIsLeftOutAndWhy) {
  TiledConfig pdl = kWide;
  pdl.pdl = true;
  std::vector<RecordedRace> races = recordings();
  races.push_back(recorded(export_shape(64, 72, 80),
                           {timed(std::string(kCublasLabel), 9), timed(label(pdl), 8)}));
  const ExportPlan plan = plan_export(
      races,
      {.problems = {export_shape(16, 512, 640), export_shape(64, 72, 80), export_shape(5, 6, 7)}});
  EXPECT_THAT(plan.rows, SizeIs(1));
  ASSERT_THAT(plan.left_out, SizeIs(2));
  EXPECT_THAT(plan.left_out[0].reason, HasSubstr("--pdl"));
  EXPECT_EQ(plan.left_out[1].reason, "never recorded");
}

/// The text of a file of an export; empty if it has none of that path.
std::string file_of(const std::vector<ExportFile>& files, const std::string& path) {
  const auto file = std::ranges::find(files, fs::path(path), &ExportFile::path);
  return file == files.end() ? "" : file->text;
}

TEST(ExportWithCublasLt, TheFastestOfAllIsInTheRow) {
  const ExportPlan plan = planned_with_libraries();
  ASSERT_THAT(plan.rows, SizeIs(4));
  ASSERT_TRUE(plan.rows[0].library);
  EXPECT_EQ(plan.rows[0].library->label, "cublaslt.3");
  EXPECT_EQ(plan.rows[0].library->algorithm, kMadeUpAlgorithm);
  EXPECT_EQ(plan.rows[0].library->version, 130100);
  ASSERT_TRUE(plan.rows[1].library);
  EXPECT_EQ(plan.rows[1].library->label, "cublaslt.3");
  EXPECT_FALSE(plan.rows[1].library->algorithm) << "an older message";
  ASSERT_TRUE(plan.rows[2].library);
  EXPECT_EQ(plan.rows[2].library->kind, Fastest::kCublas);
  EXPECT_FALSE(plan.rows[3].library) << "the config is the fastest";
  // No row is slower than a library that it does not run.
  for (const ExportRow& row : plan.rows) {
    if (row.library) continue;
    EXPECT_GE(row.best.cublas->value, 1);
    EXPECT_GE(row.best.cublaslt->value, 1);
  }
}

TEST(ExportWithCublasLt, WithoutTheOptionNothingNamesALibrary) {
  const ExportPlan plan = plan_export(recordings_with_libraries(), {});
  for (const ExportRow& row : plan.rows) EXPECT_FALSE(row.library);
  for (const ExportFile& file : export_files(plan, valid_for(plan), ExportFormat::kCpp)) {
    EXPECT_THAT(file.path.string(), Not(HasSubstr("src/library")));
    EXPECT_THAT(file.text, Not(HasSubstr("cublaslt_algorithm")));
  }
}

TEST(ExportWithCublasLt, ThePackageHasTheAlgorithmInNumbers) {
  const ExportPlan plan = planned_with_libraries();
  const auto files = export_files(plan, valid_for(plan), ExportFormat::kCpp);
  const std::string table = file_of(files, "src/library_table.h");
  EXPECT_THAT(table, HasSubstr("{0, Library::kAlgorithm, 130100, {9999, 23, 16, 3, 2, 4, 1, 6, 5}, "
                               "1024},"));
  EXPECT_THAT(table, HasSubstr("// Recorded without all attributes of the algorithm.\n"
                               "    {1, Library::kHeuristic, 130100, "));
  EXPECT_THAT(table, HasSubstr("{2, Library::kGemmEx, 130100, "));
  EXPECT_THAT(table, HasSubstr("kLibraryRowCount = 3;"));
  EXPECT_THAT(file_of(files, "src/library.h"), HasSubstr("cublasLtMatmulAlgoCheck"));
  // Where no library is faster, the package is as without the option.
  const ExportPlan ours = plan_export(recordings(), {.with_cublaslt = true});
  EXPECT_EQ(file_of(export_files(ours, valid_for(ours), ExportFormat::kCpp), "src/library_table.h"),
            "");
}

TEST(ExportWithCublasLt, JsonHasTheAlgorithmAndOtherFormatsRefuse) {
  const ExportPlan plan = planned_with_libraries();
  const std::string json =
      file_of(export_files(plan, valid_for(plan), ExportFormat::kJson), "hgemm_tuned.json");
  EXPECT_THAT(json, HasSubstr("\"fastest\": \"cublaslt.3\""));
  EXPECT_THAT(json, HasSubstr(to_string(kMadeUpAlgorithm)));
  EXPECT_THAT(json, HasSubstr("\"cublaslt_version\": 130100"));
  for (const ExportFormat format : {ExportFormat::kCsv, ExportFormat::kMarkdown,
                                    ExportFormat::kTriton, ExportFormat::kCutlass}) {
    EXPECT_THROW(export_files(plan, valid_for(plan), format), InputError);
  }
}

TEST(ExportWithCublasLt, AMissingAttributeIsSaidWithTheShape) {
  EXPECT_THAT(losses(planned_with_libraries(), ExportFormat::kCpp),
              ElementsAre(AllOf(HasSubstr("1 of 4 shapes (512x512x640"), HasSubstr("attributes"))));
}

TEST(ExportWithCublasLt, APackageCallsNoLibraryForAnEpilogue) {
  GemmProblem with_bias = export_shape(256, 512, 640);
  with_bias.epilogue.bias = Bias::kAlongN;
  const RecordedRace behind =
      recorded(with_bias, {timed(std::string(kCublasLabel), 15),
                           cublaslt(0, 10, to_string(kMadeUpAlgorithm)), timed(label(kWide), 12)});
  const ExportPlan plan = plan_export({behind}, {.with_cublaslt = true});
  ASSERT_THAT(plan.rows, SizeIs(1));
  EXPECT_TRUE(plan.rows[0].library) << "JSON names it";
  const auto files = export_files(plan, valid_for(plan), ExportFormat::kCpp);
  EXPECT_EQ(file_of(files, "src/library_table.h"), "");
  EXPECT_THAT(file_of(files, "src/table.h"), HasSubstr(".epilogue = {hgemm::Bias{1}"));
  EXPECT_THAT(file_of(files, "README.md"), HasSubstr("| ours |"));
  EXPECT_THAT(losses(plan, ExportFormat::kCpp),
              ElementsAre(AllOf(HasSubstr("1 of 1 shapes (256x512x640.bias)"),
                                HasSubstr("although a library was faster"))));
  EXPECT_THAT(losses(plan, ExportFormat::kJson), IsEmpty());
}

ExportPlan planned_with_faster_cublaslt(const GemmProblem& problem) {
  return plan_export(
      {recorded(problem, {timed(std::string(kCublasLabel), 15),
                          cublaslt(0, 10, to_string(kMadeUpAlgorithm)), timed(label(kWide), 12)})},
      {.with_cublaslt = true});
}

TEST(ExportWithCublasLt, ABatchHasItsLibraryToo) {
  const ExportPlan plan = planned_with_faster_cublaslt(export_batch(true));
  const auto files = export_files(plan, valid_for(plan), ExportFormat::kCpp);
  EXPECT_THAT(file_of(files, "src/library_table.h"),
              HasSubstr("{0, Library::kAlgorithm, 130100, "));
  const std::string table = file_of(files, "src/table.h");
  EXPECT_THAT(table, HasSubstr("{{256, 512, 640, 640, 640, 512, hgemm::Major{0}, hgemm::Major{0}, "
                               "false,\n      {8, 163840, 0, 131072}}, {.input = "));
  EXPECT_THAT(table, HasSubstr(", .batched = true}, 0, 0, true,"));
  EXPECT_THAT(losses(plan, ExportFormat::kCpp), IsEmpty());
  EXPECT_THAT(file_of(files, "hgemm_tuned.json"),
              HasSubstr("\"batch\": 8,\n      \"stride_a\": 163840,\n      \"stride_b\": 0,\n"));
}

// Its plans are of products at strides.
TEST(ExportWithCublasLt, ABatchByPointersHasNone) {
  GemmProblem anywhere = export_batch();
  anywhere.by_pointers = true;
  const ExportPlan plan = planned_with_faster_cublaslt(anywhere);
  const auto files = export_files(plan, valid_for(plan), ExportFormat::kCpp);
  EXPECT_THAT(file_of(files, "src/table.h"), HasSubstr(", .by_pointers = true}"));
  for (const ExportFile& file : files) EXPECT_NE(file.path, "src/library_table.h");
  EXPECT_THAT(losses(plan, ExportFormat::kCpp), ElementsAre(HasSubstr("no cuBLASLt by pointers")));
}

// A library computes alpha, and nothing else that an epilogue has.
TEST(ExportWithCublasLt, ASumThatIsScaledHasItsLibraryToo) {
  GemmProblem batch = export_batch();
  batch.epilogue.scaled = true;
  const ExportPlan plan = planned_with_faster_cublaslt(batch);
  const auto files = export_files(plan, valid_for(plan), ExportFormat::kCpp);
  EXPECT_THAT(file_of(files, "src/library_table.h"),
              HasSubstr("{0, Library::kAlgorithm, 130100, "));
  const std::string table = file_of(files, "src/table.h");
  EXPECT_THAT(table, HasSubstr(",\n      .epilogue = {hgemm::Bias{0}, hgemm::Activation{0}, "
                               "hgemm::Gate{0}, true}, .adds_c = false, .batched = true}, 0, 0, "));
  EXPECT_THAT(table, HasSubstr("    .epilogue = {hgemm::Bias{0}, hgemm::Activation{0}, "
                               "hgemm::Gate{0}, true},\n    .adds_c = false,\n"
                               "    .batched = true,\n"));
  EXPECT_THAT(file_of(files, "README.md"), HasSubstr("| cuBLASLt |"));
  EXPECT_THAT(losses(plan, ExportFormat::kCpp), IsEmpty());
  EXPECT_THAT(file_of(files, "hgemm_tuned.json"), HasSubstr("\"epilogue\": \"scaled\""));

  GemmProblem more = export_shape(256, 512, 640);
  more.epilogue.scaled = true;
  more.c_type = DataType::kBf16;
  const ExportPlan ours = planned_with_faster_cublaslt(more);
  EXPECT_EQ(file_of(export_files(ours, valid_for(ours), ExportFormat::kCpp), "src/library_table.h"),
            "");
  EXPECT_THAT(losses(ours, ExportFormat::kCpp),
              ElementsAre(HasSubstr("although a library was faster")));
}

TEST(ExportWithCublasLt, AVersionIsThreeNumbers) {
  EXPECT_EQ(cublaslt_version_of("13.1.0"), 130100);
  EXPECT_EQ(cublaslt_version_of("12.9.41"), 120941);
  for (const char* text : {"", "13", "13.1", "13.1.0.3", "13.1.0a", "-1.2.3", "13.100.0"}) {
    EXPECT_EQ(cublaslt_version_of(text), 0) << text;
  }
}

TEST(ExportLosses, NameWhatReplacedTheFastestKernelAndTheOptionThatChangesIt) {
  const ExportPlan plan = planned();
  ASSERT_THAT(plan.replaced, SizeIs(1));
  EXPECT_EQ(plan.replaced[0].problem.m, 16);
  EXPECT_THAT(plan.replaced[0].winner, HasSubstr(".pdl"));
  EXPECT_NEAR(*plan.replaced[0].fraction, 5.0 / 8, 1e-9);
  for (const ExportFormat format : kAllFormats) {
    EXPECT_THAT(losses(plan, format),
                testing::Contains(AllOf(HasSubstr("1 of 5 shapes (16x512x640)"), HasSubstr("--pdl"),
                                        HasSubstr("0.625"))));
  }
  EXPECT_THAT(planned(PdlKind::kWeights).replaced, IsEmpty());
}

TEST(ExportLosses, NameRowsThatAFormatHasNoPlaceFor) {
  const GemvConfig gemv;
  GemmProblem padded = export_shape(256, 512, 640);
  padded.lda = 648;
  GemmProblem odd = export_shape(256, 513, 641);
  std::vector<RecordedRace> races;
  for (const GemmProblem& problem : {padded, odd}) {
    races.push_back(recorded(
        problem, {timed(std::string(kCublasLabel), 15),
                  timed(label(TiledConfig{.store = StorePath::kStaged, .pack = true}), 12)}));
  }
  races.push_back(recorded(export_shape(1, 512, 640),
                           {timed(std::string(kCublasLabel), 9), timed(label(gemv), 8)}));
  const ExportPlan plan = plan_export(races, {});
  ASSERT_THAT(plan.rows, SizeIs(3));
  EXPECT_THAT(losses(plan, ExportFormat::kTriton),
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("1 of 3 shapes (256x512x640.lda648)"), HasSubstr("padded rows"),
                        HasSubstr("--format cpp")),
                  AllOf(HasSubstr("1 of 3 shapes (1x512x640)"), HasSubstr("GEMV"))));
  EXPECT_THAT(losses(plan, ExportFormat::kCutlass),
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("1 of 3 shapes (256x513x641)"), HasSubstr("not aligned")),
                  AllOf(HasSubstr("1 of 3 shapes (1x512x640)"), HasSubstr("GEMV"))));
  for (const ExportFormat format :
       {ExportFormat::kCpp, ExportFormat::kJson, ExportFormat::kCsv, ExportFormat::kMarkdown}) {
    EXPECT_THAT(losses(plan, format), IsEmpty());
  }
}

TEST(ExportLosses, NameBatchesThatAFormatHasNoPlaceFor) {
  std::vector<RecordedRace> races;
  for (const bool shares_b : {false, true}) {
    races.push_back(recorded(export_batch(shares_b),
                             {timed(std::string(kCublasLabel), 15), timed(label(kWide), 12)}));
  }
  const ExportPlan plan = plan_export(races, {});
  ASSERT_THAT(plan.rows, SizeIs(2));
  EXPECT_THAT(losses(plan, ExportFormat::kTriton),
              ElementsAre(AllOf(HasSubstr("2 of 2 shapes"), HasSubstr("number of products"))));
  EXPECT_THAT(losses(plan, ExportFormat::kCutlass),
              ElementsAre(AllOf(HasSubstr("1 of 2 shapes"), HasSubstr("share an operand"))));
  EXPECT_THAT(losses(plan, ExportFormat::kCpp), IsEmpty());
  const auto files = export_files(plan, valid_for(plan), ExportFormat::kCutlass);
  EXPECT_THAT(file_of(files, "testlist.csv"), HasSubstr(",256,512,640,8,"));
  EXPECT_THAT(file_of(files, "profile.sh"), HasSubstr(" --k=640 --batch_count=8 "));
}

TEST(ExportLosses, NameShapesWhoseKernelsMayAllNotBeExported) {
  TiledConfig pdl = kWide;
  pdl.pdl = true;
  std::vector<RecordedRace> races = recordings();
  races.push_back(recorded(export_shape(64, 72, 80),
                           {timed(std::string(kCublasLabel), 9), timed(label(pdl), 8)}));
  EXPECT_THAT(losses(plan_export(races, {}), ExportFormat::kCsv),
              testing::Contains(AllOf(HasSubstr("left out: 1 of 6 shapes (64x72x80)"),
                                      HasSubstr("--pdl weights allows all"))));
}

TEST(ExportLosses, NameShapesOfTheOtherRegime) {
  std::vector<RecordedRace> races = recordings();
  races.push_back(recorded(export_shape(64, 72, 80),
                           {timed(std::string(kCublasLabel), 9), timed(label(kWide), 8)}));
  races.back().race.regime = Regime::kBurst;
  EXPECT_THAT(losses(plan_export(races, {}), ExportFormat::kCsv),
              testing::Contains(AllOf(HasSubstr("64x72x80"), HasSubstr("--regime burst"))));
}

TEST(ExportPlan, IsForOneGpuAndNeedsSomething) {
  std::vector<RecordedRace> races = recordings();
  races.push_back(recorded(export_shape(64, 72, 80),
                           {timed(std::string(kCublasLabel), 9), timed(label(kWide), 8)}, "580.95",
                           "NVIDIA H100"));
  EXPECT_THROW(plan_export(races, {}), InputError);
  EXPECT_NO_THROW(plan_export(races, {.problems = {export_shape(64, 72, 80)}}));
  EXPECT_THROW(plan_export(recordings(), {.regime = Regime::kBurst}), InputError);
}

TEST(ExportPlan, LeavesOutEpiloguesThatTheFormatDoesNotHave) {
  GemmProblem with_bias = export_shape(256, 512, 640);
  with_bias.epilogue = {Bias::kAlongN, Activation::kGelu};
  const RecordedRace only =
      recorded(with_bias, {timed(std::string(kCublasLabel), 15), timed(label(kWide), 12)});
  std::vector<RecordedRace> races = recordings();
  const std::size_t plain = plan_export(races, {}).rows.size();
  races.push_back(only);
  EXPECT_THAT(plan_export(races, {}).rows, SizeIs(plain + 1)) << "cpp, json, csv and md have it";
  const ExportPlan plan = plan_export(races, {.plain_only = true});
  EXPECT_THAT(plan.rows, SizeIs(plain));
  ASSERT_THAT(plan.left_out, SizeIs(1));
  EXPECT_TRUE(plan.left_out[0].problem.same_problem(with_bias));
  EXPECT_THAT(plan.left_out[0].reason, HasSubstr("no epilogues yet"));
  EXPECT_THROW(plan_export({only}, {.plain_only = true}), InputError);
  GemmProblem scaled = export_shape(256, 512, 640);
  scaled.epilogue.scaled = true;
  EXPECT_THROW(plan_export(races, {.problems = {scaled}, .plain_only = true}), InputError);
  EXPECT_THROW(plan_export(races, {.problems = {with_bias}, .plain_only = true}), InputError);
  EXPECT_THAT(plan_export({only}, {}).rows, SizeIs(1));
}

TEST(ExportPlan, FewKernelsForAllShapes) {
  std::vector<RecordedRace> races;
  for (const int m : {64, 128, 256}) {
    races.push_back(recorded(export_shape(m, 512, 640),
                             {timed(std::string(kCublasLabel), 15), timed(label(kWide), 12),
                              timed(label(kStreamK), m == 64 ? 10 : 15)}));
  }
  const ExportPlan one = plan_export(races, {.max_kernels = 1});
  EXPECT_THAT(labels(one), ElementsAre(label(kWide), label(kWide), label(kWide)));
  EXPECT_NEAR(*one.rows[0].fraction, 10.0 / 12, 1e-9);
  EXPECT_TRUE(one.rows[0].gain) << "the one that was chosen is faster than cuBLAS there too";
  EXPECT_NEAR(*one.rows[0].best.time_us, 15, 1e-9) << "its own time: 12 us, and the drift's median";
}

// Fewer of the wider outputs fit the registers.
TEST(ExportPlan, KernelsAreJudgedForTheTypesOfTheirProblem) {
  const TiledConfig too_large{.bn = 208, .store = StorePath::kOverlapped};
  GemmProblem problem = export_shape(256, 512, 640);
  const auto exported = [&] {
    return labels(
        plan_export({recorded(problem, {timed(std::string(kCublasLabel), 20),
                                        timed(label(too_large), 10), timed(label(kWide), 12)})},
                    {}));
  };
  ASSERT_EQ(why_not(too_large, problem), nullptr);
  EXPECT_THAT(exported(), ElementsAre(label(too_large)));
  problem.d_type = DataType::kFp32;
  ASSERT_NE(why_not(too_large, problem), nullptr);
  EXPECT_THAT(exported(), ElementsAre(label(kWide)));
}

TEST(ExportPlan, VersionsAreComparedAsNumbers) {
  const Validity validity = valid_for(planned());
  EXPECT_EQ(validity.driver_min, "580.95");
  EXPECT_EQ(validity.driver_max, "580.159.04");
}

struct Golden {
  const char* name;
  ExportFormat format;
};
class ExportGolden : public testing::TestWithParam<Golden> {};

TEST_P(ExportGolden, IsAsRecorded) {
  const fs::path folder =
      fs::path(HGEMM_SOURCE_DIR) / "tests/output/export/golden" / GetParam().name;
  const ExportPlan plan = planned();
  const auto files = export_files(plan, valid_for(plan), GetParam().format);
  if (std::getenv("HGEMM_WRITE_GOLDEN") != nullptr) write_export(folder, files);
  std::vector<std::string> names;
  for (const ExportFile& file : files) {
    names.push_back(file.path.string());
    EXPECT_EQ(file.text, text_of(folder / file.path)) << file.path;
  }
  std::vector<std::string> recorded_names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    recorded_names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(recorded_names));
}

INSTANTIATE_TEST_SUITE_P(Formats, ExportGolden,
                         testing::Values(Golden{"json", ExportFormat::kJson},
                                         Golden{"csv", ExportFormat::kCsv},
                                         Golden{"md", ExportFormat::kMarkdown},
                                         Golden{"triton", ExportFormat::kTriton},
                                         Golden{"cutlass", ExportFormat::kCutlass}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ExportPackage, HasWhatItsKernelsNeedAndNoMore) {
  std::vector<RecordedRace> races = recordings();
  std::erase_if(races, [](const RecordedRace& race) { return race.race.problem.m != 16; });
  const ExportPlan plan = plan_export(races, {});
  const auto files = export_files(plan, valid_for(plan), ExportFormat::kCpp);
  std::vector<std::string> names;
  for (const ExportFile& file : files) names.push_back(file.path.string());
  EXPECT_THAT(names,
              testing::IsSupersetOf(
                  {"CMakeLists.txt", "LICENSE", "README.md", "hgemm_tuned.csv", "hgemm_tuned.json",
                   "include/hgemm_tuned.h", "src/hgemm_tuned.cu", "src/table.h",
                   "src/kernels/swap_ab/kernel.cuh", "src/kernels/common/params.h"}));
  EXPECT_THAT(names, Not(testing::Contains("src/kernels/tiled/kernel.cuh")));
  EXPECT_THAT(names, Not(testing::Contains("src/kernels/gemv/kernel.cuh")));
  for (const ExportFile& file : files) {
    EXPECT_THAT(file.text, Not(testing::ContainsRegex("@[A-Z]+@")))
        << file.path << ": a mark that was not filled in";
  }
}

TEST(ExportBundle, SaysWhichKernelsAreSlowerThere) {
  EXPECT_THAT(losses(planned(), ExportFormat::kBundle),
              testing::Contains(AllOf(HasSubstr("slower than measured at 1 of 5 shapes"),
                                      HasSubstr("384x256x4096"))));
  EXPECT_THAT(losses(planned(), ExportFormat::kCpp),
              Not(testing::Contains(HasSubstr("slower than measured"))));
}

TEST(ExportPackage, HasAKernelForEachTypeOfAConfig) {
  const ExportPlan plan = planned();
  for (const ExportFile& file : export_files(plan, valid_for(plan), ExportFormat::kCpp)) {
    if (file.path != "src/table.h") continue;
    EXPECT_THAT(file.text, HasSubstr("// " + label(kWide) + " of bf16\n"));
    EXPECT_THAT(file.text, HasSubstr("// " + label(kWide) + " of bf16.dfp32\n"));
    EXPECT_THAT(file.text, HasSubstr(".fixed of bf16.1x512x640\n"));
    EXPECT_THAT(file.text, HasSubstr("constexpr int kKernelCount = 6;")) << "and its general twin";
    EXPECT_THAT(file.text, HasSubstr("constexpr int kRowCount = 5;"));
    return;
  }
  FAIL() << "no table";
}

TEST(ExportPlan, TakesWhatIsCurrentOfAllRaces) {
  std::vector<RecordedRace> races = {
      recorded(export_shape(256, 512, 640),
               {timed(std::string(kCublasLabel), 15), timed(label(kWide), 12)}),
      recorded(export_shape(256, 512, 640),
               {timed(std::string(kCublasLabel), 15), timed(label(kStreamK), 14)})};
  races[1].run.kernel_sources = "later";
  const auto all = [](const Trial&, const GemmProblem&) { return true; };
  EXPECT_THAT(labels(plan_export(races, {})), ElementsAre(label(kStreamK)));
  const ExportPlan plan = plan_export(races, {}, all);
  EXPECT_THAT(labels(plan), ElementsAre(label(kWide)));
  EXPECT_THAT(valid_for(plan).measured_kernels, ElementsAre("0123456789abcdef0123456789abcdef"));
}

TEST(ExportFiles, AreWrittenOrSayWhyNot) {
  const TemporaryFolder temporary;
  write_export(temporary.path() / "new", std::vector<ExportFile>{{"a/b.txt", "text"}});
  EXPECT_EQ(text_of(temporary.path() / "new/a/b.txt"), "text");
  EXPECT_THROW(
      write_export(temporary.path() / "new/a/b.txt", std::vector<ExportFile>{{"c.txt", "text"}}),
      InputError);
}

TEST(ExportFormat, UnknownOnesNameTheNearest) {
  EXPECT_EQ(parse_export_format("cutlass"), ExportFormat::kCutlass);
  try {
    parse_export_format("trition");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("triton"));
  }
}

}  // namespace
}  // namespace hgemm
