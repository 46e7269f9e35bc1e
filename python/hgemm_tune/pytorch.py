"""PyTorch's side: torch.ops.hgemm_tune.linear, and models whose linear layers call it.

Importing this module imports torch and defines the operator. hgemm_tune.use() and
hgemm_tune.patch() import it.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.autograd import forward_ad
from torch.nn import functional as F

from .bundles import Bundle, library_beside_runtime
from .command import HgemmTuneError

# ---- The operator ----

_ABI = 1  # HGEMM_TORCH_ABI of operators.h


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
_ACTIVATIONS = {None: lambda y: y, "relu": F.relu, "silu": F.silu, "gelu": F.gelu,
                "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}


def _by_torch(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
              activation: str | None = None) -> torch.Tensor:
    return _ACTIVATIONS[activation](F.linear(x, weight, bias)).contiguous()


def _keep_torchs_errors(operator) -> None:
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
        return _by_torch(*args, **kwargs)

    operator._op = call


for _name in ("linear", "_linear", "_linear_with_grad"):
    _keep_torchs_errors(getattr(_ops, _name))
    _keep_torchs_errors(getattr(_ops, _name).default)
_library = torch.library.Library("hgemm_tune", "FRAGMENT")  # what is registered lives as long as it


def _result_of(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
               activation: str | None = None) -> torch.Tensor:
    """What torch.compile needs to know of a call."""
    torch._check(weight.dim() == 2 and x.shape[-1] == weight.shape[1],
                 lambda: "hgemm_tune.linear: x must have as many columns as the weight")
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


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


def _is_cast(tensor: torch.Tensor | None) -> bool:
    """Whether autocast casts an operand of a linear layer."""
    return tensor is not None and tensor.is_floating_point() and tensor.dtype is not torch.float64


def _in_autocast(operator, device_type: str):
    """In autocast torch computes a linear layer in the type that is asked for."""

    def call(x, weight, bias=None, *more):
        dtype = torch.get_autocast_dtype(device_type)
        operands = [tensor.to(dtype) if _is_cast(tensor) else tensor
                    for tensor in (x, weight, bias)]
        with torch.autocast(device_type, enabled=False):
            return operator(*operands, *more)

    return call


for _name in ("_linear", "_linear_with_grad"):
    torch.library.register_fake(f"hgemm_tune::{_name}", _result_of, lib=_library)
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
    _glue.hgemm_torch_use(None if bundle is None else bundle.handle, only_gains)
    if _in_use is not None:
        _in_use[0]._is_in_use = False
    _in_use = None
    if bundle is not None:
        bundle._is_in_use = True
        _in_use = (bundle, only_gains)


def calls() -> Calls:
    """How often the operator was called, and who computed it."""
    tuned, others = ctypes.c_int64(), ctypes.c_int64()
    _glue.hgemm_torch_counts(ctypes.byref(tuned), ctypes.byref(others))
    return Calls(tuned.value, others.value)


# ---- Models ----


def _is_transformed() -> bool:
    """Whether torch.func or forward-mode differentiation is at work: the operator has formulas for
    gradients in reverse only, and would lose the others without a word."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


