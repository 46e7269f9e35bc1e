// Triton: a list of triton.Config for a tl.dot matmul, and the results of the autotuner.
//
// Formats from triton-lang/triton, python/triton/runtime/autotuner.py. Config: its fields. Key: the
// values of the arguments named by `key`, then the types of all tensors. File of
// check_disk_cache(): "key" and "configs_timings", which has pairs of a Config's fields and three
// quantiles in ms. The name of that file contains a hash of the user's own kernel, so only Triton
// can create it. The seed() function of the module fills Autotuner.cache instead. Meta-parameters
// have the names of Triton's tutorial 03-matrix-multiplication.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "families/family.h"
#include "output/escape.h"
#include "output/export/formats.h"

namespace hgemm {
namespace {

/// A config in the terms of Triton.
struct TritonTile {
  int block_m = 0, block_n = 0, block_k = 0;
  int group_m = 0;  ///< tiles along M of a band
  int num_warps = 0, num_stages = 0;

  bool operator==(const TritonTile&) const = default;
};

/// Shared memory of one CTA, minus the part that Triton itself uses.
constexpr int kSmemBytes = DeviceLimits{}.smem_bytes_per_cta - 1024;
constexpr int kLeastBlock = 16;  ///< minimum of tl.dot in each dimension

int power_of_two(int extent) {
  return std::max(kLeastBlock, static_cast<int>(std::bit_floor(static_cast<unsigned>(extent))));
}

constexpr int kAllRows = 64;  // linear: down all rows of the grid before the next column

int group_of(const TiledConfig& c) {
  constexpr int kPinned = 8;  // Hilbert and bands of columns have no counterpart
  if (c.order == TileOrder::kGroupedRows || c.order == TileOrder::kSnakeRows) {
    return c.group * c.cluster_m;
  }
  return c.order == TileOrder::kLinear ? kAllRows : kPinned;
}

std::string torch_dtype(DataType type) {
  if (type == DataType::kFp32) return "torch.float32";
  return type == DataType::kFp16 ? "torch.float16" : "torch.bfloat16";
}

Json kwargs_json(const TritonTile& t) {
  return {{"BLOCK_SIZE_M", t.block_m},
          {"BLOCK_SIZE_N", t.block_n},
          {"BLOCK_SIZE_K", t.block_k},
          {"GROUP_SIZE_M", t.group_m}};
}

std::string config_text(const TritonTile& t) {
  return fmt::format(
      "triton.Config({{\"BLOCK_SIZE_M\": {}, \"BLOCK_SIZE_N\": {}, \"BLOCK_SIZE_K\": {}, "
      "\"GROUP_SIZE_M\": {}}}, num_warps={}, num_stages={}, num_ctas=1)",
      t.block_m, t.block_n, t.block_k, t.group_m, t.num_warps, t.num_stages);
}

constexpr const char* kModule =
    R"(# Written by hgemm-tune {}: configs for a tl.dot matmul, one for each tuned shape.
#
# Each is the tile of hgemm-tune's fastest kernel as far as Triton has it: BLOCK_SIZE_M, N and K the
# CTA's tile, rounded down to powers of two and up to 16; num_stages its pipeline stages, as many as
# still fit in shared memory; num_warps its consumer warps (producers are Triton's own business);
# GROUP_SIZE_M its bands of tiles. Clusters, tiles cut along K and programmatic dependent launch have
# no counterpart. None was timed in Triton: let the autotuner choose among CONFIGS, or take the
# choice as it is with seed().
import triton

VALID_FOR = {}

CONFIGS = [
{}]

# (M, N, K, type of A and B, type of D) -> index in CONFIGS
BY_SHAPE = {{
{}}}


def seed(autotuner):
    """Makes these the results of an autotuner with key=["M", "N", "K"], whose kernel has the tensor
    arguments A, B and D: it then benchmarks only other shapes and types."""
    for (m, n, k, inputs, output), index in BY_SHAPE.items():
        autotuner.cache[(m, n, k, inputs, inputs, output)] = CONFIGS[index]
)";

/// nullopt for kernels that multiply on CUDA cores.
std::optional<TritonTile> triton_tile(const KernelConfig& c) {
  TritonTile tile;
  if (const auto* tiled = std::get_if<TiledConfig>(&c)) {
    tile = {.block_m = power_of_two(tiled->bm),
            .block_n = power_of_two(tiled->bn),
            .block_k = power_of_two(tiled->bk),
            .group_m = group_of(*tiled),
            .num_warps = tiled->consumers == 1 ? 4 : 8,
            .num_stages = tiled->stages};
  } else if (const auto* swapped = std::get_if<SwapAbConfig>(&c)) {
    tile = {.block_m = power_of_two(swapped->bm),
            .block_n = power_of_two(swapped->bn),
            .block_k = power_of_two(swapped->bk),
            .group_m = kAllRows,
            .num_warps = consumer_count(*swapped) == 1 ? 4 : 8,
            .num_stages = swapped->stages};
  } else {
    return std::nullopt;
  }
  const int stage_bytes = (tile.block_m + tile.block_n) * tile.block_k * kInputBytes;
  tile.num_stages = std::clamp(kSmemBytes / stage_bytes, 1, tile.num_stages);
  return tile;
}

}  // namespace

