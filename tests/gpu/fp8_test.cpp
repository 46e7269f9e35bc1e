// 8-bit operands: every axis with promoted and with fast sums, scales, epilogues, batches and
// tails, points of the whole space, and the library's calls that a race compares with. The smoke
// test also runs under compute-sanitizer (scripts/gpu_check.sh).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "device/blas.h"
#include "device/loaded_kernel.h"
#include "device/problem_data.h"
#include "gemm/codec.h"
#include "search/proposer.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using ::testing::HasSubstr;
using Fp8Test = GpuTest;

/// A config for 16-bit operands as one for 8-bit operands: its depth in as many bytes, or of one
/// block if each has scales of its own, and sums that are promoted every `promote` elements of K
/// (0: never).
KernelConfig with_8_bits(KernelConfig config, int promote, Scaling scaling) {
  std::visit(
      [&](auto& c) {
        if constexpr (requires { c.promote; }) {
          c.bk = is_of_blocks(scaling) ? kScaleBlock : c.bk * 2;
          c.pack = false;
          c.promote = promote == 0 ? 0 : std::max(promote, c.bk);
          if (c.promote == c.bk) c.mma_depth = 0;
        }
      },
      config);
  return config;
}

/// The kernels of the smoke space for these problems, which have one kind; where sums are promoted,
/// at each interval in turn.
std::vector<Kernel> fp8_kernels(const std::vector<GemmProblem>& problems) {
  std::vector<GemmProblem> of_16_bits = problems;
  for (GemmProblem& problem : of_16_bits) {
    problem.set_types(DataType::kBf16);
    problem.c_type = std::nullopt;
    problem.epilogue = {};
    problem.accumulator = Accumulator::kFp32;
    problem.scaling = Scaling::kNone;
  }
  const bool is_fast = problems.front().accumulator == Accumulator::kFast;
  const Scaling scaling = problems.front().scaling;
  std::vector<Kernel> kernels;
  std::set<std::string> known;
  constexpr int kIntervals[] = {128, 256, 512};
  std::size_t next = 0;
  for (const KernelConfig& config :
       enumerate(load_space("smoke", configs_dir()), of_16_bits).valid) {
    const int interval = is_of_blocks(scaling) ? kScaleBlock
                         : is_fast             ? 0
                                               : kIntervals[next++ % std::size(kIntervals)];
    const KernelConfig of_8_bits = with_8_bits(config, interval, scaling);
    for (const GemmProblem& problem : problems) {
      if (why_not(of_8_bits, problem)) continue;
      const Kernel kernel = kernel_for(of_8_bits, problem);
      if (known.insert(build_name(kernel)).second) kernels.push_back(kernel);
    }
  }
  return kernels;
}

std::vector<GemmProblem> problems_of(const std::vector<const char*>& extents,
                                     const std::string& kind) {
  std::vector<GemmProblem> problems;
  for (const char* const text : extents) problems.push_back(parse_problem(text + kind));
  return problems;
}

void expect_parts(const std::set<std::string>& computed, const std::vector<const char*>& parts) {
  for (const char* part : parts) {
    EXPECT_TRUE(std::ranges::any_of(
        computed, [&](const std::string& name) { return name.find(part) != std::string::npos; }))
        << "no kernel with " << part;
  }
}

/// Ends of K inside a slab and inside a wgmma's depth, edges of M and N inside a tile, rows of D at
/// any element, one row, and more tiles than CTAs.
const std::vector<const char*> kExtents = {"1x256x512",   "200x136x80",   "1000x1032x528",
                                           "67x71x48",    "301x203x1040", "64x64x16",
                                           "16x1024x2064"};

/// Sums in the tensor cores and promoted ones, of one stage and of many, and where their scales
/// lie: with each stage (of blocks), or read at the end. Each is a test of its own with kernels of
/// each structure, because racecheck takes minutes for all of them.
struct SmokeCase {
  const char* kind;
  const char* sums;
  int cols = 128;  ///< of a tile: two stages in flight have twice the registers
  /// The first tile's columns. With 256 and promoted sums a warp has four buffers for D.
  int first_cols = cols;
};
void PrintTo(const SmokeCase& of, std::ostream* out) { *out << of.kind << of.sums; }
class Fp8Smoke : public Fp8Test, public ::testing::WithParamInterface<SmokeCase> {};

