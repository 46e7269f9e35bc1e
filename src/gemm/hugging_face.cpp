#include "gemm/hugging_face.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "gemm/codec.h"
#include "gemm/problem_list.h"

namespace hgemm {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

/// A config.json has a few kilobytes, or more if it lists the layers that are not quantised.
constexpr std::size_t kMaxFileBytes = 2 << 20;
constexpr int kMaxDepth = 64;

// Several times the largest value of any model.
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 24;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::int64_t kMaxLayers = 10'000;

// ---- The architectures ----

enum class Mixture : std::uint8_t {
  kNone,
  kEveryLayer,  ///< experts of width intermediate_size in every layer
  kQwen,        ///< all layers except those excluded by mlp_only_layers and decoder_sparse_step
  kDeepSeek,    ///< all layers from first_k_dense_replace on; shared experts
};

/// Facts about a model_type in transformers.
struct Architecture {
  std::string_view model_type;
  std::string_view class_name;  ///< in "architectures"
  Mixture mixture = Mixture::kNone;
  bool latent_attention = false;
  /// Defaults of its config class for fields that a config.json may leave out; 0: no default.
  /// transformers/models/<model_type>/configuration_<model_type>.py
  std::int64_t head_dim = 0;
  std::int64_t heads = 0, kv_heads = 0, vocab = 0;
  /// As head_dim: the default of its activation.
  std::string_view activation = "silu";
  bool clamps_gates = false;  ///< no kernel does
};

constexpr std::array<Architecture, 13> kArchitectures = {{
    {.model_type = "llama", .class_name = "LlamaForCausalLM"},
    {.model_type = "mistral", .class_name = "MistralForCausalLM"},
    {.model_type = "mixtral", .class_name = "MixtralForCausalLM", .mixture = Mixture::kEveryLayer},
    {.model_type = "qwen2", .class_name = "Qwen2ForCausalLM"},
    {.model_type = "qwen3", .class_name = "Qwen3ForCausalLM", .head_dim = 128},
    {.model_type = "qwen3_moe", .class_name = "Qwen3MoeForCausalLM", .mixture = Mixture::kQwen},
    {.model_type = "deepseek_v2",
     .class_name = "DeepseekV2ForCausalLM",
     .mixture = Mixture::kDeepSeek,
     .latent_attention = true},
    {.model_type = "deepseek_v3",
     .class_name = "DeepseekV3ForCausalLM",
     .mixture = Mixture::kDeepSeek,
     .latent_attention = true},
    {.model_type = "gemma",
     .class_name = "GemmaForCausalLM",
     .head_dim = 256,
     .activation = "gelu_pytorch_tanh"},
    {.model_type = "gemma2",
     .class_name = "Gemma2ForCausalLM",
     .head_dim = 256,
     .activation = "gelu_pytorch_tanh"},
    // The text_config of Gemma 3 has only the values that differ from these.
    {.model_type = "gemma3_text",
     .class_name = "Gemma3ForCausalLM",
     .head_dim = 256,
     .heads = 8,
     .kv_heads = 4,
     .vocab = 262'208,
     .activation = "gelu_pytorch_tanh"},
    {.model_type = "gpt_oss",
     .class_name = "GptOssForCausalLM",
     .mixture = Mixture::kEveryLayer,
     .head_dim = 64,
     .clamps_gates = true},
    // DeepSeek-V3's layers under another name.
    {.model_type = "kimi_k2",
     .class_name = "DeepseekV3ForCausalLM",
     .mixture = Mixture::kDeepSeek,
     .latent_attention = true},
}};

// ---- Untrusted JSON ----

[[noreturn]] void fail(const std::string& path, std::string_view key, const std::string& problem) {
  throw InputError(fmt::format("{}: {}{}{}", path, key, key.empty() ? "" : ": ", problem));
}

/// Describes the value in messages: "found ...".
std::string describe(const json& value) {
  if (value.is_object()) return "a map";
  if (value.is_array()) return "a list";
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return one_line(text);
}

json parse_strictly(std::string_view text, const std::string& path) {
  std::vector<std::set<std::string>> open_maps;  // the keys of each open map
  const auto examine = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth >= kMaxDepth)
      fail(path, "",
           fmt::format("more than {} lists and maps within one another; expected the config.json "
                       "of a model; check the file",
                       kMaxDepth));
    if (event == Event::object_start) open_maps.emplace_back();
    if (event == Event::object_end) open_maps.pop_back();
    if (event == Event::key && !open_maps.back().insert(value.get<std::string>()).second)
      fail(path, describe(value), "is there twice; expected each key once; remove one of them");
    return true;
  };
  try {
    return json::parse(text, examine);
  } catch (const json::exception& error) {
    constexpr std::size_t kLongest = 200;
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));  // the library's own number
    fail(path, "",
         fmt::format("not JSON: {}; expected the config.json of a Hugging Face model{}",
                     one_line(what.substr(0, kLongest)),
                     path.ends_with(".yaml") || path.ends_with(".yml")
                         ? "; give a YAML file of shapes with --shapes"
                         : "; download the file again"));
  }
}

