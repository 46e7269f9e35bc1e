// CUTLASS: the kernels of its library that are the nearest to ours, in the form that
// cutlass_profiler accepts.
//
// Sources in NVIDIA/cutlass: names from media/docs/cpp/profiler.md and the changelog of 3.9; the
// list of tests (--testlist-file) as python/cutlass_library/heuristics.py writes it, one line for
// each with operation_name and the problem; raster orders and swizzle from --help of the profiler.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "families/family.h"
#include "output/escape.h"
#include "output/export/formats.h"

namespace hgemm {
namespace {

/// The problem for the profiler: the transposed one for a swap-AB kernel.
struct Test {
  std::string kernel;
  long long m, n, k, products;
  const char* raster_order;
  int swizzle_size;
  int split_k_slices;
};

/// CUTLASS's letters for A, B and D: t is row-major, n column-major.
std::string layouts_of(const GemmProblem& problem, bool swapped) {
  const bool a_rows = problem.a_major() == Major::kK;
  const bool b_rows = problem.b_major() == Major::kK;
  return swapped ? fmt::format("{}{}n", b_rows ? 't' : 'n', a_rows ? 'n' : 't')
                 : fmt::format("{}{}t", a_rows ? 't' : 'n', b_rows ? 'n' : 't');
}

/// A cooperative kernel has two consumers, each with 64 rows or more. With fewer rows the kernel is
/// ping-pong, which does not support stream-K. The profiler cuts K or repeats the product, not both
/// (gemm_operation_profiler.cu: GemmProblem::parse).
Test test_of(const GemmProblem& problem, bool swapped, int tile_m, int tile_n, int tile_k,
             const TiledConfig& c) {
  tile_n = std::max(16, tile_n);
  if (tile_m > 256) tile_m = 256;
  if (tile_m == 192) tile_m = 128;  // tiles of M are 64, 128 and 256
  const bool ping_pong = tile_m == 64 || c.schedule == Schedule::kPingPong;
  const bool stream_k = c.splits > 1 || c.scheduler == TileScheduler::kStreamK ? !ping_pong : false;
  const char* type = problem.a_type == DataType::kFp16 ? "f16" : "bf16";
  const char* output = problem.d_type == DataType::kFp32 ? "f32" : type;
  const bool by_columns =
      c.order == TileOrder::kGroupedColumns || c.order == TileOrder::kSnakeColumns;
  const char* raster = by_columns || c.order == TileOrder::kLinear ? "along_m" : "along_n";
  if (c.order == TileOrder::kHilbert) raster = "heuristic";
  const int band = static_cast<int>(std::bit_floor(static_cast<unsigned>(c.group)));
  return {fmt::format("cutlass3x_sm90_tensorop_gemm_{0}_{0}_f32_void_{9}_{1}x{2}x{3}_{4}x{5}x1_0_"
                      "{6}_align8{7}_warpspecialized_{8}_epi_tma",
                      type, tile_m, tile_n, tile_k, c.cluster_m, c.cluster_n,
                      layouts_of(problem, swapped), stream_k ? "_stream_k" : "",
                      ping_pong ? "pingpong" : "cooperative", output),
          swapped ? problem.n : problem.m,
          swapped ? problem.m : problem.n,
          problem.k,
          problem.batch,
          raster,
          std::clamp(band, 1, 8),
          stream_k && problem.batch == 1 ? c.splits : 1};
}
/// nullopt for kernels that multiply on CUDA cores.
std::optional<Test> test_of(const GemmProblem& problem, const KernelConfig& config) {
  if (const auto* tiled = std::get_if<TiledConfig>(&config)) {
    return test_of(problem, false, tiled->bm, tiled->bn, tiled->bk, *tiled);
  }
  if (const auto* swapped = std::get_if<SwapAbConfig>(&config)) {
    return test_of(problem, true, swapped->bn, swapped->bm, swapped->bk,
                   {.splits = swapped->splits});
  }
  return std::nullopt;
}

}  // namespace

const char* why_not_in_cutlass(const ExportRow& row) {
  const GemmProblem& problem = row.best.problem;
  if (problem.has_8_bit_operands()) return "8-bit operands, which this format has not yet";
  if (!test_of(problem, parse_label(*row.best.label))) return "a GEMV kernel, on CUDA cores";
  if (!inputs_are_aligned(problem.extents(), problem.a_type) ||
      !output_is_aligned(problem.extents(), problem.d_type)) {
    return "rows that are not aligned to 16 bytes";
  }
  const ProblemExtents p = problem.extents();
  if (p.batch.by_pointers) return "a batch by pointers";
  if (p.batch != batch_without_gaps(p, p.batch.count)) {
    return "a batch whose products share an operand, or do not follow one another without a gap";
  }
  return nullptr;
}

std::vector<ExportFile> cutlass_files(const ExportPlan& plan, const Validity& validity) {
  std::string list = "operation_name,m,n,k,batch_count,raster_order,swizzle_size,split_k_slices\n";
  std::string script = fmt::format(
      "#!/usr/bin/env bash\n"
      "# Written by hgemm-tune {}: the kernels of CUTLASS's library that are the nearest to ours. "
      "A "
      "swapped\n"
      "# kernel's problem is the transposed one (m and n exchanged). Build them with\n"
      "#   cmake .. -DCUTLASS_NVCC_ARCHS=90a -DCUTLASS_LIBRARY_INSTANTIATION_LEVEL=max \\\n"
      "#     -DCUTLASS_LIBRARY_KERNELS=\"$(paste -sd, kernels.txt)\"\n"
      "{}set -euo pipefail\n"
      "profiler=${{1:?usage: profile.sh PATH_OF_CUTLASS_PROFILER}}\n",
      comment_text(validity.revision), comment_lines(validity_json(validity)));
  std::set<std::string> kernels;
  for (const ExportRow& row : plan.rows) {
    const GemmProblem& problem = row.best.problem;
    const KernelConfig config = parse_label(*row.best.label);
    if (const char* reason = why_not_in_cutlass(row)) {
      script += fmt::format("# {}: no kernel of CUTLASS's library is like {}: {}\n",
                            to_string(problem), *row.best.label, reason);
      continue;
    }
    const Test test = *test_of(problem, config);
    kernels.insert(test.kernel);
    list += fmt::format("{},{},{},{},{},{},{},{}\n", test.kernel, test.m, test.n, test.k,
                        test.products, test.raster_order, test.swizzle_size, test.split_k_slices);
    script += fmt::format(
        "# {}: {}, {} us; again: {}\n"
        "\"$profiler\" --operation=Gemm --kernels={} --m={} --n={} --k={}{} --raster_order={} "
        "--swizzle_size={} --split_k_slices={}\n",
        to_string(problem), *row.best.label,
        row.best.time_us ? fmt::format("{:.2f}", *row.best.time_us) : "unknown", row.command(),
        test.kernel, test.m, test.n, test.k,
        test.products > 1 ? fmt::format(" --batch_count={}", test.products) : "", test.raster_order,
        test.swizzle_size, test.split_k_slices);
  }
  std::string names;
  for (const std::string& kernel : kernels) names += kernel + '\n';
  return {{"kernels.txt", names},
          {"profile.sh", script},
          {"testlist.csv", list},
          {"valid_for.json",
           dump({{"schema", "hgemm-tune cutlass 1"}, {"valid_for", validity_json(validity)}})}};
}

}  // namespace hgemm
