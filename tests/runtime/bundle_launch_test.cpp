// Plans and launches of a bundle with a driver that only notes what it is asked for
// (fake_driver.h): what is launched, what is done once, and what is refused. tests/gpu shows that
// it computes.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "gemm/problem_list.h"
#include "tests/runtime/fake_driver.h"
#include "tests/runtime/support.h"

namespace hgemm {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

alignas(256) unsigned char memory[8][256];
void* const kWeight = memory[0];
void* const kStream = memory[1];

class BundleLaunch : public testing::Test {
 protected:
  void SetUp() override {
    fake_driver() = {};
    ASSERT_EQ(prepare(), 0) << hgemm_bundle_error();
  }
  /// NVML, which would tell the driver's version, has no fake.
  int prepare() { return hgemm_bundle_prepare(opened.bundle, 0, HGEMM_BUNDLE_ANY_DRIVER); }

  hgemm_bundle_plan* plan_of(const hgemm_tuned_problem& problem, unsigned flags = 0,
                             const void* b = kWeight) {
    hgemm_bundle_plan* plan = nullptr;
    EXPECT_EQ(hgemm_bundle_plan_create(opened.bundle, 0, &problem, b, flags, &plan), 0)
        << hgemm_bundle_error();
    plans_.emplace_back(plan, hgemm_bundle_plan_destroy);
    return plan;
  }
  static int launch(hgemm_bundle_plan* plan, std::int64_t m, void* a = memory[2],
                    void* d = memory[3], void* workspace = nullptr, std::size_t bytes = 0) {
    hgemm_tuned_operands operands{};
    operands.a = a;
    operands.d = d;
    return hgemm_bundle_plan_launch(plan, kStream, m, &operands, workspace, bytes);
  }

  explicit BundleLaunch(const ExportPlan& plan = plan_of_package()) : opened(bundle_bytes(plan)) {}
  Opened opened;

 private:
  std::vector<std::unique_ptr<hgemm_bundle_plan, void (*)(hgemm_bundle_plan*)>> plans_;
};
class InvariantBundle : public BundleLaunch {
 protected:
  InvariantBundle() : BundleLaunch(plan_of_invariant()) {}
};
class BundleThatPacks : public BundleLaunch {
 protected:
  BundleThatPacks() : BundleLaunch(plan_with_packing()) {}
};

TEST_F(BundleLaunch, PrepareLoadsEveryKernelOnce) {
  const auto kernels = bundle_kernels(plan_of_package());
  EXPECT_THAT(fake_driver().loaded, SizeIs(kernels.size()));
  for (const Kernel& kernel : kernels) {
    EXPECT_THAT(fake_driver().loaded, Contains(kernel_name(kernel)));
  }
  EXPECT_EQ(prepare(), 0);
  EXPECT_THAT(fake_driver().loaded, SizeIs(kernels.size()));
  EXPECT_EQ(hgemm_bundle_prepare(opened.bundle, 1, HGEMM_BUNDLE_ANY_DRIVER), 0) << "another GPU";
  EXPECT_THAT(fake_driver().loaded, SizeIs(2 * kernels.size()));
  EXPECT_EQ(fake_driver().libraries, static_cast<int>(kernels.size())) << "are for all GPUs";
  EXPECT_EQ(hgemm_bundle_prepare(opened.bundle, 2, 0), HGEMM_BUNDLE_DRIVER_ERROR);
}

TEST_F(BundleLaunch, LaunchesTheSelectedKernel) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640));
  ASSERT_EQ(launch(plan, 256), 0) << hgemm_bundle_error();
  ASSERT_EQ(launch(plan, 16), 0) << hgemm_bundle_error();
  ASSERT_THAT(fake_driver().launches, SizeIs(2));
  const auto expect = [](const FakeLaunch& launch, const hgemm_tuned_problem& problem,
                         const KernelConfig& config) {
    const Kernel kernel = kernel_for(config, export_shape(problem.m, problem.n, problem.k));
    EXPECT_EQ(launch.function, kernel_name(kernel));
    EXPECT_EQ(launch.threads, static_cast<unsigned>(threads_per_cta(kernel)));
    EXPECT_EQ(launch.smem_bytes, static_cast<unsigned>(smem_bytes(kernel)));
    EXPECT_EQ(launch.cluster, static_cast<unsigned>(cluster_size(kernel)));
    EXPECT_EQ(launch.pdl, uses_pdl(kernel));
    EXPECT_EQ(launch.m, problem.m);
    EXPECT_EQ(launch.a_map, memory[2]);
    EXPECT_EQ(launch.b_map, kWeight);
    EXPECT_EQ(launch.d, memory[3]);
    EXPECT_EQ(launch.stream, kStream);
  };
  SwapAbConfig pdl = kSwapAb;
  pdl.pdl = true;
  expect(fake_driver().launches[0], c_problem(256, 512, 640), kWide);
  expect(fake_driver().launches[1], c_problem(16, 512, 640), pdl);
  EXPECT_EQ(fake_driver().pushed, 0) << "the caller's context is current again";
}

