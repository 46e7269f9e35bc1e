// An exported package in a process of its own (build/tests/hgemm_tuned, which write_package wrote):
// it computes what it was tuned for, and what happens to the process harms no later result.
#include <hgemm_tuned.h>

#include <bit>
#include <cmath>
#include <vector>

#include "support.h"

namespace hgemm::testing {
namespace {

GemmProblem problem_of(const hgemm_tuned_problem& p) {
  GemmProblem problem{.m = p.m, .n = p.n, .k = p.k, .tag = ""};
  constexpr DataType kTypes[] = {DataType::kBf16, DataType::kFp16, DataType::kE4m3,
                                 DataType::kE5m2};
  problem.set_types(kTypes[p.dtype]);
  if (p.b_is_other) {
    problem.b_type = p.dtype == HGEMM_TUNED_E4M3 ? DataType::kE5m2 : DataType::kE4m3;
  }
  if (p.output == HGEMM_TUNED_OUTPUT_FP32) problem.d_type = DataType::kFp32;
  if (p.output == HGEMM_TUNED_OUTPUT_BF16) problem.d_type = DataType::kBf16;
  if (p.output == HGEMM_TUNED_OUTPUT_FP16) problem.d_type = DataType::kFp16;
  if (p.output == HGEMM_TUNED_OUTPUT_E4M3) problem.d_type = DataType::kE4m3;
  if (p.output == HGEMM_TUNED_OUTPUT_E5M2) problem.d_type = DataType::kE5m2;
  problem.output_scaling = OutputScaling{static_cast<unsigned char>(p.output_scaling)};
  if (p.fast_sums) problem.accumulator = Accumulator::kFast;
  problem.scaling = Scaling{static_cast<unsigned char>(p.scaling)};
  problem.layout = Layout{static_cast<std::uint8_t>(p.layout)};
  problem.epilogue = {Bias{static_cast<unsigned char>(p.bias)},
                      Activation{static_cast<unsigned char>(p.activation)},
                      Gate{static_cast<unsigned char>(p.gate)}, p.scaled != 0, p.aux != 0};
  if (p.adds_c) problem.c_type = problem.added_type();
  problem.lda = p.lda;
  problem.ldb = p.ldb;
  problem.ldd = p.ldd;
  if (p.batch <= 1) return problem;
  const auto stride_of = [](std::int64_t stride) -> std::optional<std::int64_t> {
    if (stride == HGEMM_TUNED_SHARED) return 0;
    return stride == 0 ? std::nullopt : std::optional(stride);
  };
  problem.batch = p.batch;
  problem.by_pointers = p.by_pointers != 0;
  problem.stride_a = stride_of(p.stride_a);
  problem.stride_b = stride_of(p.stride_b);
  problem.stride_d = stride_of(p.stride_d);
  return problem;
}

/// A problem of the package's interface with its data, and a workspace that is not initialised, at
/// an address that none had before in this process: memory that is freed may be allocated again,
/// and a package cannot know.
struct Call {
  hgemm_tuned_problem problem;
  Stream stream;
  ProblemData data;
  std::size_t workspace_bytes = 0;
  DeviceMemory memory;
  void* workspace = nullptr;

