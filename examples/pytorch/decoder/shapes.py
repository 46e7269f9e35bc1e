"""The sizes of the models, and their linear layers as the list of shapes that a tune reads. Needs
neither torch nor a GPU."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Sizes:
    """A decoder, by the names of its config.json."""

    model_type: str
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    num_hidden_layers: int
    vocab_size: int
    rope_theta: float
    #: whether the projections of queries, keys and values have one
    qkv_bias: bool = False

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads


MODELS = {
    "Llama-3-8B": Sizes("llama", 4096, 14336, 32, 8, 32, 128256, 5e5),
    "Qwen2.5-7B": Sizes("qwen2", 3584, 18944, 28, 4, 28, 152064, 1e6, qkv_bias=True),
    "Mistral-7B": Sizes("mistral", 4096, 14336, 32, 8, 32, 32768, 1e6),
}


def scaled(sizes: Sizes, scale: int, layers: int | None) -> Sizes:
    """The same with everything that a layer has `scale` times less of, and with so many layers."""
    def part(of: int) -> int:
        return max(1, of // scale)

    return dataclasses.replace(
        sizes, hidden_size=part(sizes.hidden_size), intermediate_size=part(sizes.intermediate_size),
        num_attention_heads=part(sizes.num_attention_heads),
        num_key_value_heads=part(sizes.num_key_value_heads), vocab_size=part(sizes.vocab_size),
        num_hidden_layers=layers or sizes.num_hidden_layers)


class Product(NamedTuple):
    """What a linear layer computes, for any number of rows."""

    n: int
    k: int
    epilogue: str = "plain"


HEAD = "lm_head"


def linears(sizes: Sizes, unfused: bool = False) -> dict[str, Product]:
    """The products of a layer, and that of the logits. patch() makes one of the projections of
    queries, keys and values, and one of gate and up; Transformers fuses none."""
    hidden, inner = sizes.hidden_size, sizes.intermediate_size
    queries = sizes.num_attention_heads * sizes.head_size
    keys = sizes.num_key_value_heads * sizes.head_size
    bias = "bias" if sizes.qkv_bias else "plain"
    alone = {
        "q_proj": Product(queries, hidden, bias),
        "k_proj": Product(keys, hidden, bias),
        "v_proj": Product(keys, hidden, bias),
        "gate_proj": Product(inner, hidden),
        "up_proj": Product(inner, hidden),
    }
    fused = {
        "q_proj+k_proj+v_proj": Product(queries + 2 * keys, hidden, bias),
        "gate_proj+up_proj": Product(2 * inner, hidden, "swiglu"),
    }
    return {
        **(alone if unfused else fused),
        "o_proj": Product(hidden, queries),
        "down_proj": Product(hidden, inner),
        HEAD: Product(sizes.vocab_size, hidden),
    }


def rows_of(models: dict[str, Sizes], batches: list[int], prefill: int,
            unfused: bool = False) -> dict:
    """The distinct products of decode and of a prefill of so many tokens (0: none): of each the
    names of its layers by model, and the numbers of rows. Only the last token of a prefill gets
    logits, which is one row."""
    found: dict[Product, tuple[dict, set]] = {}
    for model, sizes in models.items():
        for name, product in linears(sizes, unfused).items():
            names, rows = found.setdefault(product, ({}, set()))
            names.setdefault(model, []).append(name)
            rows.update(batches)
            if prefill:
                rows.add(1 if name == HEAD else prefill)
    return {product: (names, sorted(rows)) for product, (names, rows) in found.items()}


def shape_list(models: dict[str, Sizes], batches: list[int], prefill: int,
               unfused: bool = False) -> str:
    """The file that `hgemm-tune tune --shapes` reads."""
    passes = [f"decode of {', '.join(map(str, batches))} sequences"] if batches else []
    if prefill:
        passes.append(f"prefill of {prefill} tokens")
    runner = "Transformers runs them" if unfused else "they run in Transformers when patched"
    lines = [f"# The linear layers of {', '.join(models)}, as {runner}:",
             f"# {', '.join(passes)}.", "shapes:"]
    for product, (names, rows) in rows_of(models, batches, prefill, unfused).items():
        layers = sorted({name for of_model in names.values() for name in of_model})
        epilogue = f"epilogue: {product.epilogue}, " if product.epilogue != "plain" else ""
        tag = "+".join(model.lower() for model in names) + "/" + "+".join(layers)
        lines.append(f"  - {{m: {rows}, n: {product.n}, k: {product.k}, {epilogue}tag: {tag}}}")
    return "\n".join(lines) + "\n"


def untuned(sizes: Sizes, batches: list[int], prefill: int, rows: list[dict],
            unfused: bool = False) -> list[str]:
    """The products of a model, as MxNxK, that a bundle with these rows was not tuned for."""
    tuned = {(row["m"], row["n"], row["k"], row["epilogue"]) for row in rows
             if (row["layout"], row["batch"], row["dtype"], row["d_dtype"], row["c_dtype"])
             == ("TN", 1, "bf16", "bf16", None)}
    wanted = rows_of({"": sizes}, batches, prefill, unfused)
    return [f"{m}x{product.n}x{product.k}"
            + (f".{product.epilogue}" if product.epilogue != "plain" else "")
            for product, (_, ms) in wanted.items() for m in ms
            if (m, product.n, product.k, product.epilogue) not in tuned]
