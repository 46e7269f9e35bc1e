// The problems of a command: --shapes, or --model with its options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gemm/problem.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

/// The options as given on the command line: a list or a file of shapes, or a model.
struct ShapeOptions {
  std::string shapes;  ///< argument of `--shapes` (gemm/problem_list.h)
  std::string model;   ///< path of a config.json (gemm/hugging_face.h)
  std::int64_t tensor_parallel = 1;
  std::vector<std::int64_t> rows;  ///< empty: the default of --model
  bool unfused = false;
  bool gated = false;
  std::optional<std::string> dtype;
  std::optional<std::string> data;        ///< of all problems (gemm/input_data.h)
  std::optional<std::string> accumulate;  ///< of those with 8-bit operands (find_sums())

  /// True if no problems are asked for. --data or --accumulate alone asks for some, without saying
  /// which.
  bool empty() const { return shapes.empty() && model.empty() && !data && !accumulate; }
  /// "--shapes llama7b.yaml", for messages and commands that users can copy.
  std::string arguments() const;
};

/// Adds --shapes, --model, --tp, --m, --unfused, --gated, --dtype, --data and --accumulate.
void add_shapes(CLI::App& command, ShapeOptions& options);

/// The problems of the options. For a model, stderr says what was read and what was assumed. Throws
/// InputError if the options name no problems, and for a problem that no machine could hold.
std::vector<GemmProblem> chosen_problems(const ShapeOptions& options);
/// The problems of `--shapes`, for a command without --model.
std::vector<GemmProblem> chosen_problems(const std::string& shapes);

}  // namespace hgemm::cli
