// vLLM: a file for each N and K, whose keys are batch sizes.
//
// Format after vllm-project/vllm, model_executor/layers/quantization/utils/fp8_utils.py
// (get_w8a8_block_fp8_configs) and benchmarks/kernels/benchmark_w8a8_block_fp8.py (save_configs):
// the name, the six fields, and that the loader takes the key nearest to the batch size, and
// demands that every key is an integer: what the file is valid for stands in another file. The
// batch sizes are the benchmark's, which the nearest one is looked for among.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "families/family.h"
#include "output/escape.h"
#include "output/export/fallback.h"
#include "output/export/formats.h"
#include "output/export/triton_tile.h"

namespace hgemm {
namespace {

constexpr long long kBatchSizes[] = {1,  2,   4,   8,   16,   24,   32,   48,   64,
                                     96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096};

/// All fields, so that no default of the reader's is in force.
Json config_json(const TritonTile& t) {
  return {{"BLOCK_SIZE_M", t.block_m}, {"BLOCK_SIZE_N", t.block_n}, {"BLOCK_SIZE_K", t.block_k},
          {"GROUP_SIZE_M", t.group_m}, {"num_warps", t.num_warps},  {"num_stages", t.num_stages}};
}

}  // namespace

std::vector<ExportFile> vllm_files(const ExportPlan& plan, const Validity& validity) {
  using Key = std::tuple<long long, long long, DataType>;
  struct Known {
    const ExportRow* row;
    TritonTile tile;
  };
  std::map<Key, std::vector<Known>> by_weight;
  for (const ExportRow& row : plan.rows) {
    const GemmProblem& problem = row.best.problem;
    const auto tile = triton_tile(parse_label(*row.best.label));
    // The reader asks for a name with one type.
    if (!tile || !problem.is_packed() || problem.d_type != problem.a_type) continue;
    by_weight[{problem.n, problem.k, problem.a_type}].push_back({&row, *tile});
  }
  std::vector<ExportFile> files;
  Json sources = Json::object();
  for (const auto& [key, known] : by_weight) {
    const auto& [n, k, dtype] = key;
    std::vector<long long> batch_sizes(std::begin(kBatchSizes), std::end(kBatchSizes));
    for (const Known& one : known) batch_sizes.push_back(one.row->best.problem.m);
    std::ranges::sort(batch_sizes);
    const auto repeated = std::ranges::unique(batch_sizes);
    batch_sizes.erase(repeated.begin(), repeated.end());
    Json configs = Json::object();
    Json from = Json::object();
    for (const long long m : batch_sizes) {
      const Known& nearest = *std::ranges::min_element(
          known, {}, [m](const Known& one) { return bucket_distance(one.row->best.problem.m, m); });
      configs[std::to_string(m)] = config_json(nearest.tile);
      from[std::to_string(m)] = {{"tuned_m", nearest.row->best.problem.m},
                                 {"label", *nearest.row->best.label},
                                 {"command", nearest.row->command()}};
    }
    const std::string name = fmt::format("N={},K={},device_name={},dtype={}.json", n, k,
                                         file_name_text(validity.gpu_name),
                                         dtype == DataType::kFp16 ? "float16" : "bfloat16");
    files.push_back({name, configs.dump(4) + "\n"});
    sources[name] = from;
  }
  files.push_back({"valid_for.json", dump({{"schema", "hgemm-tune vllm 1"},
                                           {"valid_for", validity_json(validity)},
                                           {"batch_sizes", sources}})});
  return files;
}

}  // namespace hgemm
