// The problems that a command was asked about: --shapes, or --model with its options.
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

/// As given on the command line: a list or a file of shapes, or a model.
struct ShapeOptions {
  std::string shapes;  ///< what `--shapes` takes (gemm/problem_list.h)
  std::string model;   ///< a config.json (gemm/hugging_face.h)
  std::int64_t tensor_parallel = 1;
  std::vector<std::int64_t> rows;  ///< empty: the default of --model
  bool unfused = false;
  std::optional<std::string> dtype;

  bool empty() const { return shapes.empty() && model.empty(); }
  /// "--shapes llama7b.yaml": for messages, and to be typed again.
  std::string arguments() const;
};

/// --shapes, --model, --tp, --m, --unfused, --dtype.
void add_shapes(CLI::App& command, ShapeOptions& options);

/// Says on stderr what was read of a model and what was assumed. Throws InputError if nothing was
/// asked for, and for a problem that no machine could hold.
std::vector<GemmProblem> chosen_problems(const ShapeOptions& options);
/// What `--shapes` names, of a command without --model.
std::vector<GemmProblem> chosen_problems(const std::string& shapes);

}  // namespace hgemm::cli
