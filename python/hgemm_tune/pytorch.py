"""PyTorch's side: torch.ops.hgemm_tune.linear, and models whose linear layers call it.

Importing this module imports torch and defines the operator. hgemm_tune.use() and
hgemm_tune.patch() import it.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from .bundles import Bundle, library_beside_runtime, load, shipped
from .command import HgemmTuneError
from .fallback import Fallbacks
from .layers import ACTIVATIONS, Group, TunedLinear, groups, separate

# ---- The operator ----

_ABI = 3  # HGEMM_TORCH_ABI of operators.h


def _define() -> ctypes.CDLL:
    glue = library_beside_runtime("libhgemm_tune_torch.so", "hgemm_torch_abi", _ABI)
    glue.hgemm_torch_error.restype = ctypes.c_char_p
    glue.hgemm_torch_use.argtypes = [ctypes.c_void_p, ctypes.c_int]
    glue.hgemm_torch_use.restype = None
    number = ctypes.POINTER(ctypes.c_int64)
    glue.hgemm_torch_counts.argtypes = [number, number]
    glue.hgemm_torch_counts.restype = None
    if glue.hgemm_torch_register() != 0:
        raise HgemmTuneError(f"torch {torch.__version__}: {glue.hgemm_torch_error().decode()}")
    return glue


_glue = _define()
_ops = torch.ops.hgemm_tune
_TORCH_FAILED = "hgemm_tune: torch failed in "  # how torch_failed() of torch_abi.cpp begins


def _by_torch(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
              activation: str | None = None) -> torch.Tensor:
    return ACTIVATIONS[activation](F.linear(x, weight, bias)).contiguous()


def _gated_by_torch(x: torch.Tensor, weight: torch.Tensor,
                    activation: str | None = None) -> torch.Tensor:
    gates, ups = F.linear(x, weight).chunk(2, -1)
    return ACTIVATIONS[activation](gates) * ups


def _siblings_by_torch(x: torch.Tensor, *operands: torch.Tensor | None) -> torch.Tensor:
    weights, biases = operands[:3], operands[3:]
    return torch.cat([F.linear(x, weight, bias) for weight, bias in zip(weights, biases)
                      if weight is not None], -1)


def _gated_siblings_by_torch(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor,
                             activation: str | None = None) -> torch.Tensor:
    return ACTIVATIONS[activation](F.linear(x, gate)) * F.linear(x, up)


def _keep_torchs_errors(operator, by_torch) -> None:
    """Makes an operator of torch.ops raise what torch raises.

    An exception that torch throws in a call of its stable interface ends there, with its type. So
    where torch has failed, it is asked once more, from here: out of memory is then
    torch.OutOfMemoryError, unless by now there is enough.
    """
    inner = operator._op  # what Python calls, also compiled code; dispatch and tracing are below
    if hasattr(inner, "__wrapped__"):
        return  # this module was loaded before

    @functools.wraps(inner)
    def call(*args, **kwargs):
        try:
            return inner(*args, **kwargs)
        except RuntimeError as error:
            if not str(error).startswith(_TORCH_FAILED):
                raise
        return by_torch(*args, **kwargs)

    operator._op = call


for _name, _function in (("linear", _by_torch), ("_linear", _by_torch),
                         ("_linear_with_grad", _by_torch), ("gated_linear", _gated_by_torch),
                         ("_gated_linear", _gated_by_torch), ("_siblings", _siblings_by_torch),
                         ("_gated_siblings", _gated_siblings_by_torch)):
    _keep_torchs_errors(getattr(_ops, _name), _function)
    _keep_torchs_errors(getattr(_ops, _name).default, _function)
_fallbacks = getattr(_ops.linear._op, "fallbacks", None)
if _fallbacks is None:  # this module was not loaded before
    _fallbacks = Fallbacks(_glue, ACTIVATIONS)
    for _operator in (_ops.linear, _ops.linear.default, _ops._linear, _ops._linear.default):
        _operator._op = _fallbacks.before(_operator._op)
_library = torch.library.Library("hgemm_tune", "FRAGMENT")  # what is registered lives as long as it


def _result_of(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
               activation: str | None = None) -> torch.Tensor:
    """What torch.compile needs to know of a call."""
    torch._check(weight.dim() == 2 and x.shape[-1] == weight.shape[1],
                 lambda: "hgemm_tune: x must have as many columns as the weight")
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _gated_result_of(x: torch.Tensor, weight: torch.Tensor,
                     activation: str | None = None) -> torch.Tensor:
    torch._check(weight.dim() == 2 and x.shape[-1] == weight.shape[1],
                 lambda: "hgemm_tune: x must have as many columns as the weight")
    return x.new_empty((*x.shape[:-1], weight.shape[0] // 2))


def _siblings_result_of(x: torch.Tensor, *operands: torch.Tensor | None) -> torch.Tensor:
    weights = [weight for weight in operands[:3] if weight is not None]
    torch._check(all(weight.dim() == 2 and x.shape[-1] == weight.shape[1]
                     and x.device == weight.device for weight in weights),
                 lambda: "hgemm_tune: x and each weight must fit, on one device")
    outputs = sum(weight.shape[0] for weight in weights)
    return x.new_empty((*x.shape[:-1], outputs))


def _gated_siblings_result_of(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor,
                              activation: str | None = None) -> torch.Tensor:
    torch._check(gate.shape == up.shape and gate.dim() == 2 and x.shape[-1] == gate.shape[1]
                 and x.device == gate.device == up.device,
                 lambda: "hgemm_tune: x, gate and up must fit, on one device")
    return x.new_empty((*x.shape[:-1], gate.shape[0]))


def _save(ctx, inputs, output) -> None:
    x, weight, _ = inputs
    ctx.save_for_backward(x, weight)


def _gradients(ctx, dy: torch.Tensor):
    """Those of x, the weight and the bias. Kernels take them where layouts TT and NT were tuned."""
    x, weight = ctx.saved_tensors
    needs_x, needs_weight, needs_bias = ctx.needs_input_grad
    rows = dy.reshape(-1, dy.shape[-1])
    dx = _ops.linear(dy, weight.t()) if needs_x else None
    dw = _ops.linear(rows.t(), x.reshape(-1, x.shape[-1]).t()) if needs_weight else None
    return dx, dw, rows.sum(0) if needs_bias else None


def _is_cast(argument: torch.Tensor | str | None) -> bool:
    """Whether autocast casts an argument of a linear layer."""
    return (isinstance(argument, torch.Tensor) and argument.is_floating_point()
            and argument.dtype is not torch.float64)


def _in_autocast(operator, device_type: str):
    """In autocast torch computes a linear layer in the type that is asked for."""

    def call(*arguments):
        dtype = torch.get_autocast_dtype(device_type)
        cast = [argument.to(dtype) if _is_cast(argument) else argument for argument in arguments]
        with torch.autocast(device_type, enabled=False):
            return operator(*cast)

    return call


for _name, _function in (("_linear", _result_of), ("_linear_with_grad", _result_of),
                         ("_gated_linear", _gated_result_of),
                         ("_siblings", _siblings_result_of),
                         ("_gated_siblings", _gated_siblings_result_of)):
    torch.library.register_fake(f"hgemm_tune::{_name}", _function, lib=_library)
    for _type in ("cpu", "cuda"):
        _library.impl(_name, _in_autocast(getattr(_ops, _name).default, _type),
                      f"Autocast{_type.upper()}")
torch.library.register_autograd("hgemm_tune::_linear_with_grad", _gradients, setup_context=_save,
                                lib=_library)

# ---- The bundle ----


class Calls(NamedTuple):
    """Calls on CUDA devices since the bundle is in use."""

    #: computed by its kernels
    tuned: int
    #: computed by torch
    torch: int


_in_use: tuple[Bundle, bool] | None = None


def use(bundle: Bundle | None, *, only_gains: bool = True) -> None:
    """torch.ops.hgemm_tune takes kernels from this bundle from now on; None: from none.

    With `only_gains` torch computes what no kernel was measured to be faster at than cuBLAS. Loads
    the kernels on the current CUDA device, if there is one; other devices load them at their first
    call. Raises HgemmTuneError if the bundle is not for that device; after
    `bundle.prepare(device, any_gpu=True)` it is taken.
    """
    global _in_use
    if bundle is not None and torch.cuda.is_available():
        bundle.prepare(torch.cuda.current_device())
    _fallbacks.forget()
    _glue.hgemm_torch_use(None if bundle is None else bundle.handle, only_gains)
    _fallbacks.forget()  # what other threads found meanwhile
    if _in_use is not None:
        _in_use[0]._tell_misses = None
    _in_use = None
    if bundle is not None:
        bundle._tell_misses = _fallbacks.tell
        _in_use = (bundle, only_gains)


def calls() -> Calls:
    """How often the operator was called, and who computed it."""
    _fallbacks.tell()
    tuned, others = ctypes.c_int64(), ctypes.c_int64()
    _glue.hgemm_torch_counts(ctypes.byref(tuned), ctypes.byref(others))
    return Calls(tuned.value, others.value)


# ---- Models ----


class Gain(NamedTuple):
    """A tuned number of rows of x."""

    m: int
    #: how many times as fast as cuBLAS, as the table has it
    ratio: float | None
    #: whether that was measured beyond doubt
    is_proven: bool


@dataclass(frozen=True)
class Layer:
    """What patch() did with a linear layer."""

    name: str
    #: outputs and inputs
    n: int
    k: int
    replaced: bool
    #: why not; empty if it was replaced
    reason: str
    #: what the table has for it, or for the one product, by the number of rows
    gains: tuple[Gain, ...]
    #: whether torch computes it by way of the operator, which counts its calls as misses
    counted: bool = False
    #: the one product that computes it with other layers, such as "gate_proj+up_proj, swiglu"
    one_product: str = ""


@dataclass(frozen=True)
class Report:
    """What patch() did with a model."""

    layers: tuple[Layer, ...]
    #: whether the replaced layers give a row the same bits whatever the number of rows is
    batch_invariant: bool = False

    @property
    def replaced(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.replaced)

    def __str__(self) -> str:
        lines = [f"{len(self.replaced)} of {len(self.layers)} linear layers replaced"]
        if self.batch_invariant:
            lines[0] += ", batch-invariant: by kernels at every number of rows, gain or not"
        for layer in self.layers:
            gains = ", ".join(f"m={gain.m} {gain.ratio:.3f}x" for gain in layer.gains
                              if gain.is_proven and gain.ratio is not None)
            done = f"replaced: {gains or 'no proven gain'}"
            if not layer.replaced:
                done = f"{'misses counted' if layer.counted else 'left alone'}: {layer.reason}"
            if layer.one_product:
                done = f"{layer.one_product} in one product, {done}"
            lines.append(f"{layer.name}  {layer.n}x{layer.k}  {done}")
        return "\n".join(lines)


_NOT_TUNED = "nothing was tuned for it"
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
#: What a linear layer computes for any number of rows of x: outputs, inputs, type, whether it has a
#: bias. It is a plain tuple, since torch.compile cannot look up another one in every version.
Product = tuple[int, int, torch.dtype, bool]


#: The words of the table for a weight that is gates and then ups, by the activation of the gates.
_GATES = {"silu": "swiglu", "gelu_tanh": "geglu", "gelu": "geglu_erf", "relu": "reglu",
          None: "bilinear"}


def _is_dense(row: dict[str, Any]) -> bool:
    """Whether layers in a model compute such a row of the table, with what epilogue it has."""
    n, k = row["n"], row["k"]
    columns = n // 2 if row["epilogue"] in _GATES.values() else n
    return (row["dtype"] in _DTYPES and row["d_dtype"] == row["dtype"] and row["layout"] == "TN"
            and row["batch"] == 1 and row["c_dtype"] is None
            and (row["lda"], row["ldb"], row["ldd"]) == (k, k, columns))


def _product(row: dict[str, Any]) -> Product | None:
    """That of a row of the table, if linear layers compute it."""
    if not _is_dense(row) or row["epilogue"] not in ("plain", "bias"):
        return None
    return row["n"], row["k"], _DTYPES[row["dtype"]], row["epilogue"] == "bias"


def proven_products(bundle: Bundle) -> frozenset[Product]:
    """The linear layers for which the bundle has a proven gain at some number of rows; all
    that a batch-invariant one has, since cuBLAS would give other bits."""
    products = (_product(row) for row in bundle.rows if row["gain"] or bundle.batch_invariant)
    return frozenset(product for product in products if product is not None)


def _gains(bundle: Bundle, n: int, k: int, dtype: torch.dtype,
           epilogue: str) -> tuple[Gain, ...]:
    """The rows of the table that are this product, by the number of its rows."""
    gains = (Gain(row["m"], row["ratio_cublas"], row["gain"]) for row in bundle.rows
             if (row["n"], row["k"], row["epilogue"]) == (n, k, epilogue) and _is_dense(row)
             and _DTYPES[row["dtype"]] is dtype)
    return tuple(sorted(gains, key=lambda gain: gain.m))


def _epilogue_of(layer: torch.nn.Linear) -> str:
    return "plain" if layer.bias is None else "bias"


def _has_use(gains: tuple[Gain, ...], only_gains: bool) -> bool:
    return any(gain.is_proven for gain in gains) if only_gains else bool(gains)


def _why_not(layer: torch.nn.Linear, gains: tuple[Gain, ...], only_gains: bool) -> str:
    if type(layer) not in (torch.nn.Linear, TunedLinear):
        return f"it is a {type(layer).__name__}, which may compute something else"
    if "forward" in vars(layer):
        return "something else has replaced its forward()"
    if type(layer.weight) is not torch.nn.Parameter:  # distributed, or quantised
        return f"its weight is a {type(layer.weight).__name__}"
    if not layer.weight.is_contiguous():  # another layout, or rows with padding
        return "its weight is not contiguous"
    if layer.weight.dtype not in _DTYPES.values():
        return f"its weight is {str(layer.weight.dtype).removeprefix('torch.')}, not bf16 or fp16"
    if not gains:
        return _NOT_TUNED
    if not _has_use(gains, only_gains):
        rows = ", ".join(str(gain.m) for gain in gains)
        return f"cuBLAS is as fast at all tuned numbers of rows ({rows})"
    return ""


def _shipped() -> Bundle:
    """That for the current CUDA device, opened once."""
    if not torch.cuda.is_available():
        raise HgemmTuneError("no bundle is in use, and there is no GPU here to take the shipped "
                             "one for: name the file of one")
    name = torch.cuda.get_device_name()
    if name not in _opened:
        _opened[name] = shipped(name)
    return _opened[name]


_opened: dict[str, Bundle] = {}
_log = logging.getLogger("hgemm_tune")


#: What patch() takes: an open bundle, a file, or none.
Given = Bundle | str | os.PathLike[str] | None


def _check_in_use(bundle: Given, only_gains: bool | None) -> None:
    """One bundle and its `only_gains` are for all models. The file of the one in use is that."""
    if isinstance(bundle, Bundle):
        bundle.handle  # raises if it is closed
    if _in_use is None:
        return
    used, used_only_gains = _in_use
    if isinstance(bundle, (str, os.PathLike)) and Path(bundle).resolve() == used.path.resolve():
        bundle = used
    if bundle is not None and bundle is not used:
        raise HgemmTuneError(f"{used.path} is in use already: export one bundle for all models, or "
                             "call hgemm_tune.use(None) first")
    if only_gains is not None and only_gains != used_only_gains:
        raise HgemmTuneError(f"a bundle is in use with only_gains={used_only_gains}, which is one "
                             "for all models: call hgemm_tune.use(None) first")


def _begin_to_use(bundle: Given, only_gains: bool) -> tuple[Bundle, bool]:
    """Raises HgemmTuneError, which names the bundle, if that cannot be used here."""
    is_file = isinstance(bundle, (str, os.PathLike))
    opened = load(bundle) if is_file else bundle or _shipped()
    try:
        use(opened, only_gains=only_gains)
    except HgemmTuneError as error:
        if is_file:
            opened.close()
        raise HgemmTuneError(f"{opened.path}: {error}") from error
    return opened, only_gains


def _left_alone(model: torch.nn.Module, why: HgemmTuneError) -> Report:
    """What patch() did where it has no bundle. Says so in the log, too."""
    _log.warning("hgemm_tune.patch: torch computes all linear layers: %s", why)
    return Report(tuple(Layer(name, module.out_features, module.in_features, replaced=False,
                              reason=str(why), gains=())
                        for name, module in model.named_modules()
                        if isinstance(module, torch.nn.Linear)))


def _layers_alone(model: torch.nn.Module, bundle: Bundle, only_gains: bool,
                  count_misses: bool) -> dict[torch.nn.Linear, Layer]:
    """Replaces each layer that has a use of it."""
    layers = {}
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear):
            continue
        gains = _gains(bundle, module.out_features, module.in_features, module.weight.dtype,
                       _epilogue_of(module))
        reason = _why_not(module, gains, only_gains)
        counted = count_misses and reason == _NOT_TUNED
        if counted or not reason:
            module.__class__ = TunedLinear
        layers[module] = Layer(name, module.out_features, module.in_features,
                               replaced=not reason, reason=reason, gains=gains, counted=counted)
    return layers


def _make_one(group: Group, layers: dict[torch.nn.Linear, Layer], bundle: Bundle,
              only_gains: bool) -> None:
    """Makes layers one product if the table has it; or if its misses are to be counted, since
    nothing was tuned for these layers in any way."""
    members = list(group.layers.values())
    dtype = members[0].weight.dtype
    if dtype not in _DTYPES.values():
        return
    gate = group.gate
    epilogue = _epilogue_of(members[0]) if gate is None else _GATES[gate.activation]
    gains = _gains(bundle, group.n, group.k, dtype, epilogue)
    counted = not gains and all(layers[layer].counted for layer in members)
    if not counted and not _has_use(gains, only_gains):
        return
    # Each is computed for itself at times: kernels must have these bits, too.
    if bundle.batch_invariant and not all(layers[layer].replaced for layer in members):
        return
    group.make_one()
    text = "+".join(group.layers) + ("" if gate is None else f", {epilogue}")
    for layer in members:
        layers[layer] = replace(layers[layer], replaced=not counted, gains=gains, counted=counted,
                                reason=_NOT_TUNED if counted else "", one_product=text)


def patch(model: torch.nn.Module, bundle: Given = None, *,
          only_gains: bool | None = None, count_misses: bool = False,
          fuse: bool = True) -> Report:
    """Makes the operator compute the linear layers of a model for which the bundle has kernels.

    Layers stay torch.nn.Linear with the same parameters, and the names of the state do not change.
    With `only_gains`, which is the default and one for all models, a layer is replaced if a kernel
    was measured to be faster than cuBLAS at some number of rows; at others torch computes it. A
    batch-invariant bundle computes each layer that it has, at every number of rows. With `fuse` the
    projections of queries, keys and values are computed as one product, and so are gate and up with
    what is between them, if the bundle has that product (layers.py). With `count_misses` layers for
    which nothing was tuned call the operator, too: torch computes them, and `bundle.misses()` lists
    what they were asked for, so open the bundle with load() then. Else `bundle` may be its file.
    Without `bundle` the one in use is taken, or else the one that came with the package for this
    GPU. `unpatch` undoes it.

    A bundle for another GPU or driver, or a damaged one, is no reason for a program not to run:
    then all layers are torch's, and a warning of the logger "hgemm_tune" says why, as each layer of
    the report does. Raises HgemmTuneError if another bundle is in use, or this one is closed.
    """
    _check_in_use(bundle, only_gains)
    separate(model)
    try:
        bundle, only_gains = _in_use or _begin_to_use(bundle, only_gains is not False)
    except HgemmTuneError as error:
        return _left_alone(model, error)
    only_gains = only_gains and not bundle.batch_invariant
    candidates = list(groups(model)) if fuse else []
    layers = _layers_alone(model, bundle, only_gains, count_misses)
    for group in candidates:
        _make_one(group, layers, bundle, only_gains)
    return Report(tuple(layers.values()), bundle.batch_invariant)


def unpatch(model: torch.nn.Module) -> int:
    """Gives the model's layers back to torch; returns how many. The bundle stays in use."""
    return len(separate(model))
