// The GEMMs of models by their config.json. The files in tests/data/models have the fields which
// the models on the hub have; the shapes that are expected of them were worked out by hand.
#include "gemm/hugging_face.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "gemm/problem_list.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string sample(const std::string& name) {
  return fmt::format("{}/tests/data/models/{}.json", HGEMM_SOURCE_DIR, name);
}
json fields_of(const std::string& name) { return json::parse(read_file(sample(name), 1 << 20)); }

/// "tag shape x weight" of each GEMM.
std::vector<std::string> lines(const ModelProblems& model) {
  std::vector<std::string> result;
  for (const GemmProblem& problem : model.problems)
    result.push_back(fmt::format("{} {} x {}", problem.tag, to_string(problem), problem.weight));
  return result;
}

std::vector<std::string> gemms(const std::string& name, const ModelRun& run) {
  return lines(model_problems(load_model_config(sample(name)), run, name));
}
ModelRun run_of(std::int64_t tokens, std::int64_t ranks = 1) {
  return {.tokens = {tokens}, .tensor_parallel = ranks};
}
ModelRun unfused(std::int64_t tokens, std::int64_t ranks = 1) {
  return {.tokens = {tokens}, .tensor_parallel = ranks, .unfused = true};
}

std::vector<std::string> gemms_in(const json& config, const ModelRun& run) {
  return lines(
      model_problems(parse_model_config(config.dump(), "config.json"), run, "config.json"));
}

/// What is told of a model besides its GEMMs, in one text.
std::string notes(const json& config, const ModelRun& run = run_of(1)) {
  std::string text;
  for (const std::string& note :
       model_problems(parse_model_config(config.dump(), "config.json"), run, "config.json").notes)
    text += note + '\n';
  return text;
}

