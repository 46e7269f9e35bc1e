// Inputs of every kind: they are what they promise, kernels are timed with them, and verification
// is as strict as with normal data.
#include <cuda_bf16.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

#include "device/problem_data.h"
#include "device/session.h"
#include "families/family.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using ::testing::HasSubstr;

const GemmProblem kShape{.m = 512, .n = 384, .k = 1024, .tag = ""};
const TiledConfig kTile{.bm = 128, .bn = 128, .bk = 64, .stages = 4};

/// Bytes that begin with the header of an .npy file of fp32.
std::string npy_of(const std::vector<float>& values) {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",)}";
  std::string bytes = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0';
  bytes += header;
  const std::size_t start = bytes.size();
  bytes.resize(start + values.size() * sizeof(float));
  std::memcpy(bytes.data() + start, values.data(), values.size() * sizeof(float));
  return bytes;
}

struct Statistics {
  double mean = 0, variance = 0, zeros = 0;  ///< `zeros` is a share
  double low = 0, high = 0;
};

class DataKindsTest : public GpuTest {
 protected:
  InputData data_of(const std::string& word) const {
    if (word != "file") return *find_input_data(word);
    const std::string path = (folder_.path() / "a.npy").string();
    std::ofstream(path, std::ios::binary) << npy_of({3, -1, 0.5f, 0, -2, 7, 1});
    return read_input_data(path);
  }
  GemmProblem problem_of(const std::string& word) const {
    GemmProblem problem = kShape;
    problem.data = data_of(word);
    return problem;
  }

  static std::vector<float> read(const void* data, std::int64_t count) {
    std::vector<__nv_bfloat16> raw(static_cast<std::size_t>(count));
    check(cudaMemcpy(raw.data(), data, raw.size() * sizeof raw[0], cudaMemcpyDeviceToHost), "read");
    return {raw.begin(), raw.end()};
  }
  static Statistics statistics(const std::vector<float>& values) {
    Statistics of;
    double squares = 0;
    for (const float narrow : values) {
      const auto value = static_cast<double>(narrow);
      of.mean += value;
      squares += value * value;
      of.zeros += value == 0 ? 1 : 0;
      of.low = std::min(of.low, value);
      of.high = std::max(of.high, value);
    }
    const auto count = static_cast<double>(values.size());
    of.mean /= count;
    of.zeros /= count;
    of.variance = squares / count - of.mean * of.mean;
    return of;
  }

  const test::TemporaryFolder folder_;
};

const char* const kKinds[] = {"normal", "uniform", "integers", "zeros", "sparse", "file"};

TEST_F(DataKindsTest, HaveACheckSetThatIsNotTimed) {
  for (const std::string word : kKinds) {
    SCOPED_TRACE(word);
    const ProblemData data(problem_of(word), 5, without_rotation(), stream());
    const bool is_normal = word == "normal";
    EXPECT_EQ(data.launchable_sets(), data.sets() + (is_normal ? 0 : 1));
    EXPECT_EQ(data.check_set(), is_normal ? 0 : data.sets());
    const Statistics a = statistics(read(data.operands(data.check_set()).a, kShape.m * kShape.k));
    EXPECT_NEAR(a.variance, 1, 0.02);
    EXPECT_LT(a.zeros, 0.01);
  }
}

TEST_F(DataKindsTest, HaveTheirStatistics) {
  // 5 standard errors, and the rounding of bf16.
  const auto count = static_cast<double>(kShape.m * kShape.k);
  const double tolerance = 5 / std::sqrt(count);
  const auto a_of = [&](const std::string& word) {
    const ProblemData data(problem_of(word), 5, without_rotation(), stream());
    return read(data.operands(0).a, kShape.m * kShape.k);
  };
  const Statistics uniform = statistics(a_of("uniform"));
  EXPECT_NEAR(uniform.mean, 0, tolerance);
  EXPECT_NEAR(uniform.variance, 1, tolerance + 0.005);
  EXPECT_NEAR(uniform.low, -std::sqrt(3.0), 0.01);
  EXPECT_NEAR(uniform.high, std::sqrt(3.0), 0.01);

  const std::vector<float> integers = a_of("integers");
  EXPECT_EQ(std::set<float>(integers.begin(), integers.end()),
            (std::set<float>{-4, -3, -2, -1, 0, 1, 2, 3, 4}));
  EXPECT_NEAR(statistics(integers).mean, 0, 3 * tolerance);
  EXPECT_NEAR(statistics(integers).zeros, 1.0 / 9, tolerance);

  const Statistics zeros = statistics(a_of("zeros"));
  EXPECT_EQ(zeros.low, 0);
  EXPECT_EQ(zeros.high, 0);

  const Statistics sparse = statistics(a_of("sparse"));
  EXPECT_NEAR(sparse.zeros, 0.5, tolerance);
  EXPECT_NEAR(sparse.mean, 0, tolerance);
  EXPECT_NEAR(sparse.variance, 0.5, 2 * tolerance + 0.005);
}

