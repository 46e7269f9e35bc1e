"""Calls of torch.ops.hgemm_tune.linear that torch computes, by their shapes.

A bundle has no kernel for some products, and none with a gain for others. The operator finds that
out behind its dispatch, and then torch dispatches its own: together they take some microseconds
more than torch alone. So what the operator would find is kept here, and the next call of these
shapes is torch's own at once (results/h200/host-time.md has what that takes).
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterator

import torch
from torch.autograd import forward_ad
from torch.nn import functional as F

#: the shapes of x and of the weight, the type of x, whether there is no bias, whether they are on a
#: CUDA device, the activation
_Key = tuple[torch.Size, torch.Size, torch.dtype, bool, bool, str | None]
#: Tensors of other types may compute something else. FakeTensors have shapes that are not known.
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
#: Prompts have many lengths. Beyond this many shapes, all are found anew.
_MOST = 4096


def is_transformed() -> bool:
    """Whether torch.func or forward-mode differentiation is at work: the operator has formulas for
    gradients in reverse only, and would lose the others without a word."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


class _Call(ctypes.Structure):
    """hgemm_torch_linear of operators.h."""

    _fields_ = [("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("is_bf16", ctypes.c_int32), ("has_bias", ctypes.c_int32),
                ("activation", ctypes.c_char_p)]


def _call_of(key: _Key) -> _Call:
    x, weight, dtype, has_no_bias, _, activation = key
    return _Call(m=x[:-1].numel(), n=weight[0], k=weight[1], is_bf16=dtype is torch.bfloat16,
                 has_bias=not has_no_bias,
                 activation=None if activation is None else activation.encode())


class Left:
    """What is left to torch while one bundle is in use."""

    def __init__(self, glue: ctypes.CDLL,
                 activations: dict[str | None, Callable[[torch.Tensor], torch.Tensor]]) -> None:
        for name, result, *more in (("leaves", ctypes.c_int), ("count", None, ctypes.c_int64)):
            function = getattr(glue, f"hgemm_torch_{name}")
            function.argtypes, function.restype = [ctypes.POINTER(_Call), *more], result
        self._glue = glue
        self._activations = activations
        #: of shapes that torch computes, a counter of their calls; None of those of the operator
        self._calls: dict[_Key, Iterator[int] | None] = {}

    def before(self, operator: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """linear() or _linear(), which calls torch at once where it is known that torch computes.

        Such a call is counted. With gradients there may be kernels for these; what traces calls is
        to see the operator; and autocast may ask for a type that has a kernel. Each call asks all
        this, so it has all names in its reach.
        """
        kept, activations, find = self._calls, self._activations, self._find
        plain, plain_or_parameter = torch.Tensor, _PLAIN
        has_gradients = torch.is_grad_enabled
        is_traced, is_cast = torch._C._len_torch_dispatch_stack, torch._C._is_any_autocast_enabled
        by_torch = F.linear

        def called(x, weight, bias, activation):
            if is_transformed() and activation in activations:
                return activations[activation](by_torch(x, weight, bias))
            return operator(x, weight, bias, activation)

        @functools.wraps(operator)
        def call(x, weight, bias=None, activation=None):
            if (type(x) is not plain or type(weight) not in plain_or_parameter or has_gradients()
                    or is_traced() or is_cast()):
                return called(x, weight, bias, activation)
            key = (x.shape, weight.shape, x.dtype, bias is None, x.is_cuda, activation)
            try:
                calls = kept[key]
            except KeyError:
                calls = None
                find(key)
            if calls is None or not (x.is_contiguous() and weight.is_contiguous()):
                return called(x, weight, bias, activation)
            try:
                y = by_torch(x, weight, bias)
            except RuntimeError:  # for which the operator has words of its own
                return called(x, weight, bias, activation)
            next(calls)
            return y if activation is None else activations[activation](y)

        call.left = self
        return call

    def _find(self, key: _Key) -> None:
        """What the operator does with calls of these shapes, from the next one on."""
        x, weight, dtype, _, is_cuda, activation = key
        if len(self._calls) >= _MOST:
            self.tell()
            self._calls.clear()
        is_linear = len(x) > 0 and len(weight) == 2 and activation in self._activations
        is_left = is_linear and (not is_cuda or dtype not in (torch.bfloat16, torch.float16)
                                 or self._glue.hgemm_torch_leaves(_call_of(key)) != 0)
        self._calls[key] = itertools.count() if is_left else None

    def tell(self) -> None:
        """Adds the calls that were counted here to those of the bundle in use."""
        for key, calls in list(self._calls.items()):
            if calls is None or not key[4]:  # calls on CPUs are not counted
                continue
            self._calls[key] = itertools.count()
            count = next(calls)
            if count > 0:
                self._glue.hgemm_torch_count(_call_of(key), count)

    def forget(self) -> None:
        """To be called before another bundle is in use."""
        self.tell()
        self._calls.clear()
