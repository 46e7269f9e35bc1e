// The verifier: accepts what is right, and catches every way of being wrong that we know.
#include <cuda_bf16.h>

#include <cmath>
#include <limits>

#include "device/problem_data.h"
#include "device/session.h"
#include "families/family.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using VerifyTest = GpuTest;

const GemmProblem kShape{.m = 300, .n = 264, .k = 328, .tag = ""};

class Problem300 {
 public:
  explicit Problem300(const Gpu& device, std::uint64_t seed = 5)
      : data(kShape, seed, device, stream) {}

  std::vector<float> read(const void* data, std::int64_t count) const {
    std::vector<__nv_bfloat16> raw(static_cast<std::size_t>(count));
    check(cudaMemcpy(raw.data(), data, raw.size() * sizeof raw[0], cudaMemcpyDeviceToHost), "read");
    return {raw.begin(), raw.end()};
  }
  /// The product in double precision, on the CPU.
  std::vector<float> product() const {
    const Operands operands = data.operands(0);
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
    data.poison(stream);
    stream.synchronize();
    check(cudaMemcpy(static_cast<__nv_bfloat16*>(data.operands(0).d) + offset, raw.data(),
                     raw.size() * sizeof raw[0], cudaMemcpyHostToDevice),
          "write");
    return data.verify(stream);
  }

  Stream stream;
  ProblemData data;
};

TEST_F(VerifyTest, AcceptsTheProductComputedInDoublePrecision) {
  const Problem300 data(without_rotation());
  const Verdict verdict = data.verdict(data.product());
  EXPECT_TRUE(verdict.correct) << verdict.message;
  EXPECT_GT(verdict.error, 0.0);
  EXPECT_LE(verdict.error, verdict.tolerance);
}

TEST_F(VerifyTest, RejectsOneWrongElementAndSaysWhere) {
  const Problem300 data(without_rotation());
  std::vector<float> d = data.product();
  const std::size_t at = 17 * static_cast<std::size_t>(kShape.n) + 23;
  d[at] += 0.05f * (std::abs(d[at]) + 1.0f);
  const Verdict verdict = data.verdict(d);
  EXPECT_FALSE(verdict.correct);
  EXPECT_NE(verdict.message.find("row 17, column 23"), std::string::npos) << verdict.message;
}

TEST_F(VerifyTest, RejectsNan) {
  const Problem300 data(without_rotation());
  std::vector<float> d = data.product();
  d.back() = std::numeric_limits<float>::quiet_NaN();
  const Verdict verdict = data.verdict(d);
  EXPECT_FALSE(verdict.correct);
  EXPECT_TRUE(std::isnan(verdict.error));
}

TEST_F(VerifyTest, RejectsAnElementThatWasNeverWritten) {
  const Problem300 data(without_rotation());
  std::vector<float> d = data.product();
  d.pop_back();
  EXPECT_FALSE(data.verdict(d).correct);
}

TEST_F(VerifyTest, RejectsAWriteOutsideTheOutput) {
  const Problem300 data(without_rotation());
  std::vector<float> d = data.product();
  d.push_back(0.0f);
  const Verdict after = data.verdict(d);
  EXPECT_FALSE(after.correct);
  EXPECT_NE(after.message.find("outside"), std::string::npos) << after.message;
  d.pop_back();
  d.insert(d.begin(), 0.0f);
  EXPECT_FALSE(data.verdict(d, -1).correct);
}

TEST_F(VerifyTest, InputsAreNormalReproducibleAndFresh) {
  const Problem300 data(without_rotation(), 5);
  const Problem300 same(without_rotation(), 5);
  const Problem300 other(without_rotation(), 6);
  const std::int64_t count = kShape.m * kShape.k;
  const std::vector<float> a = data.read(data.data.operands(0).a, count);
  EXPECT_EQ(a, same.read(same.data.operands(0).a, count));
  EXPECT_NE(a, other.read(other.data.operands(0).a, count));
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

// ---- Broken kernels ----

class BrokenKernels : public GpuTest, public ::testing::WithParamInterface<test::BrokenKernel> {};

TEST_P(BrokenKernels, AreCaught) {
  const test::BrokenKernel& broken = GetParam();
  const bool is_gemv = std::holds_alternative<GemvConfig>(broken.config);
  GemmProblem problem{.m = 2304, .n = 2304, .k = 512, .tag = ""};
  if (is_gemv) problem = {.m = 3, .n = 2304, .k = 1021, .tag = ""};
  broken.describe(problem);
  if (problem.by_pointers) {
    // One of them reads so much behind the array of pointers, which must be mapped.
    problem.m = problem.n = 256;
    problem.k = 128;
  }
  if (is_gemv && problem.is_gated()) problem.k = 1024;  // rows of whole units
  ASSERT_EQ(why_not(broken.config, problem), nullptr);
  const Kernel kernel = kernel_for(broken.config, problem);
  const Build build = compile_edited(kernel, broken.file, broken.text, broken.replacement);
  ASSERT_EQ(build.status, Status::kOk) << build.message;

  Session session(stream(), problem, {.seed = 11}, without_rotation());
  const Prepared prepared = session.prepare(label(broken.config), kernel, build.cubin);
  EXPECT_EQ(prepared.status, Status::kWrongResult) << prepared.message;
  EXPECT_FALSE(prepared.message.empty());
}

INSTANTIATE_TEST_SUITE_P(VerifyTest, BrokenKernels, ::testing::ValuesIn(test::kBrokenKernels),
                         [](const auto& broken) {
                           std::string name = broken.param.name;
                           for (char& c : name) {
                             if (c == ' ') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace hgemm::testing
