// A decoder's dimensions, and the GEMMs that one rank computes in a pass over some tokens. The one
// place that knows it: `model:` of a shapes file and Hugging Face's config.json are both turned
// into these dimensions. Rules of splitting, replication and padding are those of vLLM 0.33 and
// SGLang 0.5.23 (vllm/model_executor/layers/linear.py, vocab_parallel_embedding.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// Tokens from which a pass is called prefill rather than decode.
inline constexpr std::int64_t kPrefillTokens = 256;

/// Multi-head latent attention (DeepSeek): queries, and keys with values, go through narrow layers
/// that each rank has whole.
struct LatentAttention {
  std::int64_t q_rank = 0;  ///< 0: queries have one layer, split by heads
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;  ///< of a query head's part without rotary embedding
  std::int64_t rope_dim = 0;
  std::int64_t v_dim = 0;
};

/// Layers whose feed-forward part is a mixture of experts.
struct Experts {
  std::int64_t layers = 0;
  std::int64_t count = 0;
  std::int64_t per_token = 0;
  std::int64_t ffn = 0;     ///< width of one
  std::int64_t shared = 0;  ///< which every token goes through, together, as one wide layer
};

/// Of the whole model. Every number is at most kMaxExtent (gemm/codec.h).
struct Decoder {
  std::int64_t hidden = 0;
  std::int64_t layers = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< not for latent attention, nor is head_dim
  std::int64_t head_dim = 0;
  std::optional<LatentAttention> latent = {};
  std::int64_t dense_layers = 0;  ///< with a gated feed-forward part of width ffn
  std::int64_t ffn = 0;
  std::optional<Experts> experts = {};
  std::int64_t vocab = 0;
};

/// How it is run.
struct Execution {
  std::int64_t tensor_parallel = 1;
  bool fused_qkv = true;
  bool fused_gate_up = true;
  /// Logits of the last token of each sequence, not of all tokens. A pass of decode has a token of
  /// each sequence; one of prefill has one sequence.
  bool last_logits = true;
  /// The vocabulary is padded to a multiple of 64, or of 64 for each rank where that is not enough.
  bool pad_vocab = true;
};

enum class Dimension : std::uint8_t { kHeads, kKvHeads, kFfn, kExpertFfn, kVocab };

/// `divisor` ranks (or, with by_kv_heads, KV heads) do not share `dimension` evenly.
struct Uneven {
  Dimension dimension;
  std::int64_t value;
  std::int64_t divisor;
  bool by_kv_heads = false;
};
/// What of the decoder cannot be divided over the ranks, or nullopt. More ranks than KV heads are
/// well if the heads divide them: each rank then has a copy of one.
std::optional<Uneven> find_uneven(const Decoder& decoder, const Execution& execution);

/// The vocabulary that all ranks have together.
std::int64_t run_vocab(const Decoder& decoder, const Execution& execution);

/// The work of a layer's experts where the router is balanced: `busy` of them have `rows` tokens
/// each (rounded up), the others none.
struct ExpertLoad {
  std::int64_t busy;
  std::int64_t rows;
};
ExpertLoad balanced_load(const Experts& experts, std::int64_t tokens);

/// The linear layers of one rank, in the order of the pass, each once; the weight says how often it
/// runs. Tags are "decode/qkv", and "decode-experts/gate_up" of the routed experts, whose M is
/// theirs. The decoder is even. Not among them: the products inside of attention (with latent
/// attention in decode kv_b too, which is absorbed into them), the router, embeddings.
std::vector<GemmProblem> gemms_of(const Decoder& decoder, const Execution& execution,
                                  std::int64_t tokens, DataType type);

}  // namespace hgemm
