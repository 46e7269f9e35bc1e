// Records of a launch as a kernel would write them, and what is made of them.
#include "studies/probe/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "gemm/codec.h"
#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {
namespace {

using testing::HasSubstr;

constexpr unsigned long long kEntry = 0xffff'f000ull;  // the low word wraps within a launch
constexpr unsigned kTileCycles = 2000;

TiledConfig config_of_test() {
  return {.bm = 128, .bn = 128, .cluster_m = 2, .order = TileOrder::kHilbert, .probe = true};
}

/// Two clusters of two CTAs share the tiles of 1000 x 700 x 512. A tile takes 2000 cycles, of which
/// the last 8 are not accounted for; in CTAs of rank 1 all is 30 cycles later.
ProbeLaunch launch_of_test() {
  ProbeLaunch launch;
  launch.config = config_of_test();
  launch.problem = {.m = 1000, .n = 700, .k = 512, .tag = ""};
  const TileGrid grid = tile_grid(1000, 700, launch.config);
  constexpr int kClusters = 2, kSize = 2, kRoles = 3;
  for (int position = 0; position < grid.tiles(); ++position) {
    const TileCoord at = tile_at(launch.config.order, 0, position, grid);
    for (int rank = 0; rank < kSize; ++rank) {
      for (int role = 0; role < kRoles; ++role) {
        ProbeTile tile{};
        tile.visits = 1;
        tile.cta = position % kClusters * kSize + rank;
        tile.m = at.m * 2 + rank;
        tile.n = at.n;
        tile.begin = static_cast<unsigned>(kEntry) + 1000 + 30u * static_cast<unsigned>(rank) +
                     kTileCycles * static_cast<unsigned>(position / kClusters);
        tile.end = tile.begin + kTileCycles - 8;
        if (role == 0) {
          tile.phases[producer_phase::kOrder] = 8;
          tile.phases[producer_phase::kWaitEmpty] = 1592;
          tile.phases[producer_phase::kIssue] = 400;
        } else {
          tile.ready = tile.begin + 100;
          tile.loop_end = tile.begin + 1600;
          tile.store_begin = tile.loop_end;
          tile.phases[consumer_phase::kWaitFull] = 160;
          tile.phases[consumer_phase::kMmaIssue] = 400;
          tile.phases[consumer_phase::kMmaWait] = 960;
          tile.phases[consumer_phase::kRelease] = 80;
          tile.phases[consumer_phase::kEpilogue] = 92;
        }
        launch.tiles.push_back(tile);
      }
    }
  }
  const auto tiles_each = static_cast<unsigned>(grid.tiles() / kClusters);
  for (unsigned cta = 0; cta < kClusters * kSize; ++cta) {
    for (int role = 0; role < kRoles; ++role) {
      ProbeRole record{};
      record.entry = kEntry;
      record.synced = kEntry + 900;
      record.begin = kEntry + 1000 + 30 * (cta % kSize);
      record.end = record.begin + kTileCycles * tiles_each;
      record.finish = record.end + 500;
      record.entry_ns = 1'000'000 + 10 * cta;
      record.finish_ns = record.entry_ns + (record.finish - record.entry) / 2;  // at 2 GHz
      record.sm = 3 * cta;
      launch.roles.push_back(record);
    }
  }
  return launch;
}

/// The same with e4m3 operands, whose sums are promoted every second k block: 4 k blocks a tile.
/// Half of what consumers waited for their wgmmas is promotion.
ProbeLaunch promoted_launch_of_test() {
  ProbeLaunch launch = launch_of_test();
  launch.config.bk = 128;
  launch.config.promote = 256;
  launch.problem.set_types(DataType::kE4m3);
  for (ProbeTile& tile : launch.tiles) {
    if (tile.phases[consumer_phase::kEpilogue] == 0) continue;  // the producer's
    tile.phases[consumer_phase::kMmaWait] = 480;
    tile.phases[consumer_phase::kPromote] = 480;
  }
  return launch;
}

double mean(const std::vector<CycleFigure>& figures, const std::string& role,
            const std::string& phase) {
  for (const CycleFigure& figure : figures) {
    if (figure.role == role && figure.phase == phase) {
      return figure.cycles / static_cast<double>(figure.count);
    }
  }
  ADD_FAILURE() << "no figure " << role << " " << phase;
  return 0;
}

TEST(ProbeLaunch, HasARecordForEachRoleOfEachTile) {
  const ProbeLaunch launch = launch_of_test();
  EXPECT_EQ(probe_tile_records(launch.config, launch.problem), launch.tiles.size());
  EXPECT_EQ(probe_role_records(launch.config, 4), launch.roles.size());
  EXPECT_EQ(contradiction(launch), "");
  EXPECT_NEAR(launch.sm_mhz(), 2000, 0.5);
}

TEST(ProbeLaunch, MeansArePerUnit) {
  const std::vector<CycleFigure> figures = cycle_figures(launch_of_test());
  // 512 / 64 = 8 k blocks.
  EXPECT_DOUBLE_EQ(mean(figures, "producer", "wait_empty"), 199);
  EXPECT_DOUBLE_EQ(mean(figures, "producer", "order"), 8);
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "wait_full"), 20);
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "mma_wait"), 120);
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "epilogue"), 92);
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "store"), 300);
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "prologue"), 900);
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "setmaxnreg"), 115);
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "drain"), 500);
  EXPECT_DOUBLE_EQ(mean(figures, "article", "load"), 20);
  EXPECT_DOUBLE_EQ(mean(figures, "article", "mma"), 180);
  EXPECT_DOUBLE_EQ(mean(figures, "article", "store"), 392);
  EXPECT_DOUBLE_EQ(mean(figures, "cluster", "skew"), 30);
}

