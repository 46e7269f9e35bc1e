#include "program/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/console.h"
#include "base/error.h"
#include "base/resources.h"
#include "gemm/codec.h"
#include "gemm/hugging_face.h"
#include "gemm/problem_list.h"
#include "program/help.h"

namespace hgemm::cli {
namespace {

constexpr double kAbsurdBytes = 1e12;  // several times the memory of any Hopper GPU
constexpr std::int64_t kMaxRanks = 1024;
/// Decode of a few batch sizes, and one prefill.
const std::vector<std::int64_t> kDefaultRows = {1, 16, 64, 2048};

void check_sizes(const std::vector<GemmProblem>& problems) {
  for (const GemmProblem& problem : problems) {
    if (problem.bytes() <= kAbsurdBytes) continue;
    throw InputError(fmt::format(
        "shape {}: an absurd size: its matrices have {:.3g} TB, more than 1 TB; correct it",
        to_string(problem), problem.bytes() / 1e12));
  }
}

Sums sums_of(const std::string& word) {
  if (const auto sums = find_sums(word)) return *sums;
  throw InputError(fmt::format("--accumulate {}: use promoted, fast or any", word));
}

ModelRun run_of(const ShapeOptions& options) {
  ModelRun run{.tokens = {},
               .tensor_parallel = options.tensor_parallel,
               .unfused = options.unfused,
               .gated = options.gated,
               .type = std::nullopt};
  // A repeated number of rows would count twice.
  for (const std::int64_t rows : options.rows.empty() ? kDefaultRows : options.rows) {
    if (std::ranges::find(run.tokens, rows) == run.tokens.end()) run.tokens.push_back(rows);
  }
  if (options.dtype) {
    run.type = find_data_type(*options.dtype);
    if (run.type != DataType::kBf16 && run.type != DataType::kFp16) {
      throw InputError(fmt::format("--dtype {}: use bf16 or fp16", *options.dtype));
    }
  }
  return run;
}

std::vector<GemmProblem> problems_of_model(const ShapeOptions& options) {
  const ModelRun run = run_of(options);
  const std::string& path = options.model;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw InputError(fmt::format(
        "--model {}: no such file; give the config.json of a Hugging Face model, or the folder "
        "which it is in; a name on the hub is not looked up: download its config.json",
        path));
  }
  ModelProblems model = model_problems(load_model_config(path), run, path);
  for (const std::string& note : model.notes) say("{}\n", note);
  return std::move(model.problems);
}

}  // namespace

std::string ShapeOptions::arguments() const {
  std::string more = data ? fmt::format(" --data {}", *data) : "";
  if (accumulate) more += fmt::format(" --accumulate {}", *accumulate);
  if (model.empty()) return fmt::format("--shapes {}{}", shapes, more);
  std::string text = fmt::format("--model {}", model);
  if (tensor_parallel != 1) text += fmt::format(" --tp {}", tensor_parallel);
  if (!rows.empty()) text += fmt::format(" --m {}", fmt::join(rows, ","));
  if (unfused) text += " --unfused";
  if (gated) text += " --gated";
  if (dtype) text += fmt::format(" --dtype {}", *dtype);
  return text + more;
}

void add_shapes(CLI::App& command, ShapeOptions& options) {
  CLI::Option* shapes =
      command.add_option("--shapes", options.shapes, help_text("common", "--shapes"))
          ->type_name("FILE|MxNxK");
  CLI::Option* model = command.add_option("--model", options.model, help_text("common", "--model"))
                           ->type_name("FILE")
                           ->excludes(shapes);
  command.add_option("--tp", options.tensor_parallel, help_text("common", "--tp"))
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, kMaxRanks))
      ->needs(model)
      ->capture_default_str();
  command.add_option("--m", options.rows, help_text("common", "--m"))
      ->type_name("M[,M...]")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{kMaxExtent}))
      ->needs(model)
      ->default_str(fmt::format("{}", fmt::join(kDefaultRows, ",")));
  CLI::Option* unfused =
      command.add_flag("--unfused", options.unfused, help_text("common", "--unfused"))
          ->needs(model);
  command.add_flag("--gated", options.gated, help_text("common", "--gated"))
      ->needs(model)
      ->excludes(unfused);
  command.add_option("--dtype", options.dtype, help_text("common", "--dtype"))
      ->type_name("TYPE")
      ->needs(model);
  command.add_option("--data", options.data, help_text("common", "--data"))
      ->type_name("KIND|FILE[:TENSOR][,FILE[:TENSOR]]");
  command.add_option("--accumulate", options.accumulate, help_text("common", "--accumulate"))
      ->type_name("promoted|fast|any");
}

std::vector<GemmProblem> chosen_problems(const ShapeOptions& options) {
  if (options.shapes.empty() && options.model.empty()) {
    throw InputError(
        "which shapes? Give --shapes a YAML file or MxNxK, e.g. --shapes llama7b.yaml, or --model "
        "the config.json of a Hugging Face model; --help has more examples");
  }
  std::vector<GemmProblem> problems =
      options.model.empty() ? chosen_problems(options.shapes) : problems_of_model(options);
  check_sizes(problems);
  if (options.accumulate) problems = with_sums(problems, sums_of(*options.accumulate));
  if (!options.data) return problems;
  const InputData data = read_input_data(*options.data);
  for (GemmProblem& problem : problems) problem.data = data;
  return merge_problems(problems);  // two may have differed in their data only
}

std::vector<GemmProblem> chosen_problems(const std::string& shapes) {
  std::vector<GemmProblem> problems = load_problems(shapes, (resource_dir() / "configs").string());
  check_sizes(problems);
  return problems;
}

}  // namespace hgemm::cli
