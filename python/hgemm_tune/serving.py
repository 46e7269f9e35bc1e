"""What the plug-ins of vLLM and SGLang share: the bundle that the user named, and who computes.

An engine loads plug-ins in every process that it starts, also in those that must not touch the GPU.
So the bundle is opened later, by start(), where a model is built.
"""

from __future__ import annotations

import hashlib
import logging
import os

import torch

from .bundles import load
from .command import HgemmTuneError
from .pytorch import Product, proven_products, use

#: names the bundle; without it the plug-ins do nothing
VARIABLE = "HGEMM_TUNE_BUNDLE"
#: as the options of Bundle.prepare(): takes a bundle that was made for another GPU or driver
ANY_GPU, ANY_DRIVER = "HGEMM_TUNE_ANY_GPU", "HGEMM_TUNE_ANY_DRIVER"

# Elsewhere engines have weights in orders of their own.
_DEVICE_TYPES = ("cuda",)

#: what kernels compute in this process
products: frozenset[Product] = frozenset()
_is_started = False
_is_invariant = False  # the bundle that is in use


def _open(path: str) -> frozenset[Product]:
    global _is_invariant
    bundle = load(path)
    _is_invariant = bundle.batch_invariant
    try:
        found = proven_products(bundle)
        if found:
            if torch.cuda.is_available():
                bundle.prepare(torch.cuda.current_device(),
                               any_gpu=os.environ.get(ANY_GPU) == "1",
                               any_driver=os.environ.get(ANY_DRIVER) == "1")
            use(bundle)
    except HgemmTuneError:
        bundle.close()
        raise
    if not found:
        bundle.close()
    return found


def start(engine: str, log: logging.Logger) -> bool:
    """Opens the bundle, once in a process; whether kernels compute anything then. Logs what it did.

    To be called when the process has chosen its GPU. What is wrong with the bundle is no reason for
    a server not to start: the engine computes then, and the log says why.
    """
    global products, _is_started
    if _is_started:
        return bool(products)
    _is_started = True
    path = os.environ.get(VARIABLE, "")
    try:
        products = _open(path)
    except HgemmTuneError as error:
        log.warning("hgemm-tune: %s computes all linear layers, since %s cannot be used: %s",
                    engine, path, error)
        return False
    if not products:
        log.warning("hgemm-tune: %s computes all linear layers: no kernel of %s has a proven gain "
                    "for one", engine, path)
        return False
    names = ", ".join(sorted(f"{n}x{k}{' with a bias' if has_bias else ''}"
                             for n, k, _, has_bias in products))
    log.info("hgemm-tune: kernels of %s compute unquantised linear layers of %s %s", path, names,
             "at every number of rows, batch-invariantly" if _is_invariant else
             "where they were measured to be faster than cuBLAS")
    return True


def stop() -> None:
    """The engine computes again what is not in a compiled graph, and torch what is."""
    global products, _is_started
    if products:
        use(None)
    products, _is_started = frozenset(), False


def takes(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> bool:
    """Whether the operator is to compute a linear layer: at some M a kernel gains. The others stay
    what the engine makes of them, so its compiler and its fusions still see these."""
    return (weight.device.type in _DEVICE_TYPES and x.dtype == weight.dtype
            and (weight.shape[0], weight.shape[1], weight.dtype, bias is not None) in products)


def linear(layer: object, x: torch.Tensor, weight: torch.Tensor,
           bias: torch.Tensor | None = None) -> torch.Tensor:
    """An engine's function for a linear layer that torch would compute."""
    if takes(x, weight, bias):
        return torch.ops.hgemm_tune.linear.default(x, weight, bias)
    return torch.nn.functional.linear(x, weight, bias)


def digest() -> str:
    """Of what takes() says: compiled graphs differ by it. Empty if it takes nothing."""
    if not products:
        return ""
    return hashlib.sha256(repr(sorted(map(repr, products))).encode()).hexdigest()
