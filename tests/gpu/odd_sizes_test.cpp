// Any M, N, K, leading dimension and address: thousands of random draws, each with fresh data.
#include <random>

#include "gpu/hgemm_kernel.h"
#include "problem/kernels.h"
#include "problem/problem.h"
#include "space/label.h"
#include "support.h"

namespace hgemm::testing {
namespace {

constexpr int kMostExtent = 700;
constexpr int kMostPadding = 24;
constexpr int kMostOffset = 8;
constexpr std::int64_t kGuardRows = 8;

/// A problem in buffers that are larger than any, where each matrix begins anywhere.
struct Draw {
  Shape shape;
  std::int64_t a_offset = 0, b_offset = 0, d_offset = 0;  ///< elements
};

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  /// A third are packed, a third have rows of whole units, and a third anything.
  Draw next(Dtype dtype) {
    Draw draw;
    Shape& shape = draw.shape;
    const int kind = up_to(2);
    shape = {.m = extent(), .n = extent(), .k = extent(), .dtype = dtype, .tag = ""};
    const auto leading = [&](std::int64_t length) -> std::int64_t {
      if (kind == 0) return length;
      const std::int64_t any = length + up_to(kMostPadding - 8);
      return kind == 1 ? (any + 7) / 8 * 8 : any;
    };
    shape.lda = leading(shape.k);
    shape.ldb = leading(shape.k);
    shape.ldd = leading(shape.n);
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
    a_ = DeviceMemory(count * kElementBytes);
    b_ = DeviceMemory(count * kElementBytes);
    d_ = DeviceMemory(guarded * kElementBytes);
    reference_ = DeviceMemory(count * sizeof(float));
    result_ = DeviceMemory(sizeof(Comparison));
  }

  /// What is wrong with the output of one launch, or nothing.
  std::string verify(const HgemmKernel& kernel, const KernelConfig& config, const Draw& draw,
                     std::uint64_t seed) {
    const Shape& shape = draw.shape;
    auto* const a = a_.as<std::uint16_t>() + draw.a_offset;
    auto* const b = b_.as<std::uint16_t>() + draw.b_offset;
    auto* const d = d_.as<std::uint16_t>() + draw.d_offset + kGuardRows * shape.ldd;
    const auto sigma = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.k)));
    fill_normal(a, shape.m * shape.lda, shape.dtype, 1.0f, seed, 0, stream_.get());
    fill_normal(b, shape.n * shape.ldb, shape.dtype, sigma, seed, 1, stream_.get());
    poison_padding(a, shape.m, shape.k, shape.lda, shape.dtype, stream_.get());
    poison_padding(b, shape.n, shape.k, shape.ldb, shape.dtype, stream_.get());
    check(cudaMemsetAsync(d_.data(), kPoisonByte, d_.bytes(), stream_.get()), "poisoning");
    multiply_reference(reference_.as<float>(), a, b, shape.dtype, shape.extents(), stream_.get());

    const int ctas = kernel.grid_ctas(shape);
    const Workspace workspace = kernel.make_workspace(shape, ctas);
    kernel.launch(make_params(config, shape, {a, b, d}, workspace), ctas, stream_.get());
    const Verdict verdict = judge_output(d, reference_, shape, kGuardRows, 1, result_, stream_);
    if (verdict.correct) return {};
    return fmt::format("{} at {}, first elements {}, {}, {} past a unit: {}", label(config),
                       to_string(shape), draw.a_offset, draw.b_offset, draw.d_offset,
                       verdict.message);
  }

  Stream stream_;
  DeviceMemory a_, b_, d_, reference_, result_;
};

TEST_F(OddSizesTest, TenThousandRandomDrawsAreCorrect) {
  constexpr int kDraws = 10'000;
  struct Kernel {
    KernelConfig config;
    std::unique_ptr<HgemmKernel> kernel;
  };
  std::vector<Kernel> kernels;
  std::vector<KernelConfig> configs = smoke_space(Dtype::kBf16);
  for (const KernelConfig& config : smoke_space(Dtype::kFp16)) configs.push_back(config);
  for (const Build& build : compile(configs)) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.label << ": " << build.message;
    kernels.push_back({build.config, std::make_unique<HgemmKernel>(build.config, build.cubin)});
  }
  Draws draws(20261122);
  int done = 0;
  int unaligned = 0;
  int failed = 0;
  while (done < kDraws && failed < 10) {
    const Kernel& chosen = kernels[draws.index(kernels.size())];
    const Draw draw = draws.next(chosen.config.dtype);
    const bool at_unit = draw.a_offset == 0 && draw.b_offset == 0 && draw.d_offset == 0;
    const bool takes_any = is_vector(chosen.config) ||
                           (chosen.config.pack && chosen.config.epilogue == Epilogue::kStaged);
    if (!takes_any && !at_unit) continue;
    if (why_unsupported(chosen.config, draw.shape)) continue;
    unaligned += takes_any;
    const std::string wrong = verify(*chosen.kernel, chosen.config, draw, 1 + done);
    EXPECT_EQ(wrong, "");
    failed += !wrong.empty();
    ++done;
  }
  EXPECT_GT(unaligned, kDraws / 4);
  std::printf("%d draws, %d of them by kernels for rows that begin anywhere\n", done, unaligned);
}

TEST_F(OddSizesTest, AlignedKernelsRefuseOtherAddresses) {
  const Shape shape{.m = 64, .n = 64, .k = 64, .tag = ""};
  const auto at = [&](int a, int b, int d) {
    return Operands{a_.as<std::uint16_t>() + a, b_.as<std::uint16_t>() + b,
                    d_.as<std::uint16_t>() + d};
  };
  EXPECT_NO_THROW(make_params({}, shape, at(0, 8, 16)));
  EXPECT_THROW(make_params({}, shape, at(1, 0, 0)), Error);
  EXPECT_THROW(make_params({}, shape, at(0, 4, 0)), Error);
  EXPECT_THROW(make_params({}, shape, at(0, 0, 7)), Error);
  EXPECT_THROW(make_params({.pack = true}, shape, at(1, 4, 0)), Error) << "no workspace";
  EXPECT_NO_THROW(make_params({.epilogue = Epilogue::kStaged}, shape, at(0, 0, 7)));
}

}  // namespace
}  // namespace hgemm::testing
