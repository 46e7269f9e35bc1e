// Kernels for problems whose D is fp32: whatever the rules accept compiles without a spill. Each
// run compiles the same random sample of all families' configs.
#include <array>
#include <random>
#include <span>
#include <variant>

#include "tests/compile/support.h"

namespace hgemm {
namespace {

/// Draws configs from all values of their axes, until the rules accept one.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  /// What adds up in memory, as rule fp32_sums bounds it, or does not; stored by that path.
  TiledKernel tiled(StorePath store, bool adds_in_memory) {
    return draw<TiledKernel>([&](TiledKernel& k) {
      k.bm = 64 * of(1, 6);
      k.bn = 8 * of(1, 32);
      k.bk = 32 << of(0, 2);
      k.stages = of(2, 6);
      (flip() ? k.cluster_m : k.cluster_n) = of(1, 2);
      k.schedule = one_of({Schedule::kRows, Schedule::kColumns, Schedule::kPingPong});
      k.consumers = of(1, 3);
      k.mma_depth = of(0, 1);
      k.order = one_of({TileOrder::kLinear, TileOrder::kGroupedRows, TileOrder::kGroupedColumns,
                        TileOrder::kSnakeRows, TileOrder::kSnakeColumns, TileOrder::kHilbert});
      k.group = has_bands(k.order) ? of(1, 16) : 0;
      k.store = store;
      using enum TileScheduler;
      k.scheduler = adds_in_memory ? one_of({kSplitK, kStreamK})
                                   : one_of({kPersistent, kSingle, kClusterSplitK, kDynamic});
      k.splits = k.scheduler == kSplitK || k.scheduler == kClusterSplitK ? of(2, 8) : 1;
      k.promotion = 64 << of(0, 2);
      k.ctas_per_sm = of(1, 2);
      k.sms = one_of({kAllSms, kFewestSms, 64});
      k.pdl = flip();
      k.pack = store == StorePath::kStaged && flip();
      draw_kind(k);
    });
  }
  SwapAbKernel swap_ab(StorePath store) {
    return draw<SwapAbKernel>([&](SwapAbKernel& k) {
      k.bm = 8 * of(1, 16);
      k.bn = 64 * of(1, 3);
      k.bk = 64 << of(0, 1);
      k.stages = of(2, 8);
      k.mma_depth = of(0, 1);
      k.store = store;
      k.splits = of(1, 8);
      k.ctas_per_sm = of(1, 2);
      k.pdl = flip();
      k.pack = store == StorePath::kStaged && flip();
      draw_kind(k);
    });
  }
  GemvKernel gemv() {
    return draw<GemvKernel>([&](GemvKernel& k) {
      k.vectors = 1 << of(0, 4);
      k.rows = of(1, 64);
      k.step = 256 << of(0, 3);
      k.depth = of(1, 2);
      k.warps = 4 * of(1, 3);
      k.splits = of(1, 8);
      k.ctas_per_sm = of(1, 2);
      k.pdl = flip();
      draw_kind(k);
    });
  }

 private:
  template <class KernelType, class Set>
  KernelType draw(const Set& set) {
    for (;;) {
      KernelType kernel;
      set(kernel);
      if (!why_invalid(Kernel(kernel))) return kernel;
    }
  }
  /// Extents are constants in every third.
  template <class KernelType>
  void draw_kind(KernelType& k) {
    k.gemm = {.input = flip() ? DataType::kBf16 : DataType::kFp16, .output = DataType::kFp32};
    k.fixed = of(1, 3) == 1;
    if (k.fixed) k.gemm.m = of(1, 300);
    if (k.fixed) k.gemm.n = 4 * of(1, 300);
    if (k.fixed) k.gemm.k = 8 * of(1, 300);
  }
  /// Not std::uniform_int_distribution, which is another one in another library.
  int of(int first, int last) {
    return first + static_cast<int>(random_() % static_cast<std::uint32_t>(last - first + 1));
  }
  bool flip() { return of(0, 1) == 1; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[of(0, static_cast<int>(values.size()) - 1)];
  }

  std::mt19937 random_;
};

TEST(Fp32Kernels, ARandomSampleCompiles) {
  const char* const seed = std::getenv("HGEMM_TUNE_TEST_SEED");
  Draws draws(seed ? static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)) : 20261123);
  using enum StorePath;
  std::vector<Kernel> kernels;
  for (const StorePath store : {kDirect, kTma, kStaged}) {
    for (const bool adds : {false, true}) kernels.push_back(draws.tiled(store, adds));
  }
  kernels.push_back(draws.tiled(kOverlapped, false));
  for (const StorePath store : {kTma, kStaged}) kernels.push_back(draws.swap_ab(store));
  for (int i = 0; i < 3; ++i) kernels.push_back(draws.gemv());
  test::expect_all_compile(kernels);
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
