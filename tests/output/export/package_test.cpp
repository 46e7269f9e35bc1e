// An exported package as its user meets it: built with warnings as errors, linked, and asked what
// it would run, on a machine that may have no GPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/output/export/fixture.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using namespace test;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// What `command` prints; fails the test with it if its exit code is not 0.
std::string output_of(const std::string& command, const fs::path& log) {
  const int code = std::system(("( " + command + " ) >'" + log.string() + "' 2>&1").c_str());
  std::string text = text_of(log);
  EXPECT_EQ(code, 0) << command << '\n' << text;
  return text;
}

/// Builds the consumer of a package, with warnings as errors.
void build_consumer(const fs::path& package, const std::string& build, const fs::path& log) {
  output_of("cmake -S '" HGEMM_SOURCE_DIR "/tests/output/export/consumer' -B '" + build +
                "' -G Ninja -DCMAKE_CUDA_COMPILER='" HGEMM_NVCC "' -DHGEMM_TUNED_DIR='" +
                package.string() +
                "' -DCMAKE_CUDA_FLAGS='-Xcompiler -Wall,-Wextra,-Werror -Werror all-warnings' && "
                "cmake --build '" +
                build + "'",
            log);
}

constexpr const char* kAsked =
    "256x512x640 16x512x640 1x512x640 384x256x4096 2x512x640 20x512x640 1000x512x640 "
    "300x264x3000 64x512x644 16x511x640 256x512x640.dfp32 16x512x640.dfp32 "
    "384x256x4096.dfp32 256x512x640.layoutNT 264x1000x77.layoutNT 20x512x640.layoutNT "
    "256x512x640.bias-gelu 16x512x640.bias-gelu 256x512x640.bias-gelu.cbf16 "
    "256x512x640.cbf16 256x512x640.swiglu-interleaved 256x512x640.swiglu "
    "256x512x640.batch1 256x512x640.batch8 256x512x640.batch8.shared_b "
    "256x512x640.batch8.heads 256x512x640.batch3 128x256x320.batch3 64x512x644.batch8 "
    "256x512x640.batch8.bias-gelu 256x512x640.cbf16.scaled-bias "
    "16x512x640.cbf16.scaled-bias 256x512x640.scaled 256x512x640.batch8.scaled "
    "256x512x640.batch3.scaled 256x512x640.batch8.scaled-bias 256x512x640.bias-gelu-aux "
    "256x512x640.batch8.pointers 256x512x640.batch3.pointers 256x512x640.batch8.pointers.scaled "
    "16x512x640.bias-gelu-aux 256x512x640.gelu-aux";

/// A line of the consumer: it has found a kernel, and no GPU (8).
auto line(const char* problem, int source, int gain, int tuned_m, const KernelConfig& config,
          const char* products = "") {
  return HasSubstr(std::string(problem) + " source=" + std::to_string(source) + " gain=" +
                   std::to_string(gain) + " cublas=0 tuned_m=" + std::to_string(tuned_m) +
                   " status=0 run=8 " + label(config) + products + "\n");
}

void expect_kernels_of_plain_products(const std::string& out) {
  SwapAbConfig one_row = kSwapAb;
  one_row.bm = 8;
  SwapAbConfig fixed = one_row;
  fixed.fixed = true;
  // Tuned shapes exactly. (8: there is no GPU.)
  EXPECT_THAT(out, line("256x512x640", 0, 1, 256, kWide));
  EXPECT_THAT(out, line("16x512x640", 0, 1, 16, kSwapAb));
  EXPECT_THAT(out, line("1x512x640", 0, 0, 1, fixed));
  EXPECT_THAT(out, line("384x256x4096", 0, 1, 384, kStreamK));
  // Others of the same weight: the next larger M within a factor of 4, else the nearest by ratio.
  // The kernel that is made for one shape is there for others as a general one.
  EXPECT_THAT(out, line("2x512x640", 1, 0, 1, one_row));
  EXPECT_THAT(out, line("20x512x640", 1, 1, 16, kSwapAb));
  EXPECT_THAT(out, line("1000x512x640", 1, 1, 256, kWide));
  // No tuned shape has this weight: the nearest shape answers.
  EXPECT_THAT(out, line("300x264x3000", 2, 1, 384, kStreamK));
  // Outputs in fp32 have a kernel of their own, of the same config, and nothing else has.
  EXPECT_THAT(out, line("256x512x640.dfp32", 0, 1, 256, kWide));
  EXPECT_THAT(out, line("16x512x640.dfp32", 1, 1, 256, kWide));
  EXPECT_THAT(out, line("384x256x4096.dfp32", 2, 1, 256, kWide));
  // A layout has kernels of its own, whose rows are along M and N: K may be any.
  EXPECT_THAT(out, line("256x512x640.layoutNT", 0, 1, 256, kWide));
  EXPECT_THAT(out, line("264x1000x77.layoutNT", 2, 1, 256, kWide));
  EXPECT_THAT(out, HasSubstr("20x512x640.layoutNT source=4")) << "and M is no multiple of 8 here";
}

