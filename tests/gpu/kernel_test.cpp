// The kernel computes the right thing: every axis, with tails on every side. Smoke tests also run
// under compute-sanitizer (scripts/gpu_check.sh).
#include <algorithm>
#include <random>
#include <set>

#include "device/blas.h"
#include "device/loaded_kernel.h"
#include "device/session.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "gemm/problem_list.h"
#include "support.h"

namespace hgemm::testing {
namespace {

class KernelTest : public GpuTest {
 protected:
  void expect_all_correct(const std::vector<KernelConfig>& configs, const GemmProblem& problem) {
    std::vector<Kernel> kernels;
    for (const KernelConfig& config : configs) {
      ASSERT_EQ(why_not(config, problem), nullptr) << label(config);
      kernels.push_back(kernel_for(config, problem));
    }
    expect_correct(compile(kernels), {problem}, without_rotation());
  }
};

const TiledConfig kTile{.bm = 128, .bn = 128, .bk = 64, .stages = 4};

enum class Kind { kTiles, kSwapped, kAnyRows };
Kind kind_of_problems(const Kernel& kernel) {
  if (packs(kernel) || std::holds_alternative<GemvKernel>(kernel)) return Kind::kAnyRows;
  const auto* const tiled = std::get_if<TiledKernel>(&kernel);
  const auto* const swapped = std::get_if<SwapAbKernel>(&kernel);
  const StorePath store = tiled ? tiled->store : swapped->store;
  if (store == StorePath::kStaged) return Kind::kAnyRows;
  return swapped ? Kind::kSwapped : Kind::kTiles;
}

/// For all types that the problems have.
std::vector<Kernel> smoke_kernels_of(Kind kind, std::span<const GemmProblem> problems) {
  std::vector<Kernel> kernels = smoke_kernels(problems);
  std::erase_if(kernels, [&](const Kernel& kernel) { return kind_of_problems(kernel) != kind; });
  return kernels;
}

/// Most kernels of the smoke space are ordinary tiles: one process with all of them takes a
/// sanitizer minutes.
class KernelSlices : public KernelTest, public ::testing::WithParamInterface<std::size_t> {};
constexpr std::size_t kSlices = 8;

TEST_P(KernelSlices, SmokeSpaceIsCorrectAtSmokeShapes) {
  const std::vector<GemmProblem> problems = load_problems("smoke.yaml", configs_dir());
  const std::vector<Kernel> all = smoke_kernels_of(Kind::kTiles, problems);
  std::vector<Kernel> slice;
  for (std::size_t i = GetParam(); i < all.size(); i += kSlices) slice.push_back(all[i]);
  ASSERT_FALSE(slice.empty());
  expect_correct(compile(slice), problems, without_rotation());
}
INSTANTIATE_TEST_SUITE_P(OfEight, KernelSlices, ::testing::Range(std::size_t{0}, kSlices));

// A shape of so many tiles of 8 rows that a CTA each takes a sanitizer minutes adds nothing.
TEST_F(KernelTest, SmokeSpaceSwappedIsCorrectAtSmokeShapes) {
  std::vector<GemmProblem> problems = load_problems("smoke.yaml", configs_dir());
  std::erase_if(problems, [](const GemmProblem& problem) { return problem.m > 300; });
  problems.push_back({.m = 100, .n = 520, .k = 1032, .tag = ""});
  problems.back().set_types(DataType::kFp16);
  problems.push_back({.m = 9, .n = 4104, .k = 328, .tag = ""});
  expect_correct(compile(smoke_kernels_of(Kind::kSwapped, problems)), problems, without_rotation());
}

TEST_F(KernelTest, SmokeSpaceForAnyRowsIsCorrectAtOddShapes) {
  const std::vector<GemmProblem> problems = load_problems("smoke-odd.yaml", configs_dir());
  expect_correct(compile(smoke_kernels_of(Kind::kAnyRows, problems)), problems, without_rotation());
}

TEST_F(KernelTest, RandomShapesAreCorrect) {
  std::mt19937 random(20261120);
  const auto draw = [&](int limit, int step) {
    return std::uniform_int_distribution<int>(1, limit / step)(random) * step;
  };
  std::vector<GemmProblem> problems;
  for (int i = 0; i < 40; ++i) {
    problems.push_back({.m = draw(1500, 1), .n = draw(2400, 8), .k = draw(1200, 8), .tag = ""});
  }
  expect_correct(compile(smoke_kernels(problems)), problems, without_rotation());
}

TEST_F(KernelTest, LongReductionsStayWithinTolerance) {
  const std::vector<GemmProblem> problems{{.m = 130, .n = 264, .k = 65544, .tag = ""}};
  expect_correct(compile(smoke_kernels(problems)), problems, without_rotation());
}

// A race shows as an output that moves: the same data many times over, on a grid of several waves.
TEST_F(KernelTest, OutputsDoNotMoveBetweenRuns) {
  const GemmProblem problem{.m = 2100, .n = 4104, .k = 1032, .tag = ""};
  const std::vector<Build> builds = compile(smoke_kernels(problem));
  const Stream stream;
  const ProblemData data(problem, 3, without_rotation(), stream);
  std::vector<std::uint16_t> first(static_cast<std::size_t>(problem.m * problem.n));
  std::vector<std::uint16_t> later(first.size());
  const auto run = [&](const Candidate& candidate, std::vector<std::uint16_t>& output) {
    data.poison(stream);
    candidate.launch(0, stream.get());
    stream.synchronize();
    check(cudaMemcpy(output.data(), data.operands(0).d, output.size() * sizeof output[0],
                     cudaMemcpyDeviceToHost),
          "reading the output");
  };
  for (const Build& build : builds) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    if (!computes(build.kernel, problem)) continue;
    const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
    run(*candidate, first);
    EXPECT_TRUE(data.verify(stream).correct) << build.facts.name;
    for (int i = 1; i < 20; ++i) {
      run(*candidate, later);
      ASSERT_EQ(first, later) << build.facts.name << ", run " << i;
    }
  }
}

// What one launch leaves for another must not reach the next launch: all sets of inputs one after
// the other without a pause, and the one that is checked last.
TEST_F(KernelTest, LaunchesInARowDoNotDisturbOneAnother) {
  const Stream stream;
  // Several waves, and so few tiles that some CTAs have nothing to do.
  for (const GemmProblem& problem : {GemmProblem{.m = 2100, .n = 4104, .k = 1032, .tag = ""},
                                     GemmProblem{.m = 200, .n = 136, .k = 1032, .tag = ""}}) {
    const ProblemData data(problem, 3, *device_, stream);
    ASSERT_GT(data.sets(), 2);
    for (const Build& build : compile(smoke_kernels(problem))) {
      ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
      if (!computes(build.kernel, problem)) continue;
      const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
      data.poison(stream);
      for (int set = data.sets() - 1; set >= 0; --set) candidate->launch(set, stream.get());
      const Verdict verdict = data.verify(stream);
      EXPECT_TRUE(verdict.correct)
          << build.facts.name << " at " << to_string(problem) << ": " << verdict.message;
    }
  }
}

/// Some permutation of the numbers of so many clusters.
ClusterNumbers shuffled(int clusters, std::uint32_t seed) {
  ClusterNumbers numbers = unnumbered();
  std::mt19937 random(seed);
  std::shuffle(numbers.begin(), numbers.begin() + std::min(clusters, kMostNumbered), random);
  return numbers;
}

// Where clusters start decides only how fast they are.
TEST_F(KernelTest, AnyNumbersOfClustersAreRight) {
  const GemmProblem problem{.m = 1000, .n = 1032, .k = 1032, .tag = ""};
  const Stream stream;
  const ProblemData data(problem, 3, without_rotation(), stream);
  int numbered = 0;
  for (const Build& build : compile(smoke_kernels(problem))) {
    if (!is_numbered(build.kernel) || !computes(build.kernel, problem)) continue;
    ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    const LoadedKernel kernel(build.kernel, build.cubin);
    const int ctas = kernel.grid_ctas(problem);
    Workspace workspace = kernel.make_workspace(problem, ctas);
    ASSERT_TRUE(workspace.numbers);
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      workspace.numbers = shuffled(ctas / cluster_size(build.kernel), seed);
      data.poison(stream);
      kernel.launch(make_params(build.kernel, problem, data.operands(0), workspace), ctas,
                    stream.get());
      const Verdict verdict = data.verify(stream);
      EXPECT_TRUE(verdict.correct) << build.facts.name << ": " << verdict.message;
    }
    ++numbered;
  }
  EXPECT_GE(numbered, 6) << "the smoke space has too few kernels of this kind";
}

