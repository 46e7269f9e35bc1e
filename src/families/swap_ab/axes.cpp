// The axis table of the swap-AB family.
#include "families/shared_axes.h"
#include "families/swap_ab/family.h"

namespace hgemm {
namespace {

using C = SwapAbConfig;

constexpr Word<StorePath> kStores[] = {{"tma", StorePath::kTma}, {"staged", StorePath::kStaged}};

constexpr std::array kAxes = {
    number_axis<&C::bm, 1000, true>({.name = "bm",
                                     .field = "bm",
                                     .form = "bm<rows>",
                                     .values = "8 to 256 by 8",
                                     .domain = "8:256:8",
                                     .help = "rows of A in a CTA's tile: wgmma's N",
                                     .vary = AxisText::Vary::kTile},
                                    {"bm", ""}),
    number_axis<&C::bn, 800, true>({.name = "bn",
                                    .field = "bn",
                                    .form = "bn<columns>",
                                    .values = "64, 128, 192",
                                    .domain = "64, 128, 192",
                                    .help = "rows of B in a CTA's tile: 64 for each consumer "
                                            "warpgroup",
                                    .vary = AxisText::Vary::kTile},
                                   {"bn", ""}),
    number_axis<&C::bk, 500, true>(
        {.name = "bk",
         .field = "bk",
         .form = "bk<depth>",
         .values = "64, 128, 256",
         .domain = "64, 128, 256",
         .otherwise = "64",
         .help = "depth of a pipeline stage; with 8-bit operands twice as deep",
         .vary = AxisText::Vary::kTile},
        {"bk", ""}),
    stages_axis<&C::stages>(),
    mma_depth_axis<&C::mma_depth>(),
    promote_axis<&C::promote>(),
    word_axis<&C::store, kStores, 600>(
        {.name = "store",
         .form = "tma or staged",
         .values = "tma, staged",
         .domain = "tma, staged",
         .otherwise = "tma",
         .help =
             "store path of a tile: by the copy engine, or by ordinary stores (staged), for a D "
             "of any N and leading dimension"},
        {"store", "StorePath"}),
    cluster_split_axis<&C::splits>(),
    hint_axis<&C::a_hint>("a_hint", "a", "afirst or alast",
                          "what L2 is told of A: nothing, or to evict it first or last"),
    hint_axis<&C::b_hint>("b_hint", "b", "bfirst or blast", "what L2 is told of B"),
    hint_axis<&C::d_hint>("d_hint", "d", "dfirst or dlast", "what L2 is told of D"),
    promotion_axis<&C::promotion>(),
    ctas_axis<&C::ctas_per_sm>(),
    pdl_axis<&C::pdl>(
        "programmatic dependent launch: starts while the kernel before it drains, and reads B "
        "meanwhile, which no kernel before it may write, back to the last one launched without"),
    searched(
        named_flag_axis<&C::late, 150>(
            "late",
            "with pdl: only asks L2 for B meanwhile, and reads B later, so that kernels before "
            "it may write B"),
        AxisText::Vary::kDetail),
    hold_axis<&C::hold>(),
    pack_axis<&C::pack>(),
    fixed_axis<&C::fixed>(),
};

}  // namespace

std::span<const Axis<SwapAbConfig>> Family<SwapAbConfig>::axes() { return kAxes; }

namespace {

/// Most rows of tiles that are worth trying: the tiles of a column of the grid read the same B, and
/// no CTA shares what it fetches with another one.
constexpr std::int64_t kMostRowTiles = 4;

}  // namespace

bool Family<SwapAbConfig>::suits(const SwapAbKernel& kernel, const GemmProblem& problem) {
  const std::int64_t row_tiles = (problem.m + kernel.bm - 1) / kernel.bm;
  const std::int64_t rows = row_tiles * kernel.bm;
  const std::int64_t empty_rows = rows - problem.m;
  return row_tiles <= kMostRowTiles &&
         (empty_rows < kGroupRows * row_tiles || 3 * empty_rows < rows);
}

}  // namespace hgemm
