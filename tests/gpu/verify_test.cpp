// The verifier: accepts what is right, and catches every way of being wrong that we know.
#include <cuda_bf16.h>

#include <cmath>
#include <limits>

#include "measure/session.h"
#include "problem/problem.h"
#include "space/label.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using VerifyTest = GpuTest;

const Shape kShape{.m = 300, .n = 264, .k = 328, .tag = ""};

class Problem300 {
 public:
  explicit Problem300(const Gpu& device, std::uint64_t seed = 5)
      : problem(kShape, seed, device, stream) {}

  std::vector<float> read(const void* data, std::int64_t count) const {
    std::vector<__nv_bfloat16> raw(static_cast<std::size_t>(count));
    check(cudaMemcpy(raw.data(), data, raw.size() * sizeof raw[0], cudaMemcpyDeviceToHost), "read");
    return {raw.begin(), raw.end()};
  }
  /// The product in double precision, on the CPU.
  std::vector<float> product() const {
    const Operands operands = problem.operands(0);
    const std::vector<float> a = read(operands.a, kShape.m * kShape.k);
    const std::vector<float> b = read(operands.b, kShape.n * kShape.k);
    std::vector<float> d;
    for (std::int64_t row = 0; row < kShape.m; ++row) {
      for (std::int64_t col = 0; col < kShape.n; ++col) {
        double sum = 0;
        for (std::int64_t k = 0; k < kShape.k; ++k) {
          sum += static_cast<double>(a[static_cast<std::size_t>(row * kShape.k + k)]) *
                 static_cast<double>(b[static_cast<std::size_t>(col * kShape.k + k)]);
        }
        d.push_back(static_cast<float>(sum));
      }
    }
    return d;
  }
  /// Verdict on an output that the CPU writes, `offset` elements from where D begins.
  Verdict verdict(const std::vector<float>& d, std::int64_t offset = 0) const {
    std::vector<__nv_bfloat16> raw;
    for (const float value : d) raw.push_back(__float2bfloat16(value));
    problem.poison(stream);
    stream.synchronize();
    check(cudaMemcpy(static_cast<__nv_bfloat16*>(problem.operands(0).d) + offset, raw.data(),
                     raw.size() * sizeof raw[0], cudaMemcpyHostToDevice),
          "write");
    return problem.verify(stream);
  }

  Stream stream;
  Problem problem;
};

TEST_F(VerifyTest, AcceptsTheProductComputedInDoublePrecision) {
  const Problem300 problem(without_rotation());
  const Verdict verdict = problem.verdict(problem.product());
  EXPECT_TRUE(verdict.correct) << verdict.message;
  EXPECT_GT(verdict.error, 0.0);
  EXPECT_LE(verdict.error, verdict.tolerance);
}

TEST_F(VerifyTest, RejectsOneWrongElementAndSaysWhere) {
  const Problem300 problem(without_rotation());
  std::vector<float> d = problem.product();
  const std::size_t at = 17 * static_cast<std::size_t>(kShape.n) + 23;
  d[at] += 0.05f * (std::abs(d[at]) + 1.0f);
  const Verdict verdict = problem.verdict(d);
  EXPECT_FALSE(verdict.correct);
  EXPECT_NE(verdict.message.find("row 17, column 23"), std::string::npos) << verdict.message;
}

TEST_F(VerifyTest, RejectsNan) {
  const Problem300 problem(without_rotation());
  std::vector<float> d = problem.product();
  d.back() = std::numeric_limits<float>::quiet_NaN();
  const Verdict verdict = problem.verdict(d);
  EXPECT_FALSE(verdict.correct);
  EXPECT_TRUE(std::isnan(verdict.error));
}

TEST_F(VerifyTest, RejectsAnElementThatWasNeverWritten) {
  const Problem300 problem(without_rotation());
  std::vector<float> d = problem.product();
  d.pop_back();
  EXPECT_FALSE(problem.verdict(d).correct);
}

TEST_F(VerifyTest, RejectsAWriteOutsideTheOutput) {
  const Problem300 problem(without_rotation());
  std::vector<float> d = problem.product();
  d.push_back(0.0f);
  const Verdict after = problem.verdict(d);
  EXPECT_FALSE(after.correct);
  EXPECT_NE(after.message.find("outside"), std::string::npos) << after.message;
  d.pop_back();
  d.insert(d.begin(), 0.0f);
  EXPECT_FALSE(problem.verdict(d, -1).correct);
}

