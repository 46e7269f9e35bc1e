"""What patch() makes of the layers of a model: torch.nn.Linear that calls the operator, and layers
of one input that are computed as one product.

A model runs many of its layers on one input: the projections of queries, keys and values, and gate
and up of a feed-forward block. As one product these read x once, and there is one launch. So their
weights are put one after another in memory, where each layer's weight is a part of the whole. The
parameters stay what they are. If they are moved (`to`, `deepcopy`, `load_state_dict` with
`assign=True`), the weights no longer lie so, which the operator finds, and computes each layer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from .fallback import Fallback, LayerFallbacks, Shapes, can_be_known, is_transformed

_ops = torch.ops.hgemm_tune  # defined by pytorch.py
#: The operator's activations, by name.
ACTIVATIONS: dict[str | None, Callable[[torch.Tensor], torch.Tensor]] = {
    None: lambda y: y, "relu": F.relu, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}


def _no_row_is_left() -> bool:
    return False


#: Whether compiled code leaves layers of one row to torch.compile. inductor.py sets its own here.
leaves_one_row: Callable[[], bool] = _no_row_is_left


@torch.compiler.assume_constant_result
def _leaves_one_row() -> bool:
    """Asked while a graph is traced, so that a graph stays what it was compiled as."""
    return leaves_one_row()


def _is_inductors(input: torch.Tensor, layer: torch.nn.Linear) -> bool:
    """With max-autotune Inductor makes a product of one row, without a bias, a reduction, which it
    fuses with what is around it. A kernel alone is faster, but the step was not: Mistral-7B took
    4.75 ms by kernels and 4.55 without them (one run with both; H200, driver 580.159.04, torch
    2.11, 2026-11-28)."""
    return (torch.compiler.is_compiling() and layer.bias is None and _leaves_one_row()
            and input.numel() == input.shape[-1])


class TunedLinear(torch.nn.Linear):
    """torch.nn.Linear, computed by the operator. patch() makes layers to this, unpatch() back."""

    #: Which calls torch computes at once; each layer has its own from its first call on.
    _fallbacks: dict[tuple[torch.Size, torch.dtype, bool], Fallback | None] = {}

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_compiling():
            if _is_inductors(input, self):
                return super().forward(input)
            # What linear() chooses by the same question; one look-up less for each call.
            operator = _ops.linear if torch.is_grad_enabled() else _ops._linear
            return operator.default(input, self.weight, self.bias)
        # torch.nn.Module looks for a parameter last of all, which takes ten times as long. Some
        # programs make plain attributes of parameters.
        own = self._parameters
        weight = own["weight"] if "weight" in own else self.weight
        bias = own["bias"] if "bias" in own else self.bias
        if not can_be_known(input):
            operator = _ops.linear if torch.is_grad_enabled() else _ops._linear
            return operator.default._op.called(input, weight, bias, None)
        key = (input.shape, input.dtype, input.is_cuda)
        try:
            fallback = self._fallbacks[key]
        except KeyError:
            fallback = self._find(key, weight, bias)
        y = None if fallback is None else fallback.linear(input, weight, bias)
        return _ops._linear.default._op.called(input, weight, bias, None) if y is None else y

    def _find(self, key: tuple[torch.Size, torch.dtype, bool], weight: torch.Tensor,
              bias: torch.Tensor | None) -> Fallback | None:
        """Whether torch computes a call, which the layer knows from now on."""
        if "_fallbacks" not in self.__dict__:
            self._fallbacks = LayerFallbacks()
        shape, dtype, is_cuda = key
        fallback = None
        if type(weight) in (torch.Tensor, torch.nn.Parameter):
            of_bias = None if bias is None else bias.shape
            shapes = Shapes(shape, weight.shape, of_bias, dtype, is_cuda, activation=None)
            fallback = _ops._linear.default._op.fallbacks.of(shapes)
        self._fallbacks[key] = fallback
        return fallback


# ---- Weights one after another ----


def _runs_in_one_product(input: torch.Tensor, layer: torch.nn.Linear) -> bool:
    """Gradients belong to each weight, so where they are recorded each layer is computed. `layer`
    is one of them."""
    return not (torch.is_grad_enabled() or _is_inductors(input, layer)
                or (not torch.compiler.is_compiling() and is_transformed()))


def _put_together(parts: list[torch.nn.Parameter]) -> None:
    """One after another in memory, of which each parameter is a part from now on."""
    end = parts[0].data_ptr()
    if all(part.data_ptr() == (end := end + before.numel() * before.element_size())
           for before, part in zip(parts, parts[1:])):
        return
    with torch.inference_mode(False), torch.no_grad():  # parameters stay what can be trained
        whole = torch.cat([part.detach() for part in parts])
        for part, piece in zip(parts, whole.split([len(part) for part in parts])):
            part.data = piece


class _Kept(NamedTuple):
    """Results that wait for the calls of their layers."""

    input: torch.Tensor
    #: how often the input had been written to; not known in compiled code and in inference mode
    version: int | None
    #: of the layers after the first one; none of those that were called
    results: list[torch.Tensor | None]


def _version(tensor: torch.Tensor) -> int | None:
    return None if torch.compiler.is_compiling() or tensor.is_inference() else tensor._version


class _Siblings:
    """Layers of one input: the first one's call computes all."""

    def __init__(self, layers: list[torch.nn.Linear]):
        self.layers = layers
        self._kept: _Kept | None = None
        #: results that nobody asked for, one after another: an error may cause one
        self._wasted = 0
        self._are_apart = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}  # a copy has no step under way

    def result(self, layer: torch.nn.Linear, place: int,
               input: torch.Tensor) -> torch.Tensor | None:
        """That of the layer in this place, if it is computed with the others."""
        if self._are_apart or self.layers[place] is not layer:  # a replica has other weights
            return None
        if place == 0:
            return self._first(input)
        kept = self._kept
        if kept is None or kept.input is not input or kept.version != _version(input):
            self._are_apart = True  # another order of calls, or another input
            self._kept = None
            return None
        result = kept.results[place - 1]
        kept.results[place - 1] = None
        if all(left is None for left in kept.results):
            self._kept, self._wasted = None, 0
        return result

    def _first(self, input: torch.Tensor) -> torch.Tensor | None:
        if self._kept is not None:  # as where keys and values come from a cache
            self._kept, self._wasted = None, self._wasted + 1
            if self._wasted > 1:
                self._are_apart = True
                return None
        first, second, *third = self.layers
        if not _are_beside(input, self.layers):
            return None
        weight, bias = (third[0].weight, third[0].bias) if third else (None, None)
        y = _ops._siblings.default(input, first.weight, second.weight, weight, first.bias,
                                   second.bias, bias)
        parts = y.split([layer.out_features for layer in self.layers], -1)
        self._kept = _Kept(input, _version(input), list(parts[1:]))
        return parts[0]


