#include "gemm/decoder.h"

#include <fmt/format.h>

#include <algorithm>

namespace hgemm {
namespace {

/// vLLM and SGLang pad the vocabulary to a multiple of this.
constexpr std::int64_t kVocabUnit = 64;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Collects the layers of a pass.
class Pass {
 public:
  Pass(const Execution& execution, std::int64_t tokens, DataType type)
      : execution_(execution),
        tokens_(tokens),
        type_(type),
        phase_(tokens >= kPrefillTokens ? "prefill" : "decode") {}

  bool is_prefill() const { return tokens_ >= kPrefillTokens; }

  void add(std::string_view name, std::int64_t n, std::int64_t k, double times) {
    add("", name, tokens_, n, k, times);
  }

  /// A gated feed-forward part; `name` precedes the names of its layers.
  void add_ffn(std::string_view group, std::string_view name, std::int64_t rows,
               std::int64_t hidden, std::int64_t width, double times) {
    const std::int64_t fused = execution_.fused_gate_up ? 2 : 1;
    add(group, fmt::format("{}gate_up", name), rows, fused * width, hidden,
        times * static_cast<double>(2 / fused));
    if (execution_.fused_gate_up && execution_.gated) {
      problems_.back().epilogue = {.activation = *execution_.gated, .gate = Gate::kHalves};
    }
    add(group, fmt::format("{}down", name), rows, hidden, width, times);
  }

  void add(std::string_view group, std::string_view name, std::int64_t rows, std::int64_t n,
           std::int64_t k, double times) {
    GemmProblem problem{.m = rows, .n = n, .k = k, .tag = {}};
    problem.set_types(type_);
    problem.weight = times;
    problem.tag = fmt::format("{}{}/{}", phase_, group, name);
    problems_.push_back(std::move(problem));
  }

  std::int64_t tokens() const { return tokens_; }
  std::vector<GemmProblem> take() { return std::move(problems_); }

 private:
  const Execution& execution_;
  std::int64_t tokens_;
  DataType type_;
  std::string_view phase_;
  std::vector<GemmProblem> problems_;
};

void add_attention(Pass& pass, const Decoder& decoder, const Execution& execution) {
  const auto times = static_cast<double>(decoder.layers);
  const std::int64_t heads = decoder.heads / execution.tensor_parallel;
  const std::int64_t kv_heads =
      std::max<std::int64_t>(1, decoder.kv_heads / execution.tensor_parallel);
  const std::int64_t dim = decoder.head_dim;
  if (execution.fused_qkv) {
    pass.add("qkv", (heads + 2 * kv_heads) * dim, decoder.hidden, times);
  } else {
    pass.add("q", heads * dim, decoder.hidden, times);
    pass.add("k_v", kv_heads * dim, decoder.hidden, 2 * times);
  }
  pass.add("attn_out", decoder.hidden, heads * dim, times);
}

void add_latent_attention(Pass& pass, const Decoder& decoder, const Execution& execution) {
  const LatentAttention& latent = *decoder.latent;
  const auto times = static_cast<double>(decoder.layers);
  const std::int64_t heads = decoder.heads / execution.tensor_parallel;
  const std::int64_t q_dim = latent.nope_dim + latent.rope_dim;
  const std::int64_t kv_a = latent.kv_rank + latent.rope_dim;
  if (latent.q_rank > 0) {
    if (execution.fused_qkv) {
      pass.add("qkv_a", latent.q_rank + kv_a, decoder.hidden, times);
    } else {
      pass.add("q_a", latent.q_rank, decoder.hidden, times);
      pass.add("kv_a", kv_a, decoder.hidden, times);
    }
    pass.add("q_b", heads * q_dim, latent.q_rank, times);
  } else {
    pass.add("q", heads * q_dim, decoder.hidden, times);
    pass.add("kv_a", kv_a, decoder.hidden, times);
  }
  if (pass.is_prefill()) {
    pass.add("kv_b", heads * (latent.nope_dim + latent.v_dim), latent.kv_rank, times);
  }
  pass.add("attn_out", decoder.hidden, heads * latent.v_dim, times);
}

void add_experts(Pass& pass, const Decoder& decoder, const Execution& execution) {
  const Experts& experts = *decoder.experts;
  const std::int64_t ranks = execution.tensor_parallel;
  const auto times = static_cast<double>(experts.layers);
  if (experts.shared > 0) {
    pass.add_ffn("", "shared_", pass.tokens(), decoder.hidden, experts.shared * experts.ffn / ranks,
                 times);
  }
  const ExpertLoad load = balanced_load(experts, pass.tokens());
  pass.add_ffn("-experts", "", load.rows, decoder.hidden, experts.ffn / ranks,
               times * static_cast<double>(load.busy));
}

}  // namespace

std::optional<Uneven> find_uneven(const Decoder& decoder, const Execution& execution) {
  const std::int64_t ranks = execution.tensor_parallel;
  if (!decoder.latent) {
    const std::int64_t kv_heads = decoder.kv_heads;
    if (decoder.heads % kv_heads != 0)
      return Uneven{Dimension::kHeads, decoder.heads, kv_heads, true};
    if (decoder.heads % ranks == 0 && kv_heads % ranks != 0 && ranks % kv_heads != 0)
      return Uneven{Dimension::kKvHeads, kv_heads, ranks};
  }
  if (decoder.heads % ranks != 0) return Uneven{Dimension::kHeads, decoder.heads, ranks};
  if (decoder.dense_layers > 0 && decoder.ffn % ranks != 0)
    return Uneven{Dimension::kFfn, decoder.ffn, ranks};
  if (decoder.experts && decoder.experts->ffn % ranks != 0)
    return Uneven{Dimension::kExpertFfn, decoder.experts->ffn, ranks};
  if (run_vocab(decoder, execution) % ranks != 0)
    return Uneven{Dimension::kVocab, decoder.vocab, ranks};
  return std::nullopt;
}

std::int64_t run_vocab(const Decoder& decoder, const Execution& execution) {
  if (!execution.pad_vocab) return decoder.vocab;
  const std::int64_t padded = round_up(decoder.vocab, kVocabUnit);
  const std::int64_t ranks = execution.tensor_parallel;
  return padded % ranks == 0 ? padded : round_up(decoder.vocab, kVocabUnit * ranks);
}

ExpertLoad balanced_load(const Experts& experts, std::int64_t tokens) {
  const std::int64_t choices = tokens * experts.per_token;
  const std::int64_t busy = std::min(choices, experts.count);
  return {.busy = busy, .rows = (choices + experts.count - 1) / experts.count};
}

std::vector<GemmProblem> gemms_of(const Decoder& decoder, const Execution& execution,
                                  std::int64_t tokens, DataType type) {
  const std::int64_t ranks = execution.tensor_parallel;
  Pass pass(execution, tokens, type);
  if (decoder.latent) {
    add_latent_attention(pass, decoder, execution);
  } else {
    add_attention(pass, decoder, execution);
  }
  if (decoder.dense_layers > 0) {
    pass.add_ffn("", "ffn_", tokens, decoder.hidden, decoder.ffn / ranks,
                 static_cast<double>(decoder.dense_layers));
  }
  if (decoder.experts) add_experts(pass, decoder, execution);
  const bool one_sequence = execution.last_logits && pass.is_prefill();
  pass.add("", "logits", one_sequence ? 1 : tokens, run_vocab(decoder, execution) / ranks,
           decoder.hidden, 1);
  return pass.take();
}

}  // namespace hgemm
