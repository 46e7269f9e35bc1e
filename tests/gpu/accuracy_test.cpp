// The accuracy of sums on the GPU: the exact product is exact, and the errors are those that the
// arithmetic of the tensor cores makes.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "compile/source.h"
#include "device/data_kernels.h"
#include "device/exact_kernels.h"
#include "gemm/codec.h"
#include "studies/accuracy/accuracy.h"
#include "studies/accuracy/run.h"
#include "support.h"

namespace hgemm::testing {
namespace {

constexpr const char* kSixteenBits = "bm128.bn128.bk64.q4.c1x1.coop2.d1.group8.tma.persist";
constexpr const char* kFast = "bm128.bn128.bk128.q4.c1x1.coop2.d0.group8.tma.persist";

std::string promoted(int interval) {
  return fmt::format("bm128.bn128.bk128.q4.c1x1.coop2.d0.acc{}.group8.tma.persist", interval);
}

class AccuracyTest : public GpuTest {
 protected:
  Study study_of(const std::string& problem_text, const std::string& config) {
    const GemmProblem problem = parse_problem(problem_text);
    StudyRequest request{.kind = std::string(kAccuracyStudy), .label = config, .problem = problem};
    Cubin cubin;
    if (config != kCublasLabel) {
      const Build build = compile({kernel_for(parse_label(config), problem)}).front();
      EXPECT_EQ(build.status, Status::kOk) << config << ": " << build.message;
      cubin = build.cubin;
    }
    Study study = run_accuracy(request, cubin, {*device_, nullptr, on_step_, stream()});
    EXPECT_EQ(study.status, Status::kOk)
        << config << " at " << problem_text << ": " << study.message;
    return study;
  }

  const OnStep on_step_ = nullptr;
};

/// fp32 sums of 16-bit products: a few roundings of 2^-24, also where magnitudes grow.
TEST_F(AccuracyTest, SumsOfSixteenBitOperandsAreGood) {
  for (const char* problem : {"256x384x4096.dfp32", "256x384x4096.fp16.dfp32", "200x136x1000.dfp32",
                              "256x384x4096.dfp32.layoutNT"}) {
    for (const std::string& config : {std::string(kSixteenBits), std::string(kCublasLabel)}) {
      const Study study = study_of(problem, config);
      for (const char* kind : {"normal", "one_sign", "growing", "large_block"}) {
        const SumErrors errors = errors_of(study, kind);
        EXPECT_GT(errors.worst, 0) << config << " at " << problem << ", " << kind;
        EXPECT_LT(errors.worst, 1e-4) << config << " at " << problem << ", " << kind;
        EXPECT_LE(std::abs(errors.bias), errors.rms) << kind;
        EXPECT_LE(errors.rms, errors.worst) << kind;
      }
      EXPECT_NEAR(errors_of(study, "normal").exact_rms, 1, 0.05) << problem;
      // The mean of |x| |y| is 2 / pi, K times 1 / sqrt(K).
      const double mean = 2 / M_PI * std::sqrt(static_cast<double>(study.problem->k));
      EXPECT_NEAR(errors_of(study, "one_sign").exact_rms / mean, 1, 0.05) << problem;
      // What is left is small beside the sums on the way.
      EXPECT_LT(errors_of(study, "cancelling").exact_rms, mean / 8) << problem;
    }
  }
}

/// Rounding D to bf16 hides all of that.
TEST_F(AccuracyTest, RoundingToSixteenBitsIsTheLargestError) {
  const SumErrors errors = errors_of(study_of("256x384x4096", kSixteenBits), "normal");
  EXPECT_GT(errors.rms, 5e-4);
  EXPECT_LT(errors.rms, 4e-3);
}

TEST_F(AccuracyTest, FastSumsOfOneSignAreBiasedTowardZero) {
  const std::string problem = "256x384x4096.e4m3.dfp32";
  const SumErrors fast = errors_of(study_of(problem + ".accfast", kFast), "one_sign");
  double last = 0;
  for (const int interval : {128, 256, 512}) {
    const SumErrors kept = errors_of(study_of(problem, promoted(interval)), "one_sign");
    EXPECT_LT(kept.bias, 0) << interval;
    EXPECT_LT(kept.bias, last) << interval << ": the longer, the more is cut off";
    last = kept.bias;
  }
  EXPECT_LT(fast.bias, 4 * last) << "each of these is below zero";
  EXPECT_GT(fast.bias, -0.2);
}

TEST_F(AccuracyTest, TheLibraryHasBothKindsOfSums) {
  const std::string problem = "256x384x4096.e4m3.dfp32";
  const SumErrors fast =
      errors_of(study_of(problem + ".accfast", std::string(kCublasLabel)), "one_sign");
  const SumErrors kept = errors_of(study_of(problem, std::string(kCublasLabel)), "one_sign");
  EXPECT_LT(fast.bias, 0);
  EXPECT_LE(kept.rms, fast.rms);
}

TEST_F(AccuracyTest, KnowsScalesOfEveryKind) {
  for (const char* scaling : {"tensor", "rows", "blocks", "row_blocks"}) {
    const std::string problem = fmt::format("136x200x912.e4m3.be5m2.dfp32.scaling-{}", scaling);
    const Study study = study_of(problem, promoted(128));
    for (const AccuracyKind& kind : accuracy_kinds()) {
      if (kind.data == AccuracyData::kCancelling) continue;
      EXPECT_LT(errors_of(study, kind.name).worst, 0.02) << problem << ", " << kind.name;
    }
  }
}

/// Against fp32 sums of whole numbers: rows with padding, odd extents, several layouts.
TEST_F(AccuracyTest, TheExactProductIsExact) {
  for (const char* text : {"70x66x40.lda48.ldb56", "70x66x40.layoutNT.lda72.ldb80",
                           "3x5x8.fp16.layoutTT", "65x64x1000.fp32"}) {
    const GemmProblem problem = parse_problem(text);
    const ProblemExtents extents = problem.extents();
    const auto bytes = [](const StoredMatrices& all, DataType type) {
      return matrix_bytes(1, spanned_elements(all), type);
    };
    const DeviceMemory a(bytes(all_of_a(extents), problem.a_type));
    const DeviceMemory b(bytes(all_of_b(extents), problem.b_type));
    const DeviceMemory exact(static_cast<std::size_t>(problem.m * problem.n) * sizeof(double));
    // Whole numbers, so that sums in any order are equal.
    fill_random(a.data(), spanned_elements(all_of_a(extents)), problem.a_type,
                Distribution::kIntegers, 1, 5, 0, stream().get());
    fill_random(b.data(), spanned_elements(all_of_b(extents)), problem.b_type,
                Distribution::kIntegers, 1, 5, 1, stream().get());
    multiply_exactly(exact.as<double>(), problem, {.a = a.data(), .b = b.data()}, stream().get());
    const DeviceMemory reference(static_cast<std::size_t>(problem.m * problem.n) * sizeof(float));
    multiply_reference(reference.as<float>(), problem, {.a = a.data(), .b = b.data()},
                       stream().get());
    std::vector<double> found(static_cast<std::size_t>(problem.m * problem.n));
    std::vector<float> expected(found.size());
    check(cudaMemcpyAsync(found.data(), exact.data(), exact.bytes(), cudaMemcpyDeviceToHost,
                          stream().get()),
          "reading a product");
    check(cudaMemcpyAsync(expected.data(), reference.data(), reference.bytes(),
                          cudaMemcpyDeviceToHost, stream().get()),
          "reading a reference");
    stream().synchronize();
    double largest = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], static_cast<double>(expected[i])) << text << " at " << i;
      largest = std::max(largest, std::abs(found[i]));
    }
    EXPECT_GT(largest, 0) << text;
  }
}

