// Launches that overlap (PDL): each reads what the one before wrote, and waits for it however long.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "device/loaded_kernel.h"
#include "families/family.h"
#include "support.h"

namespace hgemm::testing {
namespace {

class PdlTest : public GpuTest {};

/// A kernel that runs for 2.5 s, which is longer than any wait in a kernel of the tuner may last,
/// and lets the next one begin at once.
Build slow_kernel(const GemmProblem& problem) {
  const std::string wait = "    ptx::griddepcontrol_wait();";
  const std::string read = " asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now));";
  return compile_edited(kernel_for(GemvConfig{.pdl = true}, problem), "gemv/kernel.cuh", wait,
                        wait + " u64 now;" + read +
                            " for (const u64 end = now + 2'500'000'000; now < end;) {"
                            " asm volatile(\"nanosleep.u32 1000;\");" +
                            read + " }");
}

/// Layers of a network: each launch reads as A, or as B, what the one before it writes, and writes
/// what that one reads. Overlapping launches (pdl) must give what launches one by one give, to the
/// bit. `problem` is square if B is what was written.
void expect_same_layers(const Build& build, const GemmProblem& problem, const ProblemData& data,
                        bool as_b, const Stream& stream) {
  const auto bytes = static_cast<std::size_t>(problem.m * problem.n) * sizeof(std::uint16_t);
  const Operands in = data.operands(0);
  const DeviceMemory left(bytes), right(bytes);
  const LoadedKernel kernel(build.kernel, build.cubin);
  const int ctas = kernel.grid_ctas(problem);
  const Workspace workspace = kernel.make_workspace(problem, ctas);
  const auto outputs = [&](bool one_by_one) {
    check(cudaMemcpyAsync(left.data(), as_b ? in.b : in.a, bytes, cudaMemcpyDeviceToDevice,
                          stream.get()),
          "copying the first input");
    for (int layer = 0; layer < 40; ++layer) {
      void* const from = layer % 2 == 0 ? left.data() : right.data();
      void* const to = layer % 2 == 0 ? right.data() : left.data();
      const Operands other = data.operands(layer % 3);
      const Operands operands = as_b ? Operands{other.a, from, to} : Operands{from, other.b, to};
      kernel.launch(make_params(build.kernel, problem, operands, workspace), ctas, stream.get());
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
    ASSERT_EQ(outputs(false), expected) << build.facts.name << ", run " << i;
  }
}

TEST_F(PdlTest, EachLaunchReadsWhatTheOneBeforeWrote) {
  const GemmProblem problem{.m = 1000, .n = 1032, .k = 1032, .tag = ""};
  const Stream stream;
  const ProblemData data(problem, 3, *device_, stream);
  ASSERT_GT(data.sets(), 2);
  for (const Build& build : compile(smoke_kernels(problem))) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    if (computes(build.kernel, problem)) expect_same_layers(build, problem, data, false, stream);
  }
}

// A launch of PDL kind safe may follow one that writes its B, however late.
TEST_F(PdlTest, EachSafeLaunchReadsTheWeightThatTheOneBeforeWrote) {
  const GemmProblem problem{.m = 1032, .n = 1032, .k = 1032, .tag = ""};
  const Stream stream;
  const ProblemData data(problem, 3, *device_, stream);
  ASSERT_GT(data.sets(), 2);
  int safe = 0;
  for (const Build& build : compile(smoke_kernels(problem))) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    if (!computes(build.kernel, problem)) continue;
    if (pdl_kind(config_of(build.kernel)) != PdlKind::kSafe) continue;
    expect_same_layers(build, problem, data, true, stream);
    ++safe;
  }
  EXPECT_GE(safe, 8) << "the smoke space has too few kernels of this kind";
}

/// A launch on another stream that runs for 2.5 s and then writes B is waited for through an event.
/// The launch before on the same stream has long ended then, and the kernel may have prefetched.
TEST_F(PdlTest, ASafeLaunchReadsTheWeightThatAnotherStreamWrote) {
  const GemmProblem one_row{.m = 1, .n = 16, .k = 256, .tag = ""};
  const GemmProblem problem{.m = 16, .n = 512, .k = 1032, .tag = ""};
  const Stream stream, other;
  const ProblemData small(one_row, 1, without_rotation(), stream);
  const ProblemData data(problem, 2, without_rotation(), stream);
  const Build slow = slow_kernel(one_row);
  ASSERT_EQ(slow.status, Status::kOk) << slow.message;
  const auto before = make_kernel_candidate(slow.kernel, slow.cubin, small);
  const auto bytes = static_cast<std::size_t>(problem.n * problem.k) * sizeof(std::uint16_t);
  const DeviceMemory weight(bytes);
  void* const b = const_cast<void*>(data.operands(0).b);
  for (const KernelConfig& config : std::vector<KernelConfig>{
           TiledConfig{.bn = 64, .pdl = true},
           SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true, .late = true}}) {
    SCOPED_TRACE(label(config));
    ASSERT_EQ(pdl_kind(config), PdlKind::kSafe);
    const Build build = compile({kernel_for(config, problem)}).front();
    ASSERT_EQ(build.status, Status::kOk) << build.message;
    const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
    check(cudaMemcpy(weight.data(), b, bytes, cudaMemcpyDeviceToDevice), "keeping B");
    check(cudaMemset(b, 0xff, bytes), "writing NaNs into B");
    data.poison(stream);
    stream.synchronize();
    const Event written;
    before->launch(0, other.get());
    check(cudaMemcpyAsync(b, weight.data(), bytes, cudaMemcpyDeviceToDevice, other.get()),
          "writing B");
    check(cudaEventRecord(written.get(), other.get()), "recording the event");
    candidate->launch(0, stream.get());  // reads NaNs; its output is written over
    check(cudaStreamWaitEvent(stream.get(), written.get()), "waiting for the event");
    candidate->launch(0, stream.get());
    const Verdict verdict = data.verify(stream);
    EXPECT_TRUE(verdict.correct) << verdict.message;
  }
}