/// The map that has a model's dimensions.
class Fields {
 public:
  using Keys = std::initializer_list<const char*>;  ///< names of one field, the usual one first
  struct Range {
    std::int64_t low, high;
  };

  Fields(const json& map, std::string path, std::string prefix)
      : map_(map), path_(std::move(path)), prefix_(std::move(prefix)) {}

  /// The first key that is present and not null, with its value.
  std::optional<std::pair<std::string, const json*>> find(Keys keys) const {
    for (const char* key : keys) {
      const auto value = map_.find(key);
      if (value != map_.end() && !value->is_null()) return std::pair{prefix_ + key, &*value};
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> find_whole(Keys keys, Range range) const {
    const auto found = find(keys);
    if (!found) return std::nullopt;
    return whole(found->first, *found->second, range);
  }
  /// `otherwise` is the value of an absent field; if it is 0, the field is required.
  std::int64_t whole(Keys keys, Range range, std::int64_t otherwise = 0) const {
    const auto value = find_whole(keys, range);
    if (value) return *value;
    if (otherwise != 0) return otherwise;
    fail(path_, fmt::format("{}{}", prefix_, *keys.begin()),
         fmt::format("missing; expected a whole number from {} to {}; add it", range.low,
                     range.high));
  }

  std::optional<std::string> find_text(const char* key) const {
    const auto found = find({key});
    if (!found) return std::nullopt;
    if (!found->second->is_string())
      fail(path_, found->first,
           fmt::format("found {}; expected text in quotes; correct it", describe(*found->second)));
    return found->second->get<std::string>();
  }

  /// The list's values, without duplicates.
  std::set<std::int64_t> find_wholes(const char* key, Range range) const {
    std::set<std::int64_t> values;
    const auto found = find({key});
    if (!found) return values;
    if (!found->second->is_array())
      fail(path_, found->first,
           fmt::format("found {}; expected a list of whole numbers; correct it",
                       describe(*found->second)));
    for (const json& value : *found->second) values.insert(whole(found->first, value, range));
    return values;
  }

  const std::string& path() const { return path_; }
  const std::string& prefix() const { return prefix_; }

 private:
  std::int64_t whole(const std::string& name, const json& value, Range range) const {
    // get() would change the value of an unsigned number beyond int64.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    if (fits) {
      const auto number = value.get<std::int64_t>();
      if (number >= range.low && number <= range.high) return number;
    }
    fail(path_, name,
         fmt::format("found {}; expected a whole number from {} to {}; correct it", describe(value),
                     range.low, range.high));
  }

  const json& map_;
  std::string path_, prefix_;
};

// ---- Dimensions ----

/// Looks up model_type, or the first of "architectures" if there is no model_type.
const Architecture& architecture_of(const Fields& fields) {
  const auto type = fields.find_text("model_type");
  const auto classes = type ? std::nullopt : fields.find({"architectures"});
  std::string name = type.value_or("");
  if (classes && classes->second->is_array() && !classes->second->empty() &&
      classes->second->front().is_string())
    name = classes->second->front().get<std::string>();
  for (const Architecture& known : kArchitectures)
    if (name == known.model_type || (classes && name == known.class_name)) return known;
  fail(fields.path(), fields.prefix() + "model_type",
       fmt::format("{}; expected one of {}; write the dimensions of another model as `model:` of a "
                   "YAML file, and give that with --shapes",
                   name.empty() ? "missing" : fmt::format("found {}", describe(json(name))),
                   fmt::join(known_architectures(), ", ")));
}

void read_attention(const Fields& fields, const Architecture& architecture, Decoder& decoder) {
  constexpr Fields::Range kHeads = {1, kMaxHeads};
  decoder.heads = fields.whole({"num_attention_heads"}, kHeads, architecture.heads);
  if (architecture.latent_attention) {
    LatentAttention& latent = decoder.latent.emplace();
    latent.q_rank = fields.find_whole({"q_lora_rank"}, {1, kMaxWidth}).value_or(0);
    latent.kv_rank = fields.whole({"kv_lora_rank"}, {1, kMaxWidth});
    latent.nope_dim = fields.whole({"qk_nope_head_dim"}, {1, kMaxHeads});
    latent.rope_dim = fields.whole({"qk_rope_head_dim"}, {1, kMaxHeads});
    latent.v_dim = fields.whole({"v_head_dim"}, {1, kMaxHeads});
    return;
  }
  const std::int64_t default_kv_heads =
      architecture.kv_heads != 0 ? architecture.kv_heads : decoder.heads;
  decoder.kv_heads = fields.whole({"num_key_value_heads"}, kHeads, default_kv_heads);
  if (architecture.head_dim == 0 && !fields.find({"head_dim"}) &&
      decoder.hidden % decoder.heads != 0)
    fail(fields.path(), fields.prefix() + "hidden_size",
         fmt::format("found {}, which num_attention_heads {} does not divide; expected a multiple, "
                     "or a head_dim; correct one of them",
                     decoder.hidden, decoder.heads));
  decoder.head_dim = fields.whole(
      {"head_dim"}, {1, kMaxHeads},
      architecture.head_dim != 0 ? architecture.head_dim : decoder.hidden / decoder.heads);
}

/// The number of layers with experts among `layers`.
std::int64_t mixture_layers(const Fields& fields, Mixture mixture, std::int64_t layers) {
  if (mixture == Mixture::kNone) return 0;
  if (mixture == Mixture::kEveryLayer) return layers;
  const Fields::Range layer = {0, kMaxLayers};
  std::int64_t count = 0;
  if (mixture == Mixture::kQwen) {
    const auto dense = fields.find_wholes("mlp_only_layers", layer);
    const std::int64_t step = fields.whole({"decoder_sparse_step"}, {1, kMaxLayers}, 1);
    for (std::int64_t i = 0; i < layers; ++i) count += !dense.contains(i) && (i + 1) % step == 0;
    return count;
  }
  const std::int64_t first = fields.find_whole({"first_k_dense_replace"}, layer).value_or(0);
  const std::int64_t step = fields.whole({"moe_layer_freq"}, {1, kMaxLayers}, 1);
  for (std::int64_t i = first; i < layers; ++i) count += i % step == 0;
  return count;
}

const char* expert_width_key(Mixture mixture) {
  return mixture == Mixture::kEveryLayer ? "intermediate_size" : "moe_intermediate_size";
}

const char* expert_count_key(Mixture mixture) {
  if (mixture == Mixture::kDeepSeek) return "n_routed_experts";
  return mixture == Mixture::kQwen ? "num_experts" : "num_local_experts";
}

void read_feed_forward(const Fields& fields, Mixture mixture, Decoder& decoder) {
  constexpr Fields::Range kWidth = {1, kMaxWidth};
  constexpr Fields::Range kCount = {1, kMaxHeads};
  const std::int64_t mixed = mixture_layers(fields, mixture, decoder.layers);
  decoder.dense_layers = decoder.layers - mixed;
  if (decoder.dense_layers > 0) decoder.ffn = fields.whole({"intermediate_size"}, kWidth);
  if (mixed == 0) return;
  Experts& experts = decoder.experts.emplace();
  experts.layers = mixed;
  // transformers maps some of these names to others, so a file may have either name.
  experts.count = fields.whole({expert_count_key(mixture), "num_local_experts"}, kCount);
  experts.per_token = fields.whole({"num_experts_per_tok", "experts_per_token"}, kCount);
  if (experts.per_token > experts.count)
    fail(fields.path(), fields.prefix() + "num_experts_per_tok",
         fmt::format("found {}, more than there are experts, {}; expected fewer; correct one of "
                     "them",
                     experts.per_token, experts.count));
  experts.ffn = fields.whole({expert_width_key(mixture)}, kWidth);
  if (mixture == Mixture::kDeepSeek)
    experts.shared = fields.find_whole({"n_shared_experts"}, {0, kMaxHeads}).value_or(0);
}

constexpr std::string_view kSilu = "silu";
/// Gemma's files may have both keys. The older one says "gelu" where GELU with tanh is meant, so
/// engines do not read it (vLLM 0.33, model_executor/models/gemma.py).
const char* activation_key(const Architecture& architecture) {
  return architecture.activation == kSilu ? "hidden_act" : "hidden_activation";
}
/// The activation of the gates, as transformers names it; empty if no kernel has it.
std::string read_activation(const Fields& fields, const Architecture& architecture) {
  if (architecture.clamps_gates) return "";
  return fields.find_text(activation_key(architecture))
      .value_or(std::string(architecture.activation));
}

/// By its name in transformers (activations.py, ACT2FN).
std::optional<Activation> gate_activation(std::string_view name) {
  constexpr Word<Activation> kNames[] = {{"silu", Activation::kSilu},
                                         {"gelu_pytorch_tanh", Activation::kGelu},
                                         {"gelu_new", Activation::kGelu},
                                         {"gelu", Activation::kGeluErf},
                                         {"relu", Activation::kRelu}};
  return find_word(kNames, name);
}

/// The type that engines compute in; bf16 if the config has none, "float32" or "auto".
DataType read_type(const Fields& inner, const Fields& outer, std::vector<std::string>& notes) {
  for (const Fields* fields : {&inner, &outer})
    for (const char* key : {"dtype", "torch_dtype"}) {  // the name since version 5, and before
      const auto word = fields->find_text(key);
      if (!word) continue;
      if (*word == "bfloat16") return DataType::kBf16;
      if (*word == "float16") return DataType::kFp16;
      if (*word != "float32" && *word != "auto")
        fail(fields->path(), fields->prefix() + key,
             fmt::format("found {}; expected \"bfloat16\", \"float16\" or \"float32\"; correct it",
                         describe(json(*word))));
      notes.push_back(
          fmt::format("{} is {}; bf16 is assumed, as engines run it (--dtype says "
                      "otherwise)",
                      key, *word));
      return DataType::kBf16;
    }
  notes.emplace_back("no dtype is given; bf16 is assumed (--dtype says otherwise)");
  return DataType::kBf16;
}

void note_quantisation(const Fields& fields, std::vector<std::string>& notes) {
  const auto found = fields.find({"quantization_config"});
  if (!found) return;
  std::string method = "of an unnamed kind";
  if (found->second->is_object()) {
    const auto named = found->second->find("quant_method");
    if (named != found->second->end() && named->is_string()) method = describe(*named);
  }
  notes.push_back(
      fmt::format("its weights are quantised ({}: {}); these are the shapes of the same "
                  "layers in 16 bits, which an engine runs only where it does not "
                  "quantise them",
                  found->first, method));
}

const char* key_of(Dimension dimension, const std::string& architecture) {
  switch (dimension) {
    case Dimension::kHeads:
      return "num_attention_heads";
    case Dimension::kKvHeads:
      return "num_key_value_heads";
    case Dimension::kVocab:
      return "vocab_size";
    case Dimension::kExpertFfn:
      return expert_width_key(
          std::ranges::find(kArchitectures, architecture, &Architecture::model_type)->mixture);
    case Dimension::kFfn:
      break;
  }
  return "intermediate_size";
}

// ---- Notes for the user ----

std::string what_was_read(const ModelConfig& config, const ModelRun& run, DataType type,
                          const std::string& path) {
  const Decoder& decoder = config.decoder;
  std::string text = fmt::format("{}: {}, {} layers", path, config.architecture, decoder.layers);
  if (decoder.experts) text += fmt::format(" ({} with experts)", decoder.experts->layers);
  text += fmt::format(", {}, {}; left out: the products inside of attention{}, norms, embeddings{}",
                      to_string(type),
                      run.tensor_parallel == 1
                          ? "on one GPU"
                          : fmt::format("one of {} tensor-parallel ranks", run.tensor_parallel),
                      decoder.latent ? " (in decode kv_b too)" : "",
                      decoder.experts ? ", the router" : "");
  return text;
}

std::string what_was_assumed(const Decoder& decoder, const Execution& execution) {
  std::string text = fmt::format(
      "assumed: M below {} is decode, with one row for each sequence; from there on it is the "
      "prefill of one sequence, and only its last row needs logits; a vocabulary of {}",
      kPrefillTokens, decoder.vocab);
  const std::int64_t vocab = run_vocab(decoder, execution);
  if (vocab != decoder.vocab) text += fmt::format(", padded to {}", vocab);
  const std::int64_t ranks = execution.tensor_parallel;
  if (!decoder.latent && ranks > decoder.kv_heads)
    text += fmt::format("; a copy of one of the {} KV heads on each rank", decoder.kv_heads);
  if (decoder.experts) {
    const Experts& experts = *decoder.experts;
    text += fmt::format(
        "; a balanced router: each of {} experts has M x {} / {} rows, rounded up, and where M x "
        "{} "
        "is less than {}, so many experts have one row each",
        experts.count, experts.per_token, experts.count, experts.per_token, experts.count);
    if (ranks > 1) text += "; each expert is split over the ranks";
  }
  return text;
}

}  // namespace

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const Architecture& known : kArchitectures) names.emplace_back(known.model_type);
  return names;
}

