// The real kernels, compiled for sm_90a. Needs no GPU.
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <variant>

#include "base/cpp_text.h"
#include "base/hash.h"
#include "compile/nvrtc.h"
#include "compile/source.h"
#include "families/family.h"
#include "search/space.h"
#include "tests/compile/support.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using test::expect_all_compile;
using testing::HasSubstr;
using testing::Not;

GemmProblem of_types(GemmProblem problem, DataType input, DataType output) {
  problem.set_types(input);
  problem.d_type = output;
  return problem;
}

/// Problems of each type that there are kernels for. Kernels with constant extents are made for few
/// k blocks, which the compiler may unroll, for many, and for few rows.
std::vector<GemmProblem> problems() {
  const GemmProblem few_blocks{.m = 500, .n = 1000, .k = 520, .tag = ""};
  std::vector<GemmProblem> problems = {few_blocks,
                                       {.m = 20, .n = 1000, .k = 8200, .tag = ""},
                                       {.m = 500, .n = 1000, .k = 8200, .tag = ""},
                                       {.m = 3, .n = 1000, .k = 8200, .tag = ""}};
  for (const DataType input : {DataType::kBf16, DataType::kFp16}) {
    for (const DataType output : {input, DataType::kFp32}) {
      problems.push_back(of_types(few_blocks, input, output));
    }
  }
  return problems;
}

/// The kernels of a space for those problems, each once.
std::vector<Kernel> kernels_of_space(const std::string& space) {
  const std::vector<GemmProblem> made_for = problems();
  std::vector<Kernel> kernels;
  std::set<std::string> known;
  for (const KernelConfig& config :
       enumerate(load_space(space, HGEMM_SOURCE_DIR "/configs"), made_for).valid) {
    for (const GemmProblem& problem : made_for) {
      const Kernel kernel = kernel_for(config, problem);
      if (!why_invalid(kernel) && known.insert(build_name(kernel)).second) {
        kernels.push_back(kernel);
      }
    }
  }
  return kernels;
}

/// What decides a kernel's registers, and so whether it compiles without a spill.
std::string registers_key(const TiledKernel& k) {
  return fmt::format("tiled {} {} {} {} {} {} {} {} {} {} {} {} {} {}", k.bm, k.bn, k.swap,
                     static_cast<int>(k.schedule), k.consumers, static_cast<int>(k.store),
                     adds_in_workspace(k), shares_sums(k), adds_in_cluster(k), senders(k) > 2,
                     k.ctas_per_sm, k.fixed, is_dynamic(k), element_bytes(k.gemm.output));
}
std::string registers_key(const SwapAbKernel& k) {
  return fmt::format("swap_ab {} {} {} {} {} {} {}", k.bm, k.bn, static_cast<int>(k.store),
                     adds_in_cluster(k), k.ctas_per_sm, k.fixed, element_bytes(k.gemm.output));
}
std::string registers_key(const GemvKernel& k) {
  return fmt::format("gemv {} {} {} {} {} {} {}", k.vectors, k.rows, k.warps, k.splits > 1,
                     k.ctas_per_sm, k.fixed, element_bytes(k.gemm.output));
}

/// One kernel of each registers_key(): the first of the first key, the second of the second and so
/// on around, so that the other axes vary too.
std::vector<Kernel> one_per_tile(const std::vector<Kernel>& kernels) {
  std::map<std::string, std::vector<Kernel>> tiles;
  for (const Kernel& kernel : kernels) {
    tiles[std::visit([](const auto& k) { return registers_key(k); }, kernel)].push_back(kernel);
  }
  std::vector<Kernel> chosen;
  for (const auto& [key, members] : tiles) {
    chosen.push_back(members[chosen.size() % members.size()]);
  }
  return chosen;
}

TEST(Kernels, SmokeCompiles) { expect_all_compile(kernels_of_space("smoke")); }

/// All take two cores ten minutes.
TEST(Kernels, EveryTileOfFullCompiles) {
  expect_all_compile(test::in_turn(one_per_tile(kernels_of_space("full")), 4, embedded_kernels()));
}

// ---- Every value of the word axes, one at a time, so that what fails names the value ----

