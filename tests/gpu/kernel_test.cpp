// The kernel computes the right thing: every axis, with tails on every side. Smoke tests also run
// under compute-sanitizer (scripts/gpu_check.sh).
#include <random>

#include "gpu/hgemm_kernel.h"
#include "measure/session.h"
#include "space/label.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using KernelTest = GpuTest;

void expect_correct(const std::vector<Build>& builds, const std::vector<Shape>& shapes,
                    const Gpu& device) {
  const Stream stream;
  for (const Shape& shape : shapes) {
    const Problem problem(shape, 7, device, stream);  // no baselines: sanitizers are slow enough
    for (const Build& build : builds) {
      ASSERT_EQ(build.status, Status::kOk) << build.facts.label << ": " << build.message;
      if (build.config.dtype != shape.dtype || why_unsupported(build.config, shape)) continue;
      const auto candidate = make_kernel_candidate(build.config, build.cubin, problem);
      problem.poison(stream);
      candidate->launch(0, stream.get());
      const Verdict verdict = problem.verify(stream);
      EXPECT_TRUE(verdict.correct)
          << build.facts.label << " at " << to_string(shape) << ": " << verdict.message;
    }
  }
}

enum class Kind { kTiles, kSwapped, kAnyRows };
Kind kind_of(const KernelConfig& config) {
  if (config.pack || config.epilogue == Epilogue::kStaged || is_vector(config)) {
    return Kind::kAnyRows;
  }
  return is_swapped(config) ? Kind::kSwapped : Kind::kTiles;
}

/// Of both types.
std::vector<Build> smoke_builds(Kind kind, std::span<const Shape> shapes) {
  std::vector<KernelConfig> configs = smoke_space(Dtype::kBf16, shapes);
  for (const KernelConfig& config : smoke_space(Dtype::kFp16, shapes)) configs.push_back(config);
  std::erase_if(configs, [&](const KernelConfig& config) { return kind_of(config) != kind; });
  return compile(configs);
}

TEST_F(KernelTest, SmokeSpaceIsCorrectAtSmokeShapes) {
  const std::vector<Shape> shapes = load_shapes("smoke.yaml", configs_dir());
  expect_correct(smoke_builds(Kind::kTiles, shapes), shapes, without_rotation());
}

// A shape of so many tiles of 8 rows that a CTA each takes a sanitizer minutes adds nothing.
TEST_F(KernelTest, SmokeSpaceSwappedIsCorrectAtSmokeShapes) {
  std::vector<Shape> shapes = load_shapes("smoke.yaml", configs_dir());
  std::erase_if(shapes, [](const Shape& shape) { return shape.m > 300; });
  shapes.push_back({.m = 100, .n = 520, .k = 1032, .dtype = Dtype::kFp16, .tag = ""});
  shapes.push_back({.m = 9, .n = 4104, .k = 328, .tag = ""});
  expect_correct(smoke_builds(Kind::kSwapped, shapes), shapes, without_rotation());
}

TEST_F(KernelTest, SmokeSpaceForAnyRowsIsCorrectAtOddShapes) {
  const std::vector<Shape> shapes = load_shapes("smoke-odd.yaml", configs_dir());
  expect_correct(smoke_builds(Kind::kAnyRows, shapes), shapes, without_rotation());
}

TEST_F(KernelTest, RandomShapesAreCorrect) {
  std::mt19937 random(20261120);
  const auto draw = [&](int limit, int step) {
    return std::uniform_int_distribution<int>(1, limit / step)(random) * step;
  };
  std::vector<Shape> shapes;
  for (int i = 0; i < 40; ++i) {
    shapes.push_back({.m = draw(1500, 1), .n = draw(2400, 8), .k = draw(1200, 8), .tag = ""});
  }
  expect_correct(compile(smoke_space(Dtype::kBf16, shapes)), shapes, without_rotation());
}

TEST_F(KernelTest, LongReductionsStayWithinTolerance) {
  const std::vector<Shape> shapes{{.m = 130, .n = 264, .k = 65544, .tag = ""}};
  expect_correct(compile(smoke_space(Dtype::kBf16, shapes)), shapes, without_rotation());
}

