// How kernels are launched, the arithmetic that this program and exported packages share. No GPU.
#include "gpu/launch.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/export/fixture.h"

namespace hgemm {
namespace {

using testing::SizeIs;
using namespace test;

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

struct Encoded {
  LaunchParams params;
  std::vector<MatrixMap> maps;
};
Encoded encoded(const KernelConfig& config, const Shape& shape, const Operands& operands,
                const WorkspaceAddresses& workspace = {}) {
  Encoded out;
  out.params = make_launch_params(config, shape.extents(), operands, workspace,
                                  [&out](const MatrixMap& map) {
                                    out.maps.push_back(map);
                                    return TensorMap{};
                                  });
  return out;
}

TEST(Launch, MapsHaveTheBoxesThatTheKernelCopies) {
  const auto [params, maps] = encoded(kSwap, export_shape(16, 512, 640), {at(0), at(256), at(512)});
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

TEST(Launch, PacksWhatTheCopyEngineCannotFetch) {
  KernelConfig config = kWide;
  config.pack = true;
  config.epilogue = Epilogue::kStaged;
  const Shape shape = export_shape(100, 50, 33);
  const WorkspaceBytes bytes = workspace_bytes(config, shape.extents(), 2);
  EXPECT_EQ(bytes.packed_a, 100u * 40 * 2);
  EXPECT_EQ(bytes.flags, 0u);
  const auto [params, maps] =
      encoded(config, shape, {at(2), at(4), at(6)}, {.packed_a = at(1024), .packed_b = at(2048)});
  EXPECT_EQ(params.pack.matrices[0].rows, 100);
  EXPECT_EQ(maps.at(0).data, at(1024));
  EXPECT_EQ(params.kernel.lda, 40);
  // Rows that are aligned stay where they are.
  const auto aligned = encoded(config, export_shape(100, 50, 32), {at(0), at(256), at(2)});
  EXPECT_EQ(aligned.params.pack.matrices[0].rows, 0);
}

TEST(Launch, GridAndWorkspaceFollowTheWalk) {
  const ProblemExtents p = export_shape(384, 256, 4096).extents();
  EXPECT_EQ(grid_ctas(kSwap, p, 0), 24 * 4 * 2) << "a cluster of two for each tile";
  EXPECT_EQ(grid_ctas(kWide, p, 66), 2 * 3 * 2) << "a cluster for each tile, of two CTAs";
  EXPECT_EQ(grid_ctas(kWide, p, 4), 8) << "no more than are resident";
  EXPECT_EQ(grid_ctas(kStream, p, 132), 96) << "six tiles, in shares of at least four k blocks";
  const WorkspaceBytes bytes = workspace_bytes(kStream, p, 96);
  EXPECT_EQ(bytes.partials, 96u * 128 * 128 * 4);
  EXPECT_EQ(bytes.flags, 96u * 8 * 4);
  EXPECT_GT(grid_tiles(kWide, export_shape(1 << 30, 1 << 30, 64).extents()), kMaxTiles);
}

TEST(Launch, AddressesMustSuitTheKernel) {
  EXPECT_EQ(find_misaligned(kWide, {at(16), at(32), at(48)}).name, nullptr);
  EXPECT_STREQ(find_misaligned(kWide, {at(8), at(32), at(48)}).name, "A");
  EXPECT_STREQ(find_misaligned(kWide, {at(16), at(32), at(2)}).name, "D");
  KernelConfig config = kWide;
  config.pack = true;
  EXPECT_EQ(find_misaligned(config, {at(2), at(4), at(48)}).name, nullptr);
  EXPECT_STREQ(find_misaligned(config, {at(2), at(1), at(48)}).name, "B");
}

TEST(Launch, OnlyWhatIsAskedForIsCooperativeOrDependent) {
  LaunchAttributes plain, together;
  const cudaLaunchConfig_t config = launch_config(kStream, 96, nullptr, &plain);
  EXPECT_EQ(config.numAttrs, 1u);
  EXPECT_EQ(config.blockDim.x, 384u);
  launch_config(kStream, 96, nullptr, &together, true);
  ASSERT_EQ(together.count, 2u);
  EXPECT_EQ(together.values[1].id, cudaLaunchAttributeCooperative);
  KernelConfig pdl = kSwap;
  pdl.pdl = true;
  LaunchAttributes dependent;
  launch_config(pdl, 2, nullptr, &dependent);
  EXPECT_EQ(dependent.values[1].id, cudaLaunchAttributeProgrammaticStreamSerialization);
}

}  // namespace
}  // namespace hgemm