class WordAxes : public testing::Test {
 protected:
  /// For a problem of that type, and for the same with an fp32 output, if the rules allow it.
  void add(const KernelConfig& config, DataType type = DataType::kBf16) {
    const Kernel plain = kernel_for(config, of_types({}, type, type));
    const auto rejection = why_invalid(plain);
    EXPECT_FALSE(rejection) << label(config) << ": " << rejection->reason;
    kernels_.push_back(plain);
    const Kernel fp32 = kernel_for(config, of_types({}, type, DataType::kFp32));
    if (!why_invalid(fp32)) kernels_.push_back(fp32);
  }
  /// A tile of the tiled family with one change.
  template <class Set>
  void add_tile(const Set& set) {
    TiledConfig config{.bm = 128, .bn = 176, .cluster_m = 2};
    set(config);
    add(config);
  }
  void TearDown() override { expect_all_compile(kernels_); }

  std::vector<Kernel> kernels_;
};

constexpr Schedule kSchedules[] = {Schedule::kRows, Schedule::kColumns, Schedule::kPingPong};

TEST_F(WordAxes, EveryStoreOfEverySchedule) {
  for (const Schedule schedule : kSchedules) {
    for (const StorePath store :
         {StorePath::kDirect, StorePath::kTma, StorePath::kStaged, StorePath::kOverlapped}) {
      add_tile([&](TiledConfig& c) {
        c.schedule = schedule;
        c.store = store;
        if (schedule == Schedule::kPingPong && store == StorePath::kOverlapped) c.bn = 120;
      });
    }
  }
}

TEST_F(WordAxes, EverySchedulerOfEverySchedule) {
  using enum TileScheduler;
  for (const Schedule schedule : kSchedules) {
    for (const TileScheduler scheduler : {kSingle, kSplitK, kStreamK, kClusterSplitK, kDynamic}) {
      if (schedule == Schedule::kPingPong &&
          (scheduler == kSingle || scheduler == kClusterSplitK || scheduler == kDynamic)) {
        continue;
      }
      add_tile([&](TiledConfig& c) {
        c.schedule = schedule;
        c.scheduler = scheduler;
        c.splits = scheduler == kSplitK || scheduler == kClusterSplitK ? 3 : 1;
        if (scheduler == kClusterSplitK) c.cluster_m = 1;
        if (scheduler == kSplitK) c.bn = 128;
        if (scheduler == kSplitK) c.store = StorePath::kDirect;
      });
    }
  }
  add_tile([&](TiledConfig& c) { c.pdl = true; });
}

// At the limits of its registers, and with what is added up before.
TEST_F(WordAxes, StagedStores) {
  for (const auto& [bm, bn] : {std::pair{128, 256}, {256, 192}, {192, 200}}) {
    add_tile([&, bm = bm, bn = bn](TiledConfig& c) {
      c.bm = bm;
      c.bn = bn;
      c.consumers = bm == 192 ? 3 : 2;
      c.stages = 3;
      c.store = StorePath::kStaged;
      c.pack = true;
      c.pdl = bm == 256;
    });
  }
  for (const int bn : {176, 184}) {
    add_tile([&](TiledConfig& c) {
      c.bn = bn;
      c.schedule = Schedule::kPingPong;
      c.store = StorePath::kStaged;
      c.pack = true;
    });
  }
  using enum TileScheduler;
  for (const TileScheduler scheduler : {kStreamK, kClusterSplitK, kDynamic}) {
    add_tile([&](TiledConfig& c) {
      c.store = StorePath::kStaged;
      c.scheduler = scheduler;
      c.splits = scheduler == kClusterSplitK ? 3 : 1;
      if (scheduler == kClusterSplitK) c.cluster_m = 1;
    });
  }
}

// With an fp32 output the tile that waits takes twice the registers.
TEST_F(WordAxes, OverlappedStoresOfTheWidestTiles) {
  for (const auto& [bm, bn] : {std::pair{128, 256}, {128, 200}, {256, 128}, {256, 96}}) {
    add_tile([&, bm = bm, bn = bn](TiledConfig& c) {
      c.bm = bm;
      c.bn = bn;
      c.stages = 3;
      c.store = StorePath::kOverlapped;
    });
  }
}

