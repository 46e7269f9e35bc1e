// A bundle on a GPU: every kernel of every row computes what it was tuned for, also in a graph and
// from several threads. It is exported here, with real cubins.
#include <gmock/gmock.h>
#include <hgemm_bundle.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "base/file.h"
#include "support.h"
#include "tests/output/export/fixture.h"

namespace hgemm::testing {
namespace {

ExportPlan plan_of_every_kind() {
  return plan_export(test::recordings_of_every_kind(), {.allowed = {.pdl = PdlKind::kWeights}});
}

/// An open bundle of these kernels, prepared for GPU 0.
class Bundled {
 public:
  explicit Bundled(const ExportPlan& plan) {
    const std::vector<Kernel> kernels = bundle_kernels(plan);
    std::map<std::string, std::string> compiled;
    for (const Build& build : compile(kernels)) {
      EXPECT_EQ(build.status, Status::kOk) << build.message;
      compiled[build_name(build.kernel)] = read_cubin(build.cubin);
    }
    std::vector<std::string> cubins;
    for (const Kernel& kernel : kernels) cubins.push_back(compiled.at(build_name(kernel)));
    const std::string path = (folder_.path() / "tuned.hgb").string();
    replace_file(path, bundle_file(plan, test::valid_for(plan), nvrtc_version(), cubins));
    EXPECT_EQ(hgemm_bundle_open(path.c_str(), &bundle), 0) << hgemm_bundle_error();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(prepare(), 0) << hgemm_bundle_error();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::printf("prepare: %zu kernels in %.1f ms\n", kernels.size(), took.count());
  }
  Bundled(const Bundled&) = delete;
  Bundled& operator=(const Bundled&) = delete;
  ~Bundled() { hgemm_bundle_close(bundle); }

  /// The recording is made up, so its GPU and driver are others.
  int prepare() {
    return hgemm_bundle_prepare(bundle, 0, HGEMM_BUNDLE_ANY_GPU | HGEMM_BUNDLE_ANY_DRIVER);
  }

  hgemm_bundle* bundle = nullptr;

 private:
  test::TemporaryFolder folder_;
};

/// A problem with its data, the plan of its B, and a workspace in which every flag is raised.
class Call {
 public:
  Call(const Bundled& bundled, const GemmProblem& problem, hgemm_tuned_problem c_problem,
       const Gpu& device)
      : data(problem, 5, device, stream), bundle_(bundled.bundle), m_(problem.m) {
    c_problem.m = 0;
    EXPECT_EQ(hgemm_bundle_plan_create(bundle_, 0, &c_problem, data.operands(0).b, 0, &plan_), 0)
        << hgemm_bundle_error();
    EXPECT_EQ(hgemm_bundle_plan_workspace_bytes(plan_, m_, &bytes_), 0) << hgemm_bundle_error();
    if (bytes_ == 0) return;
    workspace_ = DeviceMemory(bytes_);
    check(cudaMemsetAsync(workspace_.data(), 0xff, bytes_, stream.get()), "filling a workspace");
    EXPECT_EQ(hgemm_bundle_init_workspace(bundle_, 0, stream.get(), workspace_.data(), bytes_), 0)
        << hgemm_bundle_error();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    cudaStreamSynchronize(stream.get());
    hgemm_bundle_plan_destroy(plan_);
  }

  int launch() {
    const Operands o = data.operands(0);
    const hgemm_tuned_operands operands{o.a,       nullptr,   o.d,       o.c,
                                        o.bias,    o.alpha,   o.beta,    o.aux,
                                        o.scale_a, o.scale_b, o.scale_d, o.scales_d};
    return hgemm_bundle_plan_launch(plan_, stream.get(), m_, &operands, workspace_.data(), bytes_);
  }
  void expect_right() {
    const Verdict verdict = data.verify(stream);
    EXPECT_TRUE(verdict.correct) << verdict.message;
  }

  Stream stream;
  ProblemData data;

