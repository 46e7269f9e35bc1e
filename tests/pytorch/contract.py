"""What the plug-ins take for granted of vLLM and SGLang, looked up in their source. Stand-ins are
held to the same facts as the real packages, which need neither be imported nor run for that."""

import ast
from pathlib import Path
from typing import NamedTuple


class Fact(NamedTuple):
    path: str
    #: of a function or class, `Class.method`; empty: the module
    name: str
    #: of the function, without * and **
    parameters: tuple[str, ...] | None
    #: parts of its source as ast.unparse() writes it
    fragments: tuple[str, ...] = ()


_VLLM, _SGLANG = "vllm/model_executor/layers", "sglang/srt"
_IMPORTS = "from vllm.model_executor.layers.utils import dispatch_unquantized_gemm"
FACTS = {
    "vllm": (
        Fact("vllm/plugins/__init__.py", "", None,
             ("DEFAULT_PLUGINS_GROUP = 'vllm.general_plugins'",)),
        Fact("vllm/platforms/interface.py", "Platform.is_cuda", ("self",)),
        Fact("vllm/envs.py", "compile_factors", (),
             ("for factor, getter in environment_variables.items():",)),
        Fact(f"{_VLLM}/utils.py", "default_unquantized_gemm", ("layer", "x", "weight", "bias"),
             ("return torch.nn.functional.linear(x, weight, bias)",)),
        Fact(f"{_VLLM}/utils.py", "dispatch_unquantized_gemm", ("linear_backend",),
             ("return default_unquantized_gemm",)),
        Fact(f"{_VLLM}/linear.py", "", None, (_IMPORTS,)),
        Fact(f"{_VLLM}/linear.py", "UnquantizedLinearMethod.__init__", ("self",),
             ("self._gemm_impl = dispatch_unquantized_gemm(linear_backend)",)),
        Fact(f"{_VLLM}/linear.py", "UnquantizedLinearMethod.apply", ("self", "layer", "x", "bias"),
             ("if envs.VLLM_BATCH_INVARIANT",
              "return self._gemm_impl(layer, x, layer.weight, bias)")),
        Fact(f"{_VLLM}/vocab_parallel_embedding.py", "", None, (_IMPORTS,)),
        Fact(f"{_VLLM}/vocab_parallel_embedding.py", "UnquantizedEmbeddingMethod.apply",
             ("self", "layer", "x", "bias"),
             ("return dispatch_unquantized_gemm()(layer, x, layer.weight, bias)",)),
    ),
    "sglang": (
        Fact(f"{_SGLANG}/plugins/__init__.py", "", None,
             ("GENERAL_PLUGINS_GROUP = 'sglang.srt.plugins'",)),
        Fact(f"{_SGLANG}/plugins/hook_registry.py", "HookType", None,
             ("BEFORE = 'before'", "AROUND = 'around'")),
        Fact(f"{_SGLANG}/plugins/hook_registry.py", "HookRegistry.register",
             ("cls", "target", "hook", "hook_type", "source")),
        Fact(f"{_SGLANG}/plugins/hook_registry.py", "HookRegistry.apply_hooks", ("cls",)),
        Fact(f"{_SGLANG}/plugins/hook_registry.py", "_wrap_fn",
             ("original_fn", "hook", "hook_type"),
             ("return hook(original_fn, *args, **kwargs)", "result = hook(*args, **kwargs)",
              "if result is not None:")),
        Fact(f"{_SGLANG}/batch_invariant_ops/__init__.py", "", None,
             ("is_batch_invariant_mode_enabled",)),
        Fact(f"{_SGLANG}/layers/quantization/unquant.py", "", None,
             ("from sglang.srt.batch_invariant_ops import is_batch_invariant_mode_enabled",)),
        Fact(f"{_SGLANG}/layers/quantization/unquant.py", "Bf16GemmBackend.is_auto", ("self",)),
        Fact(f"{_SGLANG}/layers/quantization/unquant.py", "get_bf16_gemm_backend", ()),
        Fact(f"{_SGLANG}/layers/quantization/unquant.py", "UnquantizedLinearMethod.create_weights",
             ("self", "layer", "input_size_per_partition", "output_partition_sizes", "input_size",
              "output_size", "params_dtype", "extra_weight_attrs")),
        Fact(f"{_SGLANG}/layers/quantization/unquant.py", "UnquantizedLinearMethod.apply",
             ("self", "layer", "x", "bias"), ("return F.linear(x, layer.weight, bias)",)),
    ),
}


def _find(tree, name):
    """The node of a dotted name; None if there is none."""
    for part in filter(None, name.split(".")):
        tree = next((node for node in tree.body if getattr(node, "name", None) == part), None)
        if tree is None:
            return None
    return tree


def _parameters(function):
    given = function.args
    named = given.posonlyargs + given.args + given.kwonlyargs
    return tuple(each.arg for each in named + [given.vararg, given.kwarg] if each is not None)


def broken(package, folder):
    """Facts of a package, which lies in this folder, that do not hold: one line for each."""
    lines = []
    for fact in FACTS[package]:
        place = f"{fact.path}: {fact.name or 'the module'}"
        path = Path(folder) / fact.path
        node = _find(ast.parse(path.read_text()), fact.name) if path.is_file() else None
        if node is None:
            lines.append(f"{place} is missing")
            continue
        if fact.parameters is not None and _parameters(node) != fact.parameters:
            lines.append(f"{place} has parameters {_parameters(node)}, not {fact.parameters}")
        text = ast.unparse(node)
        lines += [f"{place} has no {fragment!r}" for fragment in fact.fragments
                  if fragment not in text]
    return lines