// At the limits of its registers.
TEST_F(WordAxes, Gemv) {
  for (const auto& [vectors, rows, step, depth, ctas] : {std::tuple{1, 8, 2048, 2, 1},
                                                         {1, 16, 1024, 2, 2},
                                                         {2, 32, 512, 1, 2},
                                                         {4, 64, 256, 2, 1},
                                                         {8, 32, 512, 2, 1},
                                                         {16, 16, 1024, 2, 1},
                                                         {16, 8, 512, 2, 2},
                                                         {8, 8, 1024, 1, 2}}) {
    add(GemvConfig{.vectors = vectors,
                   .rows = rows,
                   .step = step,
                   .depth = depth,
                   .warps = 8,
                   .ctas_per_sm = ctas,
                   .pdl = depth == 2},
        vectors == 8 ? DataType::kFp16 : DataType::kBf16);
  }
}

// At the limits of its rules, and cut so that a rank has many rows, few or none.
TEST_F(WordAxes, SwapAb) {
  const auto add_swapped = [&](int bm, int consumers, int splits, int ctas_per_sm) {
    add(SwapAbConfig{.bm = bm,
                     .bn = 64 * consumers,
                     .bk = bm < 64 ? 128 : 64,
                     .stages = 3,
                     .splits = splits,
                     .ctas_per_sm = ctas_per_sm,
                     .pdl = splits == 3});
  };
  for (const int bm : {24, 128}) {
    for (const int consumers : {1, 2, 3}) {
      for (const int splits : {1, 3, 8}) add_swapped(bm, consumers, splits, 1);
    }
  }
  for (const int splits : {1, 2, 5}) {  // the tallest ones
    add_swapped(256, 1, splits, 1);
    add_swapped(256, 2, splits, 1);
    add_swapped(176, 3, splits, 1);
  }
  add(SwapAbConfig{.bm = 240,
                   .bn = 128,
                   .bk = 64,
                   .stages = 3,
                   .store = StorePath::kStaged,
                   .pdl = true,
                   .late = true});
  for (const int splits : {1, 3}) {
    add_swapped(128, 1, splits, 2);
    add_swapped(80, 2, splits, 2);
  }
}

// The widest tiles that the rules leave, in as many parts as shared memory takes.
TEST_F(WordAxes, PartsOfATileInAClusterOrInMemory) {
  const auto add_split = [&](const auto& set) {
    add_tile([&](TiledConfig& c) {
      c.cluster_m = 1;
      c.scheduler = TileScheduler::kClusterSplitK;
      set(c);
    });
  };
  for (const int splits : {2, 4, 7}) {
    add_split([&](TiledConfig& c) {
      c.bn = 256;
      c.splits = splits;
    });
  }
  add_split([&](TiledConfig& c) {
    c.bm = 256;
    c.bn = 160;
    c.stages = 3;
    c.splits = 2;
  });
  add_split([&](TiledConfig& c) {
    c.consumers = 1;
    c.splits = 8;
  });
  for (const int bn : {192, 104}) {  // the sums of the narrow one once spilled
    add_tile([&](TiledConfig& c) {
      c.bm = 256;
      c.bn = bn;
      c.stages = 3;
      c.scheduler = TileScheduler::kStreamK;
    });
  }
}

// The widest tiles that the rules leave to shares of sums, for each number of consumers.
TEST_F(WordAxes, SharesOfSumsInMemory) {
  for (const bool swap : {false, true}) {
    for (const StorePath store : {StorePath::kDirect, StorePath::kStaged}) {
      for (const auto& [rows, cols, consumers, ctas] : {std::tuple{128, 256, 2, 1},
                                                        {256, 128, 2, 1},
                                                        {64, 256, 1, 1},
                                                        {128, 160, 1, 1},
                                                        {192, 128, 3, 1},
                                                        {64, 168, 1, 2},
                                                        {128, 64, 2, 2}}) {
        add_tile([&, rows = rows, cols = cols, consumers = consumers, ctas = ctas](TiledConfig& c) {
          c.bm = swap ? cols : rows;
          c.bn = swap ? rows : cols;
          c.stages = 3;
          c.swap = swap;
          c.cluster_m = ctas == 1 ? 2 : 1;
          c.cluster_n = c.cluster_m;
          c.consumers = consumers;
          c.store = store;
          c.scheduler = TileScheduler::kSplitK;
          c.splits = 32;
          c.ctas_per_sm = ctas;
          c.order = TileOrder::kHilbert;
        });
      }
    }
  }
}