TEST(ProbeLaunch, PhasesAddUpToWhatTheRoleTookAsAWhole) {
  const std::vector<CycleFigure> figures = cycle_figures(launch_of_test());
  double sum = 0;
  for (const char* phase : {"wait_full", "mma_issue", "mma_wait", "release", "epilogue", "store"}) {
    for (const CycleFigure& figure : figures) {
      if (figure.role == "consumer" && figure.phase == phase) sum += figure.cycles;
    }
  }
  for (const CycleFigure& figure : figures) {
    if (figure.role == "consumer" && figure.phase == "total") {
      EXPECT_DOUBLE_EQ(sum / figure.cycles, 1992.0 / 2000);
    }
  }
}

TEST(ProbeLaunch, PromotionIsAPhaseOfEachKBlock) {
  const std::vector<CycleFigure> figures = cycle_figures(promoted_launch_of_test());
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "promote"), 120) << "480 cycles in 4 k blocks";
  EXPECT_DOUBLE_EQ(mean(figures, "consumer", "mma_wait"), 120);
  EXPECT_DOUBLE_EQ(mean(figures, "article", "mma"), 360) << "as much as without, in 4 instead of 8";
  double sum = 0;
  double total = 0;
  for (const CycleFigure& figure : figures) {
    if (figure.role != "consumer") continue;
    if (figure.phase == "total") total = figure.cycles;
    for (const char* phase :
         {"wait_full", "mma_issue", "mma_wait", "release", "promote", "epilogue", "store"}) {
      if (figure.phase == phase) sum += figure.cycles;
    }
  }
  EXPECT_DOUBLE_EQ(sum / total, 1992.0 / 2000);
  for (const CycleFigure& figure : cycle_figures(launch_of_test())) {
    EXPECT_NE(figure.phase, "promote") << "16-bit sums are not promoted";
  }
}

TEST(ProbeLaunch, SpreadsAreOverSms) {
  const std::vector<CycleFigure> figures = cycle_figures(launch_of_test());
  EXPECT_NEAR(mean(figures, "sm", "start_spread"), 30 * 2, 0.1);
  EXPECT_NEAR(mean(figures, "sm", "finish_spread"), (30 + 15) * 2, 0.1);
}

