// Kernels that compute wrong results: one edit each to the real sources. They must compile
// (tests/compile/broken_kernels_test.cpp), and verification must catch them
// (tests/gpu/verify_test.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.h"
#include "base/error.h"
#include "families/family.h"

namespace hgemm::test {

/// The kernel files with the first `text` of kernels/`file` replaced.
class EditedKernels {
 public:
  EditedKernels(std::string_view file, std::string_view text, std::string_view replacement)
      : files(embedded_kernels().begin(), embedded_kernels().end()) {
    const std::string path = "kernels/" + std::string(file);
    const auto source = std::ranges::find(files, path, &EmbeddedFile::path);
    if (source == files.end()) throw Error("there is no " + path);
    edited_ = source->text;
    const std::size_t at = edited_.find(text);
    if (at == std::string::npos) throw Error(path + " no longer says: " + std::string(text));
    edited_.replace(at, text.size(), replacement);
    source->text = edited_;
  }
  EditedKernels(const EditedKernels&) = delete;
  EditedKernels& operator=(const EditedKernels&) = delete;

  std::vector<EmbeddedFile> files;

 private:
  std::string edited_;
};

inline const TiledConfig kTile{.bm = 128, .bn = 128, .bk = 64, .stages = 4};
inline const TiledConfig kTileOf8Bits{
    .bm = 128, .bn = 128, .bk = 128, .stages = 4, .mma_depth = 0, .promote = 128};
inline const SwapAbConfig kSwapped{.bm = 128, .bn = 128, .bk = 128, .stages = 3, .splits = 2};
inline const GemvConfig kGemv{
    .vectors = 4, .rows = 16, .step = 512, .depth = 2, .warps = 8, .splits = 2};

template <class Set>
KernelConfig tile_with(const Set& set, TiledConfig config = kTile) {
  set(config);
  return config;
}
inline KernelConfig scheduled(TileScheduler scheduler, int splits = 1) {
  return tile_with([&](TiledConfig& c) {
    c.scheduler = scheduler;
    c.splits = splits;
  });
}
/// Tiles of promoted sums, which wait there to be stored.
inline const KernelConfig kWaitsInSums =
    tile_with([](TiledConfig& c) { c.store = StorePath::kOverlapped; }, kTileOf8Bits);
/// Parts of K that are added up in memory, by each CTA a share.
inline const KernelConfig kShared = tile_with([](TiledConfig& c) {
  c.store = StorePath::kDirect;
  c.scheduler = TileScheduler::kSplitK;
  c.splits = 2;
});

struct BrokenKernel {
  const char* name;
  const char* file;  ///< in kernels/
  const char* text;  ///< its first occurrence is replaced
  const char* replacement;
  KernelConfig config = kTile;
  DataType output = DataType::kBf16;
  Epilogue epilogue = {};
  std::int64_t batch = 1;
  bool by_pointers = false;
  OutputScaling output_scaling = OutputScaling::kGiven;

