// Microbenchmarks on the GPU: figures that physics allows, and loops that really loop.
#include <gmock/gmock.h>

#include <map>

#include "studies/micro/run.h"
#include "studies/micro/run_kernel.h"
#include "tests/gpu/support.h"

namespace hgemm {
namespace {

class Micro : public testing::GpuTest {
 protected:
  /// Compiles what the labels need, and runs them in this process.
  std::map<std::string, Study> run(const std::vector<std::string>& labels) {
    std::vector<StudySource> sources;
    for (const std::string& label : labels) {
      sources.push_back({label, micro_source(parse_micro(label))});
    }
    std::map<std::string, Cubin> cubins;
    compile_sources(
        sources, testing::compile_options(), [&](std::size_t index, const Build& build) {
          EXPECT_EQ(build.status, Status::kOk) << sources[index].label << ": " << build.message;
          cubins[sources[index].label] = build.cubin;
        });
    std::map<std::string, Study> studies;
    for (const std::string& label : labels) {
      StudyRequest request;
      request.kind = kMicroStudy;
      request.label = label;
      studies[label] =
          run_micro(request, cubins.at(label), {*device_, nullptr, OnStep{}, stream()});
      EXPECT_EQ(studies[label].status, Status::kOk) << label << ": " << studies[label].message;
    }
    return studies;
  }
  static double value(const Study& study, const std::string& metric) {
    for (const Figure& figure : study.figures) {
      if (figure.metric == metric) {
        EXPECT_LE(figure.low, figure.value) << study.label;
        EXPECT_GE(figure.high, figure.value) << study.label;
        return figure.value;
      }
    }
    ADD_FAILURE() << study.label << " has no " << metric;
    return 0;
  }
  void expect_between(const std::string& label, const std::string& metric, double low,
                      double high) {
    const double found = value(run({label}).at(label), metric);
    EXPECT_GE(found, low) << label;
    EXPECT_LE(found, high) << label;
  }
};

TEST_F(Micro, WgmmaIssuesAtTheRateOfTheTensorCores) {
  expect_between("wgmma.m64n8k16.f32.f16.ss.random.issue.wg1", "cycles", 17, 22);
  expect_between("wgmma.m64n64k16.f32.f16.ss.random.issue.wg1", "cycles", 31.5, 35);
  expect_between("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1", "cycles", 60, 70);
  expect_between("wgmma.m64n256k16.f32.bf16.ss.random.issue.wg1", "cycles", 127, 135);
  // All warpgroups of an SM share its tensor cores.
  expect_between("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg4", "cycles", 60, 70);
  expect_between("wgmma.m64n256k16.f16.f16.ss.zeros.issue.wg1", "cycles", 127, 135);
  expect_between("wgmma.m64n128k16.f32.bf16.rs.random.issue.wg1", "cycles", 60, 70);
  expect_between("wgmma.m64n128k32.f32.e4m3.ss.random.issue.wg1", "cycles", 60, 70);
}

TEST_F(Micro, OneWgmmaTakesLongerThanItsShareOfMany) {
  expect_between("wgmma.m64n128k16.f32.bf16.ss.random.latency.wg1", "cycles", 70, 300);
}

TEST_F(Micro, PromotionLeavesTheTensorCoresIdleUnlessAnotherWarpgroupMultiplies) {
  const auto cycles = run({"promoted.m64n128k32.never.wg2", "promoted.m64n128k32.every128.wg1",
                           "promoted.m64n128k32.every512.wg1", "promoted.m64n128k32.every128.wg2"});
  const auto of = [&](const char* rest) {
    return value(cycles.at(std::string("promoted.m64n128k32.") + rest), "cycles");
  };
  expect_between("promoted.m64n128k32.never.wg2", "cycles", 60, 70);
  EXPECT_GT(of("every128.wg1"), 1.1 * of("never.wg2"));
  EXPECT_GT(of("every128.wg1"), of("every512.wg1"));
  EXPECT_GT(of("every128.wg1"), of("every128.wg2"));
}

TEST_F(Micro, EveryKernelOfTheDefaultPlanRuns) {
  const auto expect_ok = [this](const char* only) {
    std::vector<std::string> labels;
    for (const MicroPoint& point : micro_plan(false, only).points) {
      labels.push_back(micro_label(point));
    }
    for (const auto& [label, study] : run(labels)) {
      EXPECT_FALSE(study.figures.empty()) << label;
      for (const Figure& figure : study.figures) {
        const bool unfilled =
            figure.metric == "fill_bytes_per_clk" && label.find(".fill0.") != std::string::npos;
        if (unfilled) continue;
        EXPECT_GT(figure.value, 0) << label << " " << figure.metric;
      }
    }
  };
  expect_ok("mma,mbarrier,smem,stmatrix");
  expect_ok("tma.box64x*,tma.box256*.l2.*,tma.box8x*,bulk.b8192.*,read.*.t512.*");
  expect_ok("contention.m64n256k16.*,contention.m64n64k16.wg1.*");
  expect_ok("wgmma.m64n8k*,wgmma.m64n256k*");
  expect_ok("promoted.m64n128*,promoted.m64n224*");
}

TEST_F(Micro, MemoryIsAsFastAsItCanBe) {
  // 64 B/clk is what an SM can get of its L2 port; HBM of an H200 has 4.8 TB/s in all.
  expect_between("tma.box64x64.sw128.mc1.l2.issue.q8", "bytes_per_clk", 20, 70);
  expect_between("read.hbm.t1024.u8", "bandwidth", 1, 5);
  expect_between("bulk.b8192.hbm.issue.q16", "bandwidth", 1, 5);
  // Any number of bytes, and no fewer than all: twice as many take longer.
  expect_between("stream.kib14785.pdl.t1024.u8", "bandwidth", 1, 5);
  expect_between("stream.kib131072.alone.t1024.u8", "bandwidth", 1, 5);
  const auto sizes = run({"stream.kib65536.pdl.t1024.u8", "stream.kib131072.pdl.t1024.u8"});
  EXPECT_GT(value(sizes.at("stream.kib131072.pdl.t1024.u8"), "time"),
            1.5 * value(sizes.at("stream.kib65536.pdl.t1024.u8"), "time"));
  expect_between("read.l2.t1024.u8", "bytes_per_clk", 20, 70);
  expect_between("tma.box64x64.sw128.mc1.l2.latency.q1", "latency", 200, 2000);
  const auto of =
      run({"tma.box64x64.sw128.mc1.hbm.latency.q1", "tma.box64x64.sw128.mc1.l2.latency.q1"});
  EXPECT_GT(value(of.at("tma.box64x64.sw128.mc1.hbm.latency.q1"), "latency"),
            value(of.at("tma.box64x64.sw128.mc1.l2.latency.q1"), "latency"));
}

TEST_F(Micro, ConflictsAndDistanceCost) {
  const auto of = run({"stmatrix.x4.swizzled.w8", "stmatrix.x4.plain.w8", "smem.own.latency.t32",
                       "smem.peer.latency.t32", "mbarrier.own.test", "mbarrier.peer.test"});
  EXPECT_GT(value(of.at("stmatrix.x4.plain.w8"), "cycles"),
            3 * value(of.at("stmatrix.x4.swizzled.w8"), "cycles"));
  EXPECT_GT(value(of.at("smem.peer.latency.t32"), "latency"),
            2 * value(of.at("smem.own.latency.t32"), "latency"));
  EXPECT_GT(value(of.at("mbarrier.peer.test"), "round_trip"),
            value(of.at("mbarrier.own.test"), "round_trip"));
}

TEST_F(Micro, TheFillerReachesTheRateThatItIsAskedFor) {
  const std::string label = "contention.m64n128k16.wg1.fill16.one";
  expect_between(label, "fill_bytes_per_clk", 15, 17);
}

/// What is known of 8-bit products: 13 bits of fraction and the leading one (arXiv 2412.19437,
/// 2511.10909). An H200 keeps 14 of these, and 26 of 16-bit ones (driver 580.159.04, 2026-11-28).
TEST_F(Micro, TensorCoresKeepFewerBitsOfEightBitProducts) {
  for (const char* label : {"accumulator.f32.bf16", "accumulator.f32.f16"}) {
    expect_between(label, "bits_beside_products", 24, 28);
    expect_between(label, "bits_beside_c", 24, 28);
  }
  for (const char* label : {"accumulator.f32.e4m3", "accumulator.f32.e5m2"}) {
    expect_between(label, "bits_beside_products", 12, 18);
    expect_between(label, "bits_of_c", 12, 18);
    expect_between(label, "bits_of_sum", 12, 18);
  }
}

/// A loop that is twice as long takes twice as long: the compiler has removed nothing of it.
TEST_F(Micro, TwiceTheRoundsTakeTwiceTheTime) {
  const MicroPoint point = parse_micro("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1");
  const auto& wgmma = std::get<WgmmaPoint>(point);
  Cubin cubin;
  const std::vector<StudySource> sources = {{micro_label(point), micro_source(point)}};
  compile_sources(sources, testing::compile_options(),
                  [&](std::size_t, const Build& build) { cubin = build.cubin; });
  const Stream stream;
  const MicroLaunch launch{
      .threads = 128, .smem_bytes = micro::wgmma_smem_bytes(wgmma.n, false, max_warpgroups(wgmma))};
  const MicroKernel kernel(cubin, micro_kernel(point), launch.smem_bytes);
  const DeviceMemory operands(micro::kOperandBytes);
  check(cudaMemset(operands.data(), 0, operands.bytes()), "clearing operands");
  const DeviceMemory checksum(sizeof(float));
  SectionTimes times(1, 1);
  micro::ComputeParams params{};
  params.operands = operands.data();
  params.times = times.device();
  params.checksums = checksum.as<float>();
  params.lengths = {{1000, 1000, 2000}};
  void* arguments[] = {&params};
  kernel.run(launch, arguments, stream);
  times.read();
  const double ratio = times.cycles(micro::kLong, 1)[0] / times.cycles(micro::kShort, 1)[0];
  EXPECT_NEAR(ratio, 2, 0.02);
}

}  // namespace
}  // namespace hgemm