// A GPC's clusters get consecutive numbers; those of one cluster size and number are found once.
TEST_F(KernelTest, NumbersOfClustersArePermutations) {
  GpcNumbers found;
  for (const int size : {1, 2, 4}) {
    for (const int clusters : {1, 7, 60, 128 / size}) {
      const ClusterNumbers& numbers = found.of(size, clusters);
      const std::set<int> distinct(numbers.begin(), numbers.begin() + clusters);
      EXPECT_EQ(static_cast<int>(distinct.size()), clusters) << size << " x " << clusters;
      EXPECT_EQ(*distinct.rbegin(), clusters - 1) << size << " x " << clusters;
      EXPECT_EQ(&numbers, &found.of(size, clusters));
    }
  }
  // The hardware deals clusters out to the GPCs in turn, so their numbers differ from their order.
  EXPECT_NE(found.of(1, 128), unnumbered());
  // More than run at once, and more than the table holds.
  EXPECT_EQ(found.of(8, 100), unnumbered());
  EXPECT_EQ(found.of(1, kMostNumbered + 1), unnumbered());
}

// A race holds thousands of candidates, whose parts of K share memory.
TEST_F(KernelTest, CandidatesOfAPoolTakeTurns) {
  const GemmProblem problem{.m = 1000, .n = 1032, .k = 1032, .tag = ""};
  const Stream stream;
  const ProblemData data(problem, 3, *device_, stream);
  WorkspacePool pool;
  std::vector<std::pair<std::string, std::unique_ptr<Candidate>>> candidates;
  int sharing = 0;
  for (const Build& build : compile(smoke_kernels(problem))) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    if (!computes(build.kernel, problem)) continue;
    if (waits_in_memory(config_of(build.kernel))) ++sharing;
    candidates.emplace_back(build.facts.name,
                            make_kernel_candidate(build.kernel, build.cubin, data, pool));
  }
  ASSERT_GE(sharing, 2) << "the smoke space has too few that leave sums in a workspace";
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& [label, candidate] : candidates) {
      data.poison(stream);
      candidate->launch(0, stream.get());
      const Verdict verdict = data.verify(stream);
      EXPECT_TRUE(verdict.correct) << label << ", turn " << turn << ": " << verdict.message;
    }
  }
}