// At the limits of the registers, and with the producers that have the fewest.
TEST_F(WordAxes, SwappedTilesAndClustersOfFour) {
  for (const bool swap : {false, true}) {
    const auto add_wide = [&](int rows, int cols, const auto& set) {
      add_tile([&](TiledConfig& c) {
        c.bm = swap ? cols : rows;
        c.bn = swap ? rows : cols;
        c.stages = 3;
        c.mma_depth = 0;
        c.swap = swap;
        c.cluster_m = 1;
        set(c);
      });
    };
    for (const auto& [m, n] : {std::pair{2, 2}, {4, 1}, {1, 4}}) {
      add_wide(256, 200, [m = m, n = n](TiledConfig& c) {
        c.cluster_m = m;
        c.cluster_n = n;
        c.order = TileOrder::kHilbert;
        c.pdl = m == 4;
      });
      add_wide(128, 256, [m = m, n = n](TiledConfig& c) {
        c.cluster_m = m;
        c.cluster_n = n;
        c.scheduler = TileScheduler::kClusterSplitK;
        c.splits = 2;
      });
    }
    add_wide(256, 192, [](TiledConfig& c) { c.store = StorePath::kStaged; });
    add_wide(256, 128, [](TiledConfig& c) { c.store = StorePath::kOverlapped; });
    add_wide(256, 96, [](TiledConfig& c) { c.store = StorePath::kOverlapped; });
    add_wide(128, 176, [](TiledConfig& c) {
      c.schedule = Schedule::kPingPong;
      c.store = StorePath::kStaged;
    });
    add_wide(256, swap ? 136 : 192, [](TiledConfig& c) {
      c.cluster_n = 2;
      c.scheduler = TileScheduler::kStreamK;
    });
    add_wide(256, 160, [](TiledConfig& c) {
      c.cluster_m = 2;
      c.scheduler = TileScheduler::kClusterSplitK;
      c.splits = 2;
      c.stages = 2;
    });
    add_wide(192, 128, [](TiledConfig& c) {
      c.consumers = 3;
      c.store = StorePath::kStaged;
    });
  }
}

TEST_F(WordAxes, TwoCtasOnAnSm) {
  add_tile([&](TiledConfig& c) {
    c.bn = 64;
    c.stages = 3;
    c.ctas_per_sm = 2;
  });
  add_tile([&](TiledConfig& c) {
    c.bm = 64;
    c.bn = 128;
    c.consumers = 1;
    c.ctas_per_sm = 2;
  });
}

// At 66 to 128 accumulators a thread, where 64 of 124 spilled before they moved registers.
TEST_F(WordAxes, SharesOfSumsInMemoryOfEveryWidth) {
  for (const int bn : {144, 160, 176, 192, 224, 256}) {
    for (const int splits : {2, 3, 5}) {
      for (const Schedule schedule : {Schedule::kRows, Schedule::kColumns}) {
        add({TiledConfig{.bn = bn,
                         .stages = 3,
                         .schedule = schedule,
                         .store = StorePath::kDirect,
                         .scheduler = TileScheduler::kSplitK,
                         .splits = splits,
                         .gpc = splits == 3}});
      }
    }
  }
}

TEST_F(WordAxes, Orders) {
  for (const TileOrder order :
       {TileOrder::kLinear, TileOrder::kGroupedRows, TileOrder::kGroupedColumns,
        TileOrder::kSnakeRows, TileOrder::kSnakeColumns, TileOrder::kHilbert}) {
    add_tile([&](TiledConfig& c) {
      c.order = order;
      c.group = has_bands(order) ? 8 : 0;
    });
  }
  // Finding a tile takes a producer the most registers by these.
  for (const TileOrder order : {TileOrder::kHilbert, TileOrder::kSnakeColumns}) {
    for (const bool pdl : {false, true}) {
      add_tile([&](TiledConfig& c) {
        c.order = order;
        c.group = has_bands(order) ? 8 : 0;
        c.scheduler = TileScheduler::kDynamic;
        c.pdl = pdl;
      });
    }
  }
}