TEST_F(BundleLaunch, EncodesTheWeightOnce) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640));
  ASSERT_EQ(launch(plan, 256), 0);
  EXPECT_EQ(std::ranges::count(fake_driver().encoded, kWeight), 1);
  fake_driver().encoded.clear();
  ASSERT_EQ(launch(plan, 256, memory[4], memory[5]), 0);
  EXPECT_THAT(fake_driver().encoded, Not(Contains(kWeight)));
  EXPECT_THAT(fake_driver().encoded, Contains(memory[4]));
  EXPECT_EQ(fake_driver().launches.back().a_map, memory[4]);
  EXPECT_EQ(fake_driver().launches.back().b_map, kWeight);
}

TEST_F(BundleLaunch, MissesAreCountedForTheNextTune) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 511, 640));
  EXPECT_EQ(launch(plan, 64), HGEMM_TUNED_NO_KERNEL);
  EXPECT_EQ(launch(plan, 64), HGEMM_TUNED_NO_KERNEL);
  hgemm_tuned_problem padded = c_problem(0, 511, 640);
  padded.dtype = HGEMM_TUNED_FP16;
  padded.ldb = 648;
  EXPECT_EQ(launch(plan_of(padded), 8), HGEMM_TUNED_NO_KERNEL);
  EXPECT_EQ(launch(plan_of(c_problem(0, 512, 640)), 256), 0);
  EXPECT_THAT(fake_driver().launches, SizeIs(1));
  const std::vector<GemmProblem> missed = parse_problems(opened.misses(), "misses.yaml");
  ASSERT_THAT(missed, SizeIs(2)) << opened.misses();
  const auto& plain = missed[0].m == 64 ? missed[0] : missed[1];
  const auto& other = missed[0].m == 64 ? missed[1] : missed[0];
  EXPECT_TRUE(plain.same_problem(export_shape(64, 511, 640)));
  EXPECT_EQ(plain.weight, 2);
  EXPECT_EQ(other.a_type, DataType::kFp16);
  EXPECT_EQ(other.ldb, 648);
  EXPECT_EQ(other.weight, 1);
}

TEST_F(BundleLaunch, OnlyGainsIfAsked) {
  EXPECT_EQ(launch(plan_of(c_problem(0, 512, 640)), 1), 0);
  EXPECT_EQ(launch(plan_of(c_problem(0, 512, 640), HGEMM_BUNDLE_ONLY_GAINS), 1),
            HGEMM_BUNDLE_NO_GAIN);
  EXPECT_EQ(launch(plan_of(c_problem(0, 512, 640), HGEMM_BUNDLE_ONLY_GAINS), 256), 0);
}

TEST_F(BundleLaunch, WhatALaunchWouldReturnIsKnownBefore) {
  const auto status = [&](const hgemm_tuned_problem& problem, unsigned flags) {
    return hgemm_bundle_status_of(opened.bundle, &problem, flags);
  };
  EXPECT_EQ(status(c_problem(1, 512, 640), 0), 0);
  EXPECT_EQ(status(c_problem(1, 512, 640), HGEMM_BUNDLE_ONLY_GAINS), HGEMM_BUNDLE_NO_GAIN);
  EXPECT_EQ(status(c_problem(256, 512, 640), HGEMM_BUNDLE_ONLY_GAINS), 0);
  EXPECT_EQ(status(c_problem(63, 512, 640), HGEMM_BUNDLE_ONLY_GAINS), HGEMM_BUNDLE_NOT_TUNED);
  EXPECT_EQ(status(c_problem(64, 511, 640), 0), HGEMM_TUNED_NO_KERNEL);
  EXPECT_EQ(status(c_problem(0, 512, 640), 0), HGEMM_TUNED_BAD_PROBLEM);
  EXPECT_THAT(opened.misses(), HasSubstr("shapes: []"));
  const auto count = [&](const hgemm_tuned_problem& problem, std::int64_t calls) {
    return hgemm_bundle_count_misses(opened.bundle, &problem, HGEMM_BUNDLE_ONLY_GAINS, calls);
  };
  EXPECT_EQ(count(c_problem(63, 512, 640), 3), 0);
  EXPECT_EQ(count(c_problem(63, 512, 640), 4), 0);
  EXPECT_EQ(count(c_problem(256, 512, 640), 5), 0) << "none, so nothing is counted";
  EXPECT_THAT(opened.misses(), HasSubstr("m: 63, n: 512, k: 640, weight: 7}"));
  EXPECT_THAT(opened.misses(), Not(HasSubstr("m: 256,")));
  EXPECT_EQ(hgemm_bundle_status_of(opened.bundle, nullptr, 0), HGEMM_TUNED_NULL_POINTER);
}

