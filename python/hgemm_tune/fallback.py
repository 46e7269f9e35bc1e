"""Calls of torch.ops.hgemm_tune.linear that fall back to torch, by their shapes.

A bundle has no kernel for some products, and none with a gain for others. The operator finds that
out behind its dispatch, and then torch dispatches its own: together they take some microseconds
more than torch alone. So what the operator would find is kept here, and the next call of these
shapes is torch's own at once (results/h200/host-time.md has what that takes).
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import weakref
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.autograd import forward_ad
from torch.nn import functional as F


class Shapes(NamedTuple):
    """All that decides whether torch computes a call whose tensors are contiguous."""

    x: torch.Size
    weight: torch.Size
    bias: torch.Size | None  #: none without one
    dtype: torch.dtype  #: of x
    is_cuda: bool
    activation: str | None


class Fallback:
    """torch's computation of calls of some shapes. It counts them, on any thread."""

    __slots__ = ("_count", "_numbers_taken")

    def __init__(self) -> None:
        self._count = itertools.count().__next__
        self._numbers_taken = 0

    def linear(self, x: torch.Tensor, weight: torch.Tensor,
               bias: torch.Tensor | None) -> torch.Tensor | None:
        """None if the operator is to be called: other layouts may have kernels, and where torch
        fails the operator has words of its own."""
        if not (x.is_contiguous() and weight.is_contiguous()):
            return None
        try:
            y = _linear(x, weight, bias)
        except RuntimeError:
            return None
        self._count()
        return y

    def new_calls(self) -> int:
        """Those since this was last asked, which takes a number itself."""
        number = self._count()
        calls, self._numbers_taken = number - self._numbers_taken, number + 1
        return calls


class _Call(ctypes.Structure):
    """hgemm_torch_linear of operators.h."""

    _fields_ = [("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("is_bf16", ctypes.c_int32), ("has_bias", ctypes.c_int32),
                ("activation", ctypes.c_char_p)]


def _call_of(of: Shapes) -> _Call:
    return _Call(m=of.x[:-1].numel(), n=of.weight[0], k=of.weight[1],
                 is_bf16=of.dtype is torch.bfloat16, has_bias=of.bias is not None,
                 activation=None if of.activation is None else of.activation.encode())


def is_transformed() -> bool:
    """Whether torch.func or forward-mode differentiation is at work: the operator has formulas for
    gradients in reverse only, and would lose the others without a word."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


# Each call asks for these, so they have names that are found at once.
_linear, _Plain, _has_gradients = F.linear, torch.Tensor, torch.is_grad_enabled
_is_traced, _is_cast = torch._C._len_torch_dispatch_stack, torch._C._is_any_autocast_enabled


def can_be_known(x: torch.Tensor) -> bool:
    """Whether shapes decide who computes a call. Gradients may have kernels where the product has
    none; what traces calls is to see the operator; autocast may ask for a type that has a kernel;
    and tensors of other types may compute something else, or have shapes that are not known."""
    return type(x) is _Plain and not (_has_gradients() or _is_traced() or _is_cast())


class LayerFallbacks(dict):
    """What is known of a layer, whose weight and bias have one shape: by shape and type of x, and
    whether that is on a CUDA device. A copy of the layer finds it anew."""

    def __init__(self) -> None:
        super().__init__()
        _all_of_layers.add(self)

    def __reduce__(self):
        return LayerFallbacks, ()

    __hash__ = object.__hash__  # by identity, as those are forgotten that are still there


_all_of_layers: weakref.WeakSet[LayerFallbacks] = weakref.WeakSet()

#: Prompts have many lengths. Beyond this many shapes, all are found anew.
_MOST = 4096


class Fallbacks:
    """The calls that torch computes while one bundle is in use."""

    def __init__(self, glue: ctypes.CDLL,
                 activations: dict[str | None, Callable[[torch.Tensor], torch.Tensor]]) -> None:
        for name, result, *more in (("falls_back", ctypes.c_int),
                                    ("count_fallbacks", None, ctypes.c_int64)):
            function = getattr(glue, f"hgemm_torch_{name}")
            function.argtypes, function.restype = [ctypes.POINTER(_Call), *more], result
        self._glue = glue
        self._activations = activations
        self._known: dict[Shapes, Fallback | None] = {}

    def of(self, shapes: Shapes) -> Fallback | None:
        """That of calls of these shapes; None if the operator computes them."""
        if shapes in self._known:
            return self._known[shapes]
        if len(self._known) >= _MOST:
            self.forget()
        x, weight, _, dtype, is_cuda, activation = shapes
        is_linear = len(x) > 0 and len(weight) == 2 and activation in self._activations
        falls_back = is_linear and (not is_cuda or dtype not in (torch.bfloat16, torch.float16)
                                    or self._glue.hgemm_torch_falls_back(_call_of(shapes)) != 0)
        self._known[shapes] = Fallback() if falls_back else None
        return self._known[shapes]

    def before(self, operator: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """linear() or _linear(), which calls torch at once where it is known that torch computes.
        The first call of its shapes is the operator's."""
        known, activations = self._known, self._activations
        plain = frozenset({torch.Tensor, torch.nn.Parameter})

        def called(x, weight, bias, activation):
            if is_transformed() and activation in activations:
                return activations[activation](_linear(x, weight, bias))
            return operator(x, weight, bias, activation)

        @functools.wraps(operator)
        def call(x, weight, bias=None, activation=None):
            if not can_be_known(x) or type(weight) not in plain:
                return called(x, weight, bias, activation)
            shapes = (x.shape, weight.shape, None if bias is None else bias.shape, x.dtype,
                      x.is_cuda, activation)
            try:
                fallback = known[shapes]
            except KeyError:
                y = called(x, weight, bias, activation)  # which raises what is wrong with them
                self.of(Shapes(*shapes))
                return y
            y = None if fallback is None else fallback.linear(x, weight, bias)
            if y is None:
                return called(x, weight, bias, activation)
            return y if activation is None else activations[activation](y)

        call.fallbacks, call.called = self, called
        return call

    def tell(self) -> None:
        """Adds the calls that were counted here to those of the bundle in use."""
        for shapes, fallback in list(self._known.items()):
            if fallback is not None and shapes.is_cuda:  # calls on CPUs are not counted
                calls = fallback.new_calls()
                if calls > 0:
                    self._glue.hgemm_torch_count_fallbacks(_call_of(shapes), calls)

    def forget(self) -> None:
        """To be called before another bundle is in use."""
        self.tell()
        self._known.clear()
        for of_layer in list(_all_of_layers):
            of_layer.clear()
