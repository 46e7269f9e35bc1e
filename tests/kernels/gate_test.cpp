// Gates and ups, from the rows of B that the copy engine brings into a stage to the column of D
// that a thread computes of them.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <vector>

#include "families/launch.h"
#include "gemm/problem.h"
#include "kernels/common/operand_tile.h"

namespace hgemm {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kRows = 1024;  ///< of B
constexpr std::int64_t kDepth = 512;

constexpr GemmKind gated(Gate gate) {
  return {.epilogue = {.activation = Activation::kSilu, .gate = gate}};
}

MatrixMap map_of_b(const Kernel& kernel) {
  const ProblemExtents p{512, kRows, kDepth, kDepth, kDepth, kRows / 2, Major::kK, Major::kK, true};
  std::vector<MatrixMap> maps;
  make_launch_params(kernel, p, {}, {}, [&](const MatrixMap& map) {
    maps.push_back(map);
    return TensorMap{};
  });
  return maps.at(1);
}

/// The row of B that comes into each row of the first tile's stage, if `ctas` CTAs fetch it.
template <class Boxes>
std::vector<std::int64_t> rows_of_tile(const MatrixMap& map, int extent, int ctas, int slice) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(extent), -1);
  const std::int64_t row_bytes = kDepth * kInputBytes;
  for (int cta = 0; cta < ctas; ++cta) {
    for (int part = 0; part < Boxes::kSliceExtent; part += Boxes::kBoxExtent) {
      const OperandBox box = Boxes::at(0, part, 0, 0, cta * slice);
      EXPECT_EQ(Boxes::kBoxExtent, map.box_rows * map.outer[0].box);
      // The copy engine writes a box's planes one after the other.
      for (int plane = 0; plane < map.outer[0].box; ++plane) {
        for (int row = 0; row < map.box_rows; ++row) {
          const std::int64_t at =
              plane * map.outer[0].stride_bytes + (box.row + row) * map.stride_bytes;
          const int line = box.offset / map.swizzle_bytes + plane * map.box_rows + row;
          rows.at(static_cast<std::size_t>(line)) = at / row_bytes;
        }
      }
    }
  }
  return rows;
}

std::int64_t gate_row(Gate gate, std::int64_t column) {
  return gate == Gate::kInterleaved ? 2 * column : column;
}
std::int64_t up_row(Gate gate, std::int64_t column) {
  return gate == Gate::kInterleaved ? 2 * column + 1 : kRows / 2 + column;
}

template <TiledKernel kKernel>
void expect_pairs() {
  static_assert(why_invalid(kKernel) == TiledRule::kValid);
  constexpr TiledKernel k = kKernel;
  constexpr Gate kGate = k.gemm.epilogue.gate;
  using Boxes = PairedBoxes<k.bn, k.bk, b_slice(k), gate_run(k)>;
  const auto rows = rows_of_tile<Boxes>(map_of_b(k), k.bn, k.cluster_m, b_slice(k));
  const int unit = gate_unit(k);
  const int units = k.swap ? output_blocks(k) : output_cols(k) / 8;
  std::set<std::int64_t> computed;
  for (int consumer = 0; consumer < readers(k); ++consumer) {
    const bool has_rows = k.schedule == Schedule::kRows && k.swap;
    const bool has_columns = k.schedule == Schedule::kColumns && !k.swap;
    const int share = k.swap ? consumer_rows(k) : consumer_cols(k);
    const int begin = has_rows || has_columns ? consumer * share : 0;
    for (int output = 0; output < units; ++output) {
      for (int i = 0; i < unit; ++i) {
        const std::int64_t column = begin / 2 + output * unit + i;
        const auto row_of = [&](int of_unit) {
          return rows.at(static_cast<std::size_t>(begin + of_unit * unit + i));
        };
        const int run = gate_run(k) / unit;
        EXPECT_EQ(row_of(gate_unit_of(output, run)), gate_row(kGate, column)) << column;
        EXPECT_EQ(row_of(gate_unit_of(output, run) + run), up_row(kGate, column)) << column;
        computed.insert(column);
      }
    }
  }
  EXPECT_EQ(static_cast<int>(computed.size()), k.bn / 2);
}

template <TiledConfig kConfig>
void expect_pairs_in_both_orders() {
  expect_pairs<TiledKernel{kConfig, gated(Gate::kHalves)}>();
  expect_pairs<TiledKernel{kConfig, gated(Gate::kInterleaved)}>();
}