  Call(const hgemm_tuned_problem& wanted, const Gpu& device)
      : problem(wanted), data(problem_of(wanted), 5, device, stream) {
    EXPECT_EQ(hgemm_tuned_workspace_bytes(&problem, nullptr, &workspace_bytes), HGEMM_TUNED_OK);
    if (workspace_bytes == 0) return;
    static std::size_t offset = 0;
    offset += 256;
    memory = DeviceMemory(offset + workspace_bytes);
    workspace = memory.as<char>() + offset;
    // What memory may hold: every flag raised. On the stream of the launches, because nothing else
    // orders it before them.
    check(cudaMemsetAsync(workspace, 0xff, workspace_bytes, stream.get()), "filling a workspace");
  }
  hgemm_tuned_status init() {
    return hgemm_tuned_init_workspace(stream.get(), workspace, workspace_bytes);
  }
  hgemm_tuned_status launch() {
    const Operands o = data.operands(0);
    const hgemm_tuned_operands operands{o.a,    o.b,   o.d,       o.c,       o.bias,    o.alpha,
                                        o.beta, o.aux, o.scale_a, o.scale_b, o.scale_d, o.scales_d};
    return hgemm_tuned_gemm(stream.get(), &problem, &operands, workspace, workspace_bytes, nullptr);
  }
  /// Three times in a row: each leaves the workspace ready for the next.
  void expect_right() {
    for (int i = 0; i < 3; ++i) {
      data.poison(stream);
      ASSERT_EQ(launch(), HGEMM_TUNED_OK) << hgemm_tuned_status_string(launch());
      const Verdict verdict = data.verify(stream);
      EXPECT_TRUE(verdict.correct) << verdict.message;
    }
  }
};

float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Whose parts of K meet in memory.
const hgemm_tuned_problem kSumsInMemory = hgemm_tuned::Problem{.m = 384, .n = 256, .k = 4096};

class ExportedTest : public GpuTest {};

TEST_F(ExportedTest, ComputesItsShapesAndOthers) {
  std::vector<hgemm_tuned_problem> problems;
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) problems.push_back(hgemm_tuned_shape(i));
  for (const std::int64_t m : {2, 20, 1000}) {
    problems.push_back(hgemm_tuned::Problem{.m = m, .n = 512, .k = 640});
  }
  problems.push_back(hgemm_tuned::Problem{.m = 100,
                                          .n = 512,
                                          .k = 640,
                                          .bias = hgemm_tuned::Bias::kAlongN,
                                          .activation = hgemm_tuned::Activation::kGelu,
                                          .adds_c = true});
  problems.push_back(hgemm_tuned::Problem{.m = 100,
                                          .n = 512,
                                          .k = 640,
                                          .bias = hgemm_tuned::Bias::kAlongN,
                                          .adds_c = true,
                                          .scaled = true});
  problems.push_back(hgemm_tuned::Problem{.m = 100,
                                          .n = 512,
                                          .k = 640,
                                          .bias = hgemm_tuned::Bias::kAlongN,
                                          .activation = hgemm_tuned::Activation::kGelu,
                                          .aux = true});
  problems.push_back(hgemm_tuned::Problem{.m = 100, .n = 512, .k = 640, .batch = 3});
  problems.push_back(
      hgemm_tuned::Problem{.m = 100, .n = 512, .k = 640, .batch = 3, .scaled = true});
  problems.push_back(
      hgemm_tuned::Problem{.m = 100, .n = 512, .k = 640, .batch = 50, .by_pointers = true});
  // The heads of an attention layer lie between one another, and share what they attend to.
  problems.push_back(hgemm_tuned::Problem{.m = 300,
                                          .n = 256,
                                          .k = 128,
                                          .lda = 5 * 128,
                                          .ldd = 5 * 256,
                                          .batch = 5,
                                          .stride_a = 128,
                                          .stride_b = hgemm_tuned::kShared,
                                          .stride_d = 256});
  for (const bool prepared : {false, true}) {  // then clusters are numbered by their GPC
    if (prepared) {
      ASSERT_EQ(hgemm_tuned_prepare(), HGEMM_TUNED_OK);
    }
    for (const hgemm_tuned_problem& problem : problems) {
      SCOPED_TRACE(to_string(problem_of(problem)));
      Call call(problem, without_rotation());
      EXPECT_EQ(call.init(), HGEMM_TUNED_OK);
      call.expect_right();
    }
  }
}

/// Each matrix is an allocation of its own, three A and B serve six products, and the arrays, which
/// are written right before the launch, begin at an odd multiple of 8 bytes.
TEST_F(ExportedTest, TakesMatricesFromAnyAllocation) {
  constexpr std::size_t kProducts = 6;
  constexpr std::size_t kDistinct = 3;
  const hgemm_tuned::Problem problem{
      .m = 100, .n = 512, .k = 640, .batch = kProducts, .by_pointers = true};
  Call call(problem, without_rotation());
  EXPECT_EQ(call.init(), HGEMM_TUNED_OK);
  call.expect_right();
  const auto copy = [&](void* target, const void* source, std::size_t bytes) {
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, call.stream.get()), "copying");
  };
  std::vector<void*> given(3 * kProducts);  // all A, all B, all D
  copy(given.data(), call.data.operands(0).a, given.size() * sizeof(void*));
  call.stream.synchronize();

  const std::size_t bytes[] = {100 * 640 * 2, 512 * 640 * 2, 100 * 512 * 2};
  std::vector<DeviceMemory> allocations;
  std::vector<void*> addresses(3 * kProducts);
  for (std::size_t operand = 0; operand < 3; ++operand) {
    const bool is_output = operand == 2;
    for (std::size_t i = 0; i < kProducts; ++i) {
      void*& address = addresses[operand * kProducts + i];
      if (!is_output && i >= kDistinct) {
        address = addresses[operand * kProducts + i % kDistinct];
        continue;
      }
      address = allocations.emplace_back(bytes[operand]).data();
      if (!is_output) copy(address, given[operand * kProducts + i], bytes[operand]);
    }
  }
  const DeviceMemory arrays(8 + addresses.size() * sizeof(void*));
  void** const first = arrays.as<void*>() + 1;
  copy(first, addresses.data(), addresses.size() * sizeof(void*));
  const hgemm_tuned_operands operands{first,   first + kProducts, first + 2 * kProducts,
                                      nullptr, nullptr,           1,
                                      0,       nullptr,           nullptr,
                                      nullptr, nullptr,           nullptr};
  ASSERT_EQ(hgemm_tuned_gemm(call.stream.get(), &call.problem, &operands, call.workspace,
                             call.workspace_bytes, nullptr),
            HGEMM_TUNED_OK);

  std::vector<std::uint16_t> expected(bytes[2] / 2);
  std::vector<std::uint16_t> actual(expected.size());
  for (std::size_t i = 0; i < kProducts; ++i) {
    copy(expected.data(), given[2 * kProducts + i % kDistinct], bytes[2]);
    copy(actual.data(), addresses[2 * kProducts + i], bytes[2]);
    call.stream.synchronize();
    std::size_t wrong = 0;
    for (std::size_t j = 0; j < expected.size(); ++j) {
      // A product's parts of K may be others at another place in the batch.
      const float difference = bf16_value(expected[j]) - bf16_value(actual[j]);
      if (!(std::abs(difference) <= 0.02F * (1 + std::abs(bf16_value(expected[j]))))) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << "product " << i;
  }
}

