// Every element of an operand, from the box of the copy engine that brings it into a stage to the
// read of the wgmma that multiplies it. The two sides are written here as the PTX ISA defines them;
// boxes, descriptors and offsets are the kernels'.
#include "kernels/common/operand_tile.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "families/launch.h"

namespace hgemm {
namespace {

/// An element of an operand: its row of M or N in the tile, and its element of K in the stage.
using Element = std::pair<int, int>;
constexpr Element kNothing{-1, -1};

/// PTX ISA, "Swizzling Modes" of tensor copies, and "Canonical Layouts" of wgmma (CUTLASS's
/// Swizzle<3,4,3> and Swizzle<2,4,3>): XOR of the 16-byte unit within a row with the number of the
/// 128-byte line. 128 bytes: bits 4 to 6 with 7 to 9; 64 bytes: bits 4 and 5 with 7 and 8.
std::uint32_t swizzled(std::uint32_t address, int swizzle_bytes) {
  const std::uint32_t mask = swizzle_bytes == 128 ? 7 : 3;
  return address ^ (((address >> 7) & mask) << 4);
}

/// Where dynamic shared memory begins in a cluster's second CTA: a multiple of 1024, with the CTA's
/// rank from bit 24 on. wgmma knows 18 bits, as it reads only its own CTA's memory.
constexpr std::uint32_t kSmemBase = 0x01000400;
constexpr std::uint32_t kWithinCta = 0x3ffff;

/// Shared memory, by the addresses of its elements.
class Memory {
 public:
  /// What the copy engine writes for one box at `destination`: rows of `box_cols` elements one
  /// after the other. `element` gives the one at (column, row) of the box.
  template <class Of>
  void copy_box(std::uint32_t destination, const MatrixMap& map, const Of& element) {
    const int bytes = element_bytes(map.type);
    ASSERT_EQ(map.box_cols * bytes, map.swizzle_bytes) << "a box's row is as wide as the swizzle";
    ASSERT_EQ(destination % 128, 0u) << "destinations of tensor copies";
    for (int row = 0; row < map.box_rows; ++row) {
      for (int column = 0; column < map.box_cols; ++column) {
        const auto at = static_cast<std::uint32_t>((row * map.box_cols + column) * bytes);
        Element& place = content_[swizzled(destination + at, map.swizzle_bytes) & kWithinCta];
        place = element(column, row);
      }
    }
  }
  Element at(std::uint32_t address) const {
    const auto found = content_.find(address & kWithinCta);
    return found == content_.end() ? kNothing : found->second;
  }
  std::size_t elements() const { return content_.size(); }

 private:
  std::map<std::uint32_t, Element> content_;
};

/// PTX ISA, "Matrix Descriptor Format".
struct Descriptor {
  std::uint32_t start, leading, stride;
  int swizzle_bytes;

