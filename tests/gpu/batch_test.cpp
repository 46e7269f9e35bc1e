// Batches: every axis, wherever the products lie in memory; and the library's calls that a race
// compares with.
#include "device/blas.h"
#include "device/problem_data.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using BatchTest = GpuTest;

void expect_parts(const std::set<std::string>& computed,
                  const std::set<std::string>& unsupported = {}) {
  for (const char* part : {".c2x1.", ".c1x2.", ".swap.", ".split3", ".csplit2", "stream", "dynamic",
                           "overlap", "direct", "staged", "pp2", "cols2", "pdl", "pack", "fixed"}) {
    EXPECT_EQ(std::ranges::any_of(
                  computed,
                  [&](const std::string& name) { return name.find(part) != std::string::npos; }),
              !unsupported.contains(part))
        << "kernels of the smoke space with " << part;
  }
}

/// Edges inside a tile, more tiles than CTAs, rows at any address, and shared operands.
TEST_F(BatchTest, EveryAxisIsCorrect) {
  for (const char* kind :
       {"", ".fp16.dfp32", ".fp16.layoutNN.scaled", ".layoutNT", ".dfp32.layoutTT"}) {
    SCOPED_TRACE(kind);
    std::vector<GemmProblem> problems;
    for (const char* extents :
         {"64x64x64.batch7", "200x136x72.batch3", "1x256x512.batch5", "40x72x72.batch300",
          "67x71x73.batch4", "301x203x520.batch2", "136x72x200.batch3.sb0",
          "136x72x200.batch3.sa0.sd16384", "67x71x73.batch3.sa0.sb0"}) {
      problems.push_back(parse_problem(std::string(extents) + kind));
    }
    expect_parts(expect_correct(compile(smoke_kernels(problems)), problems, without_rotation()));
  }
}

/// The heads of an attention layer lie side by side, in A and B, in D, or in all.
TEST_F(BatchTest, ProductsSideBySideAreCorrect) {
  std::vector<GemmProblem> problems;
  for (const char* text : {"200x200x64.batch4.lda256.ldb256.sa64.sb64",
                           "200x64x200.batch4.ldd256.sd64.layoutTT.ldb256.sb64",
                           "136x128x64.batch3.lda192.ldb192.ldd384.sa64.sb64.sd128",
                           "133x71x64.batch3.lda192.ldb64.ldd231.sa64.sd77"}) {
    problems.push_back(parse_problem(text));
  }
  expect_correct(compile(smoke_kernels(problems)), problems, without_rotation());
}

/// Edges inside a tile, more tiles than CTAs, rows of D at any address, and more products than a
/// producer looks ahead.
TEST_F(BatchTest, EveryAxisIsCorrectByPointers) {
  for (const char* kind :
       {"", ".fp16.dfp32", ".fp16.layoutNN.scaled", ".layoutNT", ".dfp32.layoutTT"}) {
    SCOPED_TRACE(kind);
    std::vector<GemmProblem> problems;
    for (const char* extents :
         {"64x64x64.batch7", "200x136x72.batch3", "1x256x512.batch5", "40x72x72.batch300",
          "72x71x64.lda80.ldb80.batch4", "304x208x520.batch2", "16x64x64.batch9000"}) {
      problems.push_back(parse_problem(std::string(extents) + ".pointers" + kind));
    }
    expect_parts(expect_correct(compile(smoke_kernels(problems)), problems, without_rotation()),
                 {"pack"});
  }
}

TEST_F(BatchTest, BaselinesAreCorrect) {
  const Stream stream;
  for (const char* text :
       {"64x64x64.batch16", "200x136x72.fp16.batch3.layoutNN", "200x136x72.batch3.layoutNT.dfp32",
        "136x72x200.batch3.layoutTT.sb0", "136x72x200.batch3.scaled", "136x72x200.batch3.sa0",
        "136x128x64.batch3.lda192.ldb192.ldd384.sa64.sb64.sd128", "67x71x73.batch4",
        "64x64x64.batch16.pointers", "200x136x72.fp16.batch3.pointers.layoutNN.dfp32.scaled"}) {
    SCOPED_TRACE(text);
    const ProblemData data(parse_problem(text), 7, without_rotation(), stream);
    const std::vector<Baseline> baselines = make_baselines(data);
    EXPECT_GT(baselines.size(), 1u) << "cuBLASLt has no algorithm";
    for (const Baseline& baseline : baselines) {
      data.poison(stream);
      baseline.candidate->launch(0, stream.get());
      const Verdict verdict = data.verify(stream, baseline.candidate->roundings());
      EXPECT_TRUE(verdict.correct)
          << baseline.label << ", " << baseline.candidate->describe() << ": " << verdict.message;
    }
  }
}

}  // namespace
}  // namespace hgemm::testing
