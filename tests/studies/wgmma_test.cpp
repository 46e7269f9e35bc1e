// The latency model against the cycles that were published, and what it takes from measurements.
#include "studies/advise/wgmma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <map>
#include <string>

#include "search/devices.h"
#include "studies/counters/counter_set.h"
#include "studies/micro/points.h"

namespace hgemm {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Device device(const std::string& name) {
  return choose_devices(load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml"), name)[0];
}

double cycles(const std::string& name, int n, const WgmmaForm& form = {}) {
  return wgmma_cycles(device(name), form, n).cycles();
}

using Column = std::map<int, double>;  // N -> cycles per instruction, A and B in shared memory
const Column kH800 = {{8, 18}, {16, 20}, {32, 24}, {64, 32}, {128, 64}, {256, 128}};
const Column kH20 = {{8, 18}, {16, 32}, {32, 64}, {64, 128}, {128, 256}, {256, 512}};

TEST(WgmmaModel, GivesThePublishedCyclesExactly) {
  for (const auto& [n, expected] : kH800) {
    for (const char* name : {"H800", "H200", "H100-SXM", "H100-PCIe"}) {
      EXPECT_EQ(cycles(name, n), expected) << name << " n" << n;
    }
  }
  for (const auto& [n, expected] : kH20) EXPECT_EQ(cycles("H20", n), expected) << "H20 n" << n;
}

TEST(WgmmaModel, ReadsAOnceAndBByItsRows) {
  for (int n = 8; n <= 256; n += 8) {
    EXPECT_EQ(wgmma_cycles(device("H200"), {}, n).read, 16 + n / 4.0);
    EXPECT_EQ(wgmma_cycles(device("H200"), {.a_in_registers = true}, n).read,
              std::max(13.0, n / 4.0));
    EXPECT_EQ(wgmma_cycles(device("H200"), {}, n).compute, n / 2.0);
    EXPECT_EQ(wgmma_cycles(device("H20"), {}, n).compute, n * 2.0);
  }
}

TEST(WgmmaModel, HalfTheBytesAndTwiceTheRateMakeFp8TheSameInCycles) {
  for (const auto& [n, expected] : kH800) {
    EXPECT_EQ(cycles("H200", n, {.input = MmaInput::kFp8}), expected);
    EXPECT_EQ(cycles("H200", n, {.input = MmaInput::kFp16, .f16_accumulators = true}), expected);
  }
  EXPECT_EQ(wgmma_depth(MmaInput::kFp8), 32);
  EXPECT_EQ(wgmma_depth(MmaInput::kFp16), 16);
}

TEST(WgmmaModel, ComputingIsTheBoundFrom64AndOnAnH20From16) {
  for (const char* name : {"H800", "H200", "H100-SXM", "H100-PCIe"}) {
    EXPECT_EQ(compute_bound_from(device(name), {}), 64) << name;
    EXPECT_EQ(compute_bound_from(device(name), {.a_in_registers = true}), 32) << name;
  }
  EXPECT_EQ(compute_bound_from(device("H20"), {}), 16);
}

TEST(WgmmaModel, ASlowEnoughSharedMemoryIsAlwaysTheBound) {
  Device slow = device("H200");
  slow.smem_bytes_per_clk.value = 32;
  EXPECT_EQ(compute_bound_from(slow, {}), std::nullopt);
}

// ---- What was measured ----

RecordedStudy study(const std::string& label, double value, const std::string& when = "2026-11-20",
                    const std::string& gpu = "NVIDIA H200") {
  RecordedStudy recorded;
  recorded.environment.gpu_name = gpu;
  recorded.started_utc = when;
  recorded.study.kind = kMicroStudy;
  recorded.study.label = label;
  recorded.study.figures = {{"", "tflops", "TFLOP/s", 1, 1, 1, 9},
                            {"", "cycles", "clk", value, value, value, 9}};
  return recorded;
}

TEST(MeasuredWgmma, IsReadFromTheLabelsOfMicro) {
  const std::vector<RecordedStudy> studies = {
      study("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1", 64.2),
      study("wgmma.m64n64k32.f32.e4m3.rs.random.issue.wg1", 33),
      study("wgmma.m64n8k16.f16.f16.ss.random.issue.wg1", 18),
      study("wgmma.m64n16k32.f16.e4m3.ss.random.issue.wg1", 20)};
  const auto measured = measured_wgmma(studies);
  ASSERT_THAT(measured, SizeIs(4));
  EXPECT_EQ(measured[3].form, (WgmmaForm{MmaInput::kFp8, true, false}));
  EXPECT_EQ(measured[0].n, 128);
  EXPECT_EQ(measured[0].cycles, 64.2);
  EXPECT_EQ(measured[1].form, (WgmmaForm{MmaInput::kFp8, false, true}));
  EXPECT_EQ(measured[2].form, (WgmmaForm{MmaInput::kFp16, true, false}));
}

TEST(MeasuredWgmma, TakesNothingElse) {
  std::vector<RecordedStudy> studies = {study("wgmma.m64n128k16.f32.bf16.ss.zeros.issue.wg1", 1),
                                        study("wgmma.m64n128k16.f32.bf16.ss.random.latency.wg1", 1),
                                        study("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg4", 1),
                                        study("wgmma.m64n128k32.f32.bf16.ss.random.issue.wg1", 1),
                                        study("wgmma.m64nk16.f32.bf16.ss.random.issue.wg1", 1),
                                        study("tma.128x64.swizzle128", 1),
                                        study("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1", 1),
                                        study("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1", 1)};
  studies.end()[-2].study.status = Status::kTimedOut;
  studies.back().study.kind = kCountersStudy;
  EXPECT_THAT(measured_wgmma(studies), IsEmpty());
}

TEST(MeasuredWgmma, TheNewestOfAGpuCounts) {
  const std::string label = "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1";
  const auto measured =
      measured_wgmma(std::vector{study(label, 70, "2026-11-21"), study(label, 65, "2026-11-20"),
                                 study(label, 300, "2026-11-22", "NVIDIA H20")});
  ASSERT_THAT(measured, SizeIs(2));
  EXPECT_EQ(find_measured(measured, device("H200"), {}, 128)->cycles, 70);
  EXPECT_EQ(find_measured(measured, device("H20"), {}, 128)->cycles, 300);
  EXPECT_EQ(find_measured(measured, device("H200"), {}, 120), nullptr);
  EXPECT_EQ(find_measured(measured, device("H100-SXM"), {}, 128), nullptr);
}

TEST(MeasuredWgmma, TheThresholdIsWhereCyclesMeetTheTensorCores) {
  std::vector<RecordedStudy> studies;
  for (const auto& [n, value] : kH800) {
    studies.push_back(
        study("wgmma.m64n" + std::to_string(n) + "k16.f32.bf16.ss.random.issue.wg1", value));
  }
  const auto h200 = device("H200");
  EXPECT_EQ(measured_compute_bound_from(measured_wgmma(studies), h200, {}), 64);
  studies.push_back(study("wgmma.m64n256k16.f32.bf16.ss.random.issue.wg1", 140, "2026-11-30"));
  EXPECT_EQ(measured_compute_bound_from(measured_wgmma(studies), h200, {}), std::nullopt)
      << "what is widest takes longer than computing does";
}

}  // namespace
}  // namespace hgemm