 private:
  hgemm_bundle* bundle_;
  hgemm_bundle_plan* plan_ = nullptr;
  std::int64_t m_;
  std::size_t bytes_ = 0;
  DeviceMemory workspace_;
};

class BundleOnGpu : public GpuTest {
 protected:
  /// Calls `use` with each row's problem, and with M that only the general kernels compute.
  template <class Use>
  void for_each_problem(const Bundled& bundled, const ExportPlan& plan, const Use& use) {
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      hgemm_tuned_problem c_problem{};
      ASSERT_EQ(hgemm_bundle_shape(bundled.bundle, static_cast<int>(i), &c_problem), 0);
      for (const std::int64_t m : {plan.rows[i].best.problem.m, std::int64_t{104}}) {
        GemmProblem problem = plan.rows[i].best.problem;
        problem.m = m;
        c_problem.lda = c_problem.stride_a = c_problem.stride_d = 0;
        SCOPED_TRACE(to_string(problem));
        Call call(bundled, problem, c_problem, without_rotation());
        use(call);
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_F(BundleOnGpu, ComputesItsShapesAndOthers) {
  const ExportPlan plan = plan_of_every_kind();
  const Bundled bundled(plan);
  for_each_problem(bundled, plan, [](Call& call) {
    for (int i = 0; i < 3; ++i) {  // each leaves the workspace ready for the next
      call.data.poison(call.stream);
      ASSERT_EQ(call.launch(), 0) << hgemm_bundle_error();
      call.expect_right();
    }
  });
}

TEST_F(BundleOnGpu, IsCapturedAfterPrepareAlone) {
  const ExportPlan plan = plan_of_every_kind();
  const Bundled bundled(plan);
  for_each_problem(bundled, plan, [](Call& call) {
    call.stream.synchronize();
    int status = 0;
    const Graph graph = Graph::capture(call.stream, [&] { status = call.launch(); });
    ASSERT_EQ(status, 0) << hgemm_bundle_error();
    for (int i = 0; i < 2; ++i) {
      call.data.poison(call.stream);
      graph.launch(call.stream);
      call.expect_right();
    }
  });
}

TEST_F(BundleOnGpu, ThreadsLaunchOnTheirOwnStreams) {
  const ExportPlan plan = plan_of_every_kind();
  const Bundled bundled(plan);
  hgemm_tuned_problem c_problem{};
  c_problem.n = 512;
  c_problem.k = 640;
  std::vector<std::unique_ptr<Call>> calls;
  for (const std::int64_t m : {16, 256, 104, 1000}) {
    calls.push_back(std::make_unique<Call>(bundled, test::export_shape(m, 512, 640), c_problem,
                                           without_rotation()));
    calls.back()->data.poison(calls.back()->stream);
  }
  // These threads have no current context.
  std::vector<std::thread> threads;
  for (const auto& call : calls) {
    threads.emplace_back([&call] {
      for (int i = 0; i < 100; ++i) EXPECT_EQ(call->launch(), 0) << hgemm_bundle_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& call : calls) call->expect_right();
}

/// Prints what a launch costs the host. No limit: machines differ.
TEST_F(BundleOnGpu, HostTimeOfALaunch) {
  constexpr int kLaunches = 500;  // fewer than the driver queues before it waits
  const ExportPlan plan = plan_of_every_kind();
  const Bundled bundled(plan);
  for_each_problem(bundled, plan, [](Call& call) {
    double least_us = 1e9;
    for (int round = 0; round < 5; ++round) {
      call.stream.synchronize();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kLaunches; ++i) ASSERT_EQ(call.launch(), 0);
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - start;
      least_us = std::min(least_us, took.count() / kLaunches);
    }
    std::printf("%-40s %.2f us of the host per launch\n", to_string(call.data.problem()).c_str(),
                least_us);
  });
}

// Last, since it takes the context from the other tests.
TEST_F(BundleOnGpu, IsRefusedAfterADeviceReset) {
  const ExportPlan plan = plan_of_every_kind();
  Bundled bundled(plan);
  hgemm_tuned_problem c_problem{};
  c_problem.n = 512;
  c_problem.k = 640;
  hgemm_bundle_plan* made = nullptr;
  {
    const DeviceMemory b(512 * 640 * 2);
    ASSERT_EQ(hgemm_bundle_plan_create(bundled.bundle, 0, &c_problem, b.data(), 0, &made), 0);
  }
  check(cudaDeviceReset(), "resetting the device");
  check(cudaFree(nullptr), "making a context");
  const DeviceMemory memory(1 << 20);
  hgemm_tuned_operands operands{};
  operands.a = operands.d = memory.data();
  EXPECT_EQ(hgemm_bundle_plan_launch(made, nullptr, 16, &operands, nullptr, 0),
            HGEMM_BUNDLE_NOT_PREPARED);
  EXPECT_EQ(bundled.prepare(), HGEMM_BUNDLE_NOT_PREPARED);
  hgemm_bundle_plan_destroy(made);
}

}  // namespace
}  // namespace hgemm::testing
