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
from torch.autograd import forward_ad
from torch.nn import functional as F

_ops = torch.ops.hgemm_tune  # defined by pytorch.py
#: The operator's activations, by name.
ACTIVATIONS: dict[str | None, Callable[[torch.Tensor], torch.Tensor]] = {
    None: lambda y: y, "relu": F.relu, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}


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


# ---- Weights one after another ----


def _runs_in_one_product() -> bool:
    """Gradients belong to each weight, so where they are recorded each layer is computed."""
    return not (torch.is_grad_enabled()
                or (not torch.compiler.is_compiling() and _is_transformed()))


@torch.no_grad()
def _put_together(parts: list[torch.nn.Parameter]) -> None:
    """One after another in memory, of which each parameter is a part from now on."""
    end = parts[0].data_ptr()
    if all(part.data_ptr() == (end := end + before.numel() * before.element_size())
           for before, part in zip(parts, parts[1:])):
        return
    whole = torch.cat([part.detach() for part in parts])
    for part, piece in zip(parts, whole.split([len(part) for part in parts])):
        part.data = piece


class _Kept(NamedTuple):
    """Results that wait for the calls of their layers."""

    input: torch.Tensor
    #: how often the input had been written to; a compiler sees that for itself
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
        self._are_apart = False

    def result(self, place: int, input: torch.Tensor) -> torch.Tensor | None:
        """That of the layer in this place, if it is computed with the others."""
        if place == 0:
            return self._first(input)
        kept = self._kept
        if kept is None or kept.input is not input or kept.version != _version(input):
            return None
        result = kept.results[place - 1]
        kept.results[place - 1] = None
        if all(left is None for left in kept.results):
            self._kept = None
        return result

    def _first(self, input: torch.Tensor) -> torch.Tensor | None:
        if self._kept is not None:  # the others had another input, as in cross-attention
            self._are_apart = True
            self._kept = None
        if self._are_apart:
            return None
        first, second, *third = self.layers
        weight, bias = (third[0].weight, third[0].bias) if third else (None, None)
        y = _ops._siblings.default(input, first.weight, second.weight, weight, first.bias,
                                   second.bias, bias)
        parts = y.split([layer.out_features for layer in self.layers], -1)
        self._kept = _Kept(input, _version(input), list(parts[1:]))
        return parts[0]


class SiblingLinear(TunedLinear):
    """A layer that is computed with others of the same input."""

    _siblings: _Siblings
    _place: int

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        result = self._siblings.result(self._place, input) if _runs_in_one_product() else None
        return super().forward(input) if result is None else result


# ---- Gate and up ----


def _has_hooks(layer: torch.nn.Module) -> bool:
    return bool(layer._forward_hooks or layer._forward_pre_hooks)


def _gated_forward(self, x: torch.Tensor) -> torch.Tensor:
    gate, up = self.gate_proj, self.up_proj
    if not _runs_in_one_product() or _has_hooks(gate) or _has_hooks(up):
        return type(self)._hgemm_base.forward(self, x)
    return self.down_proj(_ops._gated_siblings.default(x, gate.weight, up.weight,
                                                       self._hgemm_activation))


