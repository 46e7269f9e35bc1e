// Exports of batch-invariant kernels: which may be in them, and that they compute every M.
#include <gmock/gmock.h>

#include "output/export/export.h"
#include "output/export/formats.h"
#include "tests/output/export/fixture.h"

namespace hgemm {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Allowed kInvariant{.pdl = PdlKind::kSafe, .batch_invariant = true};
const std::string kCublas(kCublasLabel);

std::vector<RecordedRace> races() {
  GemmProblem scaled = export_shape(256, 512, 640);
  scaled.epilogue = {.bias = Bias::kAlongN, .scaled = true};
  return {recorded(export_shape(256, 512, 640), {timed(kCublas, 15), timed(label(kWide), 12)}),
          recorded(export_shape(16, 512, 640),
                   {timed(kCublas, 8), timed(label(kSwapAb), 7),
                    timed(label(SwapAbConfig{.bm = 16, .bn = 64, .fixed = true}), 10)}),
          recorded(export_shape(384, 256, 4096), {timed(kCublas, 20), timed(label(kStreamK), 16)}),
          recorded(scaled, {timed(kCublas, 18), timed(label(kWide), 12)})};
}

std::string reason_of(const ExportPlan& plan, const GemmProblem& problem) {
  for (const ExportPlan::LeftOut& out : plan.left_out) {
    if (out.problem.same_problem(problem)) return out.reason;
  }
  return "";
}

TEST(InvariantExport, HasOnlyKernelsOfOneOrder) {
  const ExportPlan plan = plan_export(races(), {.allowed = kInvariant});
  ASSERT_THAT(plan.rows, SizeIs(2));
  EXPECT_EQ(plan.rows[0].best.label, label(kWide));
  EXPECT_EQ(plan.rows[1].best.label, label(SwapAbConfig{.bm = 16, .bn = 64, .fixed = true}));
  EXPECT_FALSE(plan.rows[1].gain);
  EXPECT_EQ(reason_of(plan, races()[2].race.problem),
            "no batch-invariant config ended ok; tune with --batch-invariant");
  EXPECT_THAT(reason_of(plan, races()[3].race.problem), HasSubstr("with one rounding"));
  ASSERT_THAT(plan.replaced, SizeIs(1));
  EXPECT_EQ(plan.replaced[0].winner, label(kSwapAb));
  EXPECT_EQ(plan.replaced[0].reason, "sums parts of K apart");
  EXPECT_THAT(plan_export(races(), {.allowed = {.pdl = PdlKind::kSafe}}).left_out, IsEmpty());
}

TEST(InvariantExport, HasAKernelForOtherNumbersOfRows) {
  for (const int max_kernels : {0, 2}) {
    const ExportPlan plan =
        plan_export(races(), {.allowed = kInvariant, .max_kernels = max_kernels});
    const ExportedKernels kernels = exported_kernels(plan);
    EXPECT_THAT(kernels.general_of_row, testing::Each(testing::Ge(0))) << max_kernels;
  }
}

TEST(InvariantExport, SaysThatItIsOne) {
  const ExportPlan plan = plan_export(races(), {.allowed = kInvariant});
  const ExportPlan any = plan_export(races(), {});
  const auto text_of = [](const ExportPlan& of, ExportFormat format, const char* path) {
    for (const ExportFile& file : export_files(of, valid_for(of), format)) {
      if (file.path == path) return file.text;
    }
    return std::string();
  };
  EXPECT_THAT(text_of(plan, ExportFormat::kJson, "hgemm_tuned.json"),
              HasSubstr("\"batch_invariant\": true"));
  EXPECT_THAT(text_of(any, ExportFormat::kJson, "hgemm_tuned.json"),
              HasSubstr("\"batch_invariant\": false"));
  EXPECT_THAT(text_of(plan, ExportFormat::kCpp, "src/table.h"),
              HasSubstr("constexpr bool kBatchInvariant = true;"));
  EXPECT_THAT(text_of(any, ExportFormat::kCpp, "src/table.h"),
              HasSubstr("constexpr bool kBatchInvariant = false;"));
}

}  // namespace
}  // namespace hgemm