  explicit Descriptor(std::uint64_t bits)
      : start(static_cast<std::uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<std::uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<std::uint32_t>(bits >> 32 & 0x3fff) << 4),
        swizzle_bytes(bits >> 62 == 1   ? 128
                      : bits >> 62 == 2 ? 64
                                        : 0) {
    EXPECT_EQ(bits >> 49 & 7, 0u) << "base offset";
    EXPECT_NE(swizzle_bytes, 0);
  }
  /// Where wgmma reads element (mn, k) of its operand, 0 <= k < mma_k(), of `bytes` bytes.
  std::uint32_t address(Major major, int mn, int k, int bytes) const {
    const auto m = static_cast<std::uint32_t>(mn);
    const auto l = static_cast<std::uint32_t>(k);
    const auto size = static_cast<std::uint32_t>(bytes);
    const auto row_bytes = static_cast<std::uint32_t>(swizzle_bytes);
    const std::uint32_t plain =
        major == Major::kK
            ? start + m % 8 * row_bytes + m / 8 * stride + l * size
            : start + m % 64 * 2 + m / 64 * leading + l % 8 * row_bytes + l / 8 * stride;
    return swizzled(plain, swizzle_bytes);
  }
};

/// One operand of a kernel: what a CTA's stage receives from all CTAs that share its tile.
struct Operand {
  Major major;
  DataType type;
  int bk;
  std::vector<OperandBox> boxes;  ///< that arrive from all CTAs which share the tile
  int stage_bytes, stages;
  std::uint32_t begin;  ///< of the first stage
};

/// The boxes of a tile at the matrix's first element, copied by `ctas` CTAs.
template <class Boxes>
std::vector<OperandBox> all_boxes(int extent, int ctas, int slice) {
  std::vector<OperandBox> boxes;
  for (int cta = 0; cta < ctas; ++cta) {
    // As Place::a_begin() and b_begin(), for any number of CTAs.
    const int begin = Boxes::kIsMn ? cta * slice : std::min(cta * slice, extent - slice);
    for (int slab = 0; slab < Boxes::kSlabs; ++slab) {
      for (int part = 0; part < Boxes::kSliceExtent; part += Boxes::kBoxExtent) {
        boxes.push_back(Boxes::at(slab, part, 0, 0, begin));
      }
    }
  }
  return boxes;
}

Memory received(const Operand& operand, const MatrixMap& map, std::uint32_t stage) {
  Memory memory;
  for (const OperandBox& box : operand.boxes) {
    memory.copy_box(stage + static_cast<std::uint32_t>(box.offset), map, [&](int column, int row) {
      return operand.major == Major::kMn ? Element{box.column + column, box.row + row}
                                         : Element{box.row + row, box.column + column};
    });
  }
  return memory;
}

/// Every wgmma of a stage reads the elements that it should: those of `width` rows of M or N from
/// row `part` on. `step`: rows of one wgmma.
template <class Tile>
void expect_reads(const Operand& operand, const Memory& memory, std::uint32_t stage, int part,
                  int width, int step) {
  const int depth_of_mma = mma_k(operand.type);
  for (int k = 0; k < operand.bk; k += depth_of_mma) {
    for (int row = part; row < part + width; row += step) {
      const Descriptor descriptor(
          Tile::descriptor(stage) + static_cast<std::uint64_t>(part * Tile::kMnUnits) +
          static_cast<std::uint64_t>(Tile::k_units(k) + Tile::mn_units(row - part)));
      for (int mn = 0; mn < step; ++mn) {
        for (int depth = 0; depth < depth_of_mma; ++depth) {
          ASSERT_EQ(
              memory.at(descriptor.address(operand.major, mn, depth, element_bytes(operand.type))),
              (Element{row + mn, k + depth}))
              << "row " << row + mn << ", k " << k + depth << ", part " << part;
        }
      }
    }
  }
}

std::vector<MatrixMap> input_maps(const Kernel& kernel) {
  const GemmKind kind = kind_of(kernel);
  const ProblemExtents p{512, 1024, 768, 1024, 1024, 1024, kind.a_major, kind.b_major};
  std::vector<MatrixMap> maps;
  make_launch_params(kernel, p, {}, {}, [&](const MatrixMap& map) {
    maps.push_back(map);
    return TensorMap{};
  });
  return maps;
}

template <TiledKernel kKernel>
void expect_operands() {
  static_assert(why_invalid(kKernel) == TiledRule::kValid);
  constexpr TiledKernel k = kKernel;
  constexpr int kBytes = element_bytes(k.gemm.input);
  const std::vector<MatrixMap> maps = input_maps(k);
  const Operand a{.major = k.gemm.a_major,
                  .type = k.gemm.input,
                  .bk = k.bk,
                  .boxes = all_boxes<OperandBoxes<k.gemm.a_major, k.bm, k.bk, a_slice(k), kBytes>>(
                      k.bm, k.cluster_n, a_slice(k)),
                  .stage_bytes = a_stage_bytes(k),
                  .stages = k.stages,
                  .begin = 0};
  const Operand b{.major = k.gemm.b_major,
                  .type = k.gemm.input,
                  .bk = k.bk,
                  .boxes = all_boxes<OperandBoxes<k.gemm.b_major, k.bn, k.bk, b_slice(k), kBytes>>(
                      k.bn, k.cluster_m, b_slice(k)),
                  .stage_bytes = b_stage_bytes(k),
                  .stages = k.stages,
                  .begin = static_cast<std::uint32_t>(smem_layout(k).b)};
  std::size_t arrived = 0;
  for (const bool is_rows : {true, false}) {
    const bool is_a = is_rows != k.swap;
    const Operand& operand = is_a ? a : b;
    const MatrixMap& map = maps.at(is_a ? 0 : 1);
    for (int stage = 0; stage < k.stages; ++stage) {
      const auto at =
          kSmemBase + operand.begin + static_cast<std::uint32_t>(stage * operand.stage_bytes);
      const Memory memory = received(operand, map, at);
      const std::size_t bytes = memory.elements() * kBytes;
      EXPECT_EQ(bytes, static_cast<std::size_t>(operand.stage_bytes));
      if (stage == 0) arrived += bytes;
      for (int consumer = 0; consumer < k.consumers; ++consumer) {
        const bool by_rows = k.schedule == Schedule::kRows;
        const bool by_cols = k.schedule == Schedule::kColumns;
        if (is_rows) {
          expect_reads<OperandTile<rows_major(kKernel), mma_rows(kKernel), kKernel.bk, kBytes>>(
              operand, memory, at, by_rows ? consumer * consumer_rows(k) : 0, consumer_rows(k),
              kMmaM);
        } else {
          // Promoted sums of half of the columns are a wgmma of their own.
          const int halves = mma_blocks(k) == 1 ? promoted_pieces(k) : 1;
          expect_reads<OperandTile<cols_major(kKernel), mma_cols(kKernel), kKernel.bk, kBytes>>(
              operand, memory, at, by_cols ? consumer * consumer_cols(k) : 0, consumer_cols(k),
              consumer_cols(k) / halves);
        }
      }
    }
  }
  EXPECT_GE(static_cast<std::size_t>(arriving_bytes(k)), arrived);
  if (k.gemm.a_major == Major::kMn && k.gemm.b_major == Major::kMn) {
    EXPECT_EQ(static_cast<std::size_t>(arriving_bytes(k)), arrived) << "nothing arrives twice";
  }
}

constexpr GemmKind kLayouts[] = {
    {},
    {.a_major = Major::kMn},
    {.a_major = Major::kMn, .b_major = Major::kMn},
    {.b_major = Major::kMn},
};

template <TiledConfig kConfig>
void expect_every_layout() {
  expect_operands<TiledKernel{kConfig, kLayouts[0]}>();
  expect_operands<TiledKernel{kConfig, kLayouts[1]}>();
  expect_operands<TiledKernel{kConfig, kLayouts[2]}>();
  expect_operands<TiledKernel{kConfig, kLayouts[3]}>();
}

TEST(OperandTile, EveryElementOfATileIsReadWhereItWasCopied) {
  expect_every_layout<TiledConfig{.bm = 128, .bn = 128, .bk = 64, .stages = 3}>();
  expect_every_layout<TiledConfig{.bm = 128, .bn = 64, .bk = 128, .stages = 2, .mma_depth = 0}>();
  expect_every_layout<TiledConfig{.bm = 256, .bn = 64, .bk = 32, .stages = 3}>();
}

TEST(OperandTile, AChunkMayBeUsedInPart) {
  expect_every_layout<TiledConfig{.bm = 128, .bn = 200, .bk = 64, .stages = 3}>();
  expect_every_layout<TiledConfig{.bm = 64, .bn = 8, .bk = 64, .stages = 3, .consumers = 1}>();
}

TEST(OperandTile, ClustersFetchEachElementOfKOnce) {
  expect_every_layout<TiledConfig{.bm = 128, .bn = 128, .bk = 64, .stages = 3, .cluster_m = 2}>();
  expect_every_layout<TiledConfig{.bm = 128, .bn = 72, .bk = 64, .stages = 3, .cluster_n = 8}>();
  expect_every_layout<TiledConfig{
      .bm = 128, .bn = 192, .bk = 32, .stages = 3, .cluster_m = 4, .cluster_n = 2}>();
}

// An odd number of stages of 72 rows of 64 bytes ends at a multiple of 512 bytes: a B of 128-byte
// swizzle begins with the next atom.
TEST(OperandTile, SwappedOperandsChangePlaces) {
  expect_every_layout<TiledConfig{.bm = 200, .bn = 128, .bk = 64, .stages = 3, .swap = true}>();
  expect_every_layout<TiledConfig{
      .bm = 72, .bn = 64, .bk = 32, .stages = 5, .swap = true, .consumers = 1}>();
}

TEST(OperandTile, ConsumersOfColumnsBeginWithAChunk) {
  expect_every_layout<TiledConfig{.bm = 64,
                                  .bn = 192,
                                  .bk = 64,
                                  .stages = 3,
                                  .schedule = Schedule::kColumns,
                                  .consumers = 3}>();
  constexpr TiledConfig kNarrow{.bm = 192, .bn = 80, .schedule = Schedule::kColumns};
  EXPECT_EQ(why_invalid(TiledKernel{kNarrow, kLayouts[1]}), TiledRule::kValid);
  EXPECT_EQ(why_invalid(TiledKernel{kNarrow, kLayouts[2]}), TiledRule::kLayout);
  EXPECT_EQ(why_invalid(TiledKernel{kNarrow, kLayouts[3]}), TiledRule::kLayout);
}

template <SwapAbKernel kKernel>
void expect_swap_ab_operands() {
  static_assert(why_invalid(kKernel) == SwapAbRule::kValid);
  constexpr SwapAbKernel k = kKernel;
  constexpr int kBytes = element_bytes(k.gemm.input);
  using A = OperandBoxes<k.gemm.a_major, k.bm, k.bk, a_slice(k), kBytes>;
  using B = OperandBoxes<k.gemm.b_major, k.bn, k.bk, b_slice(k), kBytes>;
  const std::vector<MatrixMap> maps = input_maps(k);
  for (const bool is_a : {true, false}) {
    const Operand operand{
        .major = is_a ? k.gemm.a_major : k.gemm.b_major,
        .type = k.gemm.input,
        .bk = k.bk,
        .boxes = is_a ? all_boxes<A>(k.bm, 1, a_slice(k)) : all_boxes<B>(k.bn, 1, b_slice(k)),
        .stage_bytes = is_a ? a_stage_bytes(k) : b_stage_bytes(k),
        .stages = k.stages,
        .begin = static_cast<std::uint32_t>(is_a ? 0 : smem_layout(k).b)};
    for (int stage = 0; stage < k.stages; ++stage) {
      const auto at =
          kSmemBase + operand.begin + static_cast<std::uint32_t>(stage * operand.stage_bytes);
      const Memory memory = received(operand, maps.at(is_a ? 0 : 1), at);
      EXPECT_EQ(memory.elements() * kBytes, static_cast<std::size_t>(operand.stage_bytes));
      if (is_a) {
        expect_reads<OperandTile<kKernel.gemm.a_major, kKernel.bm, kKernel.bk, kBytes>>(
            operand, memory, at, 0, k.bm, k.bm);
        continue;
      }
      for (int consumer = 0; consumer < consumer_count(k); ++consumer) {
        expect_reads<OperandTile<kKernel.gemm.b_major, kKernel.bn, kKernel.bk, kBytes>>(
            operand, memory, at, consumer * kMmaM, kMmaM, kMmaM);
      }
    }
  }
}

template <SwapAbConfig kConfig>
void expect_every_swap_ab_layout() {
  expect_swap_ab_operands<SwapAbKernel{kConfig, kLayouts[0]}>();
  expect_swap_ab_operands<SwapAbKernel{kConfig, kLayouts[1]}>();
  expect_swap_ab_operands<SwapAbKernel{kConfig, kLayouts[2]}>();
  expect_swap_ab_operands<SwapAbKernel{kConfig, kLayouts[3]}>();
}

TEST(OperandTile, EveryElementOfASwapAbTileIsReadWhereItWasCopied) {
  expect_every_swap_ab_layout<SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .stages = 3}>();
  expect_every_swap_ab_layout<SwapAbConfig{.bm = 72, .bn = 192, .bk = 64, .stages = 3}>();
}

// ---- 8-bit operands, whose rows have twice the elements in as many bytes ----

constexpr GemmKind kPromoted{.input = DataType::kE4m3};
constexpr GemmKind kFast{.input = DataType::kE5m2, .b_is_other = true, .fast_sums = true};

TEST(OperandTile, EveryEightBitElementIsReadWhereItWasCopied) {
  expect_operands<TiledKernel{{.bm = 128, .bn = 128, .bk = 128, .stages = 3}, kFast}>();
  expect_operands<TiledKernel{{.bm = 128, .bn = 72, .bk = 256, .stages = 3}, kFast}>();
  expect_operands<TiledKernel{{.bm = 256, .bn = 64, .bk = 64, .stages = 3}, kFast}>();
  expect_operands<TiledKernel{
      {.bm = 128, .bn = 192, .bk = 64, .stages = 3, .cluster_m = 4, .cluster_n = 2}, kFast}>();
  expect_operands<TiledKernel{{.bm = 200, .bn = 128, .bk = 128, .stages = 3, .swap = true},
                              kFast}>();
  expect_operands<TiledKernel{
      {.bm = 64, .bn = 192, .bk = 128, .stages = 3, .schedule = Schedule::kColumns, .consumers = 3},
      kFast}>();
  expect_swap_ab_operands<SwapAbKernel{{.bm = 16, .bn = 64, .bk = 256, .stages = 3}, kFast}>();
  expect_swap_ab_operands<SwapAbKernel{{.bm = 72, .bn = 192, .bk = 128, .stages = 3}, kFast}>();
}

TEST(OperandTile, PiecesOfPromotedSumsReadTheirRowsAndColumns) {
  constexpr TiledKernel kBlocks{
      {.bm = 256, .bn = 128, .bk = 128, .stages = 3, .mma_depth = 0, .promote = 128}, kPromoted};
  EXPECT_EQ(promoted_pieces(kBlocks), 2);
  expect_operands<kBlocks>();
  constexpr TiledKernel kHalves{
      {.bm = 128, .bn = 240, .bk = 128, .stages = 3, .mma_depth = 0, .promote = 128}, kPromoted};
  EXPECT_EQ(promoted_pieces(kHalves), 2);
  expect_operands<kHalves>();
  constexpr TiledKernel kWhole{{.bm = 128, .bn = 128, .bk = 128, .stages = 3, .promote = 512},
                               kPromoted};
  EXPECT_EQ(promoted_pieces(kWhole), 1);
  expect_operands<kWhole>();
}

// The same stage of 16-bit elements has the same bytes at the same places.
TEST(OperandTile, OfEightBitElementsIsThatOfSixteenBitOnesWithHalfTheDepth) {
  using Bytes = OperandTile<Major::kK, 72, 256, 1>;
  using Pairs = OperandTile<Major::kK, 72, 128, 2>;
  EXPECT_EQ(Bytes::descriptor(0x400), Pairs::descriptor(0x400));
  for (int k = 0; k < 128; k += 16) EXPECT_EQ(Bytes::k_units(2 * k), Pairs::k_units(k));
  EXPECT_EQ(Bytes::kMnUnits, Pairs::kMnUnits);
}

}  // namespace
}  // namespace hgemm