/// Products whose fp32 sums lose what fp64 keeps: 2^30 + 1 - 2^30.
TEST_F(AccuracyTest, TheExactProductKeepsWhatFp32Loses) {
  const GemmProblem problem = parse_problem("1x8x8.fp32");
  std::vector<float> a(8), b(64, 1.0F);
  a[0] = 0x1p30F;
  a[1] = 1;
  a[2] = -0x1p30F;
  const DeviceMemory of_a(a.size() * sizeof(float)), of_b(b.size() * sizeof(float));
  const DeviceMemory exact(8 * sizeof(double)), sums(sizeof(ErrorSums));
  check(cudaMemcpy(of_a.data(), a.data(), of_a.bytes(), cudaMemcpyHostToDevice), "copying A");
  check(cudaMemcpy(of_b.data(), b.data(), of_b.bytes(), cudaMemcpyHostToDevice), "copying B");
  multiply_exactly(exact.as<double>(), problem, {.a = of_a.data(), .b = of_b.data()},
                   stream().get());
  // Seven results of the eight, which is 1: too small by 1/2, too large by 1/4, and no number.
  const std::vector<float> d{1, 0.5F, 1, 1, 1.25F, 1, 1, NAN};
  const DeviceMemory of_d(d.size() * sizeof(float));
  check(cudaMemcpy(of_d.data(), d.data(), of_d.bytes(), cudaMemcpyHostToDevice), "copying D");
  compare_exactly(sums.as<ErrorSums>(), of_d.data(), exact.as<double>(), problem, stream().get());
  stream().synchronize();
  ErrorSums found;
  check(cudaMemcpy(&found, sums.data(), sizeof found, cudaMemcpyDeviceToHost), "reading errors");
  EXPECT_EQ(found.exact_squares, 7);
  EXPECT_EQ(found.squares, 0.25 + 0.0625);
  EXPECT_EQ(found.away_from_zero, -0.5 + 0.25);
  EXPECT_EQ(found.worst, 0.5);
  EXPECT_EQ(found.worst_relative, 0.25);
  EXPECT_EQ(found.not_finite, 1);
}

}  // namespace
}  // namespace hgemm::testing
