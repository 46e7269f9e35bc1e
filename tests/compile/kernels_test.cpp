// The real kernels, compiled for sm_90a. Needs no GPU.
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/hash.h"
#include "compile/source.h"
#include "space/label.h"
#include "space/space.h"
#include "tests/compile/support.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// Kernels that are made for one problem: for one of few k blocks, which the compiler may unroll,
/// and one of many.
std::vector<KernelConfig> valid_configs(const std::string& space) {
  const Shape shapes[] = {{.m = 500, .n = 1000, .k = 520, .tag = ""},
                          {.m = 20, .n = 1000, .k = 8200, .tag = ""},
                          {.m = 500, .n = 1000, .k = 8200, .tag = ""},
                          {.m = 500, .n = 1000, .k = 520, .dtype = Dtype::kFp16, .tag = ""}};
  return enumerate(load_space(space, HGEMM_SOURCE_DIR "/configs"), shapes).valid;
}

/// What decides a kernel's registers, and so whether it compiles without a spill.
auto registers_key(const KernelConfig& c) {
  return std::tuple(c.bm, c.bn, c.schedule, c.consumers, c.epilogue, adds_in_workspace(c),
                    adds_in_cluster(c), c.ctas_per_sm, is_fixed(c), is_dynamic(c));
}

/// One config of each registers_key(): the first of the first key, the second of the second and so
/// on around, so that the other axes vary too.
std::vector<KernelConfig> one_per_tile(const std::vector<KernelConfig>& configs) {
  std::map<decltype(registers_key({})), std::vector<KernelConfig>> tiles;
  for (const KernelConfig& config : configs) tiles[registers_key(config)].push_back(config);
  std::vector<KernelConfig> chosen;
  for (const auto& [key, members] : tiles) {
    chosen.push_back(members[chosen.size() % members.size()]);
  }
  return chosen;
}

void expect_all_compile(const std::vector<KernelConfig>& configs) {
  ASSERT_FALSE(configs.empty());
  const test::TemporaryFolder cache;
  const test::Outcome outcome =
      test::compile(configs, {cache.path(), 0, std::chrono::seconds(60), {}});
  for (const Build& build : outcome.builds) {
    SCOPED_TRACE(build.facts.label);
    EXPECT_EQ(build.status, Status::kOk) << build.message;
    EXPECT_EQ(build.facts.spill_bytes, 0);
    EXPECT_GT(build.facts.registers, 0);
    EXPECT_LE(build.facts.registers, entry_registers(build.config));
    // setmaxnreg moves registers from what the CTA starts with, so it must start with all of them.
    if (moves_registers(build.config)) {
      EXPECT_EQ(build.facts.registers, entry_registers(build.config));
    }
    EXPECT_LE(build.facts.static_smem_bytes + build.facts.dynamic_smem_bytes,
              DeviceLimits{}.smem_bytes_per_cta);
    EXPECT_EQ(test::read_file(build.cubin).substr(0, 4),
              "\x7f"
              "ELF");
  }
}

TEST(Kernels, SmokeCompiles) { expect_all_compile(valid_configs("smoke")); }

/// All take two cores five minutes.
TEST(Kernels, EveryTileOfFullCompiles) {
  expect_all_compile(test::in_turn(one_per_tile(valid_configs("full")), 4, embedded_kernels()));
}

