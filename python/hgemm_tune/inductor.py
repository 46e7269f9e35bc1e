"""torch.compile with max-autotune times the kernels of the bundle in use beside its own candidates,
and takes them only where they win.

Inductor asks its InductorChoices which candidates a product has, and knows how to replace these.
Its config.external_matmul is no way: addmm (a layer with a bias) never asks it, a candidate has to
write into a given tensor, and it is timed even where nobody asked for autotuning.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import json
from collections.abc import Callable
from typing import Any

import torch

from . import layers, pytorch
from .command import HgemmTuneError

_PARAMETERS = ["self", "kernel_inputs", "templates", "op_name", "kwarg_overrides"]
# Elsewhere torch would only compute by way of the operator what it can compute itself.
_DEVICE_TYPES = ("cuda",)

_enabled: contextlib.ExitStack | None = None


def enable() -> None:
    """Graphs that are compiled from now on, with max-autotune, may take kernels of the bundle in
    use. In those of a patched model layers of one row and without a bias are left to Inductor,
    unless the bundle is batch-invariant.

    Raises HgemmTuneError if no bundle is in use, or this torch chooses in another way than those
    that are known.
    """
    global _enabled
    if pytorch._in_use is None:
        raise HgemmTuneError("no bundle is in use: call hgemm_tune.use(bundle) first")
    if _enabled is None:
        _enabled = _replace_choices()


def disable() -> None:
    """Gives Inductor its choices back. Graphs that were compiled before stay as they are."""
    global _enabled
    if _enabled is not None:
        _enabled.close()
        _enabled = None


def _leaves_one_row() -> bool:
    """Not with a batch-invariant bundle: Inductor's reduction has other bits than its kernels."""
    return (_enabled is not None and pytorch._in_use is not None
            and not pytorch._in_use[0].batch_invariant)


layers.leaves_one_row = _leaves_one_row


def _mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.ops.hgemm_tune._linear.default(a, b.t())