// A race shows as an output that moves: the same data many times over, on a grid of several waves.
TEST_F(KernelTest, OutputsDoNotMoveBetweenRuns) {
  const Shape shape{.m = 2100, .n = 4104, .k = 1032, .tag = ""};
  const std::vector<Build> builds = compile(smoke_space(Dtype::kBf16, {&shape, 1}));
  const Stream stream;
  const Problem problem(shape, 3, without_rotation(), stream);
  std::vector<std::uint16_t> first(static_cast<std::size_t>(shape.m * shape.n));
  std::vector<std::uint16_t> later(first.size());
  const auto run = [&](const Candidate& candidate, std::vector<std::uint16_t>& output) {
    problem.poison(stream);
    candidate.launch(0, stream.get());
    stream.synchronize();
    check(cudaMemcpy(output.data(), problem.operands(0).d, output.size() * sizeof output[0],
                     cudaMemcpyDeviceToHost),
          "reading the output");
  };
  for (const Build& build : builds) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.label << ": " << build.message;
    if (why_unsupported(build.config, shape)) continue;
    const auto candidate = make_kernel_candidate(build.config, build.cubin, problem);
    run(*candidate, first);
    EXPECT_TRUE(problem.verify(stream).correct) << build.facts.label;
    for (int i = 1; i < 20; ++i) {
      run(*candidate, later);
      ASSERT_EQ(first, later) << build.facts.label << ", run " << i;
    }
  }
}

// What one launch leaves for another must not reach the next launch: all sets of inputs one after
// the other without a pause, and the one that is checked last.
TEST_F(KernelTest, LaunchesInARowDoNotDisturbOneAnother) {
  const Stream stream;
  // Several waves, and so few tiles that some CTAs have nothing to do.
  for (const Shape& shape : {Shape{.m = 2100, .n = 4104, .k = 1032, .tag = ""},
                             Shape{.m = 200, .n = 136, .k = 1032, .tag = ""}}) {
    const Problem problem(shape, 3, *device_, stream);
    ASSERT_GT(problem.sets(), 2);
    for (const Build& build : compile(smoke_space(Dtype::kBf16, {&shape, 1}))) {
      ASSERT_EQ(build.status, Status::kOk) << build.facts.label << ": " << build.message;
      if (why_unsupported(build.config, shape)) continue;
      const auto candidate = make_kernel_candidate(build.config, build.cubin, problem);
      problem.poison(stream);
      for (int set = problem.sets() - 1; set >= 0; --set) candidate->launch(set, stream.get());
      const Verdict verdict = problem.verify(stream);
      EXPECT_TRUE(verdict.correct)
          << build.facts.label << " at " << to_string(shape) << ": " << verdict.message;
    }
  }
}

// A race holds thousands of candidates, whose parts of K share memory.
TEST_F(KernelTest, CandidatesOfAPoolTakeTurns) {
  const Shape shape{.m = 1000, .n = 1032, .k = 1032, .tag = ""};
  const Stream stream;
  const Problem problem(shape, 3, *device_, stream);
  WorkspacePool pool;
  std::vector<std::pair<std::string, std::unique_ptr<Candidate>>> candidates;
  int sharing = 0;
  for (const Build& build : compile(smoke_space(Dtype::kBf16, {&shape, 1}))) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.label << ": " << build.message;
    if (why_unsupported(build.config, shape)) continue;
    if (adds_in_workspace(build.config)) ++sharing;
    candidates.emplace_back(build.facts.label,
                            make_kernel_candidate(build.config, build.cubin, problem, pool));
  }
  ASSERT_GE(sharing, 2) << "the smoke space has too few that leave sums in a workspace";
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& [label, candidate] : candidates) {
      problem.poison(stream);
      candidate->launch(0, stream.get());
      const Verdict verdict = problem.verify(stream);
      EXPECT_TRUE(verdict.correct) << label << ", turn " << turn << ": " << verdict.message;
    }
  }
}

// Layers of a network: each launch reads what the one before it writes, and writes what that one
// reads. Overlapping launches (pdl) must give what launches one by one give, to the bit.
TEST_F(KernelTest, EachLaunchReadsWhatTheOneBeforeWrote) {
  const Shape shape{.m = 1000, .n = 1032, .k = 1032, .tag = ""};
  const Stream stream;
  const Problem problem(shape, 3, *device_, stream);
  ASSERT_GT(problem.sets(), 2);
  const auto bytes = static_cast<std::size_t>(shape.m * shape.n) * sizeof(std::uint16_t);
  const Operands in = problem.operands(0);
  const DeviceMemory left(bytes), right(bytes);
  for (const Build& build : compile(smoke_space(Dtype::kBf16, {&shape, 1}))) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.label << ": " << build.message;
    if (why_unsupported(build.config, shape)) continue;
    const HgemmKernel kernel(build.config, build.cubin);
    const int ctas = kernel.grid_ctas(shape);
    const Workspace workspace = kernel.make_workspace(shape, ctas);
    const auto outputs = [&](bool one_by_one) {
      check(cudaMemcpyAsync(left.data(), in.a, bytes, cudaMemcpyDeviceToDevice, stream.get()),
            "copying the first input");
      for (int layer = 0; layer < 40; ++layer) {
        const DeviceMemory& from = layer % 2 == 0 ? left : right;
        const DeviceMemory& to = layer % 2 == 0 ? right : left;
        const void* weight = problem.operands(layer % 3).b;
        kernel.launch(make_params(build.config, shape, {from.data(), weight, to.data()}, workspace),
                      ctas, stream.get());
        if (one_by_one) stream.synchronize();
      }
      stream.synchronize();
      std::vector<std::uint16_t> values(bytes / sizeof(std::uint16_t));
      check(cudaMemcpy(values.data(), left.data(), bytes, cudaMemcpyDeviceToHost),
            "reading the output");
      return values;
    };
    const std::vector<std::uint16_t> expected = outputs(true);
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(outputs(false), expected) << build.facts.label << ", run " << i;
    }
  }
}