TEST_F(BundleLaunch, OnlyGainsAreNearATunedProblem) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640), HGEMM_BUNDLE_ONLY_GAINS);
  EXPECT_EQ(launch(plan, 64), 0) << "a quarter of the tuned 256 rows";
  EXPECT_EQ(launch(plan, 63), HGEMM_BUNDLE_NOT_TUNED);
  EXPECT_EQ(launch(plan, 100000), HGEMM_BUNDLE_NOT_TUNED);
  EXPECT_EQ(launch(plan_of(c_problem(0, 512, 648), HGEMM_BUNDLE_ONLY_GAINS), 256),
            HGEMM_BUNDLE_NOT_TUNED)
      << "the kernel of another K";
  const std::vector<GemmProblem> missed = parse_problems(opened.misses(), "misses.yaml");
  EXPECT_THAT(missed, SizeIs(3)) << opened.misses();
  EXPECT_EQ(hgemm_bundle_plan_count_miss(plan, 63), 0);
  EXPECT_EQ(hgemm_bundle_plan_count_miss(plan, 64), 0) << "none, so nothing is counted";
  EXPECT_THAT(opened.misses(), HasSubstr("m: 63, n: 512, k: 640, weight: 2}"));
  EXPECT_THAT(opened.misses(), Not(HasSubstr("m: 64,")));
  EXPECT_EQ(launch(plan_of(c_problem(0, 512, 648)), 256), 0) << "any kernel, if any will do";
}

// Another library would give other bits at the numbers of rows that it computes.
TEST_F(InvariantBundle, ItsKernelsComputeEveryNumberOfRows) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640), HGEMM_BUNDLE_ONLY_GAINS);
  for (const std::int64_t m : {1, 3, 4, 16, 17, 63, 64, 256, 257, 100'000}) {
    EXPECT_EQ(launch(plan, m), 0) << m << " rows: " << hgemm_bundle_error();
    const std::string& function = fake_driver().launches.back().function;
    EXPECT_EQ(function.find("csplit"), function.npos) << "the fastest one at 16 rows cuts K";
  }
  const std::vector<FakeLaunch>& launches = fake_driver().launches;
  EXPECT_THAT(launches[3].function, HasSubstr("fixed"));
  EXPECT_THAT(launches[4].function, Not(HasSubstr("fixed")));
  EXPECT_EQ(launches[0].function, launches[1].function);
  EXPECT_NE(launches[0].function, launches.back().function) << "each has the nearest";
  EXPECT_THAT(opened.misses(), HasSubstr("shapes: []"));
}

TEST_F(InvariantBundle, OtherLayersAreLeftAtEveryNumberOfRows) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 648), HGEMM_BUNDLE_ONLY_GAINS);
  for (const std::int64_t m : {1, 16, 256, 100'000}) {
    EXPECT_EQ(launch(plan, m), HGEMM_BUNDLE_NOT_TUNED) << m;
  }
}

TEST_F(InvariantBundle, OperandsBetweenUnitsHaveItsKernelsToo) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640), HGEMM_BUNDLE_ONLY_GAINS);
  hgemm_tuned_operands operands{};
  operands.a = memory[2] + 2;
  operands.d = memory[3];
  std::size_t bytes = 0;
  EXPECT_EQ(hgemm_bundle_plan_workspace_bytes_at(plan, 16, &operands, &bytes), 0)
      << "by the kernel of another layer, which packs";
  EXPECT_GT(bytes, 0U);
}