// ---- Layouts beside TN ----

constexpr Layout kOtherLayouts[] = {Layout::kNN, Layout::kNT, Layout::kTT};

GemmProblem in_layout(GemmProblem problem, Layout layout) {
  problem.layout = layout;
  return problem;
}

/// Tiles and a problem of whole tiles: what fails here fails for every tile. Read it first, the
/// labels say which part of the addressing is wrong.
TEST_F(KernelTest, SmokeTilesOfOtherLayoutsAreCorrect) {
  const std::vector<KernelConfig> configs = {
      TiledConfig{.bm = 64, .bn = 64, .consumers = 1},   // one chunk of each operand
      TiledConfig{.bm = 128, .bn = 64},                  // two of A: by consumer
      TiledConfig{.bm = 256, .bn = 64},                  // two for each consumer
      TiledConfig{.bm = 64, .bn = 256, .consumers = 1},  // LBO, of B
      TiledConfig{.bm = 128, .bn = 256},                 // both
      TiledConfig{.bm = 128, .bn = 128, .bk = 128, .stages = 2, .mma_depth = 0},
      TiledConfig{.bm = 128, .bn = 128, .bk = 32},        // swizzles of 64 and 128 bytes
      TiledConfig{.bm = 128, .bn = 128, .cluster_m = 2},  // shares of B along K
      TiledConfig{.bm = 128, .bn = 128, .cluster_n = 2},  // of A
      TiledConfig{.bm = 64, .bn = 64, .cluster_m = 2, .cluster_n = 4, .consumers = 1},
      TiledConfig{.bm = 64, .bn = 128, .schedule = Schedule::kColumns},
      TiledConfig{.bm = 128, .bn = 64, .swap = true, .consumers = 1},  // B as wgmma's rows
      SwapAbConfig{.bm = 64, .bn = 64},
      SwapAbConfig{.bm = 128, .bn = 128, .bk = 128, .stages = 3, .splits = 2}};
  for (const Layout layout : kOtherLayouts) {
    expect_all_correct(configs, in_layout({.m = 512, .n = 512, .k = 512, .tag = ""}, layout));
  }
}

