// The GEMMs of a model, from its config.json in the format of Hugging Face's transformers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/decoder.h"
#include "gemm/problem.h"

namespace hgemm {

/// Contents of a config.json: the architecture and the model's dimensions.
struct ModelConfig {
  std::string architecture;  ///< the model_type: "llama"
  Decoder decoder;
  std::string activation;      ///< of the gates: "silu"; empty if it is one that no kernel has
  std::string activation_key;  ///< that may name it
  DataType type = DataType::kBf16;
  std::vector<std::string> notes;  ///< sentences: facts that are missing or ignored
};

/// The model_type of every supported architecture.
std::vector<std::string> known_architectures();

/// Reads a config.json; `path` is the file or the checkpoint folder that holds it. Fields that
/// affect a shape are checked strictly; other fields are ignored. A multimodal model's dimensions
/// are those of its "text_config". Throws InputError, naming the file and the key, if the file is
/// not JSON of at most 2 MiB, lists and maps are nested more than 64 deep, a key is there twice,
/// the architecture is unknown, or a dimension is missing, absurd or contradicts another.
ModelConfig load_model_config(const std::string& path);
/// The same for the text of such a file; `path` is used in messages only.
ModelConfig parse_model_config(std::string_view text, const std::string& path);

/// How a model is to be run.
struct ModelRun {
  std::vector<std::int64_t> tokens;  ///< tokens of each pass; each at least 1
  std::int64_t tensor_parallel = 1;
  bool unfused = false;               ///< q, k, v, gate and up are separate GEMMs
  bool gated = false;                 ///< gate and up are one, which computes the activation too
  std::optional<DataType> type = {};  ///< replaces the config's type
};

/// A model's GEMMs on one rank, merged as load_problems() merges them. The notes are sentences for
/// the user: what was read, what is left out, what was assumed.
struct ModelProblems {
  std::vector<GemmProblem> problems;
  std::vector<std::string> notes;
};
/// `path` is used in messages only. Throws InputError if the ranks cannot share the model evenly,
/// or if no kernel has its gated activation.
ModelProblems model_problems(const ModelConfig& config, const ModelRun& run,
                             const std::string& path);

}  // namespace hgemm
