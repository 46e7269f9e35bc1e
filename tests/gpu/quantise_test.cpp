// Quantising activations: every scaling, both types and odd sizes against a plain loop on the CPU,
// and the study that times it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compile/source.h"
#include "device/data_kernels.h"
#include "device/quantise.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "studies/quantise/run.h"
#include "studies/quantise/series.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using QuantiseTest = GpuTest;

constexpr unsigned char kPoison = 0xff;

/// What quantise() should write: bytes of A, with padding of poison, and scales likewise.
struct Expected {
  std::vector<unsigned char> a;
  std::vector<float> scales;
};

template <typename Target>
unsigned char rounded_to(float value) {
  const Target rounded(value);  // saturates
  return rounded.__x;
}
unsigned char rounded_to(float value, DataType type) {
  return type == DataType::kE4m3 ? rounded_to<__nv_fp8_e4m3>(value)
                                 : rounded_to<__nv_fp8_e5m2>(value);
}

/// By the definition. `source` has the leading dimension of A.
Expected expected_of(const GemmProblem& problem, const std::vector<float>& source,
                     float of_tensor) {
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  Expected all{std::vector<unsigned char>(at(problem.m * problem.leading_a()), kPoison),
               std::vector<float>(at(problem.scales_of_a()), of_tensor)};
  const bool of_blocks = is_of_blocks(problem.scaling);
  const bool finds = of_blocks || problem.scaling == Scaling::kRows;
  const float most = problem.a_type == DataType::kE4m3 ? 448.0F : 57344.0F;
  const std::int64_t group = of_blocks ? kScaleBlock : problem.k;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t first = 0; first < problem.k; first += group) {
      const std::int64_t end = std::min(first + group, problem.k);
      float factor = problem.scaling == Scaling::kTensor ? 1.0F / of_tensor : 1.0F;
      if (finds) {
        float largest = 0x1p-96F;
        for (std::int64_t col = first; col < end; ++col) {
          largest = std::fmax(largest, std::fabs(source[at(row * problem.leading_a() + col)]));
        }
        factor = most / largest;
        all.scales[at(first / group * scale_leading(problem.m) + row)] = largest / most;
      }
      for (std::int64_t col = first; col < end; ++col) {
        const std::int64_t i = row * problem.leading_a() + col;
        all.a[at(i)] = rounded_to(factor * source[at(i)], problem.a_type);
      }
    }
  }
  return all;
}

/// Memory of the device with these values.
template <typename T>
DeviceMemory uploaded(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  if (values.empty()) return memory;
  check(cudaMemcpy(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice), "write");
  check(cudaStreamSynchronize(cudaStreamLegacy), "write");
  return memory;
}
template <typename T>
std::vector<T> read(const DeviceMemory& memory) {
  std::vector<T> values(memory.bytes() / sizeof(T));
  if (values.empty()) return values;
  check(cudaMemcpy(values.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost), "read");
  return values;
}

/// Activations of very different sizes, with rows and blocks of zeros, and one large outlier.
template <typename T>
std::vector<T> activations(const GemmProblem& problem) {
  std::vector<T> values;
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < problem.m * problem.leading_a(); ++i) {
    state = state * 1664525u + 1013904223u;
    const float unit = static_cast<float>(state >> 8) * 0x1p-23F - 1;
    const std::int64_t row = i / problem.leading_a();
    const std::int64_t block = i % problem.leading_a() / kScaleBlock;
    const float size = std::exp2(static_cast<float>((row * 7 + block * 3) % 17 - 8));
    const bool is_zero = row % 5 == 3 || block % 4 == 2;
    values.push_back(T(is_zero ? 0.0F : unit * size));
  }
  values.front() = T(3000.0F);
  return values;
}

/// Quantises by both functions and compares each with the definition, to the byte.
template <typename T>
void expect_as_defined(const GemmProblem& problem, const std::vector<T>& source, DataType type,
                       const Stream& stream) {
  constexpr float kOfTensor = 0.0625F;
  std::vector<float> values;
  for (const T& value : source) values.push_back(static_cast<float>(value));
  Expected expected = expected_of(problem, values, kOfTensor);
  const DeviceMemory memory = uploaded(source);
  for (const bool plainly : {false, true}) {
    SCOPED_TRACE(plainly ? "plainly" : "at memory speed");
    const DeviceMemory a = uploaded(std::vector<unsigned char>(expected.a.size(), kPoison));
    const DeviceMemory scales =
        uploaded(std::vector<float>(static_cast<std::size_t>(problem.scales_of_a()), kOfTensor));
    const Quantised matrix{.source = memory.data(),
                           .source_type = type,
                           .source_leading = problem.leading_a(),
                           .a = a.data(),
                           .scale_a = scales.as<float>()};
    (plainly ? quantise_plainly : quantise)(problem, matrix, stream.get());
    stream.synchronize();
    const std::vector<unsigned char> found = read<unsigned char>(a);
    const auto [other, wanted] = std::ranges::mismatch(found, expected.a);
    EXPECT_EQ(other, found.end()) << "element " << other - found.begin() << ": "
                                  << static_cast<int>(*other) << " for "
                                  << static_cast<int>(*wanted);
    EXPECT_EQ(read<float>(scales), expected.scales);
  }
}