@functools.cache
def _gated_class(base: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """A subclass, so that the block is still what its model looks for."""
    return type(base.__name__, (base,), {"forward": _gated_forward, "_hgemm_base": base,
                                         "__module__": base.__module__})


def _activation_of(function: torch.nn.Module) -> str | None:
    """The operator's name of an activation, by its values; a KeyError if it has none."""
    x = torch.linspace(-4, 4, 65)
    with torch.no_grad():
        y = function(x)
    for name, known in ACTIVATIONS.items():
        if torch.allclose(y, known(x), rtol=1e-5, atol=1e-6):
            return name
    raise KeyError(type(function).__name__)


def _gated_activation(block: torch.nn.Module) -> str | None:
    """That of a block which computes down(activation(gate(x)) * up(x)); a KeyError if it is no such
    block. Its class is asked, with small layers in place of its own."""
    if set(dict(block.named_children())) != {"gate_proj", "up_proj", "down_proj", "act_fn"}:
        raise KeyError("children")
    activation = _activation_of(block.act_fn)
    small = object.__new__(type(block))
    small.__dict__ = {**block.__dict__, "_modules": {
        "act_fn": block.act_fn,
        **{name: torch.nn.Linear(8, 8, bias=False)
           for name in ("gate_proj", "up_proj", "down_proj")}}}
    x = torch.linspace(-1, 1, 16).reshape(2, 8)
    with torch.no_grad():
        expected = small.down_proj(small.act_fn(small.gate_proj(x)) * small.up_proj(x))
        if not torch.equal(type(block).forward(small, x), expected):
            raise KeyError("formula")
    return activation


# ---- What can be one product ----


@dataclass(frozen=True)
class Group:
    """Layers that could be one product."""

    #: the module that has them, and its name
    parent: torch.nn.Module
    name: str
    #: the layers, by their names in it
    layers: dict[str, torch.nn.Linear]
    #: of a gate's rows; only if the layers are gate and up
    activation: str | None = None
    is_gated: bool = False

    @property
    def n(self) -> int:
        return sum(layer.out_features for layer in self.layers.values())

    @property
    def k(self) -> int:
        return next(iter(self.layers.values())).in_features

    def make_one(self) -> None:
        """From now on one product computes them."""
        layers = list(self.layers.values())
        if self.is_gated:
            _put_together([layer.weight for layer in layers])
            self.parent._hgemm_activation = self.activation
            self.parent.__class__ = _gated_class(type(self.parent))
            for layer in layers:
                layer.__class__ = TunedLinear
            return
        _put_together([layer.weight for layer in layers])
        if layers[0].bias is not None:
            _put_together([layer.bias for layer in layers])
        siblings = _Siblings(layers)
        for place, layer in enumerate(layers):
            layer.__class__ = SiblingLinear
            layer._siblings, layer._place = siblings, place


def _can_be_one(layers: list[Any]) -> bool:
    """Whether they are layers of one size of input that nothing else has its hands on."""
    first = layers[0]
    return all(type(layer) in (torch.nn.Linear, TunedLinear)
               and "forward" not in vars(layer)
               and type(layer.weight) is torch.nn.Parameter
               and layer.weight.is_contiguous()
               and layer.weight.device.type != "meta"
               and layer.in_features == first.in_features
               and (layer.bias is None) == (first.bias is None)
               and (layer.weight.dtype, layer.weight.device, layer.weight.requires_grad)
               == (first.weight.dtype, first.weight.device, first.weight.requires_grad)
               for layer in layers)


def groups(model: torch.nn.Module) -> Iterator[Group]:
    """The layers of a model that could be one product, by the names that transformers gives them."""
    seen: dict[tuple, str | None | KeyError] = {}
    for name, parent in model.named_modules():
        children = dict(parent.named_children())
        for names in (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj")):
            layers = {child: children[child] for child in names if child in children}
            if len(layers) < len(names) or not _can_be_one(list(layers.values())):
                continue
            if "q_proj" in layers:
                yield Group(parent, name, layers)
                continue
            first, second = layers.values()
            if first.bias is not None or first.out_features != second.out_features:
                continue
            key = type(parent), type(children.get("act_fn"))
            if key not in seen:
                try:
                    seen[key] = _gated_activation(parent)
                except Exception as error:  # a block that computes something else, as it likes
                    seen[key] = KeyError(str(error))
            if not isinstance(seen[key], KeyError) and "forward" not in vars(parent):
                yield Group(parent, name, layers, seen[key], is_gated=True)


def separate(model: torch.nn.Module) -> list[torch.nn.Linear]:
    """Undoes it all: blocks and layers are torch's again. Returns the layers that were not. Weights
    that were put together stay where they are."""
    layers = []
    for module in model.modules():
        if base := getattr(type(module), "_hgemm_base", None):
            module.__class__ = base
            del module._hgemm_activation
        if isinstance(module, TunedLinear):
            if type(module) is SiblingLinear:
                del module._siblings, module._place
            module.__class__ = torch.nn.Linear
            layers.append(module)
    return layers