/// The last chunk of a tile is used in part: wgmma's N ends inside its 64 elements.
TEST_F(KernelTest, LayoutsOfTilesThatEndInsideAChunkAreCorrect) {
  std::vector<KernelConfig> configs;
  for (const int width : {8, 16, 24, 40, 72, 136, 168, 200, 248}) {
    configs.emplace_back(TiledConfig{.bm = 64, .bn = width, .stages = 3, .consumers = 1});
    configs.emplace_back(
        TiledConfig{.bm = width, .bn = 64, .stages = 3, .swap = true, .consumers = 1});
    configs.emplace_back(SwapAbConfig{.bm = width, .bn = 64, .stages = 3});
  }
  for (const Layout layout : kOtherLayouts) {
    expect_all_correct(configs, in_layout({.m = 1000, .n = 1000, .k = 200, .tag = ""}, layout));
  }
}

/// Every value of every axis, with tails on every side, leading dimensions, and rows at any
/// address.
TEST_F(KernelTest, EveryAxisIsCorrectInEveryLayout) {
  const GemmProblem shapes[] = {
      {.m = 1, .n = 256, .k = 512, .lda = 512, .tag = ""},
      {.m = 128, .n = 8, .k = 8, .tag = ""},
      {.m = 200, .n = 136, .k = 72, .tag = ""},
      {.m = 1000, .n = 4104, .k = 520, .tag = ""},
      // Tails of M and K that are no multiples of 8; padding is NaN.
      {.m = 257, .n = 1032, .k = 1093, .lda = 1104, .ldb = 1112, .ldd = 1040, .tag = ""},
      {.m = 67, .n = 71, .k = 73, .tag = ""},
      {.m = 301, .n = 203, .k = 520, .tag = ""}};
  for (const Layout layout : kOtherLayouts) {
    SCOPED_TRACE(to_string(layout));
    std::vector<GemmProblem> problems;
    for (const GemmProblem& shape : shapes) problems.push_back(in_layout(shape, layout));
    problems.push_back(in_layout({.m = 384, .n = 520, .k = 1024, .tag = ""}, layout));
    problems.back().set_types(DataType::kFp16);
    problems.push_back(in_layout({.m = 296, .n = 520, .k = 1032, .tag = ""}, layout));
    problems.back().d_type = DataType::kFp32;
    const std::set<std::string> computed =
        expect_correct(compile(smoke_kernels(problems)), problems, without_rotation());
    for (const char* part : {".c2x1.", ".c1x2.", ".c2x2.", "swap", "split3", "csplit2", "stream",
                             "dynamic", "pdl", "pack", "swap_ab", "fixed", "cols2"}) {
      EXPECT_TRUE(std::ranges::any_of(
          computed, [&](const std::string& name) { return name.find(part) != std::string::npos; }))
          << "no kernel of the smoke space with " << part;
    }
  }
}

/// The library's calls, which a race compares with.
TEST_F(KernelTest, BaselinesAreCorrectInEveryLayout) {
  const Stream stream;
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT}) {
    const GemmProblem problem = in_layout(
        {.m = 200, .n = 328, .k = 136, .lda = 208, .ldb = 336, .ldd = 344, .tag = ""}, layout);
    SCOPED_TRACE(to_string(problem));
    const ProblemData data(problem, 7, without_rotation(), stream);
    const Cublas blas;
    data.poison(stream);
    blas.gemm(problem, data.operands(0), stream.get());
    EXPECT_TRUE(data.verify(stream, 2).correct) << "cublasGemmEx";
    const CublasLtPlan plan(problem);
    ASSERT_GT(plan.algorithms(), 0);
    data.poison(stream);
    plan.gemm(0, data.operands(0), stream.get());
    EXPECT_TRUE(data.verify(stream, 2).correct) << "cuBLASLt";
  }
}