TEST(Gate, AThreadHasTheGateAndTheUpOfEachColumnOfD) {
  expect_pairs_in_both_orders<TiledConfig{.bm = 128, .bn = 256, .stages = 3}>();
  expect_pairs_in_both_orders<TiledConfig{.bm = 128, .bn = 48, .bk = 128, .stages = 3}>();
  expect_pairs_in_both_orders<TiledConfig{.bm = 128, .bn = 128, .stages = 3, .cluster_m = 4}>();
  expect_pairs_in_both_orders<TiledConfig{.bm = 128, .bn = 192, .bk = 32, .cluster_m = 2}>();
}

TEST(Gate, ConsumersOfColumnsHaveWholePairs) {
  expect_pairs_in_both_orders<TiledConfig{
      .bm = 64, .bn = 192, .schedule = Schedule::kColumns, .consumers = 3}>();
  expect_pairs_in_both_orders<TiledConfig{
      .bm = 64, .bn = 256, .cluster_m = 2, .schedule = Schedule::kColumns}>();
}

TEST(Gate, SwappedOperandsHaveBlocksOfGatesAndOfUps) {
  expect_pairs_in_both_orders<TiledConfig{.bm = 16, .bn = 256, .swap = true}>();
  expect_pairs_in_both_orders<TiledConfig{.bm = 64, .bn = 128, .swap = true, .consumers = 1}>();
  expect_pairs_in_both_orders<TiledConfig{
      .bm = 32, .bn = 256, .cluster_m = 2, .swap = true, .consumers = 1}>();
  expect_pairs_in_both_orders<TiledConfig{
      .bm = 64, .bn = 384, .stages = 3, .swap = true, .consumers = 3}>();
}

/// CTAs that add up parts of K send the sums of gates and of ups, each once.
TEST(Gate, ClustersAddUpTheGatesAndTheUpsOfABox) {
  using enum TileScheduler;
  for (const TiledConfig& config :
       {TiledConfig{.bm = 128, .bn = 256, .stages = 3, .scheduler = kClusterSplitK, .splits = 2},
        TiledConfig{.bm = 128, .bn = 48, .scheduler = kClusterSplitK, .splits = 3},
        TiledConfig{.bm = 64,
        .bn = 256,
        .cluster_m = 2,
        .schedule = Schedule::kColumns,
        .scheduler = kClusterSplitK,
        .splits = 2},
        TiledConfig{.bm = 64,
        .bn = 256,
        .swap = true,
        .consumers = 1,
        .scheduler = kClusterSplitK,
        .splits = 2}}) {
    const TiledKernel k{config, gated(Gate::kHalves)};
    ASSERT_EQ(why_invalid(k), TiledRule::kValid);
    const int run = sum_run(k);
    const int of_block = output_cols(k) / 2;
    std::set<int> sent;
    for (int value = 0; value < box_value(k, store_boxes(k)); ++value) {
      // As store.cuh's gate_columns() finds them: blocks of 64 rows, or groups of 8 columns.
      const int output = k.swap ? value / of_block : value % of_block / 4;
      const int gate = gate_unit_of(output, run);
      const int row = consumer_cols(k) / 2;
      const int first =
          k.swap ? gate * row + value % of_block : value / of_block * row + gate * 4 + value % 4;
      EXPECT_EQ(sum_index(k, run, value, 0), first);
      EXPECT_EQ(sum_index(k, run, value, 1), first + run * (k.swap ? row : 4));
      for (const int which : {0, 1}) sent.insert(sum_index(k, run, value, which));
    }
    EXPECT_EQ(static_cast<int>(sent.size()), accumulators_per_thread(k));
    EXPECT_EQ(*sent.rbegin(), accumulators_per_thread(k) - 1);
  }
}

TEST(Gate, AWarpOfTheSwapAbFamilyHasGatesAndUpsSideBySide) {
  for (const Gate gate : {Gate::kHalves, Gate::kInterleaved}) {
    constexpr SwapAbKernel kKernel{{.bm = 16, .bn = 192, .bk = 128, .stages = 3},
                                   gated(Gate::kHalves)};
    SwapAbKernel kernel = kKernel;
    kernel.gemm = gated(gate);
    using Boxes = PairedBoxes<kKernel.bn, kKernel.bk, b_slice(kKernel), gate_run(kKernel)>;
    const auto rows = rows_of_tile<Boxes>(map_of_b(kernel), kernel.bn, 1, kernel.bn);
    // Lane l of a warp has rows l / 4 and l / 4 + 8 of the warp's 16 (PTX ISA, "D fragment").
    for (int warp = 0; warp < kernel.bn / 16; ++warp) {
      for (int row = 0; row < 8; ++row) {
        const std::int64_t column = warp * 8 + row;
        EXPECT_EQ(rows.at(static_cast<std::size_t>(warp * 16 + row)), gate_row(gate, column));
        EXPECT_EQ(rows.at(static_cast<std::size_t>(warp * 16 + row + 8)), up_row(gate, column));
      }
    }
  }
}

