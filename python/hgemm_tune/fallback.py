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
    dtype: torch.dtype  #: of x
    has_no_bias: bool
    is_cuda: bool
    activation: str | None


class Calls:
    """A counter of calls, which any thread may count."""

    __slots__ = ("count", "_numbers_taken")

    def __init__(self) -> None:
        #: counts one
        self.count: Callable[[], int] = itertools.count().__next__
        self._numbers_taken = 0

    def new(self) -> int:
        """Those since the last time. Takes a number itself."""
        number = self.count()
        calls, self._numbers_taken = number - self._numbers_taken, number + 1
        return calls


class _Call(ctypes.Structure):
    """hgemm_torch_linear of operators.h."""

    _fields_ = [("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("is_bf16", ctypes.c_int32), ("has_bias", ctypes.c_int32),
                ("activation", ctypes.c_char_p)]


def _call_of(of: Shapes) -> _Call:
    return _Call(m=of.x[:-1].numel(), n=of.weight[0], k=of.weight[1],
                 is_bf16=of.dtype is torch.bfloat16, has_bias=not of.has_no_bias,
                 activation=None if of.activation is None else of.activation.encode())


def is_transformed() -> bool:
    """Whether torch.func or forward-mode differentiation is at work: the operator has formulas for
    gradients in reverse only, and would lose the others without a word."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


# Each call asks for these, so they have names that are found at once.
_Plain, _has_gradients = torch.Tensor, torch.is_grad_enabled
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
        self._calls: dict[Shapes, Calls | None] = {}

    def calls_of(self, shapes: Shapes) -> Calls | None:
        """What counts calls of these shapes, if torch computes them; None: the operator does."""
        if shapes in self._calls:
            return self._calls[shapes]
        if len(self._calls) >= _MOST:
            self.forget()
        x, weight, dtype, _, is_cuda, activation = shapes
        is_linear = len(x) > 0 and len(weight) == 2 and activation in self._activations
        falls_back = is_linear and (not is_cuda or dtype not in (torch.bfloat16, torch.float16)
                                    or self._glue.hgemm_torch_falls_back(_call_of(shapes)) != 0)
        self._calls[shapes] = Calls() if falls_back else None
        return self._calls[shapes]

    def before(self, operator: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """linear() or _linear(), which calls torch at once where it is known that torch computes.
        The first call of its shapes is the operator's."""
        kept, activations, by_torch = self._calls, self._activations, F.linear
        plain = frozenset({torch.Tensor, torch.nn.Parameter})

        def called(x, weight, bias, activation):
            if is_transformed() and activation in activations:
                return activations[activation](by_torch(x, weight, bias))
            return operator(x, weight, bias, activation)

        @functools.wraps(operator)
        def call(x, weight, bias=None, activation=None):
            if not can_be_known(x) or type(weight) not in plain:
                return called(x, weight, bias, activation)
            shapes = (x.shape, weight.shape, x.dtype, bias is None, x.is_cuda, activation)
            try:
                calls = kept[shapes]
            except KeyError:
                y = called(x, weight, bias, activation)  # which raises what is wrong with them
                self.calls_of(Shapes(*shapes))
                return y
            if calls is None or not (x.is_contiguous() and weight.is_contiguous()):
                return called(x, weight, bias, activation)
            try:
                y = by_torch(x, weight, bias)
            except RuntimeError:  # for which the operator has words of its own
                return called(x, weight, bias, activation)
            calls.count()
            return y if activation is None else activations[activation](y)

        call.fallbacks, call.called = self, called
        return call

    def tell(self) -> None:
        """Adds the calls that were counted here to those of the bundle in use."""
        for shapes, calls in list(self._calls.items()):
            if calls is not None and shapes.is_cuda:  # calls on CPUs are not counted
                new = calls.new()
                if new > 0:
                    self._glue.hgemm_torch_count_fallbacks(_call_of(shapes), new)

    def forget(self) -> None:
        """To be called before another bundle is in use."""
        self.tell()
        self._calls.clear()
        for of_layer in list(_all_of_layers):
            of_layer.clear()