def _are_beside(input: torch.Tensor, layers: list[torch.nn.Linear]) -> bool:
    """Whether all weights are on the input's device now. Some are loaded when their layer runs."""
    return all(layer.weight.device == input.device for layer in layers)


class SiblingLinear(TunedLinear):
    """A layer that is computed with others of the same input."""

    _siblings: _Siblings
    _place: int

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        result = None
        if _runs_in_one_product(input, self):
            result = self._siblings.result(self, self._place, input)
        return super().forward(input) if result is None else result


# ---- Gate and up ----


def _has_hooks(module: torch.nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)


class _Gate(NamedTuple):
    """What a block's gate is, by the operator's name, and the module that was found to be it."""

    activation: str | None
    function: torch.nn.Module


def _is_still_gated(block: torch.nn.Module) -> bool:
    """Whether gate, up and what is between them are what they were when the model was patched."""
    layers = block.gate_proj, block.up_proj
    return (block.act_fn is block._hgemm_gate.function and not _has_hooks(block.act_fn)
            and all(type(layer) is TunedLinear and "forward" not in layer.__dict__
                    and layer.bias is None and not _has_hooks(layer) for layer in layers))


def _gated_forward(self, *inputs: Any, **named: Any) -> torch.Tensor:
    if (named or len(inputs) != 1 or not _runs_in_one_product(inputs[0], self.gate_proj)
            or not _is_still_gated(self)
            or not _are_beside(inputs[0], [self.gate_proj, self.up_proj])):
        return type(self)._hgemm_base.forward(self, *inputs, **named)
    y = _ops._gated_siblings.default(inputs[0], self.gate_proj.weight, self.up_proj.weight,
                                     self._hgemm_gate.activation)
    return self.down_proj(y)


def _new_gated(base: type[torch.nn.Module]) -> torch.nn.Module:
    made = _gated_class(base)
    return made.__new__(made)


def _reduced(self, _protocol: int) -> tuple[Any, ...]:
    return _new_gated, (type(self)._hgemm_base,), self.__dict__


@functools.cache
def _gated_class(base: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """A subclass, so that the block is still what its model looks for."""
    return type(base.__name__, (base,), {"forward": _gated_forward, "_hgemm_base": base,
                                         "__reduce_ex__": _reduced,
                                         "__module__": base.__module__})


#: Small values show a function's shape, large ones its limits.
_SCALES = (1.0, 1e2, 1e4)


def _activation_of(function: torch.nn.Module) -> str | None:
    """The operator's name of an activation, by its values; a KeyError if it has none."""
    x = torch.cat([scale * torch.linspace(-4, 4, 65) for scale in _SCALES])
    y = function(x)
    for name, known in ACTIVATIONS.items():
        if torch.allclose(y, known(x), rtol=1e-5, atol=1e-6):
            return name
    raise KeyError(type(function).__name__)


def _small_layer(number: int) -> torch.nn.Linear:
    """With weights that are not drawn: whoever draws numbers after this gets the same."""
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 8, 8, bias=False)
    layer.weight.copy_(torch.sin(torch.arange(64.0) * (1.7 + number)).reshape(8, 8))
    return layer


