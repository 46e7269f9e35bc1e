// What the hardware counts in a launch that we can count by hand. Where this user may not read
// counters, the error must say so and what to do: that is what is checked then.
#include <gmock/gmock.h>

#include "families/family.h"
#include "studies/counters/counter_set.h"
#include "studies/counters/run.h"
#include "studies/counters/run_cupti.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Two CTAs of a cluster share B: each fetches half of it and multicasts it to both.
const TiledConfig kConfig{
    .bm = 128, .bn = 256, .bk = 64, .stages = 4, .cluster_m = 2, .consumers = 2};
const GemmProblem kShape{.m = 4096, .n = 4096, .k = 4096, .tag = ""};

class CountersTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    try {
      Cupti().check_access();
      permitted_ = true;
    } catch (const CountersUnavailable& unavailable) {
      EXPECT_THAT(unavailable.what(),
                  AnyOf(HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"),
                        HasSubstr("virtual GPU"), HasSubstr("end the other profiler")))
          << "counters cannot be read, for a reason that this test does not know";
      std::cout << "counters are not checked: " << unavailable.what() << '\n';
    }
  }

  Study count(const std::string& label, const Cubin& cubin = {}) {
    const OnStep silent;
    StudyRequest request;
    request.kind = kCountersStudy;
    request.label = label;
    request.problem = kShape;
    Study study = run_counters(request, cubin, {*device_, nullptr, silent, stream()});
    EXPECT_EQ(study.status, Status::kOk) << label << ": " << study.message;
    for (const Figure& figure : study.figures) {
      std::cout << "  " << label.substr(0, 12) << ' ' << figure.metric << " = " << figure.value
                << ' ' << figure.unit << '\n';
    }
    return study;
  }

  static double value(const Study& study, const std::string& metric) {
    for (const Figure& figure : study.figures) {
      if (figure.metric == metric) return figure.value;
    }
    ADD_FAILURE() << study.label << " has no " << metric;
    return -1;
  }

  /// What holds for any kernel that computes the shape.
  void expect_physical(const Study& study) const {
    const double margin = 1.02;
    EXPECT_GT(value(study, "tensor_pipe_active"), 20);
    EXPECT_LE(value(study, "tensor_pipe_active"), 100);
    EXPECT_GT(value(study, "l2_hit_rate"), 10);
    EXPECT_LE(value(study, "l2_hit_rate"), 100);
    EXPECT_LE(value(study, "multicast_share"), 100);
    // Inputs are cold: each byte of them at least once; and with 50 MB of L2 not often.
    const double inputs = 2.0 * 2 * 4096 * 4096;
    EXPECT_GE(value(study, "dram_read"), 0.9 * inputs);
    EXPECT_LE(value(study, "dram_read"), 8 * inputs);
    EXPECT_GE(value(study, "l2_to_sm"), inputs);
    const double mhz = value(study, "sm_clock") * 1e-6;
    EXPECT_GT(mhz, 300);
    EXPECT_LT(mhz, 1.05 * device_->max_sm_mhz);
    // 4096 FLOP per clock and SM is the tensor cores' peak for 16-bit inputs.
    EXPECT_GT(value(study, "flop_per_clk"), 500);
    EXPECT_LE(value(study, "flop_per_clk"), 4096 * margin);
    EXPECT_NEAR(value(study, "tensor_work"), 1, 0.001) << "is an FMA two operations?";
    double warp_cycles = 0;
    for (const Figure& figure : study.figures) {
      if (is_stall(figure.metric)) warp_cycles += figure.value;
    }
    EXPECT_NEAR(warp_cycles, 100, 5) << "the reasons are not all there, or one is counted twice";
  }

  bool permitted_ = false;
};

TEST_F(CountersTest, OurKernelIsWhatWeCountByHand) {
  if (!permitted_) return;
  const Build build = compile({kernel_for(kConfig, kShape)}).front();
  ASSERT_EQ(build.status, Status::kOk) << build.message;
  const Study study = count(label(kConfig), build.cubin);
  expect_physical(study);

  // A wgmma does 64 x bn x 16, and each of the four warps of its group counts as one.
  const double wgmmas = kShape.flops() / 2 / (kMmaM * kConfig.bn * kMmaK);
  EXPECT_DOUBLE_EQ(value(study, "wgmma_warp_instructions"), 4 * wgmmas);

  // A tile of bm x bn takes bm + bn rows of K from L2. Of B, each CTA of the cluster receives all.
  const double tiles = static_cast<double>(kShape.m / kConfig.bm * (kShape.n / kConfig.bn));
  const double a_bytes = tiles * kConfig.bm * static_cast<double>(kShape.k) * kInputBytes;
  const double b_bytes = tiles * kConfig.bn * static_cast<double>(kShape.k) * kInputBytes;
  EXPECT_NEAR(value(study, "l2_to_sm_tma") / (a_bytes + b_bytes), 1, 0.02)
      << "multicast bytes are counted where they arrive, or not?";
  EXPECT_NEAR(value(study, "multicast_share"), 100 * b_bytes / (a_bytes + b_bytes), 1);
  const double d_bytes = kShape.d_bytes();
  EXPECT_NEAR(value(study, "sm_to_l2") / d_bytes, 1, 0.1);
}

// Many in one process, as a command with many labels and shapes asks for; and cuBLAS twice, since
// what is deterministic must not depend on what was profiled before.
TEST_F(CountersTest, WorkSeveralTimesInOneProcess) {
  if (!permitted_) return;
  const Study first = count(std::string(kCublasLabel));
  expect_physical(first);
  count(std::string(kCublasLtPrefix) + "0");
  const Study again = count(std::string(kCublasLabel));
  EXPECT_EQ(value(first, "wgmma_warp_instructions"), value(again, "wgmma_warp_instructions"));
  EXPECT_NEAR(value(first, "l2_to_sm") / value(again, "l2_to_sm"), 1, 0.02);
}

TEST_F(CountersTest, DoctorSaysWhetherTheyCanBeRead) {
  const Finding finding = check_counters();
  EXPECT_EQ(finding.ok, permitted_) << finding.detail;
}

}  // namespace
}  // namespace hgemm::testing
