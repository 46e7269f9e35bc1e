// The stamps of a probed kernel: it still computes the right thing, and what it says of itself adds
// up.
#include <map>

#include "families/family.h"
#include "gemm/codec.h"
#include "studies/probe/launch.h"
#include "studies/probe/run.h"
#include "support.h"

namespace hgemm::testing {
namespace {

class ProbeTest : public GpuTest {
 protected:
  Study probe(const TiledConfig& plain, const GemmProblem& problem) {
    TiledConfig config = plain;
    config.probe = true;
    const Build build = compile({kernel_for(config, problem)}).front();
    EXPECT_EQ(build.status, Status::kOk) << build.message;
    StudyRequest request;
    request.kind = kProbeStudy;
    request.label = label(config);
    request.problem = problem;
    request.timeline = true;
    const Gpu device = without_rotation();
    const OnStep on_step;
    Study study = run_probe(request, build.cubin, {device, nullptr, on_step, stream()});
    EXPECT_EQ(study.status, Status::kOk) << request.label << ": " << study.message;
    return study;
  }
};

CycleFigure figure(const Study& study, const std::string& role, const std::string& phase) {
  for (const CycleFigure& known : cycles_of(study)) {
    if (known.role == role && known.phase == phase) return known;
  }
  ADD_FAILURE() << study.label << " has no figure " << role << " " << phase;
  return {};
}

double sum(const Study& study, const std::string& role, const std::vector<std::string>& phases) {
  double cycles = 0;
  for (const std::string& phase : phases) cycles += figure(study, role, phase).cycles;
  return cycles;
}

/// run_probe() verifies the result, and refuses records in which a tile was not computed exactly
/// once or roles disagree; here is what it does not refuse.
void expect_consistent(const Study& study, const TiledConfig& config, const GemmProblem& problem) {
  SCOPED_TRACE(study.label + " at " + to_string(problem));
  ASSERT_FALSE(study.figures.empty());
  const auto tiles = static_cast<std::int64_t>(probe_tile_records(config, problem)) /
                     probe_roles(config);  // of CTAs
  EXPECT_EQ(figure(study, "producer", "order").count, tiles);
  EXPECT_EQ(figure(study, "consumer", "epilogue").count, tiles * config.consumers);

  double consumer = sum(study, "consumer",
                        {"wait_full", "mma_issue", "mma_wait", "release", "epilogue", "store"});
  if (config.promote != 0) consumer += figure(study, "consumer", "promote").cycles;
  const double consumer_total = figure(study, "consumer", "total").cycles;
  EXPECT_LE(consumer, consumer_total);
  // The rest is the writing of the records: 5.1 % of the 64x64 tiles of 2049x3080x4104 (H200).
  EXPECT_GE(consumer, 0.93 * consumer_total);
  const double producer = sum(study, "producer", {"order", "wait_empty", "issue"});
  const double producer_total = figure(study, "producer", "total").cycles;
  EXPECT_LE(producer, producer_total);
  EXPECT_GE(producer, 0.95 * producer_total);
  for (const CycleFigure& known : cycles_of(study)) {
    EXPECT_GE(known.cycles, 0) << known.role << " " << known.phase;
  }
  const double cta = figure(study, "kernel", "total").cycles /
                     static_cast<double>(figure(study, "kernel", "total").count);
  EXPECT_LE(cta, 1.05 * figure(study, "kernel", "launch").cycles);

  std::map<std::pair<int, std::string>, double> last_end_ns;
  for (const Span& span : study.spans) {
    EXPECT_LT(span.sm, kTimelineSms);
    EXPECT_LE(span.start_ns, span.end_ns) << span.phase;
    auto& last = last_end_ns.try_emplace({span.cta, span.role}, 0.0).first->second;
    EXPECT_GE(span.start_ns, last - 1e-3)
        << "CTA " << span.cta << ", " << span.role << ", " << span.phase << " of " << span.tile;
    last = span.end_ns;
  }
}

// Every axis of the kernel, at odd shapes with tails on every side and several tiles a CTA.
TEST_F(ProbeTest, SmokeSpaceAddsUpAtOddShapes) {
  const GemmProblem problem{.m = 2049, .n = 3080, .k = 4104, .tag = ""};
  std::vector<TiledConfig> configs;
  std::vector<Kernel> probed;
  for (const Kernel& kernel : smoke_kernels(problem)) {
    const auto* const tiled = std::get_if<TiledKernel>(&kernel);
    if (!tiled || !computes(kernel, problem)) continue;
    const Kernel with_stamps = with_probe(*tiled);
    if (why_invalid(with_stamps)) continue;
    configs.push_back(*tiled);
    probed.push_back(with_stamps);
  }
  ASSERT_GE(configs.size(), 10u);
  compile(probed);  // all at once; probe() finds them in the cache
  for (const TiledConfig& config : configs) {
    const Study study = probe(config, problem);
    if (study.status != Status::kOk) continue;  // probe() has said so
    expect_consistent(study, config, problem);
    EXPECT_FALSE(study.spans.empty()) << study.label;
  }
}

TEST_F(ProbeTest, ASingleTileAddsUp) {
  const TiledConfig config{.bm = 128, .bn = 256, .cluster_m = 2, .order = TileOrder::kHilbert};
  const GemmProblem problem{.m = 3, .n = 8, .k = 4096, .tag = ""};
  const Study study = probe(config, problem);
  ASSERT_EQ(study.status, Status::kOk);
  EXPECT_EQ(figure(study, "producer", "order").count, 2);
  expect_consistent(study, config, problem);
}

// Sums that are promoted: after each stage in one piece, in pieces, and with two stages in flight;
// after several stages; and with scales that are read before or while they are added.
TEST_F(ProbeTest, PromotedSumsAddUpAndTheirPromotionIsAPhase) {
  struct Promoted {
    const char* key;
    const char* label;
  };
  for (const Promoted& one : {
           Promoted{"2049x3080x4112.e4m3",
                    "bm128.bn128.bk128.q4.c1x1.coop2.d1.acc256.linear.tma.persist"},
           Promoted{"2049x3080x4112.e4m3",
                    "bm128.bn128.bk128.q4.c1x1.coop2.d0.acc512.linear.direct.persist"},
           Promoted{"2049x3080x4112.e4m3.scaling-tensor",
                    "bm128.bn256.bk128.q4.c2x1.cols2.d0.acc128.snake8.tma.single"},
           Promoted{"2049x3080x4112.e4m3.scaling-rows",
                    "bm64.bn80.bk128.q8.c1x1.coop1.d1.acc128.linear.tma.persist"},
           Promoted{"2052x3080x4112.e4m3.scaling-blocks",
                    "bm256.bn128.bk128.q3.c1x2.coop2.d0.acc128.group8.tma.persist"},
           Promoted{"2052x3080x4112.e4m3.scaling-blocks",
                    "bm128.bn128.bk128.q5.c2x1.coop2.d1.acc128.group8.tma.persist"},
           Promoted{"2052x3080x4112.e4m3.scaling-row_blocks",
                    "bm128.bn128.bk128.q4.c1x1.coop2.d0.acc128.linear.tma.persist"},
           Promoted{"2049x3080x4112.e4m3",
                    "bm128.bn96.bk128.q6.c2x1.coop2.d1.acc512.group1.overlap.persist"},
       }) {
    const GemmProblem problem = parse_problem(one.key);
    const auto config = std::get<TiledConfig>(parse_label(one.label));
    const Study study = probe(config, problem);
    if (study.status != Status::kOk) continue;  // probe() has said so
    expect_consistent(study, config, problem);
    const CycleFigure promote = figure(study, "consumer", "promote");
    EXPECT_EQ(promote.count, figure(study, "consumer", "mma_wait").count) << study.label;
    // Each sum takes an addition; a warp issues one instruction a cycle. A tile of few elements of
    // K has a promotion more than there are whole intervals.
    const double least = accumulators_per_thread(config) * static_cast<double>(config.bk) /
                         static_cast<double>(config.promote);
    EXPECT_GT(promote.mean(), 0.9 * least) << study.label;
    EXPECT_LT(promote.mean(), 20 * least + 200) << study.label;
  }
}

// The main loop of 128x256 with two consumers: 8 wgmmas of 128 cycles per k block and SM. More than
// that is waiting.
TEST_F(ProbeTest, TheMainLoopTakesWhatItsWgmmasTake) {
  const TiledConfig config{.bm = 128, .bn = 256, .cluster_m = 2, .order = TileOrder::kHilbert};
  const GemmProblem problem{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
  const Study study = probe(config, problem);
  ASSERT_EQ(study.status, Status::kOk);
  expect_consistent(study, config, problem);
  const double loop = sum(study, "consumer", {"wait_full", "mma_issue", "mma_wait", "release"}) /
                      static_cast<double>(figure(study, "consumer", "mma_wait").count);
  EXPECT_GE(loop, 0.9 * 1024) << "while one consumer stores, the other is alone for some blocks";
  EXPECT_LE(loop, 1.3 * 1024);
  EXPECT_LE(figure(study, "kernel", "probed").cycles, 1.1 * figure(study, "kernel", "plain").cycles)
      << "the stamps cost more than a tenth";
}

}  // namespace
}  // namespace hgemm::testing