std::string complaint(const std::string& text, const ModelRun& run = run_of(1)) {
  try {
    model_problems(parse_model_config(text, "config.json"), run, "config.json");
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "accepted";
}
/// The problems of a sample config with some fields replaced; null removes a field.
std::string complaint_with(const std::string& name, const json& patch,
                           const ModelRun& run = run_of(1)) {
  json config = fields_of(name);
  config.merge_patch(patch);
  return complaint(config.dump(), run);
}

// ---- Dense models ----

TEST(HuggingFace, Llama3Of70BOnEightRanks) {
  EXPECT_THAT(gemms("llama-3-70b", run_of(16, 8)),
              ElementsAre("decode/qkv 16x1280x8192 x 80", "decode/attn_out 16x8192x1024 x 80",
                          "decode/ffn_gate_up 16x7168x8192 x 80",
                          "decode/ffn_down 16x8192x3584 x 80", "decode/logits 16x16032x8192 x 1"));
}

/// The YAML block has gate and up apart, and logits of every token.
TEST(HuggingFace, Llama2Of7BAgreesWithTheShippedShapes) {
  const auto shipped = load_problems("llama7b-decode.yaml", HGEMM_SOURCE_DIR "/configs");
  const ModelRun bf16{.tokens = {1, 16, 64, 128}, .type = DataType::kBf16};
  ModelRun apart = bf16;
  apart.unfused = true;
  const auto fused = gemms("llama-2-7b", bf16);
  const auto split = gemms("llama-2-7b", apart);
  for (const GemmProblem& problem : shipped) {
    const std::string line =
        fmt::format("{} {} x {}", problem.tag, to_string(problem), problem.weight);
    EXPECT_THAT(problem.tag == "decode/ffn_gate_up" ? split : fused, Contains(line));
  }
  EXPECT_EQ(fused.size(), shipped.size());
  EXPECT_THAT(fused, Contains("decode/ffn_gate_up 16x22016x4096 x 32"));
}

TEST(HuggingFace, GateAndUpMayComputeTheActivation) {
  ModelRun gated = run_of(16, 8);
  gated.gated = true;
  EXPECT_THAT(gemms("llama-3-70b", gated), Contains("decode/ffn_gate_up 16x7168x8192.swiglu x 80"));
  EXPECT_THAT(gemms("llama-3-70b", gated), Contains("decode/ffn_down 16x8192x3584 x 80"));
  gated.tensor_parallel = 1;
  json config = fields_of("llama-2-7b");
  config["hidden_act"] = "gelu_pytorch_tanh";
  EXPECT_THAT(gemms_in(config, gated),
              Contains("decode/ffn_gate_up 16x22016x4096.fp16.geglu x 32"));
  config.erase("hidden_act");
  EXPECT_THAT(gemms_in(config, gated),
              Contains("decode/ffn_gate_up 16x22016x4096.fp16.swiglu x 32"));
  config["hidden_act"] = "tanh";
  EXPECT_THAT(complaint(config.dump(), gated),
              HasSubstr("hidden_act: found \"tanh\"; --gated has silu"));
  EXPECT_EQ(complaint(config.dump()), "accepted") << "without --gated nobody asks";
  EXPECT_THAT(complaint(fields_of("gpt-oss-20b").dump(), gated),
              HasSubstr("model_type: gpt_oss clamps its gates"));
  // An older key of Gemma's files says gelu, and means the one with tanh.
  json gemma = fields_of("gemma-2-9b");
  gemma["hidden_act"] = "gelu";
  gemma.erase("hidden_activation");
  EXPECT_THAT(gemms_in(gemma, gated), Contains(HasSubstr(".geglu x")));
  gemma["hidden_activation"] = "gelu";
  EXPECT_THAT(gemms_in(gemma, gated), Contains(HasSubstr(".geglu_erf x")));
}

TEST(HuggingFace, Mistral7B) {
  EXPECT_THAT(
      gemms("mistral-7b", run_of(2048)),
      ElementsAre("prefill/qkv 2048x6144x4096 x 32", "prefill/attn_out 2048x4096x4096 x 32",
                  "prefill/ffn_gate_up 2048x28672x4096 x 32",
                  "prefill/ffn_down 2048x4096x14336 x 32", "prefill/logits 1x32000x4096 x 1"));
}

TEST(HuggingFace, Qwen25Of7B) {
  EXPECT_THAT(
      gemms("qwen2.5-7b", run_of(64)),
      ElementsAre("decode/qkv 64x4608x3584 x 28", "decode/attn_out 64x3584x3584 x 28",
                  "decode/ffn_gate_up 64x37888x3584 x 28", "decode/ffn_down 64x3584x18944 x 28",
                  "decode/logits 64x152064x3584 x 1"));
  EXPECT_THAT(gemms("qwen2.5-7b", run_of(64, 4)),
              ElementsAre("decode/qkv 64x1152x3584 x 28", "decode/attn_out 64x3584x896 x 28",
                          "decode/ffn_gate_up 64x9472x3584 x 28",
                          "decode/ffn_down 64x3584x4736 x 28", "decode/logits 64x38016x3584 x 1"));
}

TEST(HuggingFace, Qwen3Of8B) {
  EXPECT_THAT(gemms("qwen3-8b", run_of(1)),
              ElementsAre("decode/qkv 1x6144x4096 x 36", "decode/attn_out 1x4096x4096 x 36",
                          "decode/ffn_gate_up 1x24576x4096 x 36",
                          "decode/ffn_down 1x4096x12288 x 36", "decode/logits 1x151936x4096 x 1"));
}

TEST(HuggingFace, Gemma2Of9BHasHeadsOfItsOwnWidth) {
  EXPECT_THAT(gemms("gemma-2-9b", run_of(1)),
              ElementsAre("decode/qkv 1x8192x3584 x 42", "decode/attn_out 1x3584x4096 x 42",
                          "decode/ffn_gate_up 1x28672x3584 x 42",
                          "decode/ffn_down 1x3584x14336 x 42", "decode/logits 1x256000x3584 x 1"));
}

TEST(HuggingFace, Gemma3HasItsDimensionsInATextConfigWithDefaults) {
  EXPECT_THAT(gemms("gemma-3-4b", run_of(1)),
              ElementsAre("decode/qkv 1x4096x2560 x 34", "decode/attn_out 1x2560x2048 x 34",
                          "decode/ffn_gate_up 1x20480x2560 x 34",
                          "decode/ffn_down 1x2560x10240 x 34", "decode/logits 1x262208x2560 x 1"));
  EXPECT_THAT(notes(fields_of("gemma-3-4b")), HasSubstr("only its text_config"));
  EXPECT_THAT(complaint_with("gemma-3-4b", {{"text_config", {{"num_hidden_layers", "many"}}}}),
              StartsWith("config.json: text_config.num_hidden_layers: found \"many\""));
  EXPECT_THAT(complaint_with("gemma-3-4b", {{"text_config", 4}}),
              StartsWith("config.json: text_config: found 4; expected a map"));
}

// ---- Mixtures of experts ----

TEST(HuggingFace, Mixtral8x7B) {
  EXPECT_THAT(
      gemms("mixtral-8x7b", run_of(16)),
      ElementsAre("decode/qkv 16x6144x4096 x 32", "decode/attn_out 16x4096x4096 x 32",
                  "decode-experts/gate_up 4x28672x4096 x 256",
                  "decode-experts/down 4x4096x14336 x 256", "decode/logits 16x32000x4096 x 1"));
}

TEST(HuggingFace, Qwen3Of30BWithMoreRanksThanKvHeads) {
  EXPECT_THAT(
      gemms("qwen3-30b-a3b", run_of(2048)),
      ElementsAre("prefill/qkv 2048x5120x2048 x 48", "prefill/attn_out 2048x2048x4096 x 48",
                  "prefill-experts/gate_up 128x1536x2048 x 6144",
                  "prefill-experts/down 128x2048x768 x 6144", "prefill/logits 1x151936x2048 x 1"));
  // 4 of 32 heads, and one of 4 KV heads, which another rank has too.
  EXPECT_THAT(
      gemms("qwen3-30b-a3b", run_of(64, 8)),
      ElementsAre("decode/qkv 64x768x2048 x 48", "decode/attn_out 64x2048x512 x 48",
                  "decode-experts/gate_up 4x192x2048 x 6144",
                  "decode-experts/down 4x2048x96 x 6144", "decode/logits 64x18992x2048 x 1"));
  EXPECT_THAT(
      notes(fields_of("qwen3-30b-a3b"), run_of(64, 8)),
      AllOf(HasSubstr("a copy of one of the 4 KV heads on each rank"),
            HasSubstr("each of 128 experts has M x 8 / 128 rows"), HasSubstr("the router")));
  EXPECT_THAT(notes(fields_of("qwen3-30b-a3b"), run_of(64, 4)), Not(HasSubstr("KV heads")));
}

TEST(HuggingFace, TokensOfAnExpertAreRoundedUpAndSomeExpertsIdle) {
  // 8 choices among 128 experts; 128; 136, of which no expert has more than two.
  EXPECT_THAT(gemms("qwen3-30b-a3b", run_of(1)), Contains("decode-experts/down 1x2048x768 x 384"));
  EXPECT_THAT(gemms("qwen3-30b-a3b", run_of(16)),
              Contains("decode-experts/down 1x2048x768 x 6144"));
  EXPECT_THAT(gemms("qwen3-30b-a3b", run_of(17)),
              Contains("decode-experts/down 2x2048x768 x 6144"));
}

TEST(HuggingFace, SomeLayersOfQwenMoeAreDense) {
  json config = fields_of("qwen3-30b-a3b");
  config["mlp_only_layers"] = {0, 1, 47};
  EXPECT_THAT(gemms_in(config, run_of(16)),
              AllOf(Contains("decode/ffn_gate_up 16x12288x2048 x 3"),
                    Contains("decode/ffn_down 16x2048x6144 x 3"),
                    Contains("decode-experts/down 1x2048x768 x 5760")));
  config["mlp_only_layers"] = nullptr;
  config["decoder_sparse_step"] = 3;  // experts in layers 2, 5, ...
  EXPECT_THAT(gemms_in(config, run_of(16)),
              AllOf(Contains("decode/ffn_down 16x2048x6144 x 32"),
                    Contains("decode-experts/down 1x2048x768 x 2048")));
}

TEST(HuggingFace, GptOss20B) {
  EXPECT_THAT(
      gemms("gpt-oss-20b", run_of(64)),
      ElementsAre("decode/qkv 64x5120x2880 x 24", "decode/attn_out 64x2880x4096 x 24",
                  "decode-experts/gate_up 8x5760x2880 x 768",
                  "decode-experts/down 8x2880x2880 x 768", "decode/logits 64x201088x2880 x 1"));
  EXPECT_THAT(notes(fields_of("gpt-oss-20b")),
              AllOf(HasSubstr("quantised (quantization_config: \"mxfp4\")"),
                    HasSubstr("no dtype is given; bf16 is assumed")));
}

// ---- Latent attention ----

TEST(HuggingFace, DeepSeekV3InDecode) {
  EXPECT_THAT(
      gemms("deepseek-v3", run_of(64, 8)),
      ElementsAre("decode/qkv_a 64x2112x7168 x 61", "decode/q_b 64x3072x1536 x 61",
                  "decode/attn_out 64x7168x2048 x 61", "decode/ffn_gate_up 64x4608x7168 x 3",
                  "decode/ffn_down 64x7168x2304 x 3", "decode/shared_gate_up 64x512x7168 x 58",
                  "decode/shared_down 64x7168x256 x 58",
                  "decode-experts/gate_up 2x512x7168 x 14848",
                  "decode-experts/down 2x7168x256 x 14848", "decode/logits 64x16160x7168 x 1"));
  EXPECT_THAT(notes(fields_of("deepseek-v3"), run_of(64, 8)),
              AllOf(HasSubstr("in decode kv_b too"), HasSubstr("quantised"), HasSubstr("\"fp8\""),
                    HasSubstr("num_nextn_predict_layers"), HasSubstr("61 layers (58 with experts)"),
                    HasSubstr("one of 8 tensor-parallel ranks")));
}

TEST(HuggingFace, DeepSeekV3InPrefillAlsoExpandsKeysAndValues) {
  const auto fused = gemms("deepseek-v3", run_of(2048, 8));
  EXPECT_THAT(fused, AllOf(Contains("prefill/kv_b 2048x4096x512 x 61"),
                           Contains("prefill-experts/down 64x7168x256 x 14848"),
                           Contains("prefill/logits 1x16160x7168 x 1")));
  EXPECT_THAT(gemms("deepseek-v3", unfused(2048, 8)),
              AllOf(Contains("prefill/q_a 2048x1536x7168 x 61"),
                    Contains("prefill/kv_a 2048x576x7168 x 61"),
                    Contains("prefill/ffn_gate_up 2048x2304x7168 x 6"),
                    Contains("prefill-experts/gate_up 64x256x7168 x 29696")));
  // V2-Lite: queries have one layer.
  json lite = fields_of("deepseek-v3");
  lite["q_lora_rank"] = nullptr;
  EXPECT_THAT(gemms_in(lite, run_of(2048, 8)), AllOf(Contains("prefill/q 2048x3072x7168 x 61"),
                                                     Contains("prefill/kv_a 2048x576x7168 x 61"),
                                                     Not(Contains(HasSubstr("qkv_a")))));
}

// ---- How it is run ----

TEST(HuggingFace, UnfusedLayersStandAlone) {
  EXPECT_THAT(
      gemms("llama-3-70b", unfused(16, 8)),
      ElementsAre("decode/q 16x1024x8192 x 80", "decode/k_v 16x128x8192 x 160",
                  "decode/attn_out 16x8192x1024 x 80", "decode/ffn_gate_up 16x3584x8192 x 160",
                  "decode/ffn_down 16x8192x3584 x 80", "decode/logits 16x16032x8192 x 1"));
}

TEST(HuggingFace, RowsOfLogitsAreSequences) {
  const auto rows = [](std::int64_t tokens) { return gemms("mistral-7b", run_of(tokens)).back(); };
  EXPECT_EQ(rows(255), "decode/logits 255x32000x4096 x 1");
  EXPECT_EQ(rows(256), "prefill/logits 1x32000x4096 x 1");
  // The same GEMM in two passes.
  EXPECT_THAT(gemms("mistral-7b", {.tokens = {1, 2048}}),
              Contains("decode/logits+prefill/logits 1x32000x4096 x 2"));
  EXPECT_THAT(notes(fields_of("mistral-7b")),
              AllOf(HasSubstr("M below 256 is decode"), HasSubstr("the prefill of one sequence"),
                    HasSubstr("left out: the products inside of attention, norms, embeddings")));
}

TEST(HuggingFace, TheVocabularyIsPadded) {
  json config = fields_of("mistral-7b");
  config["vocab_size"] = 32003;
  EXPECT_THAT(gemms_in(config, run_of(1)).back(), HasSubstr("1x32064x4096"));
  EXPECT_THAT(gemms_in(config, run_of(1, 2)).back(), HasSubstr("1x16032x4096"));
  EXPECT_THAT(notes(config), HasSubstr("a vocabulary of 32003, padded to 32064"));
  // 32064 is not divided by 28 ranks, 18 times 64 times 28 is.
  config["num_attention_heads"] = config["num_key_value_heads"] = 28;
  config["head_dim"] = 128;
  EXPECT_THAT(gemms_in(config, run_of(1, 28)).back(), HasSubstr("1x1152x4096"));
  EXPECT_THAT(notes(fields_of("mistral-7b")), Not(HasSubstr("padded")));
}

TEST(HuggingFace, TheTypeIsTheFilesOrTheUsers) {
  EXPECT_THAT(gemms("llama-2-7b", run_of(1)), Contains(HasSubstr("1x12288x4096.fp16 ")));
  json config = fields_of("llama-2-7b");
  config["torch_dtype"] = "float32";
  EXPECT_THAT(gemms_in(config, run_of(1)), Contains(HasSubstr("1x12288x4096 ")));
  EXPECT_THAT(notes(config), HasSubstr("torch_dtype is float32; bf16 is assumed"));
  config["dtype"] = "float16";  // the newer name goes first
  EXPECT_THAT(gemms_in(config, run_of(1)), Contains(HasSubstr("1x12288x4096.fp16 ")));
  config["dtype"] = "float8_e4m3fn";
  EXPECT_THAT(complaint(config.dump()), StartsWith("config.json: dtype: found \"float8_e4m3fn\""));
}

TEST(HuggingFace, WhatChangesNoShapeIsIgnored) {
  json config = fields_of("llama-3-70b");
  const auto shapes = gemms_in(config, run_of(16, 8));
  config["tie_word_embeddings"] = true;
  config["sliding_window"] = 4096;
  config["attention_bias"] = "perhaps";
  config["rope_scaling"] = {{"factor", 8.0}};
  config["num_experts"] = 64;
  EXPECT_EQ(gemms_in(config, run_of(16, 8)), shapes);
}

TEST(HuggingFace, AbsentFieldsHaveTheDefaultsOfTheirClass) {
  json config = fields_of("llama-3-70b");
  config.erase("num_key_value_heads");
  EXPECT_THAT(gemms_in(config, run_of(1)), Contains(HasSubstr("1x24576x8192")));
  config = fields_of("qwen3-8b");
  config.erase("head_dim");
  config["hidden_size"] = 1024;  // Qwen3-0.6B's: heads are 128 wide, not 1024 / 32
  EXPECT_THAT(gemms_in(config, run_of(1)), Contains(HasSubstr("decode/attn_out 1x1024x4096")));
  config.erase("model_type");
  EXPECT_THAT(notes(config), StartsWith("config.json: qwen3,"));
}

TEST(HuggingFace, AFolderIsThatOfItsConfig) {
  const ScratchFiles files;
  files.write("checkpoint/config.json", read_file(sample("mistral-7b"), 1 << 20));
  EXPECT_EQ(load_model_config((files.folder() / "checkpoint").string()).architecture, "mistral");
  std::filesystem::create_directory(files.folder() / "empty");
  EXPECT_THROW(load_model_config((files.folder() / "empty").string()), InputError);
}

// ---- Bad input ----

TEST(HuggingFace, UnknownArchitecturesNameTheKnownOnes) {
  EXPECT_THAT(complaint_with("llama-2-7b", {{"model_type", "bert"}}),
              AllOf(StartsWith("config.json: model_type: found \"bert\"; expected one of llama, "),
                    HasSubstr("deepseek_v3"), HasSubstr("gpt_oss"), HasSubstr("--shapes")));
  EXPECT_THAT(complaint_with("llama-2-7b", {{"model_type", nullptr}, {"architectures", nullptr}}),
              StartsWith("config.json: model_type: missing; expected one of"));
  EXPECT_THAT(complaint_with("llama-2-7b", {{"model_type", 7}}),
              StartsWith("config.json: model_type: found 7; expected text"));
}

TEST(HuggingFace, MissingAndAbsurdFieldsAreNamed) {
  for (const char* key : {"hidden_size", "intermediate_size", "num_attention_heads",
                          "num_hidden_layers", "vocab_size"})
    EXPECT_THAT(complaint_with("llama-2-7b", {{key, nullptr}}),
                StartsWith(fmt::format("config.json: {}: missing; expected a whole number", key)));
  for (const char* key : {"num_experts", "num_experts_per_tok", "moe_intermediate_size"})
    EXPECT_THAT(complaint_with("qwen3-30b-a3b", {{key, nullptr}}),
                StartsWith(fmt::format("config.json: {}: missing", key)));
  for (const char* key :
       {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "n_routed_experts"})
    EXPECT_THAT(complaint_with("deepseek-v3", {{key, nullptr}}),
                StartsWith(fmt::format("config.json: {}: missing", key)));
  for (const json& absurd : std::vector<json>{0, -4096, 4096.5, 4096.0, 1'000'000'000, "4096", true,
                                              json::array({4096}), 18446744073709551615ull})
    EXPECT_THAT(complaint_with("llama-2-7b", {{"hidden_size", absurd}}),
                AllOf(StartsWith("config.json: hidden_size: found "),
                      HasSubstr("expected a whole number from 1 to 16777216")))
        << absurd;
  EXPECT_THAT(complaint_with("llama-2-7b", {{"num_hidden_layers", 10'001}}),
              HasSubstr("num_hidden_layers: found 10001"));
  EXPECT_THAT(complaint_with("mixtral-8x7b", {{"num_experts_per_tok", 9}}),
              StartsWith("config.json: num_experts_per_tok: found 9, more than"));
  EXPECT_THAT(complaint_with("qwen3-30b-a3b", {{"mlp_only_layers", 3}}),
              StartsWith("config.json: mlp_only_layers: found 3; expected a list"));
  EXPECT_THAT(complaint_with("qwen3-30b-a3b", {{"mlp_only_layers", {3, -1}}}),
              StartsWith("config.json: mlp_only_layers: found -1"));
  EXPECT_THAT(complaint_with("llama-2-7b", {{"hidden_size", 4097}}),
              StartsWith("config.json: hidden_size: found 4097, which num_attention_heads 32"));
  EXPECT_THAT(
      complaint_with("llama-2-7b", {{"num_key_value_heads", 5}}),
      StartsWith("config.json: num_attention_heads: found 32, which num_key_value_heads 5"));
  EXPECT_THAT(complaint_with("llama-2-7b", {{"num_attention_heads", 65536},
                                            {"num_key_value_heads", 65536},
                                            {"head_dim", 65536}}),
              AllOf(StartsWith("config.json: decode/qkv: "), HasSubstr("larger than 1073741824")));
}

TEST(HuggingFace, RanksMustShareEvenly) {
  EXPECT_THAT(complaint_with("qwen2.5-7b", json::object(), run_of(1, 8)),
              AllOf(StartsWith("config.json: num_attention_heads: found 28, which --tp 8 does not "
                               "divide"),
                    HasSubstr("choose another --tp")));
  EXPECT_THAT(complaint_with("llama-3-70b", {{"num_key_value_heads", 8}}, run_of(1, 32)),
              "accepted");
  EXPECT_THAT(
      complaint_with("llama-3-70b", {{"num_attention_heads", 96}, {"head_dim", 128}},
                     run_of(1, 12)),
      StartsWith("config.json: num_key_value_heads: found 8, which --tp 12 does not divide; "
                 "expected a multiple of it, or a divisor"));
  EXPECT_THAT(complaint_with("mistral-7b", {{"intermediate_size", 14335}}, run_of(1, 2)),
              StartsWith("config.json: intermediate_size: found 14335, which --tp 2"));
  // 6144, the width of dense layers, would not be divided either, but there are none.
  EXPECT_THAT(complaint_with("qwen3-30b-a3b", {{"intermediate_size", 6145}}, run_of(1, 4)),
              "accepted");
  EXPECT_THAT(complaint_with("qwen3-30b-a3b", {{"moe_intermediate_size", 770}}, run_of(1, 4)),
              StartsWith("config.json: moe_intermediate_size: found 770"));
  EXPECT_THAT(complaint_with("mixtral-8x7b", {{"intermediate_size", 14335}}, run_of(1, 2)),
              StartsWith("config.json: intermediate_size: found 14335"));
}

TEST(HuggingFace, WhatIsNoConfigIsRefused) {
  EXPECT_THAT(complaint(""), StartsWith("config.json: not JSON: "));
  EXPECT_THAT(complaint("<html>"), AllOf(StartsWith("config.json: not JSON: parse error at line 1"),
                                         HasSubstr("expected the config.json of a Hugging Face")));
  EXPECT_THAT(complaint("{\"hidden_size\": 1,}"), StartsWith("config.json: not JSON: "));
  EXPECT_THAT(complaint("{\"hidden_size\": NaN}"), StartsWith("config.json: not JSON: "));
  EXPECT_THAT(complaint("{\"hidden_size\": 1e999}"), StartsWith("config.json: not JSON: "));
  EXPECT_THAT(complaint("{\"a\": \"\xff\"}"), StartsWith("config.json: not JSON: "));
  EXPECT_THAT(complaint("[]"), StartsWith("config.json: found a list; expected a map"));
  EXPECT_THAT(complaint("{\"a\": 1, \"hidden_size\": 2, \"hidden_size\": 3}"),
              StartsWith("config.json: \"hidden_size\": is there twice"));
  EXPECT_EQ(complaint("{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}}").find("twice"), std::string::npos);
  for (const char open : {'[', '{'}) {
    std::string deep;
    for (int i = 0; i < 500'000; ++i) deep += open == '[' ? "[" : "{\"a\":";
    EXPECT_THAT(complaint(deep), StartsWith("config.json: more than 64 lists and maps")) << open;
  }
  const ScratchFiles files;
  const std::string large = files.write("large.json", std::string((2 << 20) + 1, ' '));
  EXPECT_THAT([&] { load_model_config(large); },
              testing::ThrowsMessage<InputError>(HasSubstr("large.json")));
}

}  // namespace
}  // namespace hgemm