// One at a time, so that what fails names the value.
TEST(Kernels, EveryValueOfTheWordAxesCompiles) {
  std::vector<KernelConfig> configs;
  const auto add = [&](const auto& set) {
    KernelConfig config{.bm = 128, .bn = 176, .cluster_m = 2};
    set(config);
    EXPECT_EQ(why_invalid(config), Rule::kValid) << label(config);
    configs.push_back(config);
  };
  for (const Schedule schedule : {Schedule::kRows, Schedule::kColumns, Schedule::kPingPong}) {
    for (const Epilogue epilogue :
         {Epilogue::kDirect, Epilogue::kTma, Epilogue::kStaged, Epilogue::kLate}) {
      add([&](KernelConfig& c) {
        c.schedule = schedule;
        c.epilogue = epilogue;
        if (schedule == Schedule::kPingPong && epilogue == Epilogue::kLate) c.bn = 120;
      });
    }
    for (const Walk walk :
         {Walk::kSingle, Walk::kSplitK, Walk::kStreamK, Walk::kClusterSplit, Walk::kDynamic}) {
      if (schedule == Schedule::kPingPong &&
          (walk == Walk::kSingle || walk == Walk::kClusterSplit || walk == Walk::kDynamic)) {
        continue;
      }
      add([&](KernelConfig& c) {
        c.schedule = schedule;
        c.walk = walk;
        c.splits = walk == Walk::kSplitK || walk == Walk::kClusterSplit ? 3 : 1;
        if (walk == Walk::kClusterSplit) c.cluster_m = 1;
      });
    }
  }
  add([&](KernelConfig& c) { c.pdl = true; });
  // Staged at the limits of its registers, and with what is added up before.
  for (const auto& [bm, bn] : {std::pair{128, 256}, {256, 192}, {192, 200}}) {
    add([&, bm = bm, bn = bn](KernelConfig& c) {
      c.bm = bm;
      c.bn = bn;
      c.consumers = bm == 192 ? 3 : 2;
      c.stages = 3;
      c.epilogue = Epilogue::kStaged;
      c.pack = true;
      c.pdl = bm == 256;
    });
  }
  for (const int bn : {176, 184}) {
    add([&](KernelConfig& c) {
      c.bn = bn;
      c.schedule = Schedule::kPingPong;
      c.epilogue = Epilogue::kStaged;
      c.pack = true;
    });
  }
  for (const Walk walk : {Walk::kStreamK, Walk::kClusterSplit, Walk::kDynamic}) {
    add([&](KernelConfig& c) {
      c.epilogue = Epilogue::kStaged;
      c.walk = walk;
      c.splits = walk == Walk::kClusterSplit ? 3 : 1;
      if (walk == Walk::kClusterSplit) c.cluster_m = 1;
    });
  }
  // For vectors, at the limits of its registers.
  for (const auto& [bm, bn, bk, stages, ctas] : {std::tuple{1, 8, 2048, 2, 1},
                                                 {1, 16, 1024, 2, 2},
                                                 {2, 32, 512, 1, 2},
                                                 {4, 64, 256, 2, 1},
                                                 {8, 32, 512, 2, 1},
                                                 {16, 16, 1024, 2, 1},
                                                 {16, 8, 512, 2, 2},
                                                 {8, 8, 1024, 1, 2}}) {
    const KernelConfig c{.bm = bm,
                         .bn = bn,
                         .bk = bk,
                         .stages = stages,
                         .schedule = Schedule::kVector,
                         .mma_depth = 0,
                         .epilogue = Epilogue::kDirect,
                         .walk = Walk::kSingle,
                         .dtype = bm == 8 ? Dtype::kFp16 : Dtype::kBf16,
                         .ctas_per_sm = ctas,
                         .pdl = stages == 2};
    EXPECT_EQ(why_invalid(c), Rule::kValid) << label(c);
    configs.push_back(c);
  }
  // Finding a tile takes a producer the most registers by these.
  for (const TileOrder order : {TileOrder::kHilbert, TileOrder::kSnakeColumns}) {
    for (const bool pdl : {false, true}) {
      add([&](KernelConfig& c) {
        c.order = order;
        c.group = has_bands(order) ? 8 : 0;
        c.walk = Walk::kDynamic;
        c.pdl = pdl;
      });
    }
  }
  // The swapped kernel at the limits of its rules, and cut so that a rank has many rows, few or
  // none.
  const auto add_swapped = [&](int bm, int consumers, int splits, int ctas_per_sm) {
    const KernelConfig c{.bm = bm,
                         .bn = 64 * consumers,
                         .bk = bm < 64 ? 128 : 64,
                         .stages = 3,
                         .schedule = Schedule::kSwapped,
                         .consumers = consumers,
                         .walk = splits > 1 ? Walk::kClusterSplit : Walk::kSingle,
                         .splits = splits,
                         .ctas_per_sm = ctas_per_sm,
                         .pdl = splits == 3};
    EXPECT_EQ(why_invalid(c), Rule::kValid) << label(c);
    configs.push_back(c);
  };
  for (const int bm : {24, 128}) {
    for (const int consumers : {1, 2, 3}) {
      for (const int splits : {1, 3, 8}) add_swapped(bm, consumers, splits, 1);
    }
  }
  for (const int splits : {1, 3}) {
    add_swapped(128, 1, splits, 2);
    add_swapped(80, 2, splits, 2);
  }
  // In clusters: the widest tile that the rules leave, in as many parts as shared memory takes.
  for (const int splits : {2, 4, 7}) {
    add([&](KernelConfig& c) {
      c.bn = 256;
      c.cluster_m = 1;
      c.walk = Walk::kClusterSplit;
      c.splits = splits;
    });
  }
  add([&](KernelConfig& c) {
    c.bm = 256;
    c.bn = 160;
    c.stages = 3;
    c.cluster_m = 1;
    c.walk = Walk::kClusterSplit;
    c.splits = 2;
  });
  add([&](KernelConfig& c) {
    c.consumers = 1;
    c.cluster_m = 1;
    c.walk = Walk::kClusterSplit;
    c.splits = 8;
  });
  // Where K is cut: the widest tile that the rules leave, and one whose sums once spilled.
  add([&](KernelConfig& c) {
    c.bm = 256;
    c.bn = 192;
    c.stages = 3;
    c.walk = Walk::kStreamK;
  });
  add([&](KernelConfig& c) {
    c.bm = 256;
    c.bn = 104;
    c.stages = 3;
    c.walk = Walk::kStreamK;
  });
  add([&](KernelConfig& c) {
    c.bn = 64;
    c.stages = 3;
    c.ctas_per_sm = 2;
  });
  add([&](KernelConfig& c) {
    c.bm = 64;
    c.bn = 128;
    c.consumers = 1;
    c.ctas_per_sm = 2;
  });
  for (const TileOrder order :
       {TileOrder::kLinear, TileOrder::kGroupedRows, TileOrder::kGroupedColumns,
        TileOrder::kSnakeRows, TileOrder::kSnakeColumns, TileOrder::kHilbert}) {
    add([&](KernelConfig& c) {
      c.order = order;
      c.group = has_bands(order) ? 8 : 0;
    });
  }
  for (const CacheHint hint : {CacheHint::kEvictFirst, CacheHint::kEvictLast}) {
    add([&](KernelConfig& c) { c.a_hint = hint; });
    add([&](KernelConfig& c) { c.b_hint = hint; });
    for (const Epilogue epilogue : {Epilogue::kTma, Epilogue::kLate}) {
      add([&](KernelConfig& c) {
        c.d_hint = hint;
        c.epilogue = epilogue;
      });
    }
  }
  for (const int promotion : {64, 128, 256}) {
    add([&](KernelConfig& c) { c.promotion = promotion; });
  }
  expect_all_compile(configs);
}