TEST_F(ExportedTest, RefusesAWorkspaceThatWasNotInitialised) {
  Call call(kSumsInMemory, without_rotation());
  ASSERT_GT(call.workspace_bytes, 0u);
  EXPECT_EQ(call.launch(), HGEMM_TUNED_WORKSPACE_NOT_INITIALISED);
  EXPECT_EQ(call.init(), HGEMM_TUNED_OK);
  call.expect_right();
}

TEST_F(ExportedTest, GoesOnAfterADeviceReset) {
  for (int i = 0; i < 2; ++i) {
    {
      Call call(kSumsInMemory, without_rotation());
      // The allocation has the address of the one before, or not: it is refused either way.
      EXPECT_EQ(call.launch(), HGEMM_TUNED_WORKSPACE_NOT_INITIALISED) << "turn " << i;
      EXPECT_EQ(call.init(), HGEMM_TUNED_OK);
      call.expect_right();
    }
    check(cudaDeviceReset(), "resetting the device");
  }
}

// Last, since with driver 580 the process cannot use the device again. Where it can, the flags that
// the aborted launch left raised must not be believed.
TEST_F(ExportedTest, NothingIsComputedAfterAnAbortedLaunch) {
  const GemmProblem problem{.m = 256, .n = 256, .k = 256, .tag = ""};
  const Build build =
      compile_edited(kernel_for(TiledConfig{.bn = 128}, problem), "tiled/kernel.cuh",
                     "  const TiledPipeline<kKernel> pipeline(smem);",
                     "  const TiledPipeline<kKernel> pipeline(smem);\n  asm volatile(\"trap;\");");
  ASSERT_EQ(build.status, Status::kOk) << build.message;
  Call call(kSumsInMemory, without_rotation());
  EXPECT_EQ(call.init(), HGEMM_TUNED_OK);
  call.expect_right();
  const ProblemData data(problem, 1, without_rotation(), call.stream);
  const auto trap = make_kernel_candidate(build.kernel, build.cubin, data);
  trap->launch(0, call.stream.get());
  EXPECT_NE(cudaStreamSynchronize(call.stream.get()), cudaSuccess);
  EXPECT_NE(call.launch(), HGEMM_TUNED_OK);
  cudaDeviceReset();
  EXPECT_NE(call.launch(), HGEMM_TUNED_OK);
}

}  // namespace
}  // namespace hgemm::testing