TEST_F(WordAxes, MemoryHints) {
  for (const CacheHint hint : {CacheHint::kEvictFirst, CacheHint::kEvictLast}) {
    add_tile([&](TiledConfig& c) { c.a_hint = hint; });
    add_tile([&](TiledConfig& c) { c.b_hint = hint; });
    for (const StorePath store : {StorePath::kTma, StorePath::kOverlapped}) {
      add_tile([&](TiledConfig& c) {
        c.d_hint = hint;
        c.store = store;
      });
    }
  }
  for (const int promotion : {64, 128, 256}) {
    add_tile([&](TiledConfig& c) { c.promotion = promotion; });
  }
}

// ---- Stamps and clocks ----

TiledConfig probed(TiledConfig config) {
  config.probe = true;
  return config;
}

// What a student looks into must be there with stamps too; tighter tiles may spill with them.
TEST(Kernels, ProbedTilesCompileWithoutSpills) {
  std::vector<Kernel> kernels;
  const std::vector<std::pair<int, int>> tiles = {{128, 256}, {256, 128}, {128, 192}, {256, 192}};
  for (const auto& [bm, bn] : tiles) {
    const TiledConfig alone = probed({.bm = bm, .bn = bn, .stages = 3});
    TiledConfig pair = alone;
    (bm < bn ? pair.cluster_m : pair.cluster_n) = 2;
    pair.order = TileOrder::kHilbert;
    TiledConfig eager = pair;
    eager.mma_depth = 0;
    eager.order = TileOrder::kGroupedRows;
    eager.group = 8;
    TiledConfig direct = pair;
    direct.store = StorePath::kDirect;
    for (const TiledConfig& config : {alone, pair, eager, direct}) {
      kernels.push_back(test::kernel_of(config));
    }
  }
  for (const Kernel& kernel : kernels_of_space("smoke")) {
    const auto* const tiled = std::get_if<TiledKernel>(&kernel);
    if (!tiled || tiled->gemm.input != DataType::kBf16) continue;
    const Kernel with_stamps = with_probe(*tiled);
    if (!why_invalid(with_stamps)) kernels.push_back(with_stamps);
  }
  kernels.push_back(
      test::kernel_of(TiledConfig{.bm = 64, .bn = 32, .stages = 8, .consumers = 1, .probe = true}));
  kernels.push_back(kernel_for(TiledConfig{.bm = 192,
                                           .bn = 128,
                                           .stages = 3,
                                           .cluster_n = 2,
                                           .consumers = 3,
                                           .scheduler = TileScheduler::kSingle,
                                           .probe = true},
                               of_types({}, DataType::kFp16, DataType::kFp16)));
  expect_all_compile(kernels);
}

