// A decoder's dimensions, and the GEMMs that one rank computes in a pass over some tokens. No other
// place knows them: `model:` of a shapes file and Hugging Face's config.json are both converted to
// these dimensions. The rules for splitting, replication and padding are those of vLLM 0.33 and
// SGLang 0.5.23 (vllm/model_executor/layers/linear.py, vocab_parallel_embedding.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// A pass of at least this many tokens is called prefill; a smaller one is called decode.
inline constexpr std::int64_t kPrefillTokens = 256;

/// Multi-head latent attention (DeepSeek): queries go through one narrow layer, keys and values
/// through another. Every rank has a full copy of the narrow layers.
struct LatentAttention {
  std::int64_t q_rank = 0;  ///< 0: queries have a single layer, which is split by heads
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;  ///< width of a query head's part without rotary embedding
  std::int64_t rope_dim = 0;
  std::int64_t v_dim = 0;
};

/// Layers with a mixture of experts as their feed-forward part.
struct Experts {
  std::int64_t layers = 0;
  std::int64_t count = 0;
  std::int64_t per_token = 0;
  std::int64_t ffn = 0;     ///< width of one expert
  std::int64_t shared = 0;  ///< experts that every token uses; together they are one wide layer
};

/// Dimensions of the whole model. Every number is at most kMaxExtent (gemm/codec.h).
struct Decoder {
  std::int64_t hidden = 0;
  std::int64_t layers = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< latent attention uses neither this nor head_dim
  std::int64_t head_dim = 0;
  std::optional<LatentAttention> latent = {};
  std::int64_t dense_layers = 0;  ///< layers with a gated feed-forward part of width ffn
  std::int64_t ffn = 0;
  std::optional<Experts> experts = {};
  std::int64_t vocab = 0;
};

/// How the model is run.
struct Execution {
  std::int64_t tensor_parallel = 1;
  bool fused_qkv = true;
  bool fused_gate_up = true;
  /// With fused_gate_up: the GEMM of gate and up applies this to the gates and multiplies (Gate).
  std::optional<Activation> gated = {};
  /// Logits are computed for the last token of each sequence, not for all tokens. A decode pass has
  /// one token of each sequence; a prefill pass has one sequence.
  bool last_logits = true;
  /// The vocabulary is padded to a multiple of 64. Where that is not enough, it is padded to a
  /// multiple of 64 for each rank.
  bool pad_vocab = true;
};

enum class Dimension : std::uint8_t { kHeads, kKvHeads, kFfn, kExpertFfn, kVocab };

/// A dimension that does not divide evenly: `value` is not a multiple of `divisor`, the number of
/// ranks (or, with by_kv_heads, of KV heads).
struct Uneven {
  Dimension dimension;
  std::int64_t value;
  std::int64_t divisor;
  bool by_kv_heads = false;
};
/// The dimension that cannot be divided over the ranks, or nullopt. There may be more ranks than KV
/// heads if the number of KV heads divides the number of ranks: each rank then has a copy of one.
std::optional<Uneven> find_uneven(const Decoder& decoder, const Execution& execution);

/// The vocabulary of all ranks together.
std::int64_t run_vocab(const Decoder& decoder, const Execution& execution);

/// The work of a layer's experts with a balanced router: `busy` experts have `rows` tokens each
/// (rounded up); the others have none.
struct ExpertLoad {
  std::int64_t busy;
  std::int64_t rows;
};
ExpertLoad balanced_load(const Experts& experts, std::int64_t tokens);

/// The linear layers of one rank in the order of the pass. Each layer is listed once; its weight is
/// the number of times it runs. Tags look like "decode/qkv"; for the routed experts, which have
/// their own M, like "decode-experts/gate_up". Precondition: find_uneven() is nullopt. Left out:
/// the products inside attention (and kv_b of latent attention in decode, which is absorbed into
/// them), the router and the embeddings.
std::vector<GemmProblem> gemms_of(const Decoder& decoder, const Execution& execution,
                                  std::int64_t tokens, DataType type);

}  // namespace hgemm