TEST_F(BundleLaunch, RefusesWhatItCannotUse) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640));
  EXPECT_EQ(launch(plan, 256, memory[2] + 2), HGEMM_TUNED_MISALIGNED);
  EXPECT_EQ(launch(plan, 256, nullptr), HGEMM_TUNED_NULL_POINTER);
  EXPECT_EQ(launch(plan, 0), HGEMM_TUNED_BAD_PROBLEM);
  EXPECT_EQ(launch(plan, -1), HGEMM_TUNED_BAD_PROBLEM);
  EXPECT_EQ(launch(plan, std::int64_t{1} << 40), HGEMM_TUNED_BAD_PROBLEM);
  EXPECT_EQ(launch(plan_of(c_problem(0, 512, 640), 0, memory[0] + 2), 256), HGEMM_TUNED_MISALIGNED);
  EXPECT_THAT(fake_driver().launches, SizeIs(0));
  fake_driver().context_id = 8;  // the device was reset
  EXPECT_EQ(launch(plan, 256), HGEMM_BUNDLE_NOT_PREPARED);
  EXPECT_EQ(prepare(), HGEMM_BUNDLE_NOT_PREPARED);
  EXPECT_THAT(hgemm_bundle_error(), HasSubstr("open it again"));
}

TEST_F(BundleLaunch, WorkspacesAreInitialisedFirst) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 256, 4096));
  std::size_t bytes = 0;
  ASSERT_EQ(hgemm_bundle_plan_workspace_bytes(plan, 384, &bytes), 0);
  ASSERT_GT(bytes, 0u);
  void* const workspace = memory[6];  // the fake driver writes nothing there
  EXPECT_EQ(launch(plan, 384), HGEMM_TUNED_SMALL_WORKSPACE);
  EXPECT_EQ(launch(plan, 384, memory[2], memory[3], workspace, bytes - 1),
            HGEMM_TUNED_SMALL_WORKSPACE);
  EXPECT_EQ(launch(plan, 384, memory[2], memory[3], memory[6] + 16, bytes),
            HGEMM_TUNED_MISALIGNED_WORKSPACE);
  EXPECT_EQ(launch(plan, 384, memory[2], memory[3], workspace, bytes),
            HGEMM_TUNED_WORKSPACE_NOT_INITIALISED);
  ASSERT_EQ(hgemm_bundle_init_workspace(opened.bundle, 0, kStream, workspace, bytes), 0);
  EXPECT_THAT(fake_driver().lowered, Contains(workspace));
  EXPECT_EQ(launch(plan, 384, memory[2], memory[3], workspace, bytes), 0);
  ASSERT_THAT(fake_driver().launches, SizeIs(1));
  EXPECT_TRUE(fake_driver().launches[0].cooperative);
  ASSERT_EQ(hgemm_bundle_forget_workspace(opened.bundle, 0, workspace), 0);
  EXPECT_EQ(launch(plan, 384, memory[2], memory[3], workspace, bytes),
            HGEMM_TUNED_WORKSPACE_NOT_INITIALISED)
      << "what lies there now may be anything";
}

TEST_F(BundleThatPacks, OperandsBetweenUnitsHaveAWorkspace) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640));
  unsigned char* const a = memory[2] + 2;
  hgemm_tuned_operands operands{};
  std::size_t bytes = 1;
  ASSERT_EQ(hgemm_bundle_plan_workspace_bytes_at(plan, 256, &operands, &bytes), 0);
  EXPECT_EQ(bytes, 0u);
  operands.a = a;
  ASSERT_EQ(hgemm_bundle_plan_workspace_bytes_at(plan, 256, &operands, &bytes), 0);
  EXPECT_GT(bytes, 256u * 640 * 2);
  EXPECT_EQ(launch(plan, 256, a), HGEMM_TUNED_SMALL_WORKSPACE);
  void* workspace = nullptr;
  ASSERT_EQ(hgemm_bundle_new_workspace(opened.bundle, 0, kStream, bytes, &workspace), 0);
  ASSERT_EQ(launch(plan, 256, a, memory[3], workspace, bytes), 0) << hgemm_bundle_error();
  ASSERT_THAT(fake_driver().launches, SizeIs(2));
  EXPECT_EQ(fake_driver().launches[0].packed, a);
  const FakeLaunch& product = fake_driver().launches[1];
  EXPECT_GT(product.a_map, workspace);
  EXPECT_LT(product.a_map, static_cast<unsigned char*>(workspace) + bytes);
  EXPECT_EQ(product.b_map, kWeight);
  EXPECT_EQ(launch(plan, 256), 0) << "aligned ones have the other kernel";
  EXPECT_EQ(fake_driver().launches.back().a_map, memory[2]);
  EXPECT_EQ(hgemm_bundle_free_workspace(opened.bundle, 0, workspace), 0);
  EXPECT_EQ(hgemm_bundle_plan_workspace_bytes_at(plan, 256, nullptr, &bytes),
            HGEMM_TUNED_NULL_POINTER);
}

