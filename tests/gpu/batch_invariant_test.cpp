// Batch invariance: a row of D has the same bits whatever M is and whichever allowed kernel
// computes it. A is one of kMostRows rows, of which each launch has a prefix. A kernel that cuts K
// differs, so the comparison sees what it should.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "device/loaded_kernel.h"
#include "device/problem_data.h"
#include "families/sum_order.h"
#include "gemm/codec.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using BatchInvariantTest = GpuTest;

constexpr std::int64_t kMostRows = 512;
constexpr std::int64_t kRows[] = {1, 2, 3, 8, 16, 17, 64, 65, 128, 300, kMostRows};
/// Rows of one wgmma, of a tile and of several tiles; K ends with a stage of any depth, and inside
/// one of each.
constexpr const char* kExtents[] = {"512x512x4096", "512x272x1040"};

/// A kind of problem, and how many of the configs below compute it.
struct Kind {
  const char* words;
  bool has_8_bits;
  const char* sums;  ///< of allowed configs
  std::size_t allowed;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << "bf16 or " << kind.words; }
class BatchInvariantKinds : public GpuTest, public ::testing::WithParamInterface<Kind> {};

/// {0}, {1}, {2}: stages of 64, 128 and 256 bytes; {3}: promoted sums. The first is the reference.
constexpr const char* kAllowed[] = {
    "bm128.bn128.bk{1}.q4.c1x1.coop2.d0{3}.linear.tma.persist",
    "bm128.bn128.bk{1}.q4.c2x1.coop2.d1{3}.group8.tma.persist.pdl",
    "bm128.bn64.bk{1}.q4.c1x1.coop2.d1{3}.linear.tma.persist",
    "bm64.bn128.bk{0}.q6.c1x1.coop1.d0{3}.linear.direct.persist",
    "bm64.bn128.bk{2}.q3.c1x1.coop1.d0{3}.linear.direct.persist",
    "bm64.bn64.bk{1}.q4.c1x1.coop1.d1{3}.linear.staged.single",
    "bm64.bn64.bk{1}.q4.c1x2.pp2.d1{3}.linear.tma.persist",
    "bm64.bn128.bk{1}.q4.c1x1.coop1.d0{3}.linear.tma.dynamic",
    "bm64.bn256.bk{1}.q3.c1x1.cols2.d0{3}.hilbert.tma.persist",
    "bm128.bn96.bk{1}.q4.c1x1.coop2.d0{3}.linear.overlap.persist",
    "bm80.bn128.bk{1}.q4.c1x1.swap.coop2.d0{3}.linear.tma.persist",
    "bm64.bn128.bk{1}.q4.c1x1.swap.coop1.d0{3}.linear.tma.persist",
    "bm16.bn64.bk{1}.q6.c1x1.swap.coop1.d1{3}.linear.staged.persist",
    "swap_ab.bm8.bn64.bk{1}.q8.d1{3}.tma.single",
    "swap_ab.bm16.bn64.bk{2}.q4.d0{3}.tma.single.pdl.late",
    "swap_ab.bm64.bn128.bk{1}.q4.d1{3}.tma.single",
    "swap_ab.bm128.bn64.bk{1}.q4.d0{3}.staged.single"};
/// What batch invariance rules out, of which each must differ somewhere.
constexpr const char* kRuledOut[] = {"bm128.bn128.bk{1}.q4.c1x1.coop2.d0{3}.linear.direct.split4",
                                     "bm64.bn64.bk{1}.q4.c1x1.coop1.d0{3}.linear.tma.csplit2",
                                     "swap_ab.bm16.bn64.bk{1}.q4.d0{3}.tma.csplit2"};

KernelConfig made_for(const char* label, const Kind& kind) {
  const int unit = kind.has_8_bits ? 1 : 2;  // bytes of an element
  return parse_label(
      fmt::format(fmt::runtime(label), 64 / unit, 128 / unit, 256 / unit, kind.sums));
}

GemmProblem with_rows(GemmProblem problem, std::int64_t m) {
  problem.m = m;
  return problem;
}

template <class Value>
std::vector<Value> to_host(const void* data, std::size_t count, const Stream& stream) {
  std::vector<Value> values(count);
  check(cudaMemcpyAsync(values.data(), data, count * sizeof(Value), cudaMemcpyDeviceToHost,
                        stream.get()),
        "reading device memory");
  stream.synchronize();
  return values;
}