@torch.no_grad()
def _gate_of(block: torch.nn.Module) -> _Gate:
    """That of a block which computes down(activation(gate(x)) * up(x)); a KeyError if it is no such
    block. Its class is asked, with small layers in place of its own."""
    names = ("gate_proj", "up_proj", "down_proj")
    if set(dict(block.named_children())) != {*names, "act_fn"} or _has_hooks(block.act_fn):
        raise KeyError("modules")
    gate = _Gate(_activation_of(block.act_fn), block.act_fn)
    small = object.__new__(type(block))
    small.__dict__ = {**block.__dict__, "_modules": {
        "act_fn": block.act_fn, **{name: _small_layer(i) for i, name in enumerate(names)}}}
    for scale in _SCALES:
        x = scale * torch.linspace(-1, 1, 16).reshape(2, 8)
        expected = small.down_proj(small.act_fn(small.gate_proj(x)) * small.up_proj(x))
        if not torch.equal(type(block).forward(small, x), expected):
            raise KeyError("formula")
    return gate


# ---- What can be one product ----


@dataclass(frozen=True)
class Group:
    """Layers that could be one product."""

    #: the module that has them
    parent: torch.nn.Module
    #: the layers, by their names in it
    layers: dict[str, torch.nn.Linear]
    #: only if the layers are gate and up
    gate: _Gate | None = None

    @property
    def n(self) -> int:
        return sum(layer.out_features for layer in self.layers.values())

    @property
    def k(self) -> int:
        return next(iter(self.layers.values())).in_features

    def make_one(self) -> None:
        """From now on one product computes them."""
        layers = list(self.layers.values())
        _put_together([layer.weight for layer in layers])
        if self.gate is not None:
            self.parent._hgemm_gate = self.gate
            self.parent.__class__ = _gated_class(type(self.parent))
            for layer in layers:
                layer.__class__ = TunedLinear
            return
        if layers[0].bias is not None:
            _put_together([layer.bias for layer in layers])
        siblings = _Siblings(layers)
        for place, layer in enumerate(layers):
            layer.__class__ = SiblingLinear
            layer._siblings, layer._place = siblings, place


def _can_be_one(layers: list[Any]) -> bool:
    """Whether they are layers of one size of input that nothing else has its hands on."""
    def parts(layer: torch.nn.Linear) -> list[Any]:
        return [layer.weight] if layer.bias is None else [layer.weight, layer.bias]

    if any(type(layer) not in (torch.nn.Linear, TunedLinear) or "forward" in vars(layer)
           for layer in layers):
        return False
    first = layers[0]
    return all(layer.in_features == first.in_features and len(parts(layer)) == len(parts(first))
               and all(type(part) is torch.nn.Parameter and part.is_contiguous()
                       and part.device.type != "meta" and part.device == first.weight.device
                       and part.dtype == first.weight.dtype
                       and part.requires_grad == first.weight.requires_grad
                       for part in parts(layer))
               for layer in layers)


def _gate_or_none(block: torch.nn.Module) -> _Gate | None:
    if "forward" in vars(block):
        return None
    try:
        return _gate_of(block)
    except Exception:  # a block that computes something else, in whatever way it likes
        return None


def groups(model: torch.nn.Module) -> Iterator[Group]:
    """The layers of a model that could be one product, by the names that transformers gives them."""
    for parent in model.modules():
        children = dict(parent.named_children())
        for names in (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj")):
            layers = {child: children[child] for child in names if child in children}
            if len(layers) < len(names) or not _can_be_one(list(layers.values())):
                continue
            if "q_proj" in layers:
                yield Group(parent, layers)
                continue
            first, second = layers.values()
            if first.bias is None and first.out_features == second.out_features:
                gate = _gate_or_none(parent)
                if gate is not None:
                    yield Group(parent, layers, gate)


def separate(model: torch.nn.Module) -> list[torch.nn.Linear]:
    """Undoes it all: blocks and layers are torch's again. Returns the layers that were not. Weights
    that were put together stay where they are."""
    layers = []
    for module in model.modules():
        if "_hgemm_base" in vars(type(module)):
            module.__class__ = type(module)._hgemm_base
            del module._hgemm_gate
        if type(module) is SiblingLinear:
            del module._siblings, module._place
        if type(module) in (TunedLinear, SiblingLinear):
            module.__dict__.pop("_fallbacks", None)
            module.__class__ = torch.nn.Linear
            layers.append(module)
    return layers
