// Any M, N, K, leading dimension and address: thousands of random draws, each with fresh data.
#include <cmath>
#include <random>

#include "device/data_kernels.h"
#include "device/loaded_kernel.h"
#include "device/problem_data.h"
#include "families/family.h"
#include "support.h"

namespace hgemm::testing {
namespace {

constexpr int kMostExtent = 700;
constexpr int kMostPadding = 24;
constexpr int kMostOffset = 8;
constexpr std::int64_t kGuardRows = 8;

/// A problem in buffers that are larger than any, where each matrix begins anywhere.
struct Draw {
  GemmProblem problem;
  std::int64_t a_offset = 0, b_offset = 0, d_offset = 0;  ///< elements
};

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  /// A third are packed, a third have rows of whole units, and a third anything.
  Draw next(const GemmKind& types) {
    Draw draw;
    GemmProblem& problem = draw.problem;
    const int kind = up_to(2);
    problem = {.m = extent(), .n = extent(), .k = extent(), .tag = ""};
    problem.a_type = problem.b_type = types.input;
    problem.d_type = types.output;
    const auto leading = [&](std::int64_t length) -> std::int64_t {
      if (kind == 0) return length;
      const std::int64_t any = length + up_to(kMostPadding - 8);
      return kind == 1 ? (any + 7) / 8 * 8 : any;
    };
    problem.lda = leading(problem.k);
    problem.ldb = leading(problem.k);
    problem.ldd = leading(problem.n);
    if (kind != 1) {
      draw.a_offset = up_to(kMostOffset - 1);
      draw.b_offset = up_to(kMostOffset - 1);
      draw.d_offset = up_to(kMostOffset - 1);
    }
    return draw;
  }
  std::size_t index(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

 private:
  int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  /// Small ones as often as large ones.
  int extent() {
    const int most = 1 << (1 + up_to(9));
    return 1 + up_to(std::min(most, kMostExtent) - 1);
  }
  std::mt19937 random_;
};

class OddSizesTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!device_) return;
    const auto count =
        static_cast<std::size_t>(kMostExtent * (kMostExtent + kMostPadding) + kMostOffset);
    const auto guarded = count + 2 * kGuardRows * (kMostExtent + kMostPadding);
    a_ = DeviceMemory(count * kInputBytes);
    b_ = DeviceMemory(count * kInputBytes);
    d_ = DeviceMemory(guarded * sizeof(float));
    reference_ = DeviceMemory(count * sizeof(float));
    result_ = DeviceMemory(sizeof(OutputComparison));
  }

  Operands operands(const Draw& draw) const {
    const std::int64_t d_element = draw.d_offset + kGuardRows * draw.problem.leading_d();
    return {a_.as<std::uint16_t>() + draw.a_offset, b_.as<std::uint16_t>() + draw.b_offset,
            d_.as<std::byte>() + d_element * element_bytes(draw.problem.d_type)};
  }

  /// What is wrong with the output of one launch, or nothing.
  std::string verify(const LoadedKernel& loaded, const Kernel& kernel, const Draw& draw,
                     std::uint64_t seed) {
    const GemmProblem& problem = draw.problem;
    const Operands at = operands(draw);
    auto* const a = const_cast<void*>(at.a);
    auto* const b = const_cast<void*>(at.b);
    const auto sigma = static_cast<float>(1 / std::sqrt(static_cast<double>(problem.k)));
    fill_normal(a, problem.m * problem.lda, problem.a_type, 1.0f, seed, 0, stream().get());
    fill_normal(b, problem.n * problem.ldb, problem.b_type, sigma, seed, 1, stream().get());
    poison_padding(a, problem.m, problem.k, problem.lda, problem.a_type, stream().get());
    poison_padding(b, problem.n, problem.k, problem.ldb, problem.b_type, stream().get());
    check(cudaMemsetAsync(d_.data(), kPoisonByte, d_.bytes(), stream().get()), "poisoning");
    multiply_reference(reference_.as<float>(), a, b, problem.a_type, problem.extents(),
                       stream().get());

    const int ctas = loaded.grid_ctas(problem);
    const Workspace workspace = loaded.make_workspace(problem, ctas);
    loaded.launch(make_params(kernel, problem, at, workspace), ctas, stream().get());
    const Verdict verdict =
        judge_output(at.d, reference_, problem, kGuardRows, 1, result_, stream());
    if (verdict.correct) return {};
    return fmt::format("{} at {}, first elements {}, {}, {} past a unit: {}", build_name(kernel),
                       to_string(problem), draw.a_offset, draw.b_offset, draw.d_offset,
                       verdict.message);
  }

  DeviceMemory a_, b_, d_, reference_, result_;
};