TEST_P(Fp8Smoke, SmokeKernelsAreCorrect) {
  const auto& [kind, sums, cols, first_cols] = GetParam();
  const GemmProblem problem = parse_problem(std::string("264x336x528.e4m3") + kind);
  std::vector<Kernel> kernels;
  for (const char* structure : {"bm128.bn{2}.bk128.q3.c1x1.coop2{0}.linear.tma.persist",
                                "bm64.bn72.bk128.q4.c1x1.coop1{0}.linear.direct.persist",
                                "bm64.bn64.bk128.q4.c1x1.coop1{0}.linear.staged.persist",
                                "bm80.bn128.bk128.q4.c1x1.swap.coop2{0}.linear.tma.persist.pdl",
                                "bm64.bn64.bk128.q4.c1x2.pp2{0}.linear.tma.persist",
                                "bm128.bn{1}.bk128.q4.c2x1.coop2{0}.linear.tma.stream",
                                "bm64.bn64.bk128.q4.c1x1.coop1{0}.linear.tma.csplit2",
                                "swap_ab.bm16.bn64.bk128.q4{0}.tma.csplit2.pdl.late"}) {
    const std::string name = fmt::format(fmt::runtime(structure), sums, cols, first_cols);
    const KernelConfig config = parse_label(name);
    ASSERT_EQ(why_not(config, problem), nullptr) << name << kind;
    kernels.push_back(kernel_for(config, problem));
  }
  expect_correct(compile(kernels), {problem}, without_rotation());
}
INSTANTIATE_TEST_SUITE_P(Kinds, Fp8Smoke,
                         ::testing::Values(SmokeCase{".accfast", ".d1"},
                                           SmokeCase{".scaling-rows.accfast", ".d1"},
                                           SmokeCase{".de4m3", ".d0.acc128"},
                                           SmokeCase{".de4m3", ".d1.acc128", 64},
                                           SmokeCase{".scaling-blocks", ".d0.acc128", 128, 256},
                                           SmokeCase{".scaling-blocks", ".d1.acc128", 64},
                                           SmokeCase{".scaling-packed_blocks", ".d1.acc128", 64},
                                           SmokeCase{".scaling-row_blocks", ".d0.acc128"},
                                           SmokeCase{".scaling-row_blocks", ".d1.acc128", 64},
                                           SmokeCase{".scaling-rows.bias-gelu", ".d1.acc256"}));

TEST_F(Fp8Test, EveryAxisIsCorrect) {
  for (const char* kind : {".e4m3", ".e5m2.be4m3.dfp16", ".e4m3.dfp32", ".e4m3.be5m2.accfast",
                           ".e5m2.dfp32.accfast"}) {
    SCOPED_TRACE(kind);
    std::vector<GemmProblem> problems = problems_of(kExtents, kind);
    problems.push_back(parse_problem("130x264x112.lda128.ldb144.ldd272" + std::string(kind)));
    const auto computed =
        expect_correct(compile(fp8_kernels(problems)), problems, without_rotation());
    expect_parts(computed, {"swap_ab", ".swap.", "direct", "staged", ".split", "csplit2", "stream",
                            "dynamic", "pdl", "fixed"});
    if (problems.front().accumulator == Accumulator::kFp32) {
      expect_parts(computed, {".acc128", ".acc256", ".acc512"});
    } else {
      EXPECT_FALSE(std::ranges::any_of(computed, [](const std::string& name) {
        return name.find(".acc1") != std::string::npos || name.find(".acc2") != std::string::npos;
      }));
    }
  }
}

TEST_F(Fp8Test, EveryAxisIsCorrectWithScales) {
  for (const char* kind :
       {".e4m3.scaling-tensor", ".e4m3.scaling-rows", ".e4m3.be5m2.dfp32.scaling-rows.accfast"}) {
    SCOPED_TRACE(kind);
    const std::vector<GemmProblem> problems = problems_of(kExtents, kind);
    expect_parts(expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()),
                 {"swap_ab", ".swap.", "direct", "staged", "csplit2", "stream"});
  }
}