TEST_F(DataKindsTest, OfBAreScaledByPowersOfTwo) {
  const ProblemData data(problem_of("integers"), 5, without_rotation(), stream());
  for (const float value : read(data.operands(0).b, kShape.n * kShape.k)) {
    ASSERT_EQ(value * 32, std::round(value * 32)) << "K is 1024";
    ASSERT_LE(std::abs(value * 32), 4.0f);
  }
}

TEST_F(DataKindsTest, RepeatTheTensorOfAFileInEveryRow) {
  GemmProblem problem = problem_of("file");
  problem.lda = 1032;
  const ProblemData data(problem, 5, without_rotation(), stream());
  const float tensor[] = {3, -1, 0.5f, 0, -2, 7, 1};
  // The root mean square is 3.04: A is divided by 4 and B by 128.
  const std::vector<float> a = read(data.operands(0).a, problem.m * problem.lda);
  const std::vector<float> b = read(data.operands(0).b, problem.n * problem.k);
  for (std::int64_t i = 0; i < problem.m * problem.k; ++i) {
    const auto at = static_cast<std::size_t>(i / problem.k * problem.lda + i % problem.k);
    ASSERT_EQ(a[at], tensor[i % 7] / 4) << i;
  }
  for (std::int64_t i = 0; i < problem.n * problem.k; ++i) {
    ASSERT_EQ(b[static_cast<std::size_t>(i)], tensor[i % 7] / 128) << i;
  }
  EXPECT_TRUE(std::isnan(a[1024])) << "padding";
}

TEST_F(DataKindsTest, AreRefusedIfNothingSaysWhereTheFileIs) {
  const auto why = [&](const GemmProblem& problem) -> std::string {
    try {
      const ProblemData data(problem, 5, without_rotation(), stream());
    } catch (const InputError& error) {
      return error.what();
    }
    return "made";
  };
  GemmProblem problem = problem_of("file");
  problem.data.files.clear();
  EXPECT_THAT(why(problem), HasSubstr("name the file with --data"));
}

TEST_F(DataKindsTest, VerifyARightKernelAndCatchAWrongOne) {
  const Kernel kernel = kernel_for(kTile, kShape);
  const Build right = compile({kernel}).front();
  ASSERT_EQ(right.status, Status::kOk) << right.message;
  const Build wrong = compile_edited(kernel, "tiled/tile_scheduler.h", "whole.end, 0, 0};",
                                     "whole.end - 1, 0, 0};");
  ASSERT_EQ(wrong.status, Status::kOk) << wrong.message;
  for (const std::string word : kKinds) {
    SCOPED_TRACE(word);
    Session session(stream(), problem_of(word), {.seed = 11}, *device_);
    for (const Prepared& baseline : session.opened().prepared) {
      EXPECT_EQ(baseline.status, Status::kOk) << baseline.message;
    }
    const Prepared good = session.prepare("right", kernel, right.cubin);
    EXPECT_EQ(good.status, Status::kOk) << good.message;
    EXPECT_GT(good.verdict.error, 0.0) << "it was not compared with zeros";
    EXPECT_EQ(session.prepare("wrong", kernel, wrong.cubin).status, Status::kWrongResult);
  }
}

// Rotation: launches in a sample must not find their inputs in L2.
TEST_F(DataKindsTest, InputSetsExceedThreeTimesL2) {
  for (const GemmProblem& problem : {GemmProblem{.m = 1, .n = 4096, .k = 4096, .tag = ""},
                                     GemmProblem{.m = 512, .n = 512, .k = 512, .tag = ""},
                                     GemmProblem{.m = 4096, .n = 4096, .k = 4096, .tag = ""}}) {
    const Stream stream;
    const ProblemData data(problem, 1, *device_, stream);
    EXPECT_GE(data.sets() * problem.bytes(), 3.0 * static_cast<double>(device_->l2_bytes));
    std::vector<std::uint16_t> first(64);
    std::vector<std::uint16_t> second(64);
    const auto read = [&](int set, std::vector<std::uint16_t>& values) {
      check(cudaMemcpy(values.data(), data.operands(set).b, values.size() * 2,
                       cudaMemcpyDeviceToHost),
            "reading an input");
    };
    read(0, first);
    read(data.sets() - 1, second);
    if (data.sets() > 1) {
      EXPECT_NE(first, second) << "every set has data of its own";
    }
  }
}

}  // namespace
}  // namespace hgemm::testing