/// The smoke space's kernels for all types, but for those whose extents are constants.
std::vector<Build> builds_for_any_extents() {
  std::vector<GemmProblem> problems;
  for (const DataType input : {DataType::kBf16, DataType::kFp16}) {
    for (const DataType output : {input, DataType::kFp32}) {
      problems.push_back({.m = 1, .n = 1, .k = 1, .tag = ""});
      problems.back().set_types(input);
      problems.back().d_type = output;
    }
  }
  std::vector<Kernel> kernels = smoke_kernels(problems);
  std::erase_if(kernels, [](const Kernel& kernel) { return is_fixed(config_of(kernel)); });
  return compile(kernels);
}

/// Whether it takes operands at any address.
bool takes_any_address(const Kernel& kernel) {
  if (std::holds_alternative<GemvKernel>(kernel)) return true;
  const auto* const tiled = std::get_if<TiledKernel>(&kernel);
  const StorePath store = tiled ? tiled->store : std::get<SwapAbKernel>(kernel).store;
  return packs(kernel) && store == StorePath::kStaged;
}

TEST_F(OddSizesTest, TenThousandRandomDrawsAreCorrect) {
  constexpr int kDraws = 10'000;
  struct Loaded {
    Kernel kernel;
    std::unique_ptr<LoadedKernel> loaded;
  };
  std::vector<Loaded> kernels;
  for (const Build& build : builds_for_any_extents()) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    kernels.push_back({build.kernel, std::make_unique<LoadedKernel>(build.kernel, build.cubin)});
  }
  Draws draws(20261122);
  int done = 0;
  int unaligned = 0;
  int with_fp32_output = 0;
  int failed = 0;
  while (done < kDraws && failed < 10) {
    const auto& [kernel, loaded] = kernels[draws.index(kernels.size())];
    const Draw draw = draws.next(kind_of(kernel));
    const bool at_unit = draw.a_offset == 0 && draw.b_offset == 0 && draw.d_offset == 0;
    const bool takes_any = takes_any_address(kernel);
    if (!takes_any && !at_unit) continue;
    if (!computes(kernel, draw.problem)) continue;
    unaligned += takes_any;
    with_fp32_output += draw.problem.d_type == DataType::kFp32;
    const std::string wrong = verify(*loaded, kernel, draw, 1 + static_cast<std::uint64_t>(done));
    EXPECT_EQ(wrong, "");
    failed += !wrong.empty();
    ++done;
  }
  EXPECT_GT(unaligned, kDraws / 4);
  EXPECT_GT(with_fp32_output, kDraws / 4);
  std::printf(
      "%d draws, %d of them by kernels for rows that begin anywhere, %d with fp32 outputs\n", done,
      unaligned, with_fp32_output);
}

TEST_F(OddSizesTest, AlignedKernelsRefuseOtherAddresses) {
  GemmProblem problem{.m = 64, .n = 64, .k = 64, .tag = ""};
  const auto params = [&](const TiledConfig& config, int a, int b, int d) {
    const int d_bytes = d * element_bytes(problem.d_type);
    return make_params(
        kernel_for(config, problem), problem,
        {a_.as<std::uint16_t>() + a, b_.as<std::uint16_t>() + b, d_.as<std::byte>() + d_bytes});
  };
  EXPECT_NO_THROW(params({}, 0, 8, 16));
  EXPECT_THROW(params({}, 1, 0, 0), Error);
  EXPECT_THROW(params({}, 0, 4, 0), Error);
  EXPECT_THROW(params({}, 0, 0, 7), Error);
  EXPECT_THROW(params({}, 0, 0, 4), Error);
  EXPECT_THROW(params({.pack = true}, 1, 4, 0), Error) << "no workspace";
  EXPECT_NO_THROW(params({.store = StorePath::kStaged}, 0, 0, 7));
  problem.d_type = DataType::kFp32;  // four of them are a unit
  EXPECT_NO_THROW(params({}, 0, 8, 4));
  EXPECT_THROW(params({}, 0, 0, 2), Error);
  EXPECT_NO_THROW(params({.store = StorePath::kStaged}, 0, 0, 3));
}

}  // namespace
}  // namespace hgemm::testing
