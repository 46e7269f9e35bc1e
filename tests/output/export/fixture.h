// A small made-up recording that exports are made of.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/export/export.h"

namespace hgemm::test {

inline GemmProblem export_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                                const char* tag = "") {
  return {.m = m, .n = n, .k = k, .tag = tag};
}

/// The kernel for many rows, for few in a cluster, and one whose sums meet in memory and whose
/// clusters are numbered by their GPC.
inline const TiledConfig kWide{
    .bm = 128, .bn = 96, .cluster_m = 2, .order = TileOrder::kGroupedRows, .group = 4};
inline const SwapAbConfig kSwapAb{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .promotion = 128};
inline const TiledConfig kStreamK{.bn = 128, .scheduler = TileScheduler::kStreamK, .gpc = true};

/// `us` in rounds that drift alike, so that ratios are exact.
inline Trial timed(const std::string& label, double us, Stage stage = Stage::kFinal) {
  Trial trial;
  trial.label = label;
  trial.stage = stage;
  trial.verdict = {.correct = true, .error = 0.001, .tolerance = 0.01, .message = ""};
  for (int round = 0; round < 9; ++round) {
    Sample sample;
    sample.round = round;
    sample.launches = 20;
    sample.time_us = us * (1 + 0.0625 * round);
    sample.sm_mhz = 1500;
    trial.samples.push_back(sample);
  }
  return trial;
}

inline RecordedRace recorded(const GemmProblem& problem, std::vector<Trial> trials,
                             const std::string& driver = "580.95",
                             const std::string& gpu_name = "NVIDIA H200") {
  RecordedRace out;
  out.environment.gpu_name = gpu_name;
  out.environment.compute_major = 9;
  out.environment.sm_count = 132;
  out.environment.driver = driver;
  out.environment.cuda = "13.0";
  out.environment.cublas = "13.1.0";
  out.run.kernel_sources = "0123456789abcdef0123456789abcdef";
  out.started_utc = "2026-11-20T10:00:00Z";
  out.race.problem = problem;
  out.race.trials = std::move(trials);
  for (Trial& trial : out.race.trials) {
    if (is_baseline(trial.label)) continue;
    trial.kernel_id = content_hash(build_name(kernel_for(parse_label(trial.label), problem)));
  }
  return out;
}

/// Gains at 256 and 16 rows of one weight, none at 1 row, sums that meet in memory, and an output
/// that is wider than the input.
inline std::vector<RecordedRace> recordings() {
  SwapAbConfig pdl = kSwapAb;
  pdl.pdl = true;
  SwapAbConfig one_row = kSwapAb;
  one_row.bm = 8;
  one_row.fixed = true;
  GemmProblem fp32_output = export_shape(256, 512, 640, "gate");
  fp32_output.d_type = DataType::kFp32;
  return {recorded(export_shape(256, 512, 640, "prefill/a"),
                   {timed(std::string(kCublasLabel), 15), timed(label(kWide), 12)}),
          recorded(export_shape(16, 512, 640, "decode/a"),
                   {timed(std::string(kCublasLabel), 10), timed(label(kSwapAb), 8),
                    timed(label(pdl), 5)},
                   "580.159.04"),
          recorded(export_shape(1, 512, 640, "decode/a"),
                   {timed(std::string(kCublasLabel), 8), timed(label(one_row), 8)}),
          recorded(export_shape(384, 256, 4096, "prefill/b"),
                   {timed(std::string(kCublasLabel), 20), timed(label(kStreamK), 16)}),
          recorded(fp32_output, {timed(std::string(kCublasLabel), 18), timed(label(kWide), 12)})};
}

/// Eight products of one shape; with a B for each, or the same one for all.
inline GemmProblem export_batch(bool shares_b = false) {
  GemmProblem problem = export_shape(256, 512, 640);
  problem.batch = 8;
  if (shares_b) problem.stride_b = 0;
  return problem;
}

