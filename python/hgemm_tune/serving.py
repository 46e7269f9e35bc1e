"""What the plug-ins of vLLM and SGLang share: the bundle that the user named, and who computes.

An engine loads plug-ins in every process that it starts, also in those that must not touch the GPU.
So the bundle is opened later, by start(), where a model is built.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import socket
import threading
from pathlib import Path

import torch

from .bundles import Bundle, load
from .command import HgemmTuneError
from .pytorch import Product, proven_products, use

#: names the bundle; without it the plug-ins do nothing
VARIABLE = "HGEMM_TUNE_BUNDLE"
#: as the options of Bundle.prepare(): takes a bundle that was made for another GPU or driver
ANY_GPU, ANY_DRIVER = "HGEMM_TUNE_ANY_GPU", "HGEMM_TUNE_ANY_DRIVER"

#: names a folder: each process keeps there a list of what the bundle had no kernel for, which
#: `hgemm-tune --misses` tunes. Then the operator is called for layers that were not tuned, too
MISSES = "HGEMM_TUNE_MISSES"

#: all of them; engines with compiled graphs on disk keep apart those of other values
VARIABLES = (VARIABLE, ANY_GPU, ANY_DRIVER, MISSES)

# Elsewhere engines have weights in orders of their own.
_DEVICE_TYPES = ("cuda",)
_TUNED_TYPES = (torch.bfloat16, torch.float16)

#: what kernels compute in this process
products: frozenset[Product] = frozenset()
_is_started = False
_is_invariant = False  # the bundle that is in use
_misses: Misses | None = None


class Misses:
    """Keeps the list of a bundle's misses in a file of this process. It is written at the end, and
    every few seconds before, since engines may kill their processes."""

    _SECONDS = 10

    def __init__(self, bundle: Bundle, folder: str, log: logging.Logger) -> None:
        self.path = Path(folder) / f"misses-{socket.gethostname()}-{os.getpid()}.yaml"
        self._bundle, self._log = bundle, log
        self._written = ""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        atexit.register(self.end)
        threading.Thread(target=self._keep, name="hgemm-tune misses", daemon=True).start()

    def _keep(self) -> None:
        while not self._ended.wait(self._SECONDS):
            self.write()

    def write(self) -> None:
        """A file that cannot be written is no reason for a server to stop: the log says so once."""
        with self._lock:
            text = self._bundle.misses()
            if self._ended.is_set() or text == self._written:
                return
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                unfinished = self.path.with_suffix(".unfinished")
                unfinished.write_text(text)
                unfinished.replace(self.path)
            except OSError as error:
                self._ended.set()
                self._log.warning("hgemm-tune: the list of misses is not kept: %s", error)
            self._written = text

    def end(self) -> None:
        """Before the bundle is out of use."""
        self.write()
        self._ended.set()
        atexit.unregister(self.end)


def _is_in_use() -> bool:
    return bool(products) or _misses is not None


def _open(path: str, log: logging.Logger) -> frozenset[Product]:
    global _is_invariant, _misses
    bundle = load(path)
    _is_invariant = bundle.batch_invariant
    folder = os.environ.get(MISSES, "")
    try:
        found = proven_products(bundle)
        if found or folder:
            if torch.cuda.is_available():
                bundle.prepare(torch.cuda.current_device(),
                               any_gpu=os.environ.get(ANY_GPU) == "1",
                               any_driver=os.environ.get(ANY_DRIVER) == "1")
            use(bundle)
    except HgemmTuneError:
        bundle.close()
        raise
    if folder:
        _misses = Misses(bundle, folder, log)
        log.info("hgemm-tune: misses of %s are listed in %s", path, _misses.path)
    elif not found:
        bundle.close()
    return found


def start(engine: str, log: logging.Logger) -> bool:
    """Opens the bundle, once in a process; whether the operator is to be called for anything then.
    Logs what it did.

    To be called when the process has chosen its GPU. What is wrong with the bundle is no reason for
    a server not to start: the engine computes then, and the log says why.
    """
    global products, _is_started
    if _is_started:
        return _is_in_use()
    _is_started = True
    path = os.environ.get(VARIABLE, "")
    try:
        products = _open(path, log)
    except HgemmTuneError as error:
        log.warning("hgemm-tune: %s computes all linear layers, since %s cannot be used: %s",
                    engine, path, error)
        return False
    if not products:
        log.warning("hgemm-tune: %s computes all linear layers: no kernel of %s has a proven gain "
                    "for one", engine, path)
        return _is_in_use()
    names = ", ".join(sorted(f"{n}x{k}{' with a bias' if has_bias else ''}"
                             for n, k, _, has_bias in products))
    log.info("hgemm-tune: kernels of %s compute unquantised linear layers of %s %s", path, names,
             "at every number of rows, batch-invariantly" if _is_invariant else
             "where they were measured to be faster than cuBLAS")
    return True


def stop() -> None:
    """The engine computes again what is not in a compiled graph, and torch what is."""
    global products, _is_started, _misses
    if _misses is not None:
        _misses.end()
    if _is_in_use():
        use(None)
    products, _is_started, _misses = frozenset(), False, None


def takes(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> bool:
    """Whether the operator is to compute a linear layer: at some M a kernel gains, or its misses
    are to be listed. The others stay what the engine makes of them, so its compiler and its fusions
    still see these."""
    if weight.device.type not in _DEVICE_TYPES or x.dtype != weight.dtype:
        return False
    if _misses is not None and weight.dtype in _TUNED_TYPES:
        return True
    return (weight.shape[0], weight.shape[1], weight.dtype, bias is not None) in products


def linear(layer: object, x: torch.Tensor, weight: torch.Tensor,
           bias: torch.Tensor | None = None) -> torch.Tensor:
    """An engine's function for a linear layer that torch would compute."""
    if takes(x, weight, bias):
        return torch.ops.hgemm_tune.linear.default(x, weight, bias)
    return torch.nn.functional.linear(x, weight, bias)


def digest() -> str:
    """Of what takes() says: compiled graphs differ by it. Empty if it takes nothing."""
    if not _is_in_use():
        return ""
    taken = (_misses is not None, sorted(map(repr, products)))
    return hashlib.sha256(repr(taken).encode()).hexdigest()