ModelConfig parse_model_config(std::string_view text, const std::string& path) {
  const json root = parse_strictly(text, path);
  if (!root.is_object())
    fail(path, "",
         fmt::format("found {}; expected a map, the config.json of a Hugging Face model; check the "
                     "file",
                     describe(root)));
  const Fields outer(root, path, "");
  const auto nested = outer.find({"text_config"});
  if (nested && !nested->second->is_object())
    fail(path, nested->first,
         fmt::format("found {}; expected a map; correct it", describe(*nested->second)));
  const Fields fields =
      nested ? Fields(*nested->second, path, nested->first + ".") : Fields(root, path, "");

  const Architecture& architecture = architecture_of(fields);
  ModelConfig config;
  config.architecture = architecture.model_type;
  Decoder& decoder = config.decoder;
  decoder.hidden = fields.whole({"hidden_size"}, {1, kMaxWidth});
  decoder.layers = fields.whole({"num_hidden_layers"}, {1, kMaxLayers});
  decoder.vocab = fields.whole({"vocab_size"}, {1, kMaxWidth}, architecture.vocab);
  read_attention(fields, architecture, decoder);
  read_feed_forward(fields, architecture.mixture, decoder);
  if (const auto uneven = find_uneven(decoder, Execution{}))
    fail(path, fields.prefix() + key_of(uneven->dimension, config.architecture),
         fmt::format("found {}, which num_key_value_heads {} does not divide; expected a multiple; "
                     "correct one of them",
                     uneven->value, uneven->divisor));
  config.activation = read_activation(fields, architecture);
  config.activation_key = activation_key(architecture);
  config.type = read_type(fields, outer, config.notes);
  if (nested) config.notes.emplace_back("only its text_config is read: other parts are left out");
  if (const auto further = fields.find_whole({"num_nextn_predict_layers"}, {0, kMaxLayers});
      further.value_or(0) > 0)
    config.notes.emplace_back(
        "num_nextn_predict_layers: the layers which guess further tokens are left out");
  note_quantisation(nested && fields.find({"quantization_config"}) ? fields : outer, config.notes);
  return config;
}

