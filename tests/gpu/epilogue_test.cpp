// Epilogues: every axis with each of them, and the library's calls that a race compares with.
#include "device/blas.h"
#include "device/candidate.h"
#include "device/problem_data.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using EpilogueTest = GpuTest;

TEST_F(EpilogueTest, EveryAxisIsCorrectWithEachEpilogue) {
  for (const char* epilogue :
       {".bias", ".biasm-relu", ".cbf16.bias-gelu", ".fp16.bias-gelu_erf", ".fp16.cfp16.silu",
        ".dfp32.cfp32.bias", ".layoutNT.dfp32.cfp32", ".scaled", ".fp16.cfp16.scaled-biasm",
        ".dfp32.cfp32.scaled", ".bias-gelu-aux", ".fp16.silu-aux",
        ".dfp32.cfp32.scaled-relu-aux"}) {
    SCOPED_TRACE(epilogue);
    std::vector<GemmProblem> problems;
    for (const char* extents :
         {"1x256x512", "200x136x72", "1000x1032x520", "67x71x73", "301x203x520"}) {
      problems.push_back(parse_problem(std::string(extents) + epilogue));
    }
    GemmProblem padded = problems[1];
    padded.ldd = 144;  // of C, too
    problems.push_back(padded);
    const std::set<std::string> computed =
        expect_correct(compile(smoke_kernels(problems)), problems, without_rotation());
    for (const char* part :
         {".c2x1.", ".c1x2.", ".swap.", ".split3", ".csplit2", "stream", "dynamic", "overlap",
          "direct", "staged", "pp2", "cols2", "pdl", "swap_ab", "fixed"}) {
      // Two tiles of fp32 outputs and C's addresses are more than the registers of kernel entry.
      // A second output is not stored while the next tile is multiplied.
      const bool has_overlap = problems[0].d_type != DataType::kFp32 && !problems[0].epilogue.aux;
      if (!has_overlap && std::string_view(part) == "overlap") continue;
      EXPECT_TRUE(std::ranges::any_of(
          computed, [&](const std::string& name) { return name.find(part) != std::string::npos; }))
          << "no kernel of the smoke space with " << part;
    }
  }
}

/// Weights one after the other and interleaved, all families, edges inside a tile and inside a run
/// of gates.
TEST_F(EpilogueTest, EveryAxisIsCorrectWithEachGate) {
  for (const char* epilogue :
       {".swiglu", ".swiglu-interleaved", ".fp16.geglu", ".dfp32.geglu_erf-interleaved",
        ".layoutNN.reglu", ".fp16.dfp32.bilinear"}) {
    SCOPED_TRACE(epilogue);
    std::vector<GemmProblem> problems;
    for (const char* extents :
         {"1x512x512", "16x1104x136", "200x272x72", "1000x2064x520", "67x142x73", "301x406x520"}) {
      problems.push_back(parse_problem(std::string(extents) + epilogue));
    }
    GemmProblem padded = problems[2];
    padded.ldb = (padded.k + 15) / 8 * 8;
    padded.ldd = 144;
    problems.push_back(padded);
    const std::set<std::string> computed =
        expect_correct(compile(smoke_kernels(problems)), problems, without_rotation());
    for (const char* part :
         {".c2x1.", ".c1x2.", ".swap.", ".csplit2", "stream", "dynamic", "overlap", "direct",
          "staged", "pp2", "cols2", "pdl", "swap_ab", "fixed"}) {
      EXPECT_TRUE(std::ranges::any_of(
          computed, [&](const std::string& name) { return name.find(part) != std::string::npos; }))
          << "no kernel of the smoke space with " << part;
    }
  }
}

/// In turns, with as many stages of C as the ring has, or more, and many tiles for each CTA. (A
/// consumer that began its tile before C had arrived for the other's took an earlier use of a stage
/// for its own.)
TEST_F(EpilogueTest, ConsumersInTurnsAwaitTheAddendsOfTheOther) {
  const GemmProblem problem = parse_problem("1000x1032x520.dfp32.cfp32.bias");
  std::vector<Kernel> kernels;
  for (const int stages : {2, 3, 4, 5}) {
    const TiledConfig config{.bm = 64,
                             .bn = 128,
                             .stages = stages,
                             .schedule = Schedule::kPingPong,
                             .mma_depth = 0,
                             .sms = 4};
    kernels.push_back(kernel_for(config, problem));
    TiledConfig in_clusters = config;
    in_clusters.cluster_n = 2;
    kernels.push_back(kernel_for(in_clusters, problem));
  }
  const std::vector<Build> builds = compile(kernels);
  for (int run = 0; run < 5; ++run) {
    EXPECT_EQ(expect_correct(builds, {problem}, without_rotation()).size(), kernels.size());
  }
}

/// cuBLASLt computes what it has an epilogue for in one launch; a launch of ours finishes the rest.
TEST_F(EpilogueTest, BaselinesAreCorrect) {
  const Stream stream;
  const auto expect_baselines = [&](const std::string& text, bool in_one_launch) {
    SCOPED_TRACE(text);
    const GemmProblem problem = parse_problem(text);
    const ProblemData data(problem, 7, without_rotation(), stream);
    const CublasLtPlan plan(problem);
    ASSERT_GT(plan.algorithms(), 0);
    EXPECT_EQ(plan.has_epilogue(), in_one_launch);
    for (const Baseline& baseline : make_baselines(data)) {
      data.poison(stream);
      baseline.candidate->launch(0, stream.get());
      const Verdict verdict = data.verify(stream, baseline.candidate->roundings());
      EXPECT_TRUE(verdict.correct)
          << baseline.label << ", " << baseline.candidate->describe() << ": " << verdict.message;
    }
  };
  for (const char* epilogue : {".bias", ".relu", ".bias-relu", ".gelu", ".bias-gelu", ".cbf16",
                               ".cbf16.bias-gelu", ".fp16.cfp16.bias", ".dfp32.cfp32", ".scaled",
                               ".cbf16.scaled-bias-gelu", ".gelu-aux", ".bias-gelu-aux"}) {
    expect_baselines(std::string("200x328x136") + epilogue, true);
  }
  for (const char* epilogue :
       {".biasm", ".silu", ".bias-gelu_erf", ".cbf16.scaled-bias-silu", ".layoutNT.biasm-relu",
        ".bias-relu-aux", ".cbf16.scaled-bias-silu-aux", ".biasm-gelu-aux"}) {
    expect_baselines(std::string("200x328x136") + epilogue, false);
    expect_baselines(std::string("200x328x136") + epilogue + ".ldd344", false);
  }
  expect_baselines("67x71x73.silu", false);  // rows of D begin anywhere
  for (const char* gated :
       {"200x656x136.swiglu", "200x656x136.geglu-interleaved", "200x656x136.fp16.reglu.ldd344",
        "67x142x73.swiglu", "67x142x73.dfp32.geglu_erf-interleaved"}) {
    expect_baselines(gated, false);
  }
}

}  // namespace
}  // namespace hgemm::testing
