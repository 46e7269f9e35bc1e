// The steps before Hopper at shapes that are odd multiples of each one's own tile, in every type,
// and the fp32 problem that they are judged by. (ladder_test runs all families at round shapes.)
#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "device/session.h"
#include "studies/ladder/run.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using LadderCore = GpuTest;

GemmProblem of_type(DataType type, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem problem{.m = m, .n = n, .k = k, .tag = ""};
  problem.set_types(type);
  return problem;
}

std::vector<LadderPoint> points() {
  std::vector<LadderPoint> all;
  for (const ladder::Step& step : chosen_ladder_steps("cuda_core,tensor_core")) {
    for (const DataType dtype : {DataType::kFp32, DataType::kFp16, DataType::kBf16}) {
      if (supports(step, dtype)) all.push_back({step, dtype});
    }
  }
  return all;
}

// One k block (less than the ring of mma_sync holds), then rows, columns and depth all of different
// odd counts of tiles, so that no two of them can be mistaken for one another.
TEST_F(LadderCore, EveryStepInEveryType) {
  const std::vector<LadderPoint> all = points();
  ASSERT_EQ(all.size(), 8u * 3 + 2 * 2);
  std::vector<StudySource> sources;
  for (const LadderPoint& point : all)
    sources.push_back({ladder_label(point), ladder_source(point)});
  std::vector<Build> builds(sources.size());
  compile_sources(sources, compile_options(),
                  [&](std::size_t index, Build build) { builds.at(index) = std::move(build); });
  const Stream stream;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ladder::Step& step = all[i].step;
    const DataType dtype = all[i].dtype;
    ASSERT_EQ(builds[i].status, Status::kOk) << sources[i].label << ": " << builds[i].message;
    for (const auto& [rows, cols, depth] : {std::array{1, 2, 1}, std::array{5, 3, 7}}) {
      const GemmProblem problem =
          of_type(dtype, step.tile_m * rows, step.tile_n * cols, step.tile_k * depth);
      SCOPED_TRACE(sources[i].label + " at " + to_string(problem));
      const ProblemData data(problem, 7, without_rotation(), stream);
      const auto candidate = make_ladder_candidate(sources[i].label, builds[i].cubin, data);
      data.poison(stream);
      candidate->launch(0, stream.get());
      const Verdict verdict = data.verify(stream);
      EXPECT_TRUE(verdict.correct)
          << verdict.message << " (error " << verdict.error << " of " << verdict.tolerance << ")";
    }
  }
}

// ---- fp32 ----

const GemmProblem kFp32Shape = of_type(DataType::kFp32, 192, 160, 1024);

std::vector<float> read_floats(const void* data, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  check(cudaMemcpy(values.data(), data, values.size() * sizeof(float), cudaMemcpyDeviceToHost),
        "read");
  return values;
}

/// Verdict on the product of the problem's operands, each changed by `change`, with `products` of
/// each row's K, summed in double precision.
Verdict verdict_of(const ProblemData& data, const Stream& stream, std::int64_t products,
                   const std::function<float(float)>& change) {
  const GemmProblem& problem = data.problem();
  std::vector<float> a = read_floats(data.operands(0).a, problem.m * problem.k);
  std::vector<float> b = read_floats(data.operands(0).b, problem.n * problem.k);
  for (std::vector<float>* operand : {&a, &b}) {
    for (float& value : *operand) value = change(value);
  }
  std::vector<float> d;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t col = 0; col < problem.n; ++col) {
      double sum = 0;
      for (std::int64_t k = 0; k < products; ++k) {
        sum += static_cast<double>(a[static_cast<std::size_t>(row * problem.k + k)]) *
               static_cast<double>(b[static_cast<std::size_t>(col * problem.k + k)]);
      }
      d.push_back(static_cast<float>(sum));
    }
  }
  data.poison(stream);
  stream.synchronize();
  check(cudaMemcpy(data.operands(0).d, d.data(), d.size() * sizeof(float), cudaMemcpyHostToDevice),
        "write");
  return data.verify(stream);
}

TEST_F(LadderCore, Fp32IsToldFromTf32) {
  const Stream stream;
  const ProblemData data(kFp32Shape, 5, without_rotation(), stream);
  const auto exact = [](float value) { return value; };
  const Verdict right = verdict_of(data, stream, kFp32Shape.k, exact);
  EXPECT_TRUE(right.correct) << right.message << ": " << right.error;
  // The reference itself rounds K times: well inside, or the tolerance is too tight.
  EXPECT_LT(right.error, 0.5 * right.tolerance);
  const auto tf32 = [](float value) {  // to nearest, 13 bits off the mantissa
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu);
  };
  EXPECT_FALSE(verdict_of(data, stream, kFp32Shape.k, tf32).correct);
  EXPECT_FALSE(verdict_of(data, stream, kFp32Shape.k - 1, exact).correct);
}

TEST_F(LadderCore, Fp32PoisonAndGuardsAreSeen) {
  const Stream stream;
  const ProblemData data(kFp32Shape, 5, without_rotation(), stream);
  data.poison(stream);
  EXPECT_FALSE(data.verify(stream).correct);  // all NaN
  verdict_of(data, stream, kFp32Shape.k, [](float value) { return value; });
  float* const d = static_cast<float*>(data.operands(0).d);
  check(cudaMemset(d + kFp32Shape.m * kFp32Shape.n, 0, sizeof(float)), "write after D");
  const Verdict after = data.verify(stream);
  EXPECT_FALSE(after.correct);
  EXPECT_NE(after.message.find("1 elements outside"), std::string::npos) << after.message;
}

// The one baseline is SGEMM; it would not pass as TF32.
TEST_F(LadderCore, Fp32BaselineIsSgemmOnCudaCores) {
  const Session session(stream(), of_type(DataType::kFp32, 1024, 1024, 1024), {.seed = 5},
                        without_rotation());
  ASSERT_EQ(session.opened().baselines, std::vector<std::string>{std::string(kCublasLabel)});
  EXPECT_EQ(session.opened().prepared.front().status, Status::kOk)
      << session.opened().prepared.front().message;
}

}  // namespace
}  // namespace hgemm::testing