void expect_kernels_of_epilogues_and_batches(const std::string& out) {
  // An epilogue has kernels of its own: no kernel computes another one.
  EXPECT_THAT(out, line("256x512x640.bias-gelu", 0, 1, 256, kWide));
  EXPECT_THAT(out, line("16x512x640.bias-gelu", 1, 1, 256, kWide));
  EXPECT_THAT(out, line("256x512x640.bias-gelu.cbf16", 0, 1, 256, kWide));
  EXPECT_THAT(out, HasSubstr("256x512x640.cbf16 source=4 gain=0 cublas=0 tuned_m=0 status=5"));
  // So is a second output.
  EXPECT_THAT(out, line("256x512x640.bias-gelu-aux", 0, 1, 256, kWide));
  EXPECT_THAT(out, line("16x512x640.bias-gelu-aux", 1, 1, 256, kWide));
  EXPECT_THAT(out, HasSubstr("256x512x640.gelu-aux source=4 gain=0 cublas=0 tuned_m=0 status=5"));
  // Gates that lie otherwise are another problem.
  EXPECT_THAT(out, line("256x512x640.swiglu-interleaved", 0, 1, 256, kWide));
  EXPECT_THAT(out, HasSubstr("256x512x640.swiglu source=4 gain=0 cublas=0 tuned_m=0 status=5"));
  // A batch has a kernel of its own, for any number of products wherever they lie.
  EXPECT_THAT(out, line("256x512x640.batch1", 0, 1, 256, kWide)) << "a single product";
  EXPECT_THAT(out, line("256x512x640.batch8", 0, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, line("256x512x640.batch8.shared_b", 0, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, line("256x512x640.batch8.heads", 1, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, line("256x512x640.batch3", 1, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, line("128x256x320.batch3", 2, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, HasSubstr("64x512x644.batch8 source=4 gain=0 cublas=0 tuned_m=0 status=5"));
  EXPECT_THAT(
      out, HasSubstr("256x512x640.batch8.bias-gelu source=4 gain=0 cublas=0 tuned_m=0 status=5"));
  // Factors are an epilogue, too, and the only one of a batch.
  EXPECT_THAT(out, line("256x512x640.cbf16.scaled-bias", 0, 1, 256, kWide));
  EXPECT_THAT(out, line("16x512x640.cbf16.scaled-bias", 1, 1, 256, kWide));
  EXPECT_THAT(out, HasSubstr("256x512x640.scaled source=4 gain=0 cublas=0 tuned_m=0 status=5"));
  EXPECT_THAT(out, line("256x512x640.batch8.scaled", 0, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, line("256x512x640.batch3.scaled", 1, 1, 256, kWide, " of 8"));
  // By pointers it is another kernel.
  EXPECT_THAT(out, line("256x512x640.batch8.pointers", 0, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, line("256x512x640.batch3.pointers", 1, 1, 256, kWide, " of 8"));
  EXPECT_THAT(out, HasSubstr("256x512x640.batch8.pointers.scaled source=4"));
  EXPECT_THAT(
      out, HasSubstr("256x512x640.batch8.scaled-bias source=4 gain=0 cublas=0 tuned_m=0 status=5"));
}

TEST(ExportPackage, BuildsAndAnswersWithoutAGpu) {
  const TemporaryFolder temporary;
  const fs::path package = temporary.path() / "hgemm_tuned";
  const ExportPlan plan =
      plan_export(recordings_of_every_kind(), {.allowed = {.pdl = PdlKind::kOff}});
  write_export(package, export_files(plan, valid_for(plan), ExportFormat::kCpp));
  const std::string build = (temporary.path() / "build").string();
  const fs::path log = temporary.path() / "log";
  build_consumer(package, build, log);
  ASSERT_FALSE(HasFailure());

  const std::string out =
      output_of("CUDA_VISIBLE_DEVICES= '" + build + "/consumer' " + kAsked, log);
  expect_kernels_of_plain_products(out);
  expect_kernels_of_epilogues_and_batches(out);
  // Rows between units, and an odd N: no kernel here packs or stores such.
  EXPECT_THAT(out, HasSubstr("64x512x644 source=4 gain=0 cublas=0 tuned_m=0 status=5 run=5 -"));
  EXPECT_THAT(out, HasSubstr("16x511x640 source=4 gain=0 cublas=0 tuned_m=0 status=5 run=5 -"));
  EXPECT_THAT(
      out,
      HasSubstr("null=1 no_bias=1 no_c=1 no_aux=1 bad_c=2 bad_scaled=2 dtype=3 output=3 layout=2 "
                "activation=2 gate=2 odd_gate=2 problem=2 leading=2 address=4 "
                "prepare=8 bytes=8 c=1"));
  EXPECT_THAT(out, HasSubstr("batch=2 products=2 stride_a=2 stride_b=2 far=2 shared_d=2 overlap=2 "
                             "overflow=2 single_by_pointers=2 pointers_and_strides=2 "
                             "array_address=4\nshapes=1\n"));

  EXPECT_THAT(output_of("ldd '" + build + "/consumer'", log), Not(HasSubstr("libcublas")));

  // Nothing in a kernel ends the process that it is a guest of: no trap, and no clock for one.
  const std::string source = package.string() + "/src";
  const std::string ptx = (temporary.path() / "hgemm_tuned.ptx").string();
  output_of("'" HGEMM_NVCC "' -std=c++20 -arch=sm_90a -ptx -I '" + package.string() +
                "/include' -I '" + source + "' -I '" + source + "/kernels' '" + source +
                "/hgemm_tuned.cu' -o '" + ptx + "'",
            log);
  EXPECT_THAT(text_of(ptx), HasSubstr("wgmma.mma_async"));
  EXPECT_THAT(text_of(ptx), HasSubstr("mbarrier.try_wait"));
  EXPECT_THAT(text_of(ptx), Not(HasSubstr("trap;")));
  EXPECT_THAT(text_of(ptx), Not(HasSubstr("globaltimer")));
}

TEST(ExportPackage, BuildsWithCublasLtWhereItIsFaster) {
  const TemporaryFolder temporary;
  const fs::path package = temporary.path() / "hgemm_tuned";
  const ExportPlan plan = planned_with_libraries();
  write_export(package, export_files(plan, valid_for(plan), ExportFormat::kCpp));
  const std::string build = (temporary.path() / "build").string();
  const fs::path log = temporary.path() / "log";
  build_consumer(package, build, log);
  ASSERT_FALSE(HasFailure());
  const std::string out = output_of(
      "CUDA_VISIBLE_DEVICES= '" + build + "/consumer' 256x512x640 1024x512x640 2x512x640", log);
  const auto answer = [](const char* problem, int source, int m, const char* library) {
    return HasSubstr(std::string(problem) + " source=" + std::to_string(source) +
                     " gain=1 cublas=0 tuned_m=" + std::to_string(m) + " status=0 run=8 " +
                     label(kWide) + library + "\n");
  };
  EXPECT_THAT(out, answer("256x512x640", 0, 256, " cublaslt"));
  EXPECT_THAT(out, answer("1024x512x640", 0, 1024, "")) << "the kernel is the fastest";
  EXPECT_THAT(out, answer("2x512x640", 1, 256, "")) << "a shape that was not tuned";
  EXPECT_THAT(output_of("ldd '" + build + "/consumer'", log), HasSubstr("libcublasLt"));
}

}  // namespace
}  // namespace hgemm