ModelConfig load_model_config(const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const std::string file = is_folder ? (fs::path(path) / "config.json").string() : path;
  return parse_model_config(read_file(file, kMaxFileBytes), file);
}

ModelProblems model_problems(const ModelConfig& config, const ModelRun& run,
                             const std::string& path) {
  const Decoder& decoder = config.decoder;
  Execution execution{.tensor_parallel = run.tensor_parallel,
                      .fused_qkv = !run.unfused,
                      .fused_gate_up = !run.unfused};
  if (run.gated) {
    execution.gated = gate_activation(config.activation);
    if (config.activation.empty())
      fail(path, "model_type",
           fmt::format("{} clamps its gates, which no kernel does; leave --gated out",
                       config.architecture));
    if (!execution.gated)
      fail(path, config.activation_key,
           fmt::format("found {}; --gated has silu, gelu_pytorch_tanh, gelu_new, gelu and relu; "
                       "leave --gated out",
                       describe(json(config.activation))));
  }
  if (const auto uneven = find_uneven(decoder, execution))
    fail(path, key_of(uneven->dimension, config.architecture),
         fmt::format("found {}, which --tp {} does not divide; expected a multiple of it{}; choose "
                     "another --tp",
                     uneven->value, uneven->divisor,
                     uneven->dimension == Dimension::kKvHeads ? ", or a divisor" : ""));
  const DataType type = run.type.value_or(config.type);
  ModelProblems result;
  for (const std::int64_t tokens : run.tokens)
    for (GemmProblem& problem : gemms_of(decoder, execution, tokens, type)) {
      if (std::max({problem.m, problem.n, problem.k}) > kMaxExtent)
        fail(path, problem.tag,
             fmt::format("its GEMM would be {}, larger than {}; expected the dimensions of a real "
                         "model; correct them",
                         to_string(problem), kMaxExtent));
      result.problems.push_back(std::move(problem));
    }
  result.problems = merge_problems(result.problems);
  result.notes.push_back(what_was_read(config, run, type, path));
  result.notes.push_back(what_was_assumed(decoder, execution));
  for (const std::string& note : config.notes) result.notes.push_back("note: " + note);
  return result;
}

}  // namespace hgemm