TEST_F(BundleThatPacks, AMissIsWhatATuneCanMend) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640), HGEMM_BUNDLE_ONLY_GAINS);
  EXPECT_EQ(launch(plan, 256, memory[2] + 2), HGEMM_TUNED_MISALIGNED);
  EXPECT_THAT(opened.misses(), HasSubstr("shapes: []"));
  EXPECT_EQ(launch(plan, 63, memory[2] + 2), HGEMM_BUNDLE_NOT_TUNED);
  EXPECT_THAT(opened.misses(), HasSubstr("m: 63, n: 512, k: 640, weight: 1}"));
}

TEST_F(BundleLaunch, AllocatesWorkspaces) {
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 256, 4096));
  std::size_t bytes = 0;
  ASSERT_EQ(hgemm_bundle_plan_workspace_bytes(plan, 384, &bytes), 0);
  void* workspace = nullptr;
  ASSERT_EQ(hgemm_bundle_new_workspace(opened.bundle, 0, kStream, bytes, &workspace), 0);
  EXPECT_THAT(fake_driver().lowered, Contains(workspace));
  EXPECT_EQ(launch(plan, 384, memory[2], memory[3], workspace, bytes), 0);
  ASSERT_EQ(hgemm_bundle_free_workspace(opened.bundle, 0, workspace), 0);
  EXPECT_THAT(fake_driver().allocated, SizeIs(0));
  EXPECT_EQ(launch(plan, 384, memory[2], memory[3], workspace, bytes),
            HGEMM_TUNED_WORKSPACE_NOT_INITIALISED);
  EXPECT_EQ(hgemm_bundle_new_workspace(opened.bundle, 1, kStream, bytes, &workspace),
            HGEMM_BUNDLE_NOT_PREPARED);
}

TEST_F(BundleLaunch, ThreadsShareAPlan) {
  constexpr int kThreads = 8, kCalls = 400;
  hgemm_bundle_plan* const plan = plan_of(c_problem(0, 512, 640));
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int call = 0; call < kCalls; ++call) {
        if (launch(plan, 1 + (i + call) % 1500) != 0) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_THAT(fake_driver().launches, SizeIs(kThreads * kCalls));
}

TEST(BundleDevices, AnotherGpuOrAnOldDriverIsRefused) {
  fake_driver() = {};
  Opened opened;
  fake_driver().gpu_name = "NVIDIA H100 80GB HBM3";
  const unsigned any_driver = HGEMM_BUNDLE_ANY_DRIVER;
  EXPECT_EQ(hgemm_bundle_prepare(opened.bundle, 0, any_driver), HGEMM_BUNDLE_OTHER_GPU);
  fake_driver().driver_cuda = 12080;
  EXPECT_EQ(hgemm_bundle_prepare(opened.bundle, 0, any_driver), HGEMM_BUNDLE_OLD_DRIVER);
  EXPECT_EQ(fake_driver().libraries, 0) << "nothing was loaded";
  fake_driver().driver_cuda = 13010;
  EXPECT_EQ(hgemm_bundle_prepare(opened.bundle, 0, any_driver | HGEMM_BUNDLE_ANY_GPU), 0);
}

TEST(BundleDevices, ClosingGivesEverythingBack) {
  fake_driver() = {};
  {
    Opened opened;
    ASSERT_EQ(hgemm_bundle_prepare(opened.bundle, 0, HGEMM_BUNDLE_ANY_DRIVER), 0);
    EXPECT_GT(fake_driver().libraries, 0);
    EXPECT_EQ(fake_driver().contexts, 1);
  }
  EXPECT_EQ(fake_driver().libraries, 0);
  EXPECT_EQ(fake_driver().contexts, 0);
}

}  // namespace
}  // namespace hgemm