// What a student looks into must be there with stamps too; tighter tiles may spill with them.
TEST(Kernels, ProbedTilesCompileWithoutSpills) {
  std::vector<KernelConfig> configs;
  const std::vector<std::pair<int, int>> tiles = {{128, 256}, {256, 128}, {128, 192}, {256, 192}};
  for (const auto& [bm, bn] : tiles) {
    const KernelConfig alone{.bm = bm, .bn = bn, .stages = 3, .probe = true};
    KernelConfig pair = alone;
    (bm < bn ? pair.cluster_m : pair.cluster_n) = 2;
    pair.order = TileOrder::kHilbert;
    KernelConfig eager = pair;
    eager.mma_depth = 0;
    eager.order = TileOrder::kGroupedRows;
    eager.group = 8;
    KernelConfig direct = pair;
    direct.epilogue = Epilogue::kDirect;
    configs.insert(configs.end(), {alone, pair, eager, direct});
  }
  for (KernelConfig config : valid_configs("smoke")) {
    config.probe = true;
    if (config.dtype == Dtype::kBf16 && why_invalid(config) == Rule::kValid) {
      configs.push_back(config);
    }
  }
  configs.push_back({.bm = 64, .bn = 32, .stages = 8, .consumers = 1, .probe = true});
  configs.push_back({.bm = 192,
                     .bn = 128,
                     .stages = 3,
                     .cluster_n = 2,
                     .consumers = 3,
                     .walk = Walk::kSingle,
                     .dtype = Dtype::kFp16,
                     .probe = true});
  expect_all_compile(configs);
}