class TunedLinear(torch.nn.Linear):
    """torch.nn.Linear, computed by the operator. patch() makes layers to this, unpatch() back."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling() and _is_transformed():
            return super().forward(input)
        # What linear() chooses by the same question; one look-up less for each call.
        if torch.is_grad_enabled():
            return _ops.linear.default(input, self.weight, self.bias)
        return _ops._linear.default(input, self.weight, self.bias)


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
    #: what the table has for it, by the number of rows
    gains: tuple[Gain, ...]
    #: whether torch computes it by way of the operator, which counts its calls as misses
    counted: bool = False


@dataclass(frozen=True)
class Report:
    """What patch() did with a model."""

    layers: tuple[Layer, ...]

    @property
    def replaced(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.replaced)

    def __str__(self) -> str:
        lines = [f"{len(self.replaced)} of {len(self.layers)} linear layers replaced"]
        for layer in self.layers:
            gains = ", ".join(f"m={gain.m} {gain.ratio:.3f}x" for gain in layer.gains
                              if gain.is_proven and gain.ratio is not None)
            done = f"replaced: {gains or 'no proven gain'}"
            if not layer.replaced:
                done = f"{'misses counted' if layer.counted else 'left alone'}: {layer.reason}"
            lines.append(f"{layer.name}  {layer.n}x{layer.k}  {done}")
        return "\n".join(lines)


_NOT_TUNED = "nothing was tuned for it"
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
#: What a linear layer computes for any number of rows of x: outputs, inputs, type, whether it has a
#: bias. It is a plain tuple, since torch.compile cannot look up another one in every version.
Product = tuple[int, int, torch.dtype, bool]


def _product(row: dict[str, Any]) -> Product | None:
    """That of a row of the table, if dense linear layers compute it."""
    n, k = row["n"], row["k"]
    if (row["dtype"] not in _DTYPES or row["d_dtype"] != row["dtype"] or row["layout"] != "TN"
            or row["batch"] != 1 or row["epilogue"] not in ("plain", "bias")
            or row["c_dtype"] is not None
            or (row["lda"], row["ldb"], row["ldd"]) != (k, k, n)):
        return None
    return n, k, _DTYPES[row["dtype"]], row["epilogue"] == "bias"


def proven_products(bundle: Bundle) -> frozenset[Product]:
    """The linear layers for which the bundle has a proven gain at some number of rows."""
    products = (_product(row) for row in bundle.rows if row["gain"])
    return frozenset(product for product in products if product is not None)


def _gains(bundle: Bundle, layer: torch.nn.Linear) -> tuple[Gain, ...]:
    """The rows of the table that are the layer's product, by the number of its rows."""
    wanted = (layer.out_features, layer.in_features, layer.weight.dtype, layer.bias is not None)
    gains = (Gain(row["m"], row["ratio_cublas"], row["gain"]) for row in bundle.rows
             if _product(row) == wanted)
    return tuple(sorted(gains, key=lambda gain: gain.m))


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
    if only_gains and not any(gain.is_proven for gain in gains):
        rows = ", ".join(str(gain.m) for gain in gains)
        return f"cuBLAS is as fast at all tuned numbers of rows ({rows})"
    return ""


def patch(model: torch.nn.Module, bundle: Bundle | None = None, *,
          only_gains: bool | None = None, count_misses: bool = False) -> Report:
    """Makes the operator compute the linear layers of a model for which the bundle has kernels.

    Layers stay torch.nn.Linear with the same parameters, and the names of the state do not change.
    With `only_gains`, which is the default and one for all models, a layer is replaced if a kernel
    was measured to be faster than cuBLAS at some number of rows; at others torch computes it. With
    `count_misses` layers for which nothing was tuned call the operator, too: torch computes them,
    and `bundle.misses()` lists what they were asked for. Without `bundle` the one in use is taken.
    `unpatch` undoes it.
    """
    if bundle is None:
        if _in_use is None:
            raise HgemmTuneError("no bundle is in use: name one, as hgemm_tune.load(path) opens it")
        bundle = _in_use[0]
    if _in_use is not None and _in_use[0] is not bundle:
        raise HgemmTuneError(f"{_in_use[0].path} is in use already: export one bundle for all "
                             "models, or call hgemm_tune.use(None) first")
    if only_gains is None:
        only_gains = _in_use is None or _in_use[1]
    if _in_use is not None and _in_use[1] != only_gains:
        raise HgemmTuneError(f"a bundle is in use with only_gains={_in_use[1]}, which is one for "
                             "all models: call hgemm_tune.use(None) first")
    if _in_use is None:
        use(bundle, only_gains=only_gains)
    layers = []
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear):
            continue
        gains = _gains(bundle, module)
        reason = _why_not(module, gains, only_gains)
        counted = count_misses and reason == _NOT_TUNED
        if type(module) in (torch.nn.Linear, TunedLinear):
            module.__class__ = TunedLinear if counted or not reason else torch.nn.Linear
        layers.append(Layer(name, module.out_features, module.in_features, replaced=not reason,
                            reason=reason, gains=gains, counted=counted))
    return Report(tuple(layers))


def unpatch(model: torch.nn.Module) -> int:
    """Gives the model's layers back to torch; returns how many. The bundle stays in use."""
    layers = [module for module in model.modules() if type(module) is TunedLinear]
    for layer in layers:
        layer.__class__ = torch.nn.Linear
    return len(layers)
