// The kernel computes the right thing: every axis, with tails on every side. Smoke tests also run
// under compute-sanitizer (scripts/gpu_check.sh).
#include <random>

#include "measure/session.h"
#include "space/label.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using KernelTest = GpuTest;

void expect_correct(const std::vector<Build>& builds, const std::vector<Shape>& shapes,
                    const Device& device) {
  for (const Shape& shape : shapes) {
    Session session(shape, 7, device);
    for (const Build& build : builds) {
      ASSERT_EQ(build.status, Status::kOk) << build.facts.label << ": " << build.message;
      if (build.config.dtype != shape.dtype) continue;
      const Prepared prepared = session.prepare(build.facts.label, build.config, build.cubin);
      EXPECT_EQ(prepared.status, Status::kOk)
          << build.facts.label << " at " << to_string(shape) << ": " << prepared.message;
      session.forget(build.facts.label);
    }
  }
}

TEST_F(KernelTest, SmokeSpaceIsCorrectAtSmokeShapes) {
  std::vector<KernelConfig> configs = smoke_space(Dtype::kBf16);
  for (const KernelConfig& config : smoke_space(Dtype::kFp16)) configs.push_back(config);
  expect_correct(compile(configs), load_shapes("smoke.yaml", configs_dir()), without_rotation());
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
  expect_correct(compile(smoke_space(Dtype::kBf16)), shapes, without_rotation());
}

TEST_F(KernelTest, LongReductionsStayWithinTolerance) {
  expect_correct(compile(smoke_space(Dtype::kBf16)), {{.m = 130, .n = 264, .k = 65544, .tag = ""}},
                 without_rotation());
}

// A race shows as an error that moves: the same data many times over, on a grid of several waves.
TEST_F(KernelTest, ResultsDoNotMoveBetweenRuns) {
  const std::vector<Build> builds = compile(smoke_space(Dtype::kBf16));
  Session session({.m = 2100, .n = 4104, .k = 1032, .tag = ""}, 3, without_rotation());
  for (const Build& build : builds) {
    double first_error = 0;
    for (int run = 0; run < 50; ++run) {
      const Prepared prepared = session.prepare(build.facts.label, build.config, build.cubin);
      ASSERT_EQ(prepared.status, Status::kOk) << build.facts.label << ": " << prepared.message;
      if (run == 0) first_error = prepared.verdict.error;
      ASSERT_EQ(prepared.verdict.error, first_error) << build.facts.label << ", run " << run;
    }
    session.forget(build.facts.label);
  }
}

// Not a test of ours but of compute-sanitizer, which must fail on it: gpu_check.sh runs it to know
// that a clean smoke run means something. The verifier cannot see this write: it lies beyond the
// guard rows.
TEST_F(KernelTest, DISABLED_PlantedWriteBeyondTheGuards) {
  const std::string start = "  const Pipeline<kConfig> pipeline(smem);";
  const std::string write =
      "\n  if (threadIdx.x == 0 && blockIdx.x == 0) static_cast<volatile u32*>("
      "params.d_pointer)[static_cast<u64>(params.m + 100) * params.n / 2] = 0;";
  const KernelConfig config{.bm = 128, .bn = 128, .bk = 64, .stages = 4};
  expect_correct({compile_edited(config, "hgemm.cuh", start, start + write)},
                 {{.m = 256, .n = 512, .k = 256, .tag = ""}}, without_rotation());
}

}  // namespace
}  // namespace hgemm::testing