/// N that ends inside a block of 128 rows of B, or of fewer, tiles that begin inside one, one row,
/// rows of scales with padding, and K of less than a block, of a block and a part, and of many.
const std::vector<const char*> kBlockExtents = {"1x256x512",   "6x200x384",    "67x71x16",
                                                "200x136x144", "301x203x1040", "1000x1032x528",
                                                "130x264x7168"};

TEST_F(Fp8Test, EveryAxisIsCorrectWithScalesOfBlocks) {
  for (const char* kind :
       {".e4m3.scaling-blocks", ".e5m2.be4m3.dfp32.scaling-blocks", ".e4m3.scaling-packed_blocks",
        ".e4m3.scaling-row_blocks", ".e4m3.be5m2.dfp32.scaling-row_blocks"}) {
    SCOPED_TRACE(kind);
    std::vector<GemmProblem> problems = problems_of(kBlockExtents, kind);
    problems.push_back(parse_problem("130x264x400.lda416.ldb400.ldd272" + std::string(kind)));
    expect_parts(expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()),
                 {"swap_ab", ".swap.", "direct", "staged", ".split", "csplit2", "stream"});
  }
}

TEST_F(Fp8Test, EpiloguesAreCorrectWithScalesOfBlocks) {
  for (const char* kind :
       {".e4m3.scaling-blocks.bias-gelu", ".e4m3.cbf16.scaling-row_blocks.scaled-bias-silu",
        ".e4m3.dfp32.cfp32.scaling-blocks", ".e4m3.scaling-blocks.biasm-relu",
        ".e4m3.scaling-row_blocks.bias-gelu-aux"}) {
    SCOPED_TRACE(kind);
    const std::vector<GemmProblem> problems =
        problems_of({"1x256x512", "200x136x144", "301x203x1040"}, kind);
    expect_parts(expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()),
                 {"swap_ab", "direct", "staged"});
  }
}

/// The order is: scales, alpha, C and the bias, activation.
TEST_F(Fp8Test, EpiloguesAreCorrectWithAndWithoutScales) {
  for (const char* kind :
       {".e4m3.bias-gelu", ".e4m3.scaling-rows.cbf16.scaled-bias-silu",
        ".e4m3.dfp32.scaling-tensor.cfp32.accfast", ".e5m2.be4m3.scaling-rows.biasm-relu",
        ".e4m3.scaling-tensor.bias-gelu-aux"}) {
    SCOPED_TRACE(kind);
    const std::vector<GemmProblem> problems =
        problems_of({"1x256x512", "200x136x80", "301x203x1040"}, kind);
    expect_parts(expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()),
                 {"swap_ab", "direct", "staged"});
  }
  for (const char* kind : {".e4m3.swiglu", ".e4m3.scaling-rows.swiglu",
                           ".e4m3.scaling-rows.geglu-interleaved.accfast"}) {
    SCOPED_TRACE(kind);
    const std::vector<GemmProblem> problems =
        problems_of({"1x512x512", "16x1104x144", "301x406x528"}, kind);
    EXPECT_GT(expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()).size(),
              5U);
  }
}

/// A problem of each kind with each of these extents, at strides and by pointers.
void expect_batches_correct(const Gpu& device, const std::vector<const char*>& kinds,
                            const std::vector<const char*>& at_strides,
                            const std::vector<const char*>& by_pointers) {
  for (const char* kind : kinds) {
    SCOPED_TRACE(kind);
    const auto expect_more = [&](std::size_t least, const std::vector<const char*>& extents) {
      const std::vector<GemmProblem> problems = problems_of(extents, kind);
      EXPECT_GT(expect_correct(compile(fp8_kernels(problems)), problems, device).size(), least);
    };
    expect_more(10, at_strides);
    expect_more(5, by_pointers);
  }
}