/// Each place of a kernel that computes an epilogue, and each way to load its operands.
TEST_F(KernelTest, SmokeEpiloguesAreCorrect) {
  using enum TileScheduler;
  const std::vector<KernelConfig> configs = {
      kTile,
      TiledConfig{.bm = 64, .bn = 72, .consumers = 1, .store = StorePath::kDirect},
      TiledConfig{.bm = 72, .bn = 128, .swap = true},
      TiledConfig{.bm = 64, .bn = 64, .consumers = 1, .store = StorePath::kStaged},
      TiledConfig{.bm = 128, .bn = 128, .store = StorePath::kOverlapped, .pdl = true},
      TiledConfig{.bm = 64, .bn = 64, .consumers = 1, .scheduler = kClusterSplitK, .splits = 2},
      TiledConfig{.bm = 64,
                  .bn = 64,
                  .consumers = 1,
                  .store = StorePath::kDirect,
                  .scheduler = kSplitK,
                  .splits = 2},
      TiledConfig{.bm = 128, .bn = 128, .scheduler = kStreamK},
      TiledConfig{.bm = 128, .bn = 128, .cluster_m = 2, .scheduler = kDynamic},
      TiledConfig{.bm = 64, .bn = 64, .cluster_n = 2, .schedule = Schedule::kPingPong},
      TiledConfig{.bm = 64, .bn = 64, .cluster_m = 2, .cluster_n = 2, .consumers = 1},
      TiledConfig{.bm = 64, .bn = 128, .bk = 128, .stages = 3, .schedule = Schedule::kColumns},
      SwapAbConfig{.bm = 16, .bn = 64, .splits = 2, .pdl = true, .late = true},
      SwapAbConfig{.bm = 128, .bn = 128, .bk = 128, .stages = 3}};
  for (const char* problem : {"264x328x200.cbf16.bias-gelu", "264x328x200.biasm-silu",
                              "264x328x200.dfp32.cfp32.scaled"}) {
    expect_all_correct(configs, parse_problem(problem));
  }
}

/// Each way to fetch pairs of gates and ups, and to store what they become.
TEST_F(KernelTest, SmokeGatesAreCorrect) {
  using enum TileScheduler;
  const std::vector<KernelConfig> configs = {
      kTile,
      TiledConfig{.bm = 64, .bn = 48, .consumers = 1, .store = StorePath::kDirect},
      TiledConfig{.bm = 72, .bn = 128, .swap = true, .consumers = 1},
      TiledConfig{.bm = 64, .bn = 64, .consumers = 1, .store = StorePath::kStaged},
      TiledConfig{.bm = 128, .bn = 128, .store = StorePath::kOverlapped, .pdl = true},
      TiledConfig{.bm = 128, .bn = 128, .scheduler = kStreamK},
      TiledConfig{.bm = 64, .bn = 64, .consumers = 1, .scheduler = kClusterSplitK, .splits = 2},
      TiledConfig{.bm = 128, .bn = 128, .cluster_m = 2, .scheduler = kDynamic},
      TiledConfig{.bm = 64, .bn = 64, .cluster_n = 2, .schedule = Schedule::kPingPong},
      TiledConfig{.bm = 64, .bn = 128, .cluster_m = 2, .cluster_n = 2, .consumers = 1},
      TiledConfig{.bm = 64, .bn = 128, .bk = 128, .stages = 3, .schedule = Schedule::kColumns},
      SwapAbConfig{.bm = 16, .bn = 64, .splits = 2, .pdl = true, .late = true},
      SwapAbConfig{.bm = 128, .bn = 128, .bk = 128, .stages = 3}};
  for (const char* problem : {"264x656x200.swiglu", "264x656x200.dfp32.geglu_erf-interleaved"}) {
    expect_all_correct(configs, parse_problem(problem));
  }
  expect_all_correct({GemvConfig{.vectors = 1, .rows = 16, .step = 256, .warps = 8}},
                     parse_problem("1x656x200.swiglu"));
}