/// The scales of A for its first rows. Those of blocks have a row of the table for each block of K,
/// in which there are as many numbers as A has rows, rounded up to 4.
DeviceMemory scales_of_prefix(const GemmProblem& all, std::int64_t m, const float* scales,
                              const Stream& stream) {
  const auto up4 = [](std::int64_t rows) { return (rows + 3) / 4 * 4; };
  const std::int64_t blocks =
      is_of_blocks(all.scaling) ? (all.k + kScaleBlock - 1) / kScaleBlock : 1;
  const auto own = static_cast<std::size_t>(up4(m)), whole = static_cast<std::size_t>(up4(all.m));
  const auto rows = static_cast<std::size_t>(blocks);
  const std::vector<float> given = to_host<float>(scales, rows * whole, stream);
  std::vector<float> taken(rows * own);
  for (std::size_t block = 0; block < rows; ++block) {
    std::memcpy(&taken[block * own], &given[block * whole], own * sizeof(float));
  }
  DeviceMemory memory(taken.size() * sizeof(float));
  check(cudaMemcpyAsync(memory.data(), taken.data(), memory.bytes(), cudaMemcpyHostToDevice,
                        stream.get()),
        "writing scales");
  stream.synchronize();
  return memory;
}

using Bytes = std::vector<unsigned char>;

/// D of the first `m` rows of A.
Bytes product(const Kernel& kernel, const LoadedKernel& loaded, const ProblemData& data,
              std::int64_t m, const Stream& stream) {
  const GemmProblem problem = with_rows(data.problem(), m);
  Operands operands = data.operands(0);
  DeviceMemory scales;
  if (problem.scaling == Scaling::kRows || is_of_blocks(problem.scaling)) {
    scales = scales_of_prefix(data.problem(), m, operands.scale_a, stream);
    operands.scale_a = scales.as<float>();
  }
  const DeviceMemory d(matrix_bytes(m, problem.contiguous_d(), problem.d_type));
  check(cudaMemsetAsync(d.data(), 0xff, d.bytes(), stream.get()), "poisoning D");
  operands.d = d.data();
  const int ctas = loaded.grid_ctas(problem);
  const Workspace workspace = loaded.make_workspace(problem, ctas);
  loaded.launch(make_params(kernel, problem, operands, workspace), ctas, stream.get());
  return to_host<unsigned char>(d.data(), d.bytes(), stream);
}

/// How many elements of D's rows differ from those of the reference, which has all rows.
std::size_t differing(const Bytes& d, const Bytes& reference, DataType type) {
  const auto element = static_cast<std::size_t>(element_bytes(type));
  std::size_t count = 0;
  for (std::size_t at = 0; at < d.size(); at += element) {
    count += std::memcmp(&d[at], &reference[at], element) == 0 ? 0 : 1;
  }
  return count;
}

/// The results of kernels at one problem, beside those of the first one that was asked about.
class Comparison {
 public:
  Comparison(const GemmProblem& problem, const Gpu& device, const Stream& stream)
      : data_(problem, 11, device, stream), stream_(stream) {}

  /// In how many elements the results differ, over all numbers of rows. Prints where.
  std::size_t differences(const Build& build) {
    const std::string name = label(config_of(build.kernel));
    EXPECT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    if (build.status != Status::kOk) return 0;
    const LoadedKernel loaded(build.kernel, build.cubin);
    if (reference_.empty()) {
      reference_ = product(build.kernel, loaded, data_, kMostRows, stream_);
      name_ = name;
    }
    std::size_t sum = 0;
    for (const std::int64_t m : kRows) {
      const std::size_t count = differing(product(build.kernel, loaded, data_, m, stream_),
                                          reference_, data_.problem().d_type);
      if (count > 0) {
        fmt::print("{} with {} rows differs in {} elements from {} with {}\n", name, m, count,
                   name_, to_string(data_.problem()));
      }
      sum += count;
    }
    return sum;
  }

 private:
  ProblemData data_;
  const Stream& stream_;
  Bytes reference_;
  std::string name_;
};