/// Each product has its own A and B, or all share one; the scales of tensors are those of all.
TEST_F(Fp8Test, BatchesAreCorrect) {
  expect_batches_correct(
      without_rotation(), {".e4m3", ".e4m3.be5m2.scaling-tensor.accfast"},
      {"64x64x64.batch7", "200x136x80.batch3", "1x256x512.batch5", "136x72x208.batch3.sb0"},
      {"64x64x64.batch7.pointers", "200x136x80.batch3.pointers"});
}

/// The extents above, rows of D of whole units of 16 bytes and others, and a K of many steps.
TEST_F(Fp8Test, EveryAxisIsCorrectWithOutputsOfEightBits) {
  for (const char* kind :
       {".e4m3.de4m3", ".e4m3.be5m2.de5m2.accfast", ".e4m3.de4m3.scaling-rows"}) {
    SCOPED_TRACE(kind);
    std::vector<GemmProblem> problems = problems_of(kExtents, kind);
    problems.push_back(parse_problem("208x144x80" + std::string(kind)));
    problems.push_back(parse_problem("130x264x112.lda128.ldb144.ldd272" + std::string(kind)));
    problems.push_back(parse_problem("130x272x112.ldd288" + std::string(kind)));
    const auto computed =
        expect_correct(compile(fp8_kernels(problems)), problems, without_rotation());
    expect_parts(computed, {"swap_ab", ".swap.", "direct", "staged", ".split", "csplit2", "stream",
                            "dynamic", "pdl", "fixed"});
    // Few promoted tiles leave registers for one that waits.
    if (problems.front().accumulator == Accumulator::kFast) expect_parts(computed, {"overlap"});
  }
}

/// C and the bias are bf16. The scale of D comes after all of the epilogue.
TEST_F(Fp8Test, EpiloguesAreCorrectWithOutputsOfEightBits) {
  for (const char* kind :
       {".e4m3.de4m3.bias-gelu", ".e4m3.de4m3.cbf16.scaling-rows.scaled-bias-silu",
        ".e5m2.be4m3.de5m2.scaling-tensor.cbf16.accfast", ".e4m3.de4m3.biasm-relu",
        ".e4m3.de4m3.scaling-blocks.bias-gelu", ".e4m3.de4m3.cbf16.scaling-row_blocks"}) {
    SCOPED_TRACE(kind);
    const std::vector<GemmProblem> problems =
        problems_of({"1x256x512", "208x144x80", "200x136x144", "301x203x1040"}, kind);
    expect_parts(expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()),
                 {"swap_ab", "direct", "staged"});
  }
  for (const char* kind : {".e4m3.de4m3.scaling-tensor.swiglu",
                           ".e4m3.de4m3.scaling-rows.geglu-interleaved.accfast"}) {
    SCOPED_TRACE(kind);
    const std::vector<GemmProblem> problems =
        problems_of({"1x512x512", "16x1120x144", "301x406x528", "16x1104x144"}, kind);
    EXPECT_GT(expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()).size(),
              5U);
  }
}

TEST_F(Fp8Test, BatchesAreCorrectWithOutputsOfEightBits) {
  expect_batches_correct(without_rotation(), {".e4m3.de4m3", ".e4m3.de4m3.scaling-tensor.accfast"},
                         {"64x64x64.batch7", "200x136x80.batch3", "208x144x80.batch3",
                          "1x256x512.batch5", "136x80x208.batch3.sb0"},
                         {"64x64x64.batch7.pointers", "208x144x80.batch3.pointers"});
}

