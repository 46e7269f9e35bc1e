// Every source of the default plan of microbenchmarks, compiled for sm_90a. Needs no GPU.
#include <map>

#include "studies/micro/points.h"
#include "tests/compile/support.h"
#include "tests/studies/support.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MicroSources, CompileWithoutSpillsAndWithoutSerialisedWgmma) {
  std::map<std::string, std::string> label_of_source;
  std::vector<StudySource> sources;  // 90 s on two cores
  for (const MicroPoint& point : micro_plan(false).points) {
    const std::string source = micro_source(point);
    if (label_of_source.emplace(source, micro_label(point)).second) {
      sources.push_back({micro_label(point), source});
    }
  }
  sources = test::in_turn(std::move(sources), 3, embedded_study_kernels());
  // N beyond which fewer warpgroups fit: the rule of max_warpgroups() is right on both sides.
  for (const char* label : {"wgmma.m64n248k16.f32.f16.rs.random.issue.wg3",
                            "wgmma.m64n168k16.f32.f16.rs.random.issue.wg4",
                            "wgmma.m64n256k16.f16.f16.rs.random.issue.wg4",
                            // the widest N with two sums of each value
                            "promoted.m64n224k32.every128.wg2"}) {
    sources.push_back({label, micro_source(parse_micro(label))});
  }
  const test::TemporaryFolder cache;
  std::size_t done = 0;
  compile_sources(sources, {cache.path(), 0, std::chrono::seconds(60), {}},
                  [&](std::size_t index, const Build& build) {
                    SCOPED_TRACE(sources.at(index).label);
                    ++done;
                    EXPECT_EQ(build.status, Status::kOk) << build.message;
                    EXPECT_EQ(build.facts.spill_bytes, 0);
                    EXPECT_GT(build.facts.registers, 0);
                  });
  EXPECT_EQ(done, sources.size());
}

// What is timed must be there, as often as the host divides by.
TEST(MicroSources, HoldTheInstructionsThatTheyTime) {
  const auto ptx = [](const char* label) { return test::ptx_of(micro_source(parse_micro(label))); };
  const auto count = [](const std::string& text, std::string_view what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  // 4 stages x 4 steps in the issue loop, 4 steps in the latency loop.
  const std::string wgmma = ptx("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1");
  EXPECT_EQ(count(wgmma, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"), 20);
  EXPECT_EQ(count(wgmma, "wgmma.commit_group"), 5);
  EXPECT_THAT(wgmma, HasSubstr("%clock64"));
  const std::string fp8 = ptx("wgmma.m64n64k32.f16.e4m3.rs.random.issue.wg1");
  EXPECT_EQ(count(fp8, "wgmma.mma_async.sync.aligned.m64n64k32.f16.e4m3.e4m3"), 20);
  // Once around the ring of 4 stages if sums are not promoted; 4, 8 and 16 from one promotion to
  // the next, with 64 sums of each thread.
  const std::string promoted = ptx("promoted.m64n128k32.every128.wg2");
  EXPECT_EQ(count(promoted, "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3"),
            16 + 4 + 8 + 16);
  EXPECT_GE(count(promoted, "add.f32") + count(promoted, "add.rn.f32"), 3 * 64);
  // 8 chains x 2 signs and one product for the checksum of each; then the same with one chain.
  EXPECT_EQ(count(ptx("mma.m16n8k16.f16.f16.random.issue.w4"), "mma.sync.aligned.m16n8k16"),
            24 + 3);
  EXPECT_EQ(count(ptx("stmatrix.x4.plain.w4"), "stmatrix.sync"), 8);
  EXPECT_EQ(count(ptx("read.l2.t512.u4"), "ld.global.cg.v4"), 1 + 2 + 4 + 8);
  EXPECT_EQ(count(ptx("stream.kib64.pdl.t512.u4"), "ld.global.cg.v4"), 1 + 2 + 4 + 8 + 4)
      << "and one for what is left, in each";
  EXPECT_EQ(count(ptx("contention.m64n256k16.wg2.fill48.one"), "wgmma.mma_async"), 8);
  EXPECT_EQ(count(ptx("accumulator.f32.e5m2"), "wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2"),
            1);
  EXPECT_EQ(count(ptx("smem.peer.issue.t256"), "ld.shared::cluster.v4"), 4);
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
