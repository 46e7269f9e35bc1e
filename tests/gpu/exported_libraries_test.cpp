// The cuBLASLt path of an exported package (export --with-cublaslt): the recorded algorithm is made
// again from its attributes, another version of cuBLASLt takes the heuristic's first choice, and
// both compute what the reference does.
#include <cublasLt.h>
#include <hgemm_tuned.h>

#include "device/blas.h"
#include "package/src/library.h"
#include "record/lt_algorithm.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using hgemm_tuned_library::Plan;
using hgemm_tuned_table::Library;
using hgemm_tuned_table::LibraryRow;
using hgemm_tuned_table::Row;

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m, .n = n, .k = k, .tag = ""};
}

Row row_of(const GemmProblem& problem) {
  Row row{};
  row.problem = problem.extents();
  row.kind = problem.kind();
  return row;
}

/// As the exported table has an algorithm that was recorded with this version of cuBLASLt.
LibraryRow library_row(const LtAlgorithm& a) {
  return {0,
          Library::kAlgorithm,
          cublasLtGetVersion(),
          {a.id, a.tile, a.stages, a.cluster, a.split_k, a.reduction, a.swizzle, a.custom, a.inner},
          a.workspace_bytes};
}

class ExportedLibrariesTest : public GpuTest {
 protected:
  /// Runs a plan and compares the output with the reference.
  void expect_right(const Plan& plan, const GemmProblem& problem) {
    const Stream stream;
    const ProblemData data(problem, 5, without_rotation(), stream);
    const DeviceMemory workspace(plan.workspace_bytes() + 1);
    data.poison(stream);
    const Operands o = data.operands(0);
    ASSERT_TRUE(plan.run(stream.get(), o, workspace.data()));
    const Verdict verdict = data.verify(stream);
    EXPECT_TRUE(verdict.correct) << verdict.message;
  }
};

TEST_F(ExportedLibrariesTest, EachRecordedAlgorithmIsMadeAgainFromItsText) {
  GemmProblem scaled = problem_of(256, 512, 640);
  scaled.epilogue.scaled = true;
  GemmProblem scaled_batch = scaled;
  scaled_batch.batch = 3;
  for (const GemmProblem& problem : {problem_of(4096, 4096, 4096), problem_of(16, 512, 8192),
                                     problem_of(256, 512, 640), scaled, scaled_batch}) {
    const CublasLtPlan offered(problem);
    ASSERT_GT(offered.algorithms(), 0);
    for (int i = 0; i < offered.algorithms(); ++i) {
      SCOPED_TRACE(to_string(problem) + ": " + offered.describe(i));
      const auto algorithm = parse_lt_algorithm(offered.describe(i));
      ASSERT_TRUE(algorithm);
      Plan plan;
      ASSERT_TRUE(plan.is_usable(library_row(*algorithm), row_of(problem)));
      EXPECT_TRUE(plan.is_recorded());
      EXPECT_LE(plan.workspace_bytes(), algorithm->workspace_bytes);
      expect_right(plan, problem);
    }
  }
}

TEST_F(ExportedLibrariesTest, AnotherVersionTakesTheFirstChoice) {
  const GemmProblem problem = problem_of(256, 512, 640);
  const auto algorithm = parse_lt_algorithm(CublasLtPlan(problem).describe(0));
  ASSERT_TRUE(algorithm);
  LibraryRow other_version = library_row(*algorithm);
  other_version.version += 1;
  LibraryRow refused = library_row(*algorithm);
  refused.attributes.id = 9999;
  LibraryRow unknown = library_row(*algorithm);
  unknown.library = Library::kHeuristic;
  for (const LibraryRow& row : {other_version, refused, unknown}) {
    Plan plan;
    ASSERT_TRUE(plan.is_usable(row, row_of(problem)));
    EXPECT_FALSE(plan.is_recorded());
    expect_right(plan, problem);
  }
}

TEST_F(ExportedLibrariesTest, ThePackageComputesItsShapes) {
  ASSERT_EQ(hgemm_tuned_prepare(), HGEMM_TUNED_OK);
  int libraries = 0;
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    const hgemm_tuned_problem problem = hgemm_tuned_shape(i);
    libraries += hgemm_tuned_select(&problem).uses_cublaslt;
    SCOPED_TRACE(problem.m);
    const Stream stream;
    const ProblemData data(problem_of(problem.m, problem.n, problem.k), 5, without_rotation(),
                           stream);
    std::size_t bytes = 0;
    ASSERT_EQ(hgemm_tuned_workspace_bytes(&problem, nullptr, &bytes), HGEMM_TUNED_OK);
    const DeviceMemory workspace(bytes + 1);
    ASSERT_EQ(hgemm_tuned_init_workspace(stream.get(), workspace.data(), bytes), HGEMM_TUNED_OK);
    data.poison(stream);
    const Operands o = data.operands(0);
    // Factors count only in a scaled problem.
    const hgemm_tuned_operands operands{o.a, o.b,     o.d,       o.c,       o.bias,    0,
                                        0,   nullptr, o.scale_a, o.scale_b, o.scale_d, o.scales_d};
    ASSERT_EQ(hgemm_tuned_gemm(stream.get(), &problem, &operands, workspace.data(), bytes, nullptr),
              HGEMM_TUNED_OK);
    const Verdict verdict = data.verify(stream);
    EXPECT_TRUE(verdict.correct) << verdict.message;
  }
  EXPECT_EQ(libraries, 3);
}

}  // namespace
}  // namespace hgemm::testing
