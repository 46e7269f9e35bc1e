// Every step of the ladder, compiled for sm_90a. Needs no GPU.
#include "studies/ladder/ladder.h"

#include "tests/compile/support.h"
#include "tests/studies/support.h"

namespace hgemm {
namespace {

using test::ptx_of;
using testing::HasSubstr;
using testing::Not;

/// Every step of every type, and its probed build.
std::vector<StudySource> all_sources() {
  std::vector<StudySource> sources;
  for (const ladder::Step& step : ladder_steps()) {
    for (const DataType dtype : {DataType::kFp32, DataType::kBf16, DataType::kFp16}) {
      if (!supports(step, dtype)) continue;
      const std::string label = ladder_label({step, dtype});
      sources.push_back({label, ladder_source({step, dtype})});
      if (step.probed) sources.push_back({label + " probed", ladder_source({step, dtype}, true)});
    }
  }
  return sources;
}

TEST(LadderKernels, AllCompileWithoutASpillOrAnObjection) {
  const test::TemporaryFolder cache;
  const std::vector<StudySource> sources = all_sources();
  std::size_t done = 0;
  compile_sources(sources, {cache.path(), 0, std::chrono::seconds(60), {}},
                  [&](std::size_t index, const Build& build) {
                    SCOPED_TRACE(sources.at(index).label);
                    EXPECT_EQ(build.status, Status::kOk) << build.message;
                    EXPECT_EQ(build.facts.spill_bytes, 0);
                    const auto point = parse_ladder_label(
                        sources.at(index).label.substr(0, sources.at(index).label.find(' ')));
                    ASSERT_TRUE(point);
                    EXPECT_LE(point->step.smem_bytes + build.facts.static_smem_bytes,
                              DeviceLimits{}.smem_bytes_per_cta);
                    // setmaxnreg moves registers from what the CTA starts with.
                    if (point->step.specialised && point->step.threads == 384) {
                      EXPECT_EQ(build.facts.registers, 168);
                    }
                    ++done;
                  });
  EXPECT_EQ(done, sources.size());
}

// Rule: instrumentation never runs in a timed launch. (%globaltimer bounds waits.)
TEST(LadderKernels, OnlyProbedBuildsReadAClock) {
  for (const ladder::Step& step : chosen_ladder_steps("hopper")) {
    if (is_tuned(step)) continue;  // its kernel is not the ladder's
    const DataType dtype = DataType::kBf16;
    SCOPED_TRACE(ladder_label({step, dtype}));
    EXPECT_THAT(ptx_of(ladder_source({step, dtype})), Not(HasSubstr("%clock")));
    if (step.probed) {
      EXPECT_THAT(ptx_of(ladder_source({step, dtype}, true)), HasSubstr("%clock"));
    }
  }
}

// What each step is about must be in it, and not yet in the one before.
TEST(LadderKernels, EachStepBringsWhatItsTitleSays) {
  const auto ptx = [](const char* name) {
    return ptx_of(ladder_source({chosen_ladder_steps(name).front(), DataType::kBf16}));
  };
  const auto brings = [&](const char* before, const char* step, const char* what) {
    EXPECT_THAT(ptx(before), Not(HasSubstr(what))) << before;
    EXPECT_THAT(ptx(step), HasSubstr(what)) << step;
  };
  brings("hopper.01b", "hopper.02", "wgmma.mma_async.sync.aligned.m64n64k16");
  brings("hopper.02", "hopper.03", "wgmma.mma_async.sync.aligned.m64n128k16");
  brings("hopper.04", "hopper.05", "setmaxnreg");
  brings("hopper.06b", "hopper.07", "mbarrier.try_wait.parity");
  brings("hopper.07", "hopper.08", ".multicast::cluster");
  brings("hopper.08", "hopper.09", "st.global.wt.b16");
  brings("hopper.11", "hopper.12", "stmatrix");
  brings("hopper.11", "hopper.12", "cp.async.bulk.tensor.2d.global");
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