std::ptrdiff_t count(const std::string& text, const std::string& word) {
  std::ptrdiff_t found = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// Rule: instrumentation never runs in a timed launch. %globaltimer bounds waits, on their slow
// path: two reads and a trap in each.
TEST(Kernels, ReadNoClock) {
  for (const KernelConfig& config : valid_configs("smoke")) {
    if (config.dtype != Dtype::kBf16) continue;  // types differ in what they multiply
    SCOPED_TRACE(label(config));
    const std::string ptx =
        nvrtc_ptx(kernel_job(config, embedded_kernels(), default_compile_flags()));
    if (!is_vector(config)) {
      EXPECT_THAT(ptx, HasSubstr("wgmma.mma_async"));
    }
    EXPECT_THAT(ptx, Not(HasSubstr("%clock")));
    EXPECT_EQ(count(ptx, "%globaltimer"), count(ptx, "%globaltimer_lo"));
    EXPECT_EQ(count(ptx, "%globaltimer_lo"), 2 * count(ptx, "trap;"));
    EXPECT_EQ(count(ptx, ".visible .entry"), config.pack ? 2 : 1);
  }
  KernelConfig config{.bm = 128, .bn = 256};
  config.probe = true;
  const std::string ptx =
      nvrtc_ptx(kernel_job(config, embedded_kernels(), default_compile_flags()));
  EXPECT_EQ(count(ptx, ".visible .entry"), 2) << "the plain kernel is beside the probed one";
  EXPECT_GT(count(ptx, "%clock;"), 10);
  EXPECT_GT(count(ptx, "%clock64;"), 4);
  EXPECT_EQ(count(ptx, "%globaltimer;"), 2) << "at entry and finish";

  const test::StandIn probed("*params.out = static_cast<int>(clock64());");
  EXPECT_THAT(nvrtc_ptx(kernel_job({}, probed.files(), default_compile_flags())),
              HasSubstr("%clock"));
}

TEST(Kernels, CarryTheirLaunchShape) {
  const auto ptx_of = [](const KernelConfig& config) {
    return nvrtc_ptx(kernel_job(config, embedded_kernels(), default_compile_flags()));
  };
  const std::string alone = ptx_of({.bm = 192, .bn = 64, .consumers = 3});
  EXPECT_THAT(alone, HasSubstr(".maxntid 512, 1, 1"));
  EXPECT_THAT(alone, Not(HasSubstr(".reqnctapercluster")));
  EXPECT_THAT(ptx_of({.bn = 64, .cluster_n = 2}), HasSubstr(".reqnctapercluster 2, 1, 1"));
}

TEST(Kernels, TheSourceHashIsThatOfTheFiles) {
  std::vector<std::string> texts;
  std::set<fs::path> paths;  // sorted
  for (const auto& entry : fs::directory_iterator(HGEMM_SOURCE_DIR "/kernels")) {
    if (entry.is_regular_file()) paths.insert(entry.path());
  }
  for (const fs::path& path : paths) {
    texts.push_back("kernels/" + path.filename().string());
    texts.push_back(test::read_file(path));
  }
  EXPECT_EQ(kernel_source_hash(),
            content_hash(std::vector<std::string_view>(texts.begin(), texts.end())));
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
