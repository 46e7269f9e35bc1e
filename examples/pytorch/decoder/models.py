"""A model of Transformers with random weights, and one step of it with a static KV cache."""

from __future__ import annotations

import copy
import inspect

import torch
from transformers import AttentionInterface, AutoConfig, AutoModelForCausalLM, StaticCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from .choices import ATTENTION
from .shapes import Sizes

# Transformers gives a function of attention that it does not know no mask. In a prefill of an empty
# cache, and where a cache is full, none is needed; and only without one torch takes its flash
# kernels, which read the keys of a group of heads once.
AttentionInterface.register(ATTENTION["unmasked"], sdpa_attention_forward)


def build(sizes: Sizes, positions: int, device: str) -> torch.nn.Module:
    """The model in bf16, made where it runs, with the weights that Transformers begins to train
    with. Its biases are random as well: zeros would hide that one is forgotten."""
    config = AutoConfig.for_model(
        sizes.model_type, vocab_size=sizes.vocab_size, hidden_size=sizes.hidden_size,
        intermediate_size=sizes.intermediate_size, num_hidden_layers=sizes.num_hidden_layers,
        num_attention_heads=sizes.num_attention_heads,
        num_key_value_heads=sizes.num_key_value_heads, head_dim=sizes.head_size,
        max_position_embeddings=positions, sliding_window=None, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": sizes.rope_theta})
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16,
                                                 attn_implementation=ATTENTION["masked"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(".bias"):
                parameter.normal_(std=config.initializer_range)
    return model.eval()


def twin(model: torch.nn.Module) -> torch.nn.Module:
    """A second model with the same tensors, so that one can be patched and the other not."""
    shared = (*model.parameters(), *model.buffers())
    return copy.deepcopy(model, {id(tensor): tensor for tensor in shared})


class Decoder:
    """A model with a static cache for so many tokens of each sequence, whose length is set, so that
    a step can be repeated in place."""

    def __init__(self, model: torch.nn.Module, batch: int, context: int):
        self.model, self.batch, self.context = model, batch, context
        self.device = model.lm_head.weight.device
        self.cache = StaticCache(config=model.config, max_cache_len=context)
        self.run(self.tokens(1), position=0)  # the cache allocates itself in its first step

    def with_model(self, model: torch.nn.Module) -> Decoder:
        """The same for its twin: with this cache."""
        other = copy.copy(self)
        other.model = model
        return other

    def in_fp32(self) -> Decoder:
        """The same with these weights, and what is in this cache now, in fp32."""
        other = copy.deepcopy(self)
        other.model.float()
        for layer in other.cache.layers:
            layer.keys, layer.values = layer.keys.float(), layer.values.float()
        return other

    def set_length(self, length: int) -> None:
        """How many tokens the cache is said to hold: the next step writes after them."""
        for layer in self.cache.layers:
            if hasattr(layer, "cumulative_length"):
                layer.cumulative_length.fill_(length)

    def positions(self, first: int, tokens: int) -> dict:
        """What older versions of Transformers, whose caches do not know their length, are told."""
        if "cache_position" not in inspect.signature(type(self.model.model).forward).parameters:
            return {}
        return {"cache_position": torch.arange(first, first + tokens, device=self.device)}

    def run(self, ids: torch.Tensor, position: int) -> torch.Tensor:
        """The logits of the last token."""
        self.set_length(position)
        return self.forward(ids, self.positions(position, ids.shape[1]))

    def forward(self, ids: torch.Tensor, positions: dict) -> torch.Tensor:
        return self.model(ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1,
                          **positions).logits[:, -1]

    def tokens(self, count: int) -> torch.Tensor:
        return torch.randint(self.model.config.vocab_size, (self.batch, count), device=self.device)