TEST(Gate, RulesSayWhatATileOfPairsIs) {
  const auto rule = [](TiledConfig config) {
    return why_invalid(TiledKernel{config, gated(Gate::kHalves)});
  };
  using Rule = TiledRule;
  EXPECT_EQ(rule({.bm = 128, .bn = 128}), Rule::kValid);
  EXPECT_EQ(rule({.bm = 128, .bn = 136}), Rule::kGate) << "68 gates are no whole groups of 8";
  EXPECT_EQ(rule({.bm = 128, .bn = 72, .cluster_m = 2}), Rule::kGate) << "slices of 40 rows";
  EXPECT_EQ(rule({.bm = 64, .bn = 64, .swap = true, .consumers = 1}), Rule::kGate);
  EXPECT_EQ(rule({.bm = 64, .bn = 128, .swap = true}), Rule::kGate) << "64 rows for a consumer";
  EXPECT_EQ(rule({.bm = 64, .bn = 128, .swap = true, .consumers = 1}), Rule::kValid);
  EXPECT_EQ(rule({.bm = 128,
                  .bn = 128,
                  .store = StorePath::kDirect,
                  .scheduler = TileScheduler::kSplitK,
                  .splits = 2}),
            Rule::kGate);
  EXPECT_EQ(rule({.bm = 128, .bn = 128, .scheduler = TileScheduler::kClusterSplitK, .splits = 2}),
            Rule::kValid);
  EXPECT_EQ(rule({.bm = 128, .bn = 128, .scheduler = TileScheduler::kStreamK}), Rule::kValid);
  GemmKind with_bias = gated(Gate::kHalves);
  with_bias.epilogue.bias = Bias::kAlongN;
  EXPECT_EQ(why_invalid(TiledKernel{{}, with_bias}), Rule::kGate);
  EXPECT_EQ(why_invalid(SwapAbKernel{{}, with_bias}), SwapAbRule::kGate);
  GemmKind across = gated(Gate::kHalves);
  across.b_major = Major::kMn;
  EXPECT_EQ(why_invalid(TiledKernel{{}, across}), Rule::kGate);
  EXPECT_EQ(why_invalid(SwapAbKernel{{}, across}), SwapAbRule::kGate);
}

TEST(Gate, AKernelComputesNoProblemOfTheOtherKind) {
  const ProblemExtents plain{64, 96, 64, 64, 64, 96};
  const ProblemExtents with_gate{64, 96, 64, 64, 64, 48, Major::kK, Major::kK, true};
  const GemmKind kind = gated(Gate::kHalves);
  EXPECT_EQ(why_unsupported(TiledKernel{{}, kind}, with_gate), nullptr);
  EXPECT_EQ(why_unsupported(TiledKernel{}, plain), nullptr);
  for (const char* reason :
       {why_unsupported(TiledKernel{{}, kind}, plain), why_unsupported(TiledKernel{}, with_gate),
        why_unsupported(SwapAbKernel{{}, kind}, plain),
        why_unsupported(GemvKernel{{.vectors = 16}, kind}, plain)}) {
    EXPECT_STREQ(reason, "the kernel is made for problems with a gate, or for others");
  }
}

TEST(Gate, AGemvKernelHasPairsOfRowsInEachWarp) {
  const GemmKind kind = gated(Gate::kHalves);
  const GemvConfig pairs{.vectors = 1, .rows = 16, .warps = 8};
  EXPECT_EQ(why_invalid(GemvKernel{pairs, kind}), GemvRule::kValid);
  const GemvConfig single{.vectors = 1, .rows = 8, .warps = 8};
  EXPECT_EQ(why_invalid(GemvKernel{single, kind}), GemvRule::kGate);
  ProblemExtents p{1, 96, 64, 64, 64, 48, Major::kK, Major::kK, true};
  EXPECT_EQ(why_unsupported(GemvKernel{pairs, kind}, p), nullptr);
  p.ldb = 65;
  EXPECT_THAT(why_unsupported(GemvKernel{pairs, kind}, p), HasSubstr("a multiple of 8"));
}

}  // namespace
}  // namespace hgemm