std::ptrdiff_t count(const std::string& text, const std::string& word) {
  std::ptrdiff_t found = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

std::string ptx_of(const Kernel& kernel, std::span<const EmbeddedFile> files = embedded_kernels(),
                   const std::vector<std::string>& flags = default_compile_flags()) {
  return nvrtc_ptx(JobMaker(files, flags).job(kernel_source(kernel)));
}

// Rule: instrumentation never runs in a timed launch. %globaltimer bounds waits, on their slow
// path: two reads and a trap in each.
TEST(Kernels, ReadNoClock) {
  for (const Kernel& kernel : kernels_of_space("smoke")) {
    const GemmKind kind = kind_of(kernel);  // others differ in what they multiply and store
    if (kind.input != DataType::kBf16 || kind.output != DataType::kBf16) continue;
    SCOPED_TRACE(build_name(kernel));
    const std::string ptx = ptx_of(kernel);
    if (!std::holds_alternative<GemvKernel>(kernel)) {
      EXPECT_THAT(ptx, HasSubstr("wgmma.mma_async"));
    }
    EXPECT_THAT(ptx, Not(HasSubstr("%clock")));
    EXPECT_EQ(count(ptx, "%globaltimer"), count(ptx, "%globaltimer_lo"));
    EXPECT_EQ(count(ptx, "%globaltimer_lo"), 2 * count(ptx, "trap;"));
    EXPECT_EQ(count(ptx, ".visible .entry"), packs(kernel) ? 2 : 1);
  }
  const std::string ptx = ptx_of(test::kernel_of(probed({.bm = 128, .bn = 256})));
  EXPECT_EQ(count(ptx, ".visible .entry"), 2) << "the plain kernel is beside the probed one";
  EXPECT_GT(count(ptx, "%clock;"), 10);
  EXPECT_GT(count(ptx, "%clock64;"), 4);
  EXPECT_EQ(count(ptx, "%globaltimer;"), 2) << "at entry and finish";

  const test::StandIn with_clock("*out = static_cast<int>(clock64());");
  EXPECT_THAT(ptx_of(test::kernel_of(TiledConfig{}), with_clock.files()), HasSubstr("%clock"));
}

// In someone's program a trap would end the CUDA context of the whole process, and a wait may last:
// packages are compiled without the tuner's bound.
TEST(Kernels, WithoutTheTunersFlagNeverTrapAndReadNoTimer) {
  std::vector<std::string> flags = default_compile_flags();
  ASSERT_EQ(std::erase_if(flags, [](const std::string& flag) { return flag.starts_with("-D"); }),
            1);
  for (const KernelConfig& config : std::vector<KernelConfig>{
           TiledConfig{.cluster_m = 2, .scheduler = TileScheduler::kDynamic, .pdl = true},
           TiledConfig{.scheduler = TileScheduler::kStreamK},
           TiledConfig{.scheduler = TileScheduler::kClusterSplitK, .splits = 2},
           SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true}}) {
    SCOPED_TRACE(label(config));
    const std::string bounded = ptx_of(test::kernel_of(config));
    const std::string unbounded = ptx_of(test::kernel_of(config), embedded_kernels(), flags);
    EXPECT_GT(count(unbounded, "mbarrier.try_wait"), 0);
    EXPECT_GT(count(bounded, "trap;"), 0);
    EXPECT_EQ(count(unbounded, "trap;"), 0);
    EXPECT_EQ(count(unbounded, "globaltimer"), 0);
  }
}

TEST(Kernels, CarryTheirLaunchShape) {
  const auto ptx = [](const TiledConfig& config) { return ptx_of(test::kernel_of(config)); };
  const std::string alone = ptx({.bm = 192, .bn = 64, .consumers = 3});
  EXPECT_THAT(alone, HasSubstr(".maxntid 512, 1, 1"));
  EXPECT_THAT(alone, Not(HasSubstr(".reqnctapercluster")));
  EXPECT_THAT(ptx({.bn = 64, .cluster_n = 2}), HasSubstr(".reqnctapercluster 2, 1, 1"));
}

// ---- Names of sources ----

/// The kernel files as they lie in the project, but for the studies'.
std::map<std::string, std::string> files_on_disk() {
  std::map<std::string, std::string> files;
  const fs::path project = HGEMM_SOURCE_DIR;
  for (const auto& entry : fs::recursive_directory_iterator(project / "kernels")) {
    const std::string path = fs::relative(entry.path(), project).string();
    if (!entry.is_regular_file() || path.starts_with("kernels/studies/")) continue;
    files[path] = test::read_file(entry.path());
  }
  return files;
}

TEST(Kernels, TheProgramHasTheFilesOfTheProject) {
  std::map<std::string, std::string> embedded;
  for (const EmbeddedFile& file : embedded_kernels()) {
    embedded[std::string(file.path)] = std::string(file.text);
  }
  EXPECT_EQ(embedded, files_on_disk());
}

TEST(Kernels, TheSourceHashIsThatOfTheFilesWithoutTheirComments) {
  std::vector<std::string> texts;
  for (const auto& [path, text] : files_on_disk()) {
    texts.push_back(path);
    texts.push_back(without_comments(text));
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