/// K of less than a block, of a block and a part, of more than a CTA keeps, and of odd numbers of
/// units; rows with padding, one row, and more rows than a wave.
const std::vector<const char*> kExtents = {"1x8x16",      "1x8x7168",       "7x8x144",
                                           "67x8x400",    "5x8x20000",      "300x8x2048",
                                           "4097x8x1040", "33x8x528.lda544"};

TEST_F(QuantiseTest, IsAsDefined) {
  for (const char* scaling :
       {"", ".scaling-tensor", ".scaling-rows", ".scaling-blocks", ".scaling-row_blocks"}) {
    for (const char* types : {".e4m3", ".e5m2.be4m3"}) {
      for (const char* extents : kExtents) {
        std::string key = extents;
        key.insert(std::min(key.find('.'), key.size()), types);
        const GemmProblem problem = parse_problem(key + scaling);
        SCOPED_TRACE(to_string(problem));
        ASSERT_EQ(why_unsupported(problem), nullptr);
        expect_as_defined(problem, activations<__nv_bfloat16>(problem), DataType::kBf16, stream());
        expect_as_defined(problem, activations<__half>(problem), DataType::kFp16, stream());
      }
    }
  }
}

TEST_F(QuantiseTest, NanStaysNanAndBeyondTheLargestValueIsThat) {
  const GemmProblem problem = parse_problem("2x8x256.e4m3.scaling-tensor");
  std::vector<__nv_bfloat16> source(2 * 256, __nv_bfloat16(1.0F));
  source[3] = __nv_bfloat16(std::numeric_limits<float>::quiet_NaN());
  source[5] = __nv_bfloat16(1e20F);
  source[260] = __nv_bfloat16(-1e20F);
  const DeviceMemory memory = uploaded(source);
  const DeviceMemory a(source.size());
  const DeviceMemory scale = uploaded(std::vector<float>{0.5F});
  quantise(
      problem,
      {.source = memory.data(), .source_leading = 256, .a = a.data(), .scale_a = scale.as<float>()},
      stream().get());
  stream().synchronize();
  const auto found = read<unsigned char>(a);
  EXPECT_EQ(found[0], 0x40);  // 2
  EXPECT_EQ(found[3] & 0x7f, 0x7f);
  EXPECT_EQ(found[5], 0x7e);
  EXPECT_EQ(found[260], 0xfe);
}

TEST_F(QuantiseTest, TheStudyTimesAllFive) {
  constexpr const char* kPromoted = "bm128.bn128.bk128.q4.c1x1.coop2.d0.acc128.linear.tma.persist";
  for (const char* key :
       {"256x512x1024.e4m3", "256x512x1024.e4m3.scaling-tensor", "256x512x1024.e4m3.scaling-rows",
        "256x512x1024.e4m3.scaling-blocks", "256x512x1024.e4m3.de4m3.scaling-row_blocks.bias"}) {
    SCOPED_TRACE(key);
    const GemmProblem problem = parse_problem(key);
    const Kernel kernel = kernel_for(parse_label(kPromoted), problem);
    const std::vector<Build> builds = compile({kernel});
    ASSERT_EQ(builds.front().status, Status::kOk) << builds.front().message;
    const StudyRequest request{
        .kind = std::string(kQuantiseStudy), .label = kPromoted, .problem = problem};
    const Gpu device = without_rotation();
    const OnStep on_step = nullptr;
    const Bench bench{device, nullptr, on_step, stream()};
    const Study study = run_quantise(request, builds.front().cubin, bench);
    EXPECT_EQ(study.status, Status::kOk) << study.message;
    EXPECT_TRUE(study.verdict.correct);
    for (const std::string_view name :
         {std::string_view(kOurGemm), std::string_view(kOurGemmAfter), kCublasLabel,
          std::string_view(kCublasAfter), std::string_view(kQuantisingAlone)}) {
      EXPECT_FALSE(study.samples(name).empty()) << name;
    }
  }
}

/// An element that the quantiser did not write (it writes no NaN here).
TEST_F(QuantiseTest, AnotherAIsNoticed) {
  const GemmProblem problem = parse_problem("64x256x512.e4m3.scaling-rows");
  const QuantisedData data(problem, 3, without_rotation(), stream());
  EXPECT_TRUE(data.agrees_with_plain(stream()));
  const Operands operands = data.gemm().operands(data.gemm().check_set());
  check(cudaMemset(const_cast<void*>(operands.a), 0x7f, 1), "changing an element");
  check(cudaStreamSynchronize(cudaStreamLegacy), "changing an element");
  EXPECT_FALSE(data.agrees_with_plain(stream()));
  data.quantise(data.gemm().check_set(), stream().get());
  EXPECT_TRUE(data.agrees_with_plain(stream()));
}

}  // namespace
}  // namespace hgemm::testing