/// The kernels of these labels that compute a kind of problem, built, in their order.
std::vector<Build> builds_of(std::span<const char* const> labels, const Kind& kind) {
  const GemmProblem problem = parse_problem(std::string(kExtents[0]) + kind.words);
  std::vector<Kernel> kernels;
  for (const char* label : labels) {
    const KernelConfig config = made_for(label, kind);
    if (why_not(config, problem) == nullptr) kernels.push_back(kernel_for(config, problem));
  }
  std::vector<Build> builds = compile(kernels), in_order;
  for (const Kernel& kernel : kernels) {
    in_order.push_back(*std::ranges::find(
        builds, build_name(kernel), [](const Build& build) { return build_name(build.kernel); }));
  }
  return in_order;
}

TEST_P(BatchInvariantKinds, RowsHaveTheSameBitsWhateverMIs) {
  const Kind& kind = GetParam();
  const std::vector<Build> allowed = builds_of(kAllowed, kind);
  const std::vector<Build> ruled_out = builds_of(kRuledOut, kind);
  EXPECT_EQ(allowed.size(), kind.allowed);
  EXPECT_GE(ruled_out.size(), 2U);
  for (const char* extents : kExtents) {
    const GemmProblem problem = parse_problem(std::string(extents) + kind.words);
    SCOPED_TRACE(to_string(problem));
    ASSERT_EQ(why_bits_follow_m(problem.kind()), nullptr);
    Comparison comparison(problem, without_rotation(), stream());
    for (const Build& build : allowed) {
      EXPECT_EQ(sum_order(config_of(build.kernel)), SumOrder::kSequential);
      EXPECT_EQ(comparison.differences(build), 0U) << build.facts.name;
    }
    for (const Build& build : ruled_out) {
      EXPECT_EQ(sum_order(config_of(build.kernel)), SumOrder::kCutK);
      EXPECT_GT(comparison.differences(build), 0U)
          << build.facts.name << ": this test would not see a difference";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, BatchInvariantKinds,
                         ::testing::Values(Kind{"", false, "", 17}, Kind{".fp16", false, "", 17},
                                           Kind{".dfp32", false, "", 17},
                                           Kind{".bias-gelu", false, "", 17},
                                           Kind{".swiglu", false, "", 15},
                                           Kind{".e4m3.scaling-rows", true, ".acc128", 15},
                                           Kind{".e4m3.scaling-blocks", true, ".acc128", 14},
                                           Kind{".e4m3.accfast", true, "", 17}));

/// Sums that are promoted less often are other sums, in the same kernel otherwise.
TEST_F(BatchInvariantTest, PromotionsAreAPartOfTheOrder) {
  constexpr const char* kPromoted[] = {
      "bm128.bn128.bk{1}.q4.c1x1.coop2.d0.acc128.linear.tma.persist",
      "bm128.bn128.bk{1}.q4.c1x1.coop2.d0.acc512.linear.tma.persist"};
  const Kind kind{".e4m3.scaling-rows", true, "", 2};
  const std::vector<Build> builds = builds_of(kPromoted, kind);
  ASSERT_EQ(builds.size(), kind.allowed);
  Comparison comparison(parse_problem(std::string(kExtents[0]) + kind.words), without_rotation(),
                        stream());
  EXPECT_EQ(comparison.differences(builds[0]), 0U);
  EXPECT_EQ(sum_order(config_of(builds[1].kernel)), SumOrder::kOtherPromotion);
  EXPECT_GT(comparison.differences(builds[1]), 0U);
}

/// Each launch of a kernel that cuts K adds its parts in one order, too: only M may change bits.
TEST_F(BatchInvariantTest, LaunchesRepeatTheirBits) {
  const ProblemData data(parse_problem(kExtents[0]), 11, without_rotation(), stream());
  for (const Build& build : builds_of(kRuledOut, {"", false, "", 0})) {
    ASSERT_EQ(build.status, Status::kOk) << build.message;
    const LoadedKernel loaded(build.kernel, build.cubin);
    const Bytes first = product(build.kernel, loaded, data, kMostRows, stream());
    for (int launch = 0; launch < 5; ++launch) {
      EXPECT_EQ(product(build.kernel, loaded, data, kMostRows, stream()), first)
          << build.facts.name;
    }
  }
}

}  // namespace
}  // namespace hgemm::testing