/// Each way to fetch the operands of a product, and to store its D; with products that share a CTA.
TEST_F(KernelTest, SmokeBatchesAreCorrect) {
  using enum TileScheduler;
  const std::vector<KernelConfig> configs = {
      TiledConfig{.bm = 128, .bn = 128, .sms = 2},
      TiledConfig{.bm = 64, .bn = 72, .consumers = 1, .store = StorePath::kDirect},
      TiledConfig{.bm = 72, .bn = 128, .swap = true, .sms = 2},
      TiledConfig{.bm = 64, .bn = 64, .consumers = 1, .store = StorePath::kStaged},
      TiledConfig{.bm = 128, .bn = 128, .store = StorePath::kOverlapped, .sms = 2, .pdl = true},
      TiledConfig{.bm = 64, .bn = 64, .consumers = 1, .scheduler = kClusterSplitK, .splits = 2},
      TiledConfig{
          .bm = 128, .bn = 128, .store = StorePath::kDirect, .scheduler = kSplitK, .splits = 2},
      TiledConfig{.bm = 128, .bn = 128, .scheduler = kStreamK},
      TiledConfig{.bm = 128, .bn = 128, .cluster_m = 2, .scheduler = kDynamic},
      TiledConfig{.bm = 64, .bn = 64, .cluster_n = 2, .schedule = Schedule::kPingPong, .sms = 4},
      TiledConfig{.bm = 64, .bn = 64, .cluster_m = 2, .cluster_n = 2, .consumers = 1}};
  expect_all_correct(configs, parse_problem("136x200x136.batch3.pointers"));
  expect_all_correct(configs, parse_problem("136x200x136.dfp32.layoutTT.batch3.sb0.scaled"));
  expect_all_correct(configs,
                     parse_problem("136x64x64.batch3.lda192.ldb192.ldd192.sa64.sb64.sd64"));
}

// 64-bit paths: more than 2^31 outputs.
TEST_F(KernelTest, OutputsBeyondTwoToThe31AreCorrect) {
  const std::vector<GemmProblem> problems{{.m = 70000, .n = 32768, .k = 64, .tag = ""}};
  std::vector<Kernel> kernels = smoke_kernels(problems);
  std::erase_if(kernels, [](const Kernel& kernel) {  // millions of tiles
    return std::visit(
        [](const auto& k) {
          if constexpr (requires { k.bn; }) return k.bn < 64;
          return true;
        },
        kernel);
  });
  expect_correct(compile(kernels), problems, without_rotation());
}

TEST_F(KernelTest, WhatTheDriverRefusesIsALaunchFailure) {
  const GemmProblem problem{.m = 256, .n = 256, .k = 256, .tag = ""};
  const Build build = compile({kernel_for(kTile, problem)}).front();
  TiledConfig too_deep = kTile;
  too_deep.stages = 16;  // 512 KB of shared memory
  const Kernel too_large = kernel_for(too_deep, problem);
  const Build unfit = compile_edited(too_large, "common/types.h", "smem_bytes_per_cta = 232448",
                                     "smem_bytes_per_cta = 999999");
  ASSERT_EQ(unfit.status, Status::kOk) << unfit.message;
  Session session(stream(), problem, {.seed = 1}, without_rotation());
  const Prepared refused = session.prepare(unfit.facts.name, too_large, unfit.cubin);
  EXPECT_EQ(refused.status, Status::kLaunchFailed);
  EXPECT_NE(refused.message.find("shared memory"), std::string::npos) << refused.message;
  EXPECT_EQ(session.prepare(build.facts.name, build.kernel, build.cubin).status, Status::kOk)
      << "the context is as good as before";
}

/// With statements at the start of every thread of the kernel.
void expect_correct_with(const std::string& statements, const Gpu& device) {
  const GemmProblem problem{.m = 256, .n = 512, .k = 256, .tag = ""};
  const std::string start = "  const TiledPipeline<kKernel> pipeline(smem);";
  expect_correct(
      {compile_edited(kernel_for(kTile, problem), "tiled/kernel.cuh", start, start + statements)},
      {problem}, device);
}

// Not tests of ours but of compute-sanitizer, which must report them: gpu_check.sh runs them to
// know that a clean smoke run means something.
TEST_F(KernelTest, DISABLED_PlantedWriteToNowhere) {
  const std::string write =
      "\n  if (threadIdx.x == 0) *reinterpret_cast<volatile u32*>("
      "static_cast<char*>(params.d_pointer) + (1ull << 40)) = 0;";
  expect_correct_with(write, without_rotation());
}

TEST_F(KernelTest, DISABLED_PlantedRace) {
  const std::string race =
      "\n  smem[threadIdx.x] = 1;\n  if (smem[threadIdx.x ^ 64] == 2) asm volatile(\"trap;\");";
  expect_correct_with(race, without_rotation());
}

}  // namespace
}  // namespace hgemm::testing