// 64-bit paths: more than 2^31 outputs.
TEST_F(KernelTest, OutputsBeyondTwoToThe31AreCorrect) {
  const std::vector<Shape> shapes{{.m = 70000, .n = 32768, .k = 64, .tag = ""}};
  std::vector<KernelConfig> configs = smoke_space(Dtype::kBf16, shapes);
  std::erase_if(configs, [](const KernelConfig& config) { return config.bn < 64; });
  expect_correct(compile(configs), shapes, without_rotation());
}

TEST_F(KernelTest, WhatTheDriverRefusesIsALaunchFailure) {
  const Build build = compile({{.bm = 128, .bn = 128, .bk = 64, .stages = 4}}).front();
  KernelConfig too_large = build.config;
  too_large.stages = 16;  // 512 KB of shared memory
  const Build unfit = compile_edited(too_large, "config.h", "smem_bytes_per_cta = 232448",
                                     "smem_bytes_per_cta = 999999");
  ASSERT_EQ(unfit.status, Status::kOk) << unfit.message;
  Session session({.m = 256, .n = 256, .k = 256, .tag = ""}, 1, without_rotation());
  const Prepared refused = session.prepare(unfit.facts.label, too_large, unfit.cubin);
  EXPECT_EQ(refused.status, Status::kLaunchFailed);
  EXPECT_NE(refused.message.find("shared memory"), std::string::npos) << refused.message;
  EXPECT_EQ(session.prepare(build.facts.label, build.config, build.cubin).status, Status::kOk)
      << "the context is as good as before";
}

// Rotation: launches in a sample must not find their inputs in L2.
TEST_F(KernelTest, InputSetsExceedThreeTimesL2) {
  for (const Shape& shape : {Shape{.m = 1, .n = 4096, .k = 4096, .tag = ""},
                             Shape{.m = 512, .n = 512, .k = 512, .tag = ""},
                             Shape{.m = 4096, .n = 4096, .k = 4096, .tag = ""}}) {
    const Stream stream;
    const Problem problem(shape, 1, *device_, stream);
    EXPECT_GE(problem.sets() * shape.bytes(), 3.0 * static_cast<double>(device_->l2_bytes));
    std::vector<std::uint16_t> first(64);
    std::vector<std::uint16_t> second(64);
    const auto read = [&](int set, std::vector<std::uint16_t>& values) {
      check(cudaMemcpy(values.data(), problem.operands(set).b, values.size() * 2,
                       cudaMemcpyDeviceToHost),
            "reading an input");
    };
    read(0, first);
    read(problem.sets() - 1, second);
    if (problem.sets() > 1) {
      EXPECT_NE(first, second) << "every set has data of its own";
    }
  }
}

// Not tests of ours but of compute-sanitizer, which must report them: gpu_check.sh runs them to
// know that a clean smoke run means something.
TEST_F(KernelTest, DISABLED_PlantedWriteToNowhere) {
  const std::string start = "  const Pipeline<kConfig> pipeline(smem);";
  const std::string write =
      "\n  if (threadIdx.x == 0) *reinterpret_cast<volatile u32*>("
      "static_cast<char*>(params.d_pointer) + (1ull << 40)) = 0;";
  const KernelConfig config{.bm = 128, .bn = 128, .bk = 64, .stages = 4};
  expect_correct({compile_edited(config, "hgemm.cuh", start, start + write)},
                 {{.m = 256, .n = 512, .k = 256, .tag = ""}}, without_rotation());
}

TEST_F(KernelTest, DISABLED_PlantedRace) {
  const std::string start = "  const Pipeline<kConfig> pipeline(smem);";
  const std::string race =
      "\n  smem[threadIdx.x] = 1;\n  if (smem[threadIdx.x ^ 64] == 2) asm volatile(\"trap;\");";
  const KernelConfig config{.bm = 128, .bn = 128, .bk = 64, .stages = 4};
  expect_correct({compile_edited(config, "hgemm.cuh", start, start + race)},
                 {{.m = 256, .n = 512, .k = 256, .tag = ""}}, without_rotation());
}

}  // namespace
}  // namespace hgemm::testing