/// The bytes of D of set 0.
std::vector<unsigned char> bytes_of_output(const ProblemData& data) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(data.problem().d_bytes()));
  check(cudaMemcpy(bytes.data(), data.operands(0).d, bytes.size(), cudaMemcpyDeviceToHost),
        "reading D");
  return bytes;
}
void write_output(const ProblemData& data, const std::vector<unsigned char>& bytes) {
  check(cudaMemcpy(data.operands(0).d, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
        "writing D");
  check(cudaStreamSynchronize(cudaStreamLegacy), "writing D");
}

/// What is beyond the largest value becomes that; and the verdict sees D off by two steps, NaN, and
/// another scale.
TEST_F(Fp8Test, OutputsOfEightBitsSaturateAndAreJudgedToTheStep) {
  constexpr unsigned kLargest = 0x7e;
  constexpr unsigned kMagnitude = 0x7f;
  const GemmProblem problem = parse_problem("128x256x512.e4m3.de4m3.scaling-tensor");
  const ProblemData data(problem, 7, without_rotation(), stream());
  int launched = 0;
  for (const Build& build : compile(fp8_kernels({problem}))) {
    if (build.status != Status::kOk || !computes(build.kernel, problem)) continue;
    data.poison(stream());
    make_kernel_candidate(build.kernel, build.cubin, data)->launch(0, stream().get());
    ASSERT_TRUE(data.verify(stream()).correct) << build.facts.name;
    const std::vector<unsigned char> bytes = bytes_of_output(data);
    const auto of_magnitude = [&](unsigned magnitude) {
      return std::ranges::count_if(
          bytes, [&](unsigned char byte) { return (byte & kMagnitude) == magnitude; });
    };
    EXPECT_GT(of_magnitude(kLargest), 0);
    EXPECT_LT(of_magnitude(kLargest), static_cast<std::ptrdiff_t>(bytes.size() / 2));
    EXPECT_EQ(of_magnitude(kMagnitude), 0) << "NaN";

    const auto is_wrong_with = [&](unsigned char byte, std::size_t at) {
      std::vector<unsigned char> changed = bytes;
      changed[at] = byte;
      write_output(data, changed);
      return !data.verify(stream()).correct;
    };
    // 64 to 80: a step is far above the errors of the sums.
    const auto normal = static_cast<std::size_t>(
        std::ranges::find_if(bytes,
                             [](unsigned char byte) {
                               return (byte & kMagnitude) >= 0x68 && (byte & kMagnitude) <= 0x6a;
                             }) -
        bytes.begin());
    ASSERT_LT(normal, bytes.size());
    EXPECT_TRUE(is_wrong_with(static_cast<unsigned char>(bytes[normal] + 2), normal));
    EXPECT_TRUE(is_wrong_with(static_cast<unsigned char>(bytes[normal] - 2), normal));
    EXPECT_TRUE(is_wrong_with(0x7f, normal));
    EXPECT_FALSE(is_wrong_with(bytes[normal], normal));
    if (++launched == 2) break;
  }
  EXPECT_EQ(launched, 2);
}

TEST_F(Fp8Test, AnotherScaleOfAnEightBitOutputIsWrong) {
  const GemmProblem problem = parse_problem("64x256x512.e4m3.de4m3");
  const ProblemData data(problem, 7, without_rotation(), stream());
  const float other = kScaleD * 0.75F;
  const DeviceMemory scale(sizeof other);
  check(cudaMemcpy(scale.data(), &other, sizeof other, cudaMemcpyHostToDevice), "writing a scale");
  check(cudaStreamSynchronize(cudaStreamLegacy), "writing a scale");
  int launched = 0;
  for (const Build& build : compile(fp8_kernels({problem}))) {
    if (build.status != Status::kOk || !computes(build.kernel, problem)) continue;
    const LoadedKernel kernel(build.kernel, build.cubin);
    const int ctas = kernel.grid_ctas(problem);
    const Workspace workspace = kernel.make_workspace(problem, ctas);
    Operands operands = data.operands(0);
    operands.scale_d = scale.as<float>();
    data.poison(stream());
    kernel.launch(make_params(build.kernel, problem, operands, workspace), ctas, stream().get());
    EXPECT_FALSE(data.verify(stream()).correct) << build.facts.name;
    ++launched;
  }
  EXPECT_GT(launched, 10);
}

TEST_F(Fp8Test, PointsOfTheWholeSpaceAreCorrect) {
  constexpr std::size_t kDrawn = 24;
  for (const char* key :
       {"520x1032x1040.e4m3", "333x517x528.e5m2.be4m3.scaling-rows.dfp32",
        "40x2048x4096.e4m3.scaling-tensor.accfast", "333x520x1040.e4m3.scaling-blocks",
        "333x520x1040.e4m3.scaling-packed_blocks.dfp32",
        "40x2048x4096.e4m3.scaling-row_blocks.dfp32", "528x1040x1040.e4m3.de4m3.scaling-tensor",
        "333x517x528.e4m3.be5m2.de5m2.scaling-rows.accfast"}) {
    SCOPED_TRACE(key);
    const GemmProblem problem = parse_problem(key);
    std::vector<Kernel> kernels;
    for (const Proposal& drawn : draw({problem}, kDrawn, 31)) {
      kernels.push_back(kernel_for(drawn.config, problem));
    }
    EXPECT_EQ(kernels.size(), kDrawn);
    expect_correct(compile(kernels), {problem}, without_rotation());
  }
}

/// Long sums, where those of the tensor cores lose the most.
TEST_F(Fp8Test, LongSumsAreWithinTheirTolerance) {
  for (const char* key : {"128x256x16384.e4m3", "128x256x65536.e4m3.be5m2.dfp32",
                          "128x256x16384.e4m3.accfast", "128x256x65536.e4m3.accfast.dfp32"}) {
    const std::vector<GemmProblem> problems = {parse_problem(key)};
    EXPECT_FALSE(
        expect_correct(compile(fp8_kernels(problems)), problems, without_rotation()).empty());
  }
}

/// What the verdicts of the others are worth.
TEST_F(Fp8Test, FastSumsAreWrongWhereSumsArePromoted) {
  const GemmProblem fast = parse_problem("128x256x65536.e4m3.accfast.dfp32");
  const GemmProblem promoted = parse_problem("128x256x65536.e4m3.dfp32");
  const ProblemData data(promoted, 7, without_rotation(), stream());
  int wrong = 0;
  for (const Build& build : compile(fp8_kernels({fast}))) {
    // Where K is cut the parts are added in fp32.
    const bool cuts_k = std::ranges::any_of(
        std::vector<std::string>{"split", "stream"}, [&](const std::string& scheduler) {
          return build.facts.name.find(scheduler) != std::string::npos;
        });
    if (build.status != Status::kOk || cuts_k || !computes(build.kernel, fast)) continue;
    const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
    data.poison(stream());
    candidate->launch(0, stream().get());
    EXPECT_FALSE(data.verify(stream()).correct) << build.facts.name;
    ++wrong;
  }
  EXPECT_GT(wrong, 3);
}

TEST_F(Fp8Test, AKernelThatLeavesTheScalesOutIsWrong) {
  const GemmProblem plain = parse_problem("200x136x528.e4m3");
  const std::vector<Build> builds = compile(fp8_kernels({plain}));
  for (const char* scaling : {".scaling-tensor", ".scaling-rows", ".scaling-blocks",
                              ".scaling-packed_blocks", ".scaling-row_blocks"}) {
    const GemmProblem scaled = parse_problem(to_string(plain) + scaling);
    const ProblemData data(scaled, 7, without_rotation(), stream());
    int wrong = 0;
    for (const Build& build : builds) {
      if (build.status != Status::kOk || !computes(build.kernel, plain)) continue;
      const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
      data.poison(stream());
      candidate->launch(0, stream().get());
      EXPECT_FALSE(data.verify(stream()).correct) << build.facts.name << scaling;
      ++wrong;
    }
    EXPECT_GT(wrong, 10);
  }
}

/// `count` numbers of device memory, rotated to the left.
DeviceMemory rotated(const float* numbers, std::int64_t count, std::int64_t by) {
  std::vector<float> all(static_cast<std::size_t>(count));
  DeviceMemory memory(all.size() * sizeof(float));
  check(cudaMemcpy(all.data(), numbers, memory.bytes(), cudaMemcpyDeviceToHost), "reading scales");
  std::ranges::rotate(all, all.begin() + by);
  check(cudaMemcpy(memory.data(), all.data(), memory.bytes(), cudaMemcpyHostToDevice),
        "writing scales");
  // The stream of launches does not wait for the default one.
  check(cudaStreamSynchronize(cudaStreamLegacy), "writing scales");
  return memory;
}

/// Scales by which a launch is off, of A and of B.
struct Shift {
  std::int64_t a, b;
};
/// Launches every kernel with the scales of other rows or blocks; with all of them in place, too.
void expect_wrong_with(const std::vector<Shift>& shifts, const GemmProblem& problem,
                       const Gpu& device) {
  const Stream stream;
  const ProblemData data(problem, 7, device, stream);
  int launched = 0;
  for (const Build& build : compile(fp8_kernels({problem}))) {
    if (build.status != Status::kOk || !computes(build.kernel, problem)) continue;
    const LoadedKernel kernel(build.kernel, build.cubin);
    const int ctas = kernel.grid_ctas(problem);
    const Workspace workspace = kernel.make_workspace(problem, ctas);
    const auto is_correct_with = [&](const Shift& shift) {
      Operands operands = data.operands(0);
      const DeviceMemory of_a = rotated(operands.scale_a, problem.scales_of_a(), shift.a);
      const DeviceMemory of_b = rotated(operands.scale_b, problem.scales_of_b(), shift.b);
      operands.scale_a = of_a.as<float>();
      operands.scale_b = of_b.as<float>();
      data.poison(stream);
      kernel.launch(make_params(build.kernel, problem, operands, workspace), ctas, stream.get());
      return data.verify(stream).correct;  // waits
    };
    EXPECT_TRUE(is_correct_with({0, 0})) << build.facts.name;
    for (const Shift& shift : shifts) {
      EXPECT_FALSE(is_correct_with(shift))
          << build.facts.name << ", " << shift.a << " and " << shift.b;
    }
    ++launched;
  }
  EXPECT_GT(launched, 10);
}

/// The verdict sees the scales of the next row, block of rows and block of K.
TEST_F(Fp8Test, ScalesOfOtherBlocksAreWrong) {
  expect_wrong_with({{1, 0}, {64, 0}, {0, 1}, {0, 4}},
                    parse_problem("64x256x512.e4m3.scaling-blocks"), without_rotation());
  expect_wrong_with({{1, 0}, {64, 0}, {0, 1}, {0, 5}},
                    parse_problem("64x256x640.e4m3.scaling-packed_blocks"), without_rotation());
  expect_wrong_with({{1, 0}, {64, 0}, {0, 1}, {0, 256}},
                    parse_problem("64x256x512.e4m3.scaling-row_blocks"), without_rotation());
}

TEST_F(Fp8Test, BaselinesAreCorrect) {
  for (const char* text : {"64x64x64.e4m3",
                           "256x512x1024.e4m3.be5m2",
                           "256x512x1024.e5m2.be4m3.dfp16",
                           "256x512x1024.e4m3.dfp32",
                           "256x512x1024.e4m3.accfast",
                           "256x512x1024.e4m3.scaling-tensor",
                           "256x512x1024.e4m3.scaling-tensor.dfp32.accfast",
                           "256x512x1024.e4m3.scaling-rows",
                           "16x512x1024.e4m3.scaling-rows.accfast",
                           "256x512x1024.e4m3.scaled",
                           "256x512x1024.e4m3.bias",
                           "256x512x1024.e4m3.scaling-tensor.bias-gelu",
                           "256x512x1024.e4m3.scaling-tensor.cbf16",
                           "256x512x1024.e4m3.scaling-rows.biasm-silu",
                           "256x512x1024.e4m3.swiglu",
                           "256x512x1024.e4m3.gelu-aux",
                           "64x64x64.e4m3.batch16",
                           "64x64x64.e4m3.scaling-tensor.batch16",
                           "256x512x1024.e4m3.scaling-blocks",
                           "256x512x1024.e4m3.scaling-row_blocks",
                           "16x2112x7168.e4m3.scaling-blocks",
                           "256x512x1024.e4m3.scaling-blocks.dfp32",
                           "256x512x1024.e4m3.scaling-blocks.bias-silu",
                           "256x512x1024.e4m3.de4m3",
                           "256x512x1024.e4m3.de4m3.scaling-tensor.accfast",
                           "256x512x1024.e4m3.de4m3.scaling-tensor.ldd528",
                           "256x512x1024.e4m3.be5m2.de5m2.scaling-tensor",
                           "256x512x1024.e4m3.de4m3.scaling-rows",
                           "256x512x1024.e4m3.de4m3.scaling-tensor.bias-gelu",
                           "256x512x1024.e4m3.de4m3.scaling-tensor.cbf16",
                           "256x512x1024.e4m3.de4m3.scaling-tensor.swiglu",
                           "256x512x1024.e4m3.de4m3.scaling-blocks.bias-silu",
                           "64x64x64.e4m3.de4m3.scaling-tensor.batch16"}) {
    SCOPED_TRACE(text);
    const ProblemData data(parse_problem(text), 7, without_rotation(), stream());
    const std::vector<Baseline> baselines = make_baselines(data);
    EXPECT_GT(baselines.size(), 1U) << "cuBLASLt has no algorithm";
    if (baselines.empty()) continue;
    EXPECT_EQ(baselines.front().label, kCublasLabel);
    EXPECT_THAT(baselines.front().candidate->describe(), HasSubstr("first choice"));
    for (const Baseline& baseline : baselines) {
      data.poison(stream());
      baseline.candidate->launch(0, stream().get());
      const Verdict verdict = data.verify(stream(), baseline.candidate->roundings());
      EXPECT_TRUE(verdict.correct)
          << baseline.label << ", " << baseline.candidate->describe() << ": " << verdict.message;
    }
  }
}

/// Blocks of K that end early, whose scales are padded with NaN, and blocks of rows likewise; and
/// rows up to a multiple of 4, of which the last ones are NaN, and are not the problem's.
TEST_F(Fp8Test, BaselinesWithPaddedScalesOfBlocksAreCorrect) {
  for (const char* text :
       {"12x264x144.e4m3.scaling-blocks", "132x264x1040.e4m3.scaling-blocks",
        "132x264x640.e4m3.scaling-row_blocks", "256x512x640.e4m3.scaling-blocks.bias-gelu",
        "256x512x1024.e4m3.be5m2.scaling-blocks", "64x512x1024.e4m3.scaling-row_blocks.cbf16",
        "1x512x1024.e4m3.scaling-blocks", "255x520x640.e4m3.scaling-packed_blocks",
        "3x512x640.e4m3.scaling-row_blocks.bias-silu",
        "257x512x1024.e4m3.de4m3.scaling-packed_blocks"}) {
    SCOPED_TRACE(text);
    const ProblemData data(parse_problem(text), 7, without_rotation(), stream());
    const std::vector<Baseline> baselines = make_baselines(data);
    EXPECT_FALSE(baselines.empty());
    for (const Baseline& baseline : baselines) {
      data.poison(stream());
      baseline.candidate->launch(0, stream().get());
      const Verdict verdict =
          data.verify(stream(), baseline.candidate->roundings(), baseline.candidate->rows_behind());
      EXPECT_TRUE(verdict.correct)
          << baseline.label << ", " << baseline.candidate->describe() << ": " << verdict.message;
    }
  }
}

/// With scales of tensors cuBLASLt stores 8 bits itself; with others a launch after it does.
TEST_F(Fp8Test, TheLibraryStoresEightBitsWhereItCan) {
  EXPECT_TRUE(CublasLtPlan(parse_problem("256x512x1024.e4m3.de4m3.scaling-tensor")).has_epilogue());
  const CublasLtPlan by_rows(parse_problem("256x512x1024.e4m3.de4m3.scaling-rows"));
  EXPECT_GT(by_rows.algorithms(), 0);
  EXPECT_FALSE(by_rows.has_epilogue());
}

TEST_F(Fp8Test, TwoOperandsOfE5m2HaveKernelsAndNoBaseline) {
  const GemmProblem problem = parse_problem("256x512x1024.e5m2");
  const ProblemData data(problem, 7, without_rotation(), stream());
  EXPECT_TRUE(make_baselines(data).empty());
  EXPECT_EQ(CublasLtPlan(problem).algorithms(), 0);
}

}  // namespace
}  // namespace hgemm::testing
