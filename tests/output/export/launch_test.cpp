// How kernels are launched, the arithmetic that this program and exported packages share. No GPU.
#include "families/launch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "gemm/codec.h"
#include "tests/output/export/fixture.h"

namespace hgemm {
namespace {

using testing::SizeIs;
using namespace test;

/// Made for bf16 problems, whose extents are given at launch.
Kernel kernel(const KernelConfig& config) { return kernel_for(config, GemmProblem{}); }

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

struct Encoded {
  LaunchParams params;
  std::vector<MatrixMap> maps;
};
Encoded encoded(const KernelConfig& config, const GemmProblem& problem, const Operands& operands,
                const WorkspaceAddresses& workspace = {}) {
  Encoded out;
  out.params = make_launch_params(kernel_for(config, problem), problem.extents(), operands,
                                  workspace, [&out](const MatrixMap& map) {
                                    out.maps.push_back(map);
                                    return TensorMap{};
                                  });
  return out;
}

TEST(Launch, MapsHaveTheBoxesThatTheKernelCopies) {
  const auto [params, maps] =
      encoded(kSwapAb, export_shape(16, 512, 640), {at(0), at(256), at(512)});
  ASSERT_THAT(maps, SizeIs(3));  // no tail: a consumer has 64 columns
  EXPECT_EQ(maps[0].box_rows, 16);
  EXPECT_EQ(maps[1].box_rows, 64);
  EXPECT_EQ(maps[1].stride_bytes, 1280);
  EXPECT_EQ(maps[1].promotion_bytes, 128);
  EXPECT_EQ(maps[2].box_rows, kGroupRows);
  EXPECT_EQ(params.kernel.ldb, 640);
  // Columns beyond whole boxes have a map of their own, and cluster neighbours share B.
  const auto wide = encoded(kWide, export_shape(256, 512, 640), {at(0), at(256), at(512)}).maps;
  ASSERT_THAT(wide, SizeIs(4));
  EXPECT_EQ(wide[1].box_rows, 48);
  EXPECT_EQ(wide[3].box_cols, 32);
  EXPECT_EQ(wide[3].swizzle_bytes, 0);
}

// Rows of an MN-major operand are along M or N, in boxes of 64 of them; CTAs share these along K.
TEST(Launch, MapsOfOtherLayoutsHaveChunks) {
  GemmProblem problem = export_shape(256, 512, 640);
  problem.layout = Layout::kNT;
  problem.lda = 264;
  const auto wide = encoded(kWide, problem, {at(0), at(256), at(512)}).maps;
  ASSERT_THAT(wide, SizeIs(4));
  for (const std::size_t input : {0, 1}) {
    EXPECT_EQ(wide[input].rows, 640);
    EXPECT_EQ(wide[input].box_cols, 64);
    EXPECT_EQ(wide[input].swizzle_bytes, 128);
  }
  EXPECT_EQ(wide[0].cols, 256);
  EXPECT_EQ(wide[0].stride_bytes, 528);
  EXPECT_EQ(wide[0].box_rows, 64) << "a CTA of its own for each A";
  EXPECT_EQ(wide[1].cols, 512);
  EXPECT_EQ(wide[1].stride_bytes, 1024);
  EXPECT_EQ(wide[1].box_rows, 32) << "two CTAs share B";
  const auto swapped = encoded(kSwapAb, problem, {at(0), at(256), at(512)}).maps;
  EXPECT_EQ(swapped.at(0).box_rows, 128);
  EXPECT_EQ(swapped.at(1).box_rows, 128);
  // TT: A as before.
  problem.layout = Layout::kTT;
  problem.lda = 0;
  const auto mixed = encoded(kWide, problem, {at(0), at(256), at(512)}).maps;
  EXPECT_EQ(mixed.at(0).rows, 256);
  EXPECT_EQ(mixed.at(0).box_rows, 128);
  EXPECT_EQ(mixed.at(1).rows, 640);
}

TEST(Launch, MapsOfABatchHaveTheProductsAsPlanes) {
  GemmProblem problem = export_batch(true);
  problem.ldd = 520;
  problem.stride_d = 1 << 20;
  const Operands operands{at(0), at(256), at(512)};
  const auto [params, maps] = encoded(kWide, problem, operands);
  ASSERT_THAT(maps, SizeIs(4));
  for (const MatrixMap& map : maps) {
    ASSERT_EQ(map.outer_dimensions, 1) << map.name;
    EXPECT_EQ(map.outer[0].box, 1) << "a box is of one product";
  }
  EXPECT_EQ(maps[0].outer[0].extent, 8);
  EXPECT_EQ(maps[0].rows, 256);
  EXPECT_EQ(maps[0].outer[0].stride_bytes, 256 * 640 * 2);
  EXPECT_EQ(maps[1].outer[0].extent, 1) << "all products have the same B";
  EXPECT_EQ(maps[2].outer[0].extent, 8);
  EXPECT_EQ(maps[2].stride_bytes, 1040);
  EXPECT_EQ(maps[2].outer[0].stride_bytes, 2 << 20);
  EXPECT_EQ(params.kernel.products, 8);
  EXPECT_EQ(params.kernel.a_step, 1);
  EXPECT_EQ(params.kernel.b_step, 0);
  EXPECT_EQ(params.kernel.d_stride, 1 << 20);
  EXPECT_EQ(encoded(kWide, export_shape(256, 512, 640), operands).maps.at(0).outer_dimensions, 0);
}

TEST(Launch, ABatchHasTheTilesOfAllProducts) {
  const GemmProblem one = export_shape(256, 512, 640);
  const Kernel kernel_of_batch = kernel_for(kWide, export_batch());
  EXPECT_EQ(grid_tiles(kernel_of_batch, export_batch().extents()),
            8 * grid_tiles(kernel(kWide), one.extents()));
  EXPECT_EQ(grid_ctas(kernel_of_batch, export_batch().extents(), 66), 96)
      << "48 clusters of two CTAs";
  GemmProblem many = export_batch();
  many.batch = 1 << 25;
  EXPECT_GT(grid_tiles(kernel_of_batch, many.extents()), kMaxTiles);
}

TEST(Launch, PacksABatchAsOneMatrix) {
  TiledConfig config = kWide;
  config.pack = true;
  config.store = StorePath::kStaged;
  GemmProblem problem = export_shape(100, 50, 33);
  problem.batch = 4;
  problem.stride_b = 0;
  const WorkspaceBytes bytes = workspace_bytes(kernel_for(config, problem), problem.extents(), 2);
  EXPECT_EQ(bytes.packed_a, 400u * 40 * 2);
  EXPECT_EQ(bytes.packed_b, 50u * 40 * 2);
  const auto [params, maps] =
      encoded(config, problem, {at(2), at(4), at(6)}, {.packed_a = at(1024), .packed_b = at(2048)});
  EXPECT_EQ(params.pack.matrices[0].rows, 400);
  EXPECT_EQ(params.pack.matrices[1].rows, 50);
  EXPECT_EQ(maps.at(0).rows, 100);
  EXPECT_EQ(maps.at(0).outer[0].extent, 4);
  EXPECT_EQ(maps.at(0).outer[0].stride_bytes, 100 * 40 * 2);
  // Rows with others between them are not one matrix.
  problem.lda = 4 * 33;
  problem.stride_a = 33;
  EXPECT_NE(why_unsupported(kernel_for(config, problem), problem.extents()), nullptr);
}

TEST(Launch, PacksRowsAlongMAndN) {
  TiledConfig config = kWide;
  config.pack = true;
  config.store = StorePath::kStaged;
  GemmProblem problem = export_shape(100, 50, 33);
  problem.layout = Layout::kNT;
  const WorkspaceBytes bytes = workspace_bytes(kernel_for(config, problem), problem.extents(), 2);
  EXPECT_EQ(bytes.packed_a, 33u * 104 * 2);
  EXPECT_EQ(bytes.packed_b, 33u * 56 * 2);
  const auto [params, maps] =
      encoded(config, problem, {at(0), at(4), at(6)}, {.packed_a = at(1024), .packed_b = at(2048)});
  EXPECT_EQ(params.pack.matrices[0].rows, 33);
  EXPECT_EQ(params.pack.matrices[0].cols, 100);
  EXPECT_EQ(params.pack.matrices[1].source_leading, 50);
  EXPECT_EQ(maps.at(0).stride_bytes, 208);
}

TEST(Launch, NumberedClustersGetTheirNumbersAndKeepTheirOwnWithoutATable) {
  const GemmProblem problem = export_shape(384, 256, 4096);
  const Operands operands{at(0), at(256), at(512)};
  const auto numbers_of = [&](const WorkspaceAddresses& workspace) {
    ClusterNumbers numbers{};
    std::ranges::copy(encoded(kStreamK, problem, operands, workspace).params.kernel.numbers,
                      numbers.begin());
    return numbers;
  };
  EXPECT_TRUE(is_numbered(kernel(kStreamK)));
  EXPECT_FALSE(is_numbered(kernel(kWide)));
  EXPECT_FALSE(is_numbered(kernel(kSwapAb)));
  EXPECT_EQ(numbers_of({}), unnumbered());
  const ClusterNumbers dealt_out = numbers_by_gpc({3, 1, 2, 3, 1, 2});
  EXPECT_EQ(numbers_of({.numbers = &dealt_out}), dealt_out);
}

// C is copied as a K-major A is, whatever its type; the bias as a matrix of one row.
TEST(Launch, CAndTheBiasHaveMapsUnlessThreadsLoadThem) {
  const auto maps_of = [](TiledConfig config, const char* text) {
    return encoded(config, parse_problem(text), {at(0), at(256), at(512), at(1024), at(2048)}).maps;
  };
  const auto half = maps_of({.bm = 320, .bn = 64, .consumers = 1}, "640x512x640.cbf16.bias");
  ASSERT_THAT(half, SizeIs(5));  // A, B, C, the bias, D
  EXPECT_EQ(half[2].data, at(1024));
  EXPECT_EQ(half[2].box_cols, 64);
  EXPECT_EQ(half[2].box_rows, 160);  // two boxes: 320 rows are more than one may have
  EXPECT_EQ(half[2].stride_bytes, 1024);
  EXPECT_EQ(half[2].swizzle_bytes, 128);
  EXPECT_EQ(half[3].data, at(2048));
  EXPECT_EQ(half[3].cols, 512);
  EXPECT_EQ(half[3].rows, 1);
  EXPECT_EQ(half[3].box_cols, kBiasBoxElements);
  const auto narrow = maps_of({.bn = 64, .bk = 32}, "128x512x640.dfp32.cfp32.biasm");
  EXPECT_EQ(narrow[2].box_cols, 16);
  EXPECT_EQ(narrow[2].swizzle_bytes, 64);
  EXPECT_EQ(narrow[2].type, DataType::kFp32);
  EXPECT_EQ(narrow[3].cols, 128);
  // 100 elements are no whole number of units of 16 bytes; one row needs no stride.
  EXPECT_EQ(maps_of({.bn = 64}, "100x512x640.biasm")[2].stride_bytes, 208);
  EXPECT_THAT(maps_of({.bn = 64, .store = StorePath::kStaged}, "128x512x640.cbf16.bias"),
              SizeIs(2));
  EXPECT_THAT(maps_of({.bn = 64, .cluster_m = 2, .cluster_n = 2}, "256x512x640.cbf16.bias"),
              SizeIs(3));
}

TEST(Launch, FactorsAreParametersOfEachLaunch) {
  const GemmProblem problem = parse_problem("256x512x640.cbf16.scaled-bias");
  const Operands operands{at(0), at(256), at(512), at(1024), at(2048)};
  for (const KernelConfig& config :
       {KernelConfig(kWide), KernelConfig(kSwapAb), KernelConfig(GemvConfig{})}) {
    const LaunchParams of_one = encoded(config, problem, operands).params;
    EXPECT_EQ(of_one.kernel.alpha, 1);
    EXPECT_EQ(of_one.kernel.beta, 1);
    Operands scaled = operands;
    scaled.alpha = 0.5F;
    scaled.beta = -2;
    const LaunchParams other = encoded(config, problem, scaled).params;
    EXPECT_EQ(other.kernel.alpha, 0.5F);
    EXPECT_EQ(other.kernel.beta, -2);
  }
}

TEST(Launch, ASecondOutputHasTheMapsOfD) {
  const GemmProblem problem = parse_problem("256x512x640.gelu-aux.ldd528");
  const Operands operands{.a = at(0), .b = at(256), .d = at(512), .aux = at(4096)};
  for (const auto& [config, boxes] :
       {std::pair{KernelConfig(kWide), 2u}, std::pair{KernelConfig(kSwapAb), 1u}}) {
    const auto [params, maps] = encoded(config, problem, operands);
    EXPECT_EQ(params.kernel.aux_pointer, at(4096));
    ASSERT_THAT(maps, SizeIs(2 + 2 * boxes));
    for (std::size_t i = 2; i < 2 + boxes; ++i) {
      const MatrixMap& of_aux = maps[i + boxes];
      EXPECT_EQ(maps[i].data, at(512));
      EXPECT_EQ(of_aux.data, at(4096));
      EXPECT_EQ(of_aux.box_cols, maps[i].box_cols);
      EXPECT_EQ(of_aux.stride_bytes, 2 * 528);
      EXPECT_EQ(of_aux.swizzle_bytes, maps[i].swizzle_bytes);
    }
  }
  Operands misaligned = operands;
  misaligned.aux = at(4098);
  EXPECT_STREQ(find_misaligned(kernel_for(kWide, problem), problem.extents(), misaligned).name,
               "the second output");
}

TEST(Launch, DIsMappedInItsOwnType) {
  GemmProblem problem = export_shape(256, 512, 640);
  const auto bf16 = encoded(kWide, problem, {at(0), at(256), at(512)}).maps;
  problem.d_type = DataType::kFp32;
  const auto fp32 = encoded(kWide, problem, {at(0), at(256), at(512)}).maps;
  EXPECT_EQ(bf16.at(2).type, DataType::kBf16);
  EXPECT_EQ(bf16.at(2).box_cols, 64);
  EXPECT_EQ(bf16.at(2).stride_bytes, 1024);
  EXPECT_EQ(fp32.at(2).type, DataType::kFp32);
  EXPECT_EQ(fp32.at(2).box_cols, 32) << "as many bytes";
  EXPECT_EQ(fp32.at(2).stride_bytes, 2048);
  for (const std::size_t input : {0, 1}) {
    EXPECT_EQ(fp32.at(input).type, DataType::kBf16);
    EXPECT_EQ(fp32.at(input).box_cols, bf16.at(input).box_cols);
  }
}

TEST(Launch, PacksWhatTheCopyEngineCannotFetch) {
  TiledConfig config = kWide;
  config.pack = true;
  config.store = StorePath::kStaged;
  const GemmProblem problem = export_shape(100, 50, 33);
  const WorkspaceBytes bytes = workspace_bytes(kernel(config), problem.extents(), 2);
  EXPECT_EQ(bytes.packed_a, 100u * 40 * 2);
  EXPECT_EQ(bytes.flags, 0u);
  const auto [params, maps] =
      encoded(config, problem, {at(2), at(4), at(6)}, {.packed_a = at(1024), .packed_b = at(2048)});
  EXPECT_EQ(params.pack.matrices[0].rows, 100);
  EXPECT_EQ(maps.at(0).data, at(1024));
  EXPECT_EQ(params.kernel.lda, 40);
  // Rows that are aligned stay where they are.
  const auto aligned = encoded(config, export_shape(100, 50, 32), {at(0), at(256), at(2)});
  EXPECT_EQ(aligned.params.pack.matrices[0].rows, 0);
}

TEST(Launch, GridAndWorkspaceFollowTheScheduler) {
  const ProblemExtents p = export_shape(384, 256, 4096).extents();
  EXPECT_EQ(grid_ctas(kernel(kSwapAb), p, 0), 24 * 4 * 2) << "a cluster of two for each tile";
  EXPECT_EQ(grid_ctas(kernel(kWide), p, 66), 2 * 3 * 2) << "a cluster for each tile, of two CTAs";
  EXPECT_EQ(grid_ctas(kernel(kWide), p, 4), 8) << "no more than are resident";
  EXPECT_EQ(grid_ctas(kernel(kStreamK), p, 132), 96)
      << "six tiles, in shares of at least four k blocks";
  const WorkspaceBytes bytes = workspace_bytes(kernel(kStreamK), p, 96);
  EXPECT_EQ(bytes.partials, 96u * 128 * 128 * 4);
  EXPECT_EQ(bytes.flags, 96u * 8 * 4);
  EXPECT_GT(grid_tiles(kernel(kWide), export_shape(1 << 30, 1 << 30, 64).extents()), kMaxTiles);
}

// What one half refuses by extents, the other must not launch.
TEST(Launch, TooManyTilesAreRefusedBeforeAnyIsCounted) {
  const std::int64_t sizes[] = {
      1, 8, 4096, 1 << 20, (1 << 25) - 64, 1 << 25, (1 << 28) - 8, 1 << 28, 1 << 29, 1 << 30};
  int few = 0, many = 0;
  for (const char* label :
       {"bm64.bn8.bk64.q4.c1x1.coop1.d1.ngroup64.tma.persist",
        "bm64.bn8.bk64.q4.c1x1.coop1.d1.group64.tma.persist",
        "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist",
        "swap_ab.bm8.bn64.bk64.q4.d1.tma.single", "gemv.v16.r8.s256.q1.w4.single"}) {
    const KernelConfig config = parse_label(label);
    for (const std::int64_t m : sizes) {
      for (const std::int64_t n : sizes) {
        const GemmProblem problem = export_shape(m, n, 8);
        if (why_unsupported(kernel_for(config, problem), problem.extents())) continue;
        const bool launched =
            grid_tiles(kernel_for(config, problem), problem.extents()) <= kMaxTiles;
        EXPECT_EQ(why_not(config, problem) == nullptr, launched)
            << label << " at " << to_string(problem);
        ++(launched ? few : many);
      }
    }
  }
  EXPECT_GT(few, 100);
  EXPECT_GT(many, 100);
}

// A band of 64 rows of 2^25 tiles would be 2^31 tiles.
TEST(Launch, OrdersOfTheMostTilesStayWithin32Bits) {
  constexpr auto kMost = static_cast<int>(kMaxTiles);
  for (const TileOrder order : {TileOrder::kGroupedRows, TileOrder::kSnakeColumns}) {
    for (const TileGrid grid : {TileGrid{1, kMost}, TileGrid{kMost, 1}, TileGrid{64, kMost / 64}}) {
      for (const int index : {0, 1, grid.tiles() / 2, grid.tiles() - 1}) {
        const TileCoord at = tile_at(order, 64, index, grid);
        EXPECT_TRUE(at.m >= 0 && at.m < grid.m && at.n >= 0 && at.n < grid.n)
            << at.m << " " << at.n;
      }
    }
  }
}

TEST(Launch, TakesNoMoreSmsThanTheConfigSays) {
  const ProblemExtents p = export_shape(384, 256, 4096).extents();  // six tiles of a cluster of two
  TiledConfig config = kWide;
  config.sms = 9;
  EXPECT_EQ(grid_ctas(kernel(config), p, 66), 8) << "whole clusters";
  config.sms = 100;
  EXPECT_EQ(grid_ctas(kernel(config), p, 66), 12) << "a cluster for each tile is enough";
  EXPECT_EQ(grid_ctas(kernel(config), p, 4), 8) << "no more than are resident";
  config.sms = kFewestSms;
  EXPECT_EQ(grid_ctas(kernel(config), p, 66), 12);
  EXPECT_EQ(grid_ctas(kernel(config), p, 5), 6) << "two waves: three clusters are enough for them";
  EXPECT_EQ(grid_ctas(kernel(config), p, 2), 4) << "three full waves";
  TiledConfig streamed = kStreamK;
  streamed.sms = 50;
  EXPECT_EQ(grid_ctas(kernel(streamed), p, 132), 50);
}

TEST(Launch, AddressesMustSuitTheKernel) {
  const ProblemExtents p = export_shape(384, 256, 4096).extents();
  EXPECT_EQ(find_misaligned(kernel(kWide), p, {at(16), at(32), at(48)}).name, nullptr);
  EXPECT_STREQ(find_misaligned(kernel(kWide), p, {at(8), at(32), at(48)}).name, "A");
  EXPECT_STREQ(find_misaligned(kernel(kWide), p, {at(16), at(32), at(2)}).name, "D");
  TiledConfig config = kWide;
  config.pack = true;
  EXPECT_EQ(find_misaligned(kernel(config), p, {at(2), at(4), at(48)}).name, nullptr);
  EXPECT_STREQ(find_misaligned(kernel(config), p, {at(2), at(1), at(48)}).name, "B");
}

/// Matrices side by side are not one matrix, so no launch packs them.
TEST(Launch, OnlyProductsThatFollowOneAnotherArePacked) {
  ProblemExtents p{64, 128, 128, 512, 128, 128};
  p.batch = {4, 128, 128 * 128, 64 * 128};
  TiledConfig config = kWide;
  config.pack = true;
  Kernel batched = TiledKernel{config, {.batched = true}};
  EXPECT_EQ(why_unsupported(batched, p), nullptr) << "nothing has to be packed";
  EXPECT_EQ(find_misaligned(batched, p, {at(16), at(2), at(48)}).name, nullptr);
  EXPECT_STREQ(find_misaligned(batched, p, {at(2), at(16), at(48)}).name, "A");
  p.ldb = 129;
  p.batch.stride_b = 128 * 129;
  EXPECT_EQ(why_unsupported(batched, p), nullptr) << "B alone has to be";
  p.lda = 513;
  EXPECT_NE(why_unsupported(batched, p), nullptr);
}

/// The operands are arrays of addresses, which the host does not see. What lies outside of a matrix
/// comes through maps at mapped addresses.
TEST(Launch, ByPointersTheMapsBeginAtAddressZero) {
  GemmProblem problem = export_batch();
  problem.by_pointers = true;
  const auto [params, maps] = encoded(kWide, problem, {at(16), at(24), at(8)});
  EXPECT_EQ(params.kernel.a_pointer, at(16));
  EXPECT_EQ(params.kernel.d_pointer, at(8));
  ASSERT_THAT(maps, SizeIs(6));
  for (const std::size_t outside : {2u, 3u}) {
    const MatrixMap& map = maps[outside];
    const MatrixMap& anywhere = maps[outside - 2];
    EXPECT_EQ(map.data, at(16)) << map.name << ": the array's units of 16 bytes";
    EXPECT_EQ(map.outer_dimensions, 0) << map.name;
    EXPECT_EQ(map.rows, anywhere.rows) << map.name << ": what is outside of one is of the other";
    EXPECT_EQ(map.cols, anywhere.cols) << map.name;
    EXPECT_EQ(map.box_rows, anywhere.box_rows) << map.name << ": it arrives as the other's boxes";
    EXPECT_EQ(map.swizzle_bytes, anywhere.swizzle_bytes) << map.name;
  }
  for (const std::size_t anywhere : {0u, 1u, 4u, 5u}) {
    const MatrixMap& map = maps[anywhere];
    EXPECT_EQ(map.data, nullptr) << map.name;
    ASSERT_EQ(map.outer_dimensions, 2) << map.name;
    EXPECT_EQ(map.outer[0].stride_bytes, 16) << map.name;
    EXPECT_EQ(map.outer[1].stride_bytes, map.outer[0].extent * 16) << "no address twice";
    EXPECT_GE(map.outer[1].extent * map.outer[1].stride_bytes, 1LL << 47) << "all addresses";
  }
  const Kernel by_pointers = kernel_for(kWide, problem);
  EXPECT_EQ(find_misaligned(by_pointers, problem.extents(), {at(16), at(24), at(8)}).name, nullptr);
  EXPECT_STREQ(find_misaligned(by_pointers, problem.extents(), {at(16), at(20), at(8)}).name,
               "the array of B's addresses");
}

TEST(Launch, OnlyWhatIsAskedForIsCooperativeOrDependent) {
  LaunchAttributes plain, together;
  const cudaLaunchConfig_t config = launch_config(kernel(kStreamK), 96, nullptr, &plain);
  EXPECT_EQ(config.numAttrs, 1u);
  EXPECT_EQ(config.blockDim.x, 384u);
  launch_config(kernel(kStreamK), 96, nullptr, &together, true);
  ASSERT_EQ(together.count, 2u);
  EXPECT_EQ(together.values[1].id, cudaLaunchAttributeCooperative);
  SwapAbConfig pdl = kSwapAb;
  pdl.pdl = true;
  LaunchAttributes dependent;
  launch_config(kernel(pdl), 2, nullptr, &dependent);
  EXPECT_EQ(dependent.values[1].id, cudaLaunchAttributeProgrammaticStreamSerialization);
}

}  // namespace
}  // namespace hgemm