def _addmm(bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    # Some versions pass it as a matrix whose rows are one.
    return torch.ops.hgemm_tune._linear.default(a, b.t(), bias if bias.dim() == 1 else bias[0])


_KERNELS = {"mm": _mm, "addmm": _addmm}


def _time_in_graph(kernel: Callable[..., torch.Tensor], operands: tuple[torch.Tensor, ...],
                   out: torch.Tensor) -> float:
    """Milliseconds of a launch, by Inductor's own measurement, without the host's part: where
    Inductor times a call, the operator's part of the host was longer than a short kernel (14 us
    became 31). A step in a CUDA graph has none of it, nor has one whose host is ahead."""
    from torch._inductor.runtime.benchmarking import benchmarker

    with torch.cuda.device(out.device):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = kernel(*operands)  # which loads it
            torch._C._dynamo.guards.assert_size_stride(
                result, tuple(out.size()), tuple(out.stride()))
            out.copy_(result)  # Inductor may compare it
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            # Other threads compile and load candidates meanwhile.
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                result = kernel(*operands)
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        time_ms = benchmarker.benchmark_gpu(graph.replay)
        del result  # where the graph has written
        return time_ms


@functools.cache
def _choice_class() -> type:
    from torch._inductor import config
    from torch._inductor.select_algorithm import ExternKernelCaller, ExternKernelChoice

    # Newer versions can time all candidates so.
    times_in_graphs = getattr(config, "autotune_cudagraph_benchmarking", False)

    class TunedCaller(ExternKernelCaller):
        def benchmark(self, *args: torch.Tensor, out: torch.Tensor) -> float:
            if out.device.type != "cuda" or out.numel() == 0 or times_in_graphs:
                return super().benchmark(*args, out=out)
            return _time_in_graph(self.to_callable(), args, out)

    class TunedChoice(ExternKernelChoice):
        def bind(self, *args: Any, **kwargs: Any) -> Any:
            caller = super().bind(*args, **kwargs)
            caller.__class__ = TunedCaller  # Inductor names its own class there
            return caller

    return TunedChoice


@functools.cache
def _candidate(op_name: str, digest: str) -> Any:
    """By its name graphs on disk call it, and times on disk are kept."""
    return _choice_class()(_KERNELS[op_name], name=f"hgemm_tune_{op_name}_{digest}",
                           has_out_variant=False)


def _digest() -> str:
    """Of the bundle in use; empty without one. Its candidates are there then, as a graph that was
    compiled by another process and comes from disk needs them."""
    if pytorch._in_use is None:
        return ""
    bundle, only_gains = pytorch._in_use
    text = json.dumps([bundle.rows, only_gains], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    for op_name in _KERNELS:
        _candidate(op_name, digest)
    return digest


def _is_tuned(kernel_inputs: Any, op_name: str) -> bool:
    """Whether a product is that of a linear layer for which the bundle in use has a gain."""
    from torch._inductor.virtualized import V

    if pytorch._in_use is None or V.graph.cpp_wrapper:  # C++ cannot call the candidate
        return False
    *_, a, b = kernel_inputs.nodes()
    *_, (m, _), (k, n) = kernel_inputs.shapes_hinted()
    dtype = a.get_dtype()
    if (a.get_device().type not in _DEVICE_TYPES or b.get_dtype() != dtype
            or kernel_inputs.out_dtype() != dtype or m == 0
            or kernel_inputs.strides_hinted()[-1] != (1, k)
            or (op_name == "addmm" and not _adds_bias(kernel_inputs, n))):
        return False
    product = (n, k, dtype, op_name == "addmm")
    return product in pytorch.proven_products(pytorch._in_use[0])


def _adds_bias(kernel_inputs: Any, n: int) -> bool:
    """Whether addmm adds one vector to every row, as it is."""
    addend, a, _ = kernel_inputs.nodes()
    *row_stride, stride = kernel_inputs.strides_hinted()[0]
    return (addend.get_dtype() == a.get_dtype() and kernel_inputs.shapes_hinted()[0][-1] == n
            and stride == 1 and row_stride in ([], [0])
            and kernel_inputs.get_scalar("alpha") == kernel_inputs.get_scalar("beta") == 1)


class _Factory:
    """What Inductor makes its choices by. Versions that pickle it, as a part of the key by which
    they keep graphs, find the bundle in use in it."""

    def __call__(self) -> Any:
        return _choices_class()()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Factory, (), {"digest": _digest()}


@functools.cache
def _choices_class() -> type:
    from torch._inductor import config
    from torch._inductor.choices import InductorChoices

    class TunedChoices(InductorChoices):
        def get_template_configs(self, kernel_inputs: Any, templates: Any, op_name: str,
                                 kwarg_overrides: Any = None) -> list[Any]:
            choices = super().get_template_configs(kernel_inputs, templates, op_name,
                                                   kwarg_overrides)
            # Some versions ask several times for a product, but once for what ATen computes it by.
            if (op_name in _KERNELS and (config.max_autotune or config.max_autotune_gemm)
                    and any(template.uid == f"aten::{op_name}" for template in templates)
                    and _is_tuned(kernel_inputs, op_name)):
                choices.append(_candidate(op_name, _digest()).bind(
                    kernel_inputs.nodes(), kernel_inputs.output_layout(flexible=False)))
            return choices

        def uuid(self) -> tuple[str, str]:
            return "hgemm_tune", _digest()

    return TunedChoices


def _replace_choices() -> contextlib.ExitStack:
    """Closing it gives them back."""
    from torch._inductor import choices, config
    from torch._inductor.virtualized import V

    method = getattr(choices.InductorChoices, "get_template_configs", None)
    if method is None or list(inspect.signature(method).parameters) != _PARAMETERS:
        raise HgemmTuneError(f"torch {torch.__version__} chooses among candidates in a way that "
                             "hgemm_tune.inductor does not know; hgemm_tune.patch() works with it")
    with contextlib.ExitStack() as replaced:
        if hasattr(choices, "register_inductor_choices"):
            choices.register_inductor_choices("hgemm_tune", _Factory())
            replaced.callback(choices.unregister_inductor_choices, "hgemm_tune")
        else:
            if config.inductor_choices_class is not None:
                raise HgemmTuneError("something else has replaced Inductor's choices already: "
                                     "torch._inductor.config.inductor_choices_class is "
                                     f"{config.inductor_choices_class}")
            # The handler of this thread, and what the others make theirs by.
            replaced.enter_context(V.set_choices_handler(_Factory()()))
            replaced.enter_context(config.patch(inductor_choices_class=_Factory()))
        return replaced.pop_all()