// A kernel that is launched with PDL begins while the one before it runs, however long that takes
// (a collective may await another rank). It must not take that for a hang of its own.
TEST_F(PdlTest, PdlOutlastsASlowKernelBefore) {
  const GemmProblem one_row{.m = 1, .n = 16, .k = 256, .tag = ""};
  const GemmProblem problem{.m = 16, .n = 512, .k = 1032, .tag = ""};
  const std::vector<KernelConfig> configs = {
      TiledConfig{.bn = 64, .pdl = true},
      TiledConfig{.bn = 64, .pdl = true, .hold = true},
      TiledConfig{.bn = 64, .cluster_n = 2, .pdl = true},
      TiledConfig{.bn = 64, .scheduler = TileScheduler::kClusterSplitK, .splits = 2, .pdl = true},
      SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true},
      SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true, .late = true},
      SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true, .hold = true},
      SwapAbConfig{
          .bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true, .late = true, .hold = true},
      TiledConfig{.bn = 64, .cluster_n = 2, .pdl = true, .hold = true},
      GemvConfig{.vectors = 16, .rows = 8, .pdl = true}};
  const Stream stream;
  const ProblemData small(one_row, 1, without_rotation(), stream);
  const ProblemData data(problem, 2, without_rotation(), stream);
  const Build slow = slow_kernel(one_row);
  ASSERT_EQ(slow.status, Status::kOk) << slow.message;
  const auto before = make_kernel_candidate(slow.kernel, slow.cubin, small);
  for (const KernelConfig& config : configs) {
    SCOPED_TRACE(label(config));
    ASSERT_FALSE(why_invalid(config)) << why_invalid(config)->reason;
    const Build build = compile({kernel_for(config, problem)}).front();
    ASSERT_EQ(build.status, Status::kOk) << build.message;
    const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
    data.poison(stream);
    stream.synchronize();
    const auto start = std::chrono::steady_clock::now();
    before->launch(0, stream.get());
    candidate->launch(0, stream.get());
    const Verdict verdict = data.verify(stream);
    EXPECT_TRUE(verdict.correct) << verdict.message;
    EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2400));
  }
}

}  // namespace
}  // namespace hgemm::testing
