// The GEMMs of a model, by its config.json as Hugging Face's transformers writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/decoder.h"
#include "gemm/problem.h"

namespace hgemm {

/// What a config.json says of itself and of the model's dimensions.
struct ModelConfig {
  std::string architecture;  ///< its model_type: "llama"
  Decoder decoder;
  DataType type = DataType::kBf16;
  std::vector<std::string> notes;  ///< sentences: what it does not say, or says and is not followed
};

/// The architectures that are known, by their model_type.
std::vector<std::string> known_architectures();

/// `path` is a config.json, or the folder of a checkpoint which holds one. Strict where a mistake
/// would change a shape, and indifferent to fields that do not. Dimensions of a model which also
/// sees or hears are those of its "text_config". Throws InputError that names the file and the key:
/// it is no JSON of at most 2 MiB, lists and maps are more than 64 deep, a key is there twice, the
/// architecture is unknown, a dimension is missing, absurd or contradicts another.
ModelConfig load_model_config(const std::string& path);
/// The same of such a file's text; `path` is for messages.
ModelConfig parse_model_config(std::string_view text, const std::string& path);

/// How a user wants a model run.
struct ModelRun {
  std::vector<std::int64_t> tokens;  ///< of a pass; each at least 1
  std::int64_t tensor_parallel = 1;
  bool unfused = false;               ///< q, k and v, and gate and up, each on their own
  std::optional<DataType> type = {};  ///< instead of the config's
};

/// Its GEMMs on one rank, merged as load_problems() merges, and what to tell the user, in
/// sentences: what was read, what is left out, what was assumed.
struct ModelProblems {
  std::vector<GemmProblem> problems;
  std::vector<std::string> notes;
};
/// `path` is for messages. Throws InputError where the ranks cannot share the model.
ModelProblems model_problems(const ModelConfig& config, const ModelRun& run,
                             const std::string& path);

}  // namespace hgemm