  /// With 8-bit operands if D's scales are found.
  void describe(GemmProblem& problem) const {
    if (output_scaling != OutputScaling::kGiven) problem.set_types(output);
    problem.d_type = output;
    problem.output_scaling = output_scaling;
    problem.epilogue = epilogue;
    problem.batch = batch;
    problem.by_pointers = by_pointers;
  }
};
inline constexpr std::int64_t kBatch = 3;
inline constexpr std::int64_t kTwo = 2;
inline constexpr Epilogue kScaled{.scaled = true};
inline constexpr Epilogue kWithAux{.activation = Activation::kRelu, .aux = true};
inline constexpr Epilogue kSwiglu{
    .bias = Bias::kNone, .activation = Activation::kSilu, .gate = Gate::kHalves};
inline const BrokenKernel kBrokenKernels[] = {
    // Columns beyond K are zeros. (A consumer that skipped a multiplication would have ptxas
    // serialise wgmma, and one that awaited fewer stages would leave the producer waiting.)
    {"last K step left out", "tiled/producer.cuh", "sources, stage, k);",
     "sources, stage, k + kKernel.bk < end ? k : end);"},
    {"tile coordinates swapped", "tiled/consumer.cuh", "tile.at(tile.m + row, tile.n + part_col)",
     "tile.at(tile.m + row, tile.m + part_col)"},
    {"reads the stage before", "tiled/consumer.cuh", "cols_base + static_cast<u32>(stage *",
     "cols_base + static_cast<u32>((stage + kKernel.stages - 1) % kKernel.stages *"},
    {"accumulators not reset", "tiled/consumer.cuh", "!is_first);", "1);"},
    {"rows of the wrong warp", "tiled/consumer.cuh", "part_row + warp * kStoreRows;",
     "part_row + (warp ^ 1) * kStoreRows;"},
    {"swizzle left out", "common/store.cuh", "return chunk ^ (row % kSwizzleRows);",
     "return chunk;"},
    {"last tile never computed", "tiled/work.cuh", "all_tiles<kKernel>(params, grid),",
     "all_tiles<kKernel>(params, grid) - 1,"},
    {"a tile of the queue skipped", "tiled/producer.cuh",
     "return answer + static_cast<u32>(clusters);",
     "return answer + static_cast<u32>(clusters) + 1;", scheduled(TileScheduler::kDynamic)},
    {"a streamed part not added", "tiled/workspace_sums.cuh", "+= sums[j];", "+= 0.0f * sums[j];",
     scheduled(TileScheduler::kStreamK)},
    {"a share of a part not added", "tiled/split_sums.cuh", "+= values[i][p][j];",
     "+= p == 1 ? 0.0f : values[i][p][j];", kShared},
    {"shares end too soon", "tiled/split_sums.cuh", "ceil_div(max(end - warp, 0), kWarps);",
     "ceil_div(max(end - warp, 0), kWarps) - 1;", kShared},
    {"a slice of the tile of a cluster twice", "tiled/work.cuh", "min(index * slice, rows",
     "min(0 * slice, rows", tile_with([](TiledConfig& c) { c.cluster_n = 4; })},
    {"halves of a transposed box swapped", "tiled/store.cuh", "lane / 8 % 2 * 16",
     "(lane / 8 % 2 ^ 1) * 16", tile_with([](TiledConfig& c) { c.swap = true; })},
    {"an overlapped box never stored", "tiled/waiting_tile.cuh", "next = kBox + 1;",
     "next = kBox + 2;", tile_with([](TiledConfig& c) { c.store = StorePath::kOverlapped; })},
    {"sums of a peer not added", "common/cluster_sums.cuh", "+= part[j];", "+= 0.0f * part[j];",
     kSwapped},
    {"a box owned by the wrong part", "tiled/store.cuh", "box_owner(kKernel, kBox) == part",
     "box_owner(kKernel, kBox) != part", scheduled(TileScheduler::kClusterSplitK, 2)},
    {"a group stored in the place of another", "swap_ab/kernel.cuh",
     "part.a_row + group * kGroupRows);", "part.a_row + (group ^ 1) * kGroupRows);", kSwapped},
    {"loose ends left out", "gemv/kernel.cuh", "loose.add_to(sums);", "{}", kGemv},
    {"a part of a gemv row not added", "gemv/kernel.cuh", "sum += __uint_as_float(",
     "if (slot == 0) sum += __uint_as_float(", kGemv},
    // The bytes of an fp32 D that only its own store paths know.
    {"fp32 swizzle left out", "tiled/store.cuh", "swizzled_chunk(chunk, row) : chunk",
     "chunk : chunk", kTile, DataType::kFp32},
    {"fp32 halves of a chunk swapped", "tiled/store.cuh", "lane % 2 * 8", "(lane % 2 ^ 1) * 8",
     kTile, DataType::kFp32},
    {"an fp32 pair rounded", "tiled/store.cuh", "return {low, high};",
     "return {__uint_as_float(__float_as_uint(low) & 0xffff0000u), high};",
     tile_with([](TiledConfig& c) { c.store = StorePath::kDirect; }), DataType::kFp32},
    {"an fp32 column of the other atom", "swap_ab/kernel.cuh", "atom * atom_bytes(kKernel) + row *",
     "(atom ^ 1) * atom_bytes(kKernel) + row *", kSwapped, DataType::kFp32},
    // Gates and ups.
    {"gates and ups exchanged", "tiled/store.cuh", "activate<kActivation>(gates[i]) * ups[i]",
     "activate<kActivation>(ups[i]) * gates[i]", kTile, DataType::kBf16, kSwiglu},
    {"gates for ups", "tiled/store.cuh", "const int up = gate + kRun;", "const int up = gate;",
     tile_with([](TiledConfig& c) { c.cluster_m = 2; }), DataType::kBf16, kSwiglu},
    {"a gated tile at the column of a whole one", "tiled/consumer.cuh", "(tile.n + part_col) / 2)",
     "tile.n + part_col)", kTile, DataType::kBf16, kSwiglu},
    {"gates for ups of few rows", "swap_ab/kernel.cuh", "* values[i + 2];", "* values[i];",
     kSwapped, DataType::kBf16, kSwiglu},
    {"a gemv gate for its up", "gemv/kernel.cuh", "__shfl_down_sync(~0u, sum, kVectors)", "sum",
     kGemv, DataType::kBf16, kSwiglu},
    {"alpha left out", "common/epilogue.cuh", "(params).alpha * sum;", "(params).beta * 0 + sum;",
     kTile, DataType::kBf16, kScaled},
    {"a second output that is D", "common/params.h",
     "return static_cast<const AuxParams&>(params).aux;", "return params.d;", kTile,
     DataType::kBf16, kWithAux},
    {"a second output of few rows that is D", "swap_ab/kernel.cuh",
     "store_groups<kKernel, Output::kAux>(", "store_groups<kKernel>(", kSwapped, DataType::kBf16,
     kWithAux},
    {"a second output of gemv behind the activation", "gemv/kernel.cuh",
     "store_one(pointer_of<Output::kAux>(params), element, sum);",
     "store_one(pointer_of<Output::kAux>(params), element, fmaxf(sum, 0.0f));", kGemv,
     DataType::kBf16, kWithAux},
    // Batches.
    {"the first B for all products",
     "tiled/producer.cuh",
     "number * static_cast<const BatchedParams&>(params).b_step",
     "0",
     kTile,
     DataType::kBf16,
     {},
     kBatch},
    {"all products in the first D",
     "tiled/store.cuh",
     "return Plane{at.product};",
     "return Plane{0};",
     kTile,
     DataType::kBf16,
     {},
     kBatch},
    {"all products stored directly to the first D",
     "tiled/store.cuh",
     "return static_cast<u64>(at.product) *",
     "return u64{0} *",
     tile_with([](TiledConfig& c) { c.store = StorePath::kDirect; }),
     DataType::kBf16,
     {},
     kBatch},
    {"the first A of an array for all products",
     "tiled/producer.cuh",
     "address_in(params.a_pointer, number)",
     "address_in(params.a_pointer, 0)",
     kTile,
     DataType::kBf16,
     {},
     kBatch,
     true},
    {"boxes of a matrix anywhere taken for boxes outside",
     "common/operand_copy.cuh",
     "box.column < columns && box.row < rows",
     "false",
     kTile,
     DataType::kBf16,
     {},
     kBatch,
     true},
    {"the D of another product of an array",
     "tiled/work.cuh",
     "address_in(params.d_pointer, number)",
     "address_in(params.d_pointer, number ^ 1)",
     kTile,
     DataType::kBf16,
     {},
     kTwo,
     true},
    {"the last product left out",
     "tiled/work.cuh",
     ".products;",
     ".products - grid.tiles();",
     scheduled(TileScheduler::kDynamic),
     DataType::kBf16,
     {},
     kBatch},
    {"tiles counted on from the product before",
     "tiled/work.cuh",
     "position %= grid.tiles();",
     "",
     kTile,
     DataType::kBf16,
     {},
     kBatch},
    // Scales that a kernel finds.
    {"the scale of a part of a row",
     "common/output_8_bit.cuh",
     "mask < 4; mask *= 2",
     "mask < 2; mask *= 2",
     kTileOf8Bits,
     DataType::kE4m3,
     {},
     1,
     false,
     OutputScaling::kBlocks},
    {"the factor of the other row",
     "common/output_8_bit.cuh",
     "values[group * 4 + half * 2 + 1] *= both.factor;",
     "values[group * 4 + (half ^ 1) * 2 + 1] *= both.factor;",
     kTileOf8Bits,
     DataType::kE4m3,
     {},
     1,
     false,
     OutputScaling::kBlocks},
    {"scales of the block before",
     "common/output_8_bit.cuh",
     "column / kScaleBlock);",
     "(column == 0 ? 0 : column - kScaleBlock) / kScaleBlock);",
     kTileOf8Bits,
     DataType::kE4m3,
     {},
     1,
     false,
     OutputScaling::kBlocks},
    // Tiles that wait in their sums.
    {"sums of the tile before",
     "tiled/waiting_tile.cuh",
     "accumulators[block][i] = 0;",
     "accumulators[block][i] *= 0.5f;",
     kWaitsInSums,
     DataType::kE4m3,
     {},
     1,
     false,
     OutputScaling::kBlocks},
    {"a tile never stored from its sums",
     "tiled/waiting_tile.cuh",
     "if (is_there) store_boxes",
     "if (is_there && first > 0) store_boxes",
     kWaitsInSums,
     DataType::kE4m3,
     {},
     1,
     false,
     OutputScaling::kBlocks},
};

}  // namespace hgemm::test