TEST_F(VerifyTest, InputsAreNormalReproducibleAndFresh) {
  const Problem300 problem(without_rotation(), 5);
  const Problem300 same(without_rotation(), 5);
  const Problem300 other(without_rotation(), 6);
  const std::int64_t count = kShape.m * kShape.k;
  const std::vector<float> a = problem.read(problem.problem.operands(0).a, count);
  EXPECT_EQ(a, same.read(same.problem.operands(0).a, count));
  EXPECT_NE(a, other.read(other.problem.operands(0).a, count));
  double sum = 0;
  double squares = 0;
  for (const float value : a) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const auto n = static_cast<double>(count);
  EXPECT_NEAR(sum / n, 0.0, 5 / std::sqrt(n));                    // 5 standard errors
  EXPECT_NEAR(squares / n, 1.0, 5 * std::sqrt(2.0 / n) + 0.005);  // and bf16's rounding
}

// ---- Broken kernels: one edit each to the real sources ----

struct Break {
  const char* name;
  const char* file;
  const char* text;
  const char* replacement;
  KernelConfig config{.bm = 128, .bn = 128, .bk = 64, .stages = 4};
};
constexpr KernelConfig kSwappedConfig{.bm = 128,
                                      .bn = 128,
                                      .bk = 128,
                                      .stages = 3,
                                      .schedule = Schedule::kSwapped,
                                      .walk = Walk::kClusterSplit,
                                      .splits = 2};
const Break kBreaks[] = {
    {"last K step left out", "hgemm.cuh", "multiply_stage<kConfig>(accumulators, a, b, !is_first);",
     "if (!is_last) multiply_stage<kConfig>(accumulators, a, b, !is_first);"},
    {"tile coordinates swapped", "hgemm.cuh", "const int column = origin.n",
     "const int column = origin.m"},
    {"reads the stage before", "hgemm.cuh", "b_base + static_cast<u32>(stage *",
     "b_base + static_cast<u32>((stage + kConfig.stages - 1) % kConfig.stages *"},
    {"accumulators not reset", "hgemm.cuh", "!is_first);", "1);"},
    {"rows of the wrong warp", "hgemm.cuh", "part_row + warp * kStoreRows;",
     "part_row + (warp ^ 1) * kStoreRows;"},
    {"swizzle left out", "epilogue.cuh", "chunk ^ (row % 8) : chunk", "chunk : chunk"},
    {"last tile never computed", "hgemm.cuh", "grid.tiles(),", "grid.tiles() - 1,"},
    {"a tile of the queue skipped",
     "hgemm.cuh",
     "return answer + static_cast<u32>(clusters);",
     "return answer + static_cast<u32>(clusters) + 1;",
     {.bm = 128, .bn = 128, .bk = 64, .stages = 4, .walk = Walk::kDynamic}},
    {"a part of K not added",
     "partial.cuh",
     "+= sums[j];",
     "+= 0.0f * sums[j];",
     {.bm = 128, .bn = 128, .bk = 64, .stages = 4, .walk = Walk::kSplitK, .splits = 2}},
    {"a late box never stored",
     "epilogue.cuh",
     "next = kBox + 1;",
     "next = kBox + 2;",
     {.bm = 128, .bn = 128, .bk = 64, .stages = 4, .epilogue = Epilogue::kLate}},
    {"sums of a peer not added", "cluster_sums.cuh", "+= part[j];", "+= 0.0f * part[j];",
     kSwappedConfig},
    {"a box owned by the wrong part",
     "epilogue.cuh",
     "box_owner(kConfig, kBox) == part",
     "box_owner(kConfig, kBox) != part",
     {.bm = 128, .bn = 128, .bk = 64, .stages = 4, .walk = Walk::kClusterSplit, .splits = 2}},
    {"rows of the first stage mixed up", "stream.cuh", "(chunk ^ row % 8) * 16", "chunk * 16",
     kSwappedConfig},
    {"a group stored in the place of another", "stream.cuh", "part.a_row + group * kGroupRows);",
     "part.a_row + (group ^ 1) * kGroupRows);", kSwappedConfig},
};

class BrokenKernels : public GpuTest, public ::testing::WithParamInterface<Break> {};

TEST_P(BrokenKernels, AreCaught) {
  const Break& broken = GetParam();
  const KernelConfig& config = broken.config;
  const Build build = compile_edited(config, broken.file, broken.text, broken.replacement);
  ASSERT_EQ(build.status, Status::kOk) << build.message;

  Session session({.m = 2304, .n = 2304, .k = 512, .tag = ""}, 11, without_rotation());
  const Prepared prepared = session.prepare(label(config), config, build.cubin);
  EXPECT_EQ(prepared.status, Status::kWrongResult) << prepared.message;
  EXPECT_FALSE(prepared.message.empty());
}

INSTANTIATE_TEST_SUITE_P(VerifyTest, BrokenKernels, ::testing::ValuesIn(kBreaks),
                         [](const auto& broken) {
                           std::string name = broken.param.name;
                           for (char& c : name) {
                             if (c == ' ') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace hgemm::testing