/// These, another layout, four epilogues, a gate, and four batches.
inline std::vector<RecordedRace> recordings_of_every_kind() {
  std::vector<RecordedRace> races = recordings();
  const auto add = [&](const GemmProblem& problem) {
    races.push_back(
        recorded(problem, {timed(std::string(kCublasLabel), 15), timed(label(kWide), 12)}));
  };
  GemmProblem wgrad = export_shape(256, 512, 640);
  wgrad.layout = Layout::kNT;
  add(wgrad);
  GemmProblem with_bias = export_shape(256, 512, 640);
  with_bias.epilogue = {Bias::kAlongN, Activation::kGelu};
  add(with_bias);
  with_bias.c_type = DataType::kBf16;
  add(with_bias);
  with_bias.epilogue = {.bias = Bias::kAlongN, .scaled = true};
  add(with_bias);
  with_bias.c_type = std::nullopt;
  with_bias.epilogue = {.bias = Bias::kAlongN, .activation = Activation::kGelu, .aux = true};
  add(with_bias);
  GemmProblem gated = export_shape(256, 512, 640);
  gated.epilogue = {Bias::kNone, Activation::kSilu, Gate::kInterleaved};
  add(gated);
  add(export_batch());
  add(export_batch(true));
  GemmProblem scaled_batch = export_batch();
  scaled_batch.epilogue.scaled = true;
  add(scaled_batch);
  GemmProblem by_pointers = export_batch();
  by_pointers.by_pointers = true;
  add(by_pointers);
  return races;
}

/// What write_package exports: also the scales of D that a kernel finds, which only a GPU shows.
inline std::vector<RecordedRace> recordings_of_package() {
  std::vector<RecordedRace> races = recordings_of_every_kind();
  const TiledConfig config{.bm = 128, .bn = 128, .bk = 128, .mma_depth = 0, .promote = 128};
  races.push_back(
      recorded(parse_problem("256x512x640.e4m3.de4m3.scaling-blocks.dscaling-blocks.bias-silu"),
               {timed(std::string(kCublasLabel), 15), timed(label(config), 12)}));
  return races;
}

inline ExportPlan planned(PdlKind pdl = PdlKind::kOff) {
  return plan_export(recordings(), {.allowed = {.pdl = pdl}});
}

/// An algorithm that no cuBLASLt has: a package takes cuBLASLt's first choice instead.
inline const LtAlgorithm kMadeUpAlgorithm{.id = 9999,
                                          .tile = 23,
                                          .stages = 16,
                                          .cluster = 3,
                                          .split_k = 2,
                                          .reduction = 4,
                                          .swizzle = 1,
                                          .custom = 6,
                                          .inner = 5,
                                          .workspace_bytes = 1024};

inline Trial cublaslt(int index, double us, const std::string& message) {
  Trial trial = timed("cublaslt." + std::to_string(index), us);
  trial.message = message;
  return trial;
}

/// Four shapes: cuBLASLt is faster, also in a database without all attributes; cublasGemmEx is the
/// fastest; a config is.
inline std::vector<RecordedRace> recordings_with_libraries() {
  const auto race = [](std::int64_t m, double cublas_us, double lt_us, const std::string& message,
                       double config_us) {
    return recorded(export_shape(m, 512, 640),
                    {timed(std::string(kCublasLabel), cublas_us), cublaslt(0, lt_us * 1.5, message),
                     cublaslt(3, lt_us, message), timed(label(kWide), config_us)});
  };
  const std::string known = to_string(kMadeUpAlgorithm);
  return {race(256, 15, 10, known, 12),
          race(512, 15, 10, "algo 66, tile 23, stages 16, cluster 3, split-K 1, workspace 0 B", 12),
          race(768, 10, 11, known, 12), race(1024, 15, 13, known, 12)};
}
inline ExportPlan planned_with_libraries() {
  return plan_export(recordings_with_libraries(), {.with_cublaslt = true});
}
inline Validity valid_for(const ExportPlan& plan) {
  return validity_of(plan, "fedcba9876543210fedcba9876543210", "0123abcd");
}

}  // namespace hgemm::test