TEST(ProbeLaunch, ContradictionsAreNamed) {
  const ProbeLaunch good = launch_of_test();
  const auto complaint = [&](const auto& edit) {
    ProbeLaunch launch = good;
    edit(launch);
    return contradiction(launch);
  };
  EXPECT_THAT(complaint([](ProbeLaunch& l) { l.tiles[4].visits = 2; }),
              HasSubstr("tile 0 of rank 1, consumer 0: computed 2 times"));
  EXPECT_THAT(complaint([](ProbeLaunch& l) { l.tiles[7].visits = 0; }), HasSubstr("0 times"));
  EXPECT_THAT(complaint([](ProbeLaunch& l) { l.tiles[0].n += 1; }), HasSubstr("row"));
  EXPECT_THAT(complaint([](ProbeLaunch& l) { l.tiles[0].cta = 1; }), HasSubstr("CTA 1"));
  EXPECT_THAT(complaint([](ProbeLaunch& l) { l.roles[5].finish = 0; }),
              HasSubstr("consumer 1 of CTA 1 left no record"));
  EXPECT_THAT(complaint([](ProbeLaunch& l) { l.roles[0].synced = l.roles[0].entry - 1; }),
              HasSubstr("out of order"));
}

TEST(ProbeLaunch, TimelineHoldsTheFirstSmsInOrder) {
  const ProbeLaunch launch = launch_of_test();
  std::map<std::pair<int, std::string>, double> last_end;
  std::map<std::string, int> tiles;
  for (const Span& span : timeline(launch, 7)) {
    EXPECT_LE(span.sm, 6);
    EXPECT_EQ(span.sm, 3 * span.cta);
    EXPECT_LE(span.start_ns, span.end_ns);
    double& last = last_end[{span.cta, span.role}];
    EXPECT_GE(span.start_ns, last) << span.role << " " << span.phase << " of " << span.tile;
    last = span.end_ns;
    if (span.phase == "main_loop") {
      ++tiles[span.role];
      EXPECT_NEAR(span.end_ns - span.start_ns, 1500 / 2.0, 0.5);
    }
  }
  EXPECT_EQ(last_end.size(), 9u) << "three roles of CTAs 0, 1 and 2";
  EXPECT_EQ(tiles, (std::map<std::string, int>{{"consumer 0", 36}, {"consumer 1", 36}}));
}

TEST(ProbedConfigs, AreTheConfigWithStampsOrSayWhyNot) {
  TiledConfig plain = config_of_test();
  plain.probe = false;
  const GemmProblem problem = parse_problem("4096x4096x4096");
  const ProbedConfig probed = with_probe(plain, problem);
  ASSERT_TRUE(probed.config);
  EXPECT_EQ(*probed.config, config_of_test());
  EXPECT_EQ(with_probe(*probed.config, problem).config, probed.config) << "they are there already";

  TiledConfig in_turns = plain;
  in_turns.schedule = Schedule::kPingPong;
  for (const KernelConfig& config :
       {KernelConfig(in_turns), KernelConfig(SwapAbConfig{}), KernelConfig(GemvConfig{})}) {
    SCOPED_TRACE(label(config));
    EXPECT_FALSE(with_probe(config, problem).config);
    EXPECT_EQ(with_probe(config, problem).rejection.rule, "probe");
    EXPECT_NE(with_probe(config, problem).rejection.reason, "");
  }
}

TEST(ProbedConfigs, OfEightBitOperandsHaveFastSumsOrPromotedOnes) {
  TiledConfig fast = config_of_test();
  fast.bk = 128;
  fast.stages = 3;
  fast.promote = 0;
  EXPECT_TRUE(with_probe(fast, parse_problem("4096x4096x4096.e4m3.accfast")).config);
  TiledConfig promoted = fast;
  promoted.promote = 256;
  const ProbedConfig probed = with_probe(promoted, parse_problem("4096x4096x4096.e4m3"));
  ASSERT_TRUE(probed.config);
  EXPECT_EQ(probed.config->promote, 256);

  const KernelConfig crowded =
      parse_label("bm64.bn208.bk128.q3.c1x1.cols2.d1.acc128.linear.overlap.persist");
  const ProbedConfig without =
      with_probe(crowded, parse_problem("4096x4096x4096.e4m3.scaling-row_blocks"));
  EXPECT_FALSE(without.config);
  EXPECT_EQ(without.rejection.rule, "probe") << "and not what is wrong for 16-bit operands";
  EXPECT_THAT(std::string(without.rejection.reason), testing::HasSubstr("promoted"));
}

}  // namespace
}  // namespace hgemm