const char* why_not_in_triton(const ExportRow& row) {
  if (!triton_tile(parse_label(*row.best.label))) return "a GEMV kernel, without tl.dot's tiles";
  if (row.best.problem.has_8_bit_operands()) {
    return "8-bit operands, which this format has not yet";
  }
  if (row.best.problem.layout != Layout::kTN) return "a layout other than TN is no part of the key";
  if (!row.best.problem.is_packed())
    return "padded rows: leading dimensions are no part of the key";
  if (row.best.problem.batch > 1) return "a batch: the number of products is no part of the key";
  return nullptr;
}

std::vector<ExportFile> triton_files(const ExportPlan& plan, const Validity& validity) {
  std::vector<TritonTile> tiles;
  std::string by_shape;
  Json entries = Json::array();
  Json left_out = Json::array();
  for (const ExportRow& row : plan.rows) {
    const GemmProblem& problem = row.best.problem;
    if (const char* reason = why_not_in_triton(row)) {
      left_out.push_back({{"shape", to_string(problem)}, {"reason", reason}});
      continue;
    }
    const auto tile = triton_tile(parse_label(*row.best.label));
    auto found = std::ranges::find(tiles, *tile);
    if (found == tiles.end()) found = tiles.insert(found, *tile);
    const std::string inputs = torch_dtype(problem.a_type);
    const std::string output = torch_dtype(problem.d_type);
    by_shape += fmt::format("    ({}, {}, {}, \"{}\", \"{}\"): {},  # {}\n", problem.m, problem.n,
                            problem.k, inputs, output, found - tiles.begin(), row.command());
    const Json fields = {
        {"kwargs", kwargs_json(*tile)},   {"num_warps", tile->num_warps}, {"num_ctas", 1},
        {"num_stages", tile->num_stages}, {"maxnreg", nullptr},           {"pre_hook", nullptr},
        {"ir_override", nullptr}};
    entries.push_back({{"key",
                        {std::to_string(problem.m), std::to_string(problem.n),
                         std::to_string(problem.k), inputs, inputs, output}},
                       {"configs_timings", Json::array({Json::array({fields, nullptr})})},
                       {"label", *row.best.label},
                       {"time_us", number(row.best.time_us)},
                       {"command", row.command()}});
  }
  std::string configs;
  for (const TritonTile& tile : tiles) configs += fmt::format("    {},\n", config_text(tile));
  const Json cache = {{"schema", "hgemm-tune triton 1"},
                      {"valid_for", validity_json(validity)},
                      {"entries", entries},
                      {"left_out", left_out}};
  return {{"hgemm_tuned.autotune.json", dump(cache)},
          {"hgemm_tuned_triton.py",
           fmt::format(fmt::runtime(kModule), comment_text(validity.revision),
                       python_literal(validity_json(validity)), configs, by_shape)}};
}

}  // namespace hgemm
