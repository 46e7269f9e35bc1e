// The axis table of the GEMV family.
#include "families/gemv/family.h"
#include "families/shared_axes.h"

namespace hgemm {
namespace {

using C = GemvConfig;

constexpr std::array kAxes = {
    number_axis<&C::vectors, 1000, true>({.name = "vectors",
                                          .field = "v",
                                          .form = "v<vectors>",
                                          .values = "1, 2, 4, 8, 16",
                                          .domain = "1, 2, 4, 8, 16",
                                          .help = "rows of the small operand, at most",
                                          .vary = AxisText::Vary::kTile},
                                         {"vectors", ""}),
    number_axis<&C::rows, 800, true>({.name = "rows",
                                      .field = "r",
                                      .form = "r<rows>",
                                      .values = "divisors and multiples of the warps",
                                      .domain = "1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96",
                                      .help = "rows of the large operand for each CTA",
                                      .vary = AxisText::Vary::kTile},
                                     {"rows", ""}),
    number_axis<&C::step, 500, true>({.name = "step",
                                      .field = "s",
                                      .form = "s<elements>",
                                      .values = "256, 512, 1024, 2048",
                                      .domain = "256, 512, 1024, 2048",
                                      .help = "elements that a warp takes of a row at a time",
                                      .vary = AxisText::Vary::kTile},
                                     {"step", ""}),
    number_axis<&C::depth, 500, true>({.name = "depth",
                                       .field = "q",
                                       .form = "q<steps>",
                                       .values = "1, 2",
                                       .domain = "2, 1",
                                       .otherwise = "2",
                                       .help = "steps that a warp has on their way"},
                                      {"depth", ""}),
    number_axis<&C::warps, 500, false>({.name = "warps",
                                        .field = "w",
                                        .form = "w<warps>",
                                        .values = "4, 8, 12",
                                        .domain = "8, 4, 12",
                                        .otherwise = "8",
                                        .help = "warps of a CTA"},
                                       {"warps", ""}),
    cluster_split_axis<&C::splits>(),
    ctas_axis<&C::ctas_per_sm>(),
    pdl_axis<&C::pdl>(
        "programmatic dependent launch: starts while the kernel before it drains, and asks L2 for "
        "its operands; reads none until that kernel is done"),
    fixed_axis<&C::fixed>(),
};

}  // namespace

std::span<const Axis<GemvConfig>> Family<GemvConfig>::axes() { return kAxes; }

bool Family<GemvConfig>::suits(const GemvKernel& kernel, const GemmProblem& problem) {
  const std::int64_t vectors = problem.m <= kernel.vectors ? problem.m : problem.n;
  return 2 * vectors > kernel.vectors;
}

}  // namespace hgemm
