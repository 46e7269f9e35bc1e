"""vLLM's plug-in: kernels of the bundle that HGEMM_TUNE_BUNDLE names compute unquantised linear
layers and lm_head. pyproject.toml names register() to vLLM, which calls it in every process.

vLLM asks dispatch_unquantized_gemm() for the function by which a linear layer without quantisation
multiplies, when the layer is made, and lm_head asks it at each call. This is the one place where
classes stay what they are: LoRA, weight loaders and models compare the classes of layers and of
their quant_method, models have subclasses of their own, and vLLM itself goes round that function
for VLLM_BATCH_INVARIANT. The linear classes' register_oot() takes one plug-in for each exact class.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .command import HgemmTuneError

_LAYERS = "vllm.model_executor.layers"
# They have its name by `from .utils`, so each is to be told.
_ASKING = (f"{_LAYERS}.linear", f"{_LAYERS}.vocab_parallel_embedding")
_NAME = "dispatch_unquantized_gemm"

_log = logging.getLogger("vllm.hgemm_tune")  # vLLM prints its own loggers only
_replaced: dict[str, Callable[..., Any]] = {}


def register() -> None:
    """The plug-in: does nothing if the user named no bundle. It may be called again."""
    if not os.environ.get("HGEMM_TUNE_BUNDLE") or _replaced:
        return
    from vllm import envs
    from vllm.platforms import current_platform

    if getattr(envs, "VLLM_BATCH_INVARIANT", False):
        _log.info("hgemm-tune: vLLM computes all linear layers, since VLLM_BATCH_INVARIANT is set")
        return
    if not current_platform.is_cuda():
        _log.info("hgemm-tune: vLLM computes all linear layers, since this is no NVIDIA GPU")
        return
    modules = _modules()
    if modules is None:
        from vllm import __version__

        _log.warning("hgemm-tune: vLLM computes all linear layers: vLLM %s chooses how in another "
                     "way than 0.33, for which this plug-in was written", __version__)
        return
    utils, asking = modules
    try:
        serving = importlib.import_module(".serving", __package__)  # defines the operator
    except (HgemmTuneError, ImportError) as error:
        _log.warning("hgemm-tune: vLLM computes all linear layers: %s", error)
        return
    for module in asking:
        _replaced[module.__name__] = getattr(module, _NAME)
        setattr(module, _NAME, _dispatcher(_replaced[module.__name__], utils))
    # vLLM keeps compiled graphs on disk, by the values of all variables that it knows. With a
    # bundle they call the operator. Its Ray workers get these variables, too.
    for variable in serving.VARIABLES:
        envs.environment_variables[variable] = serving.digest


def _modules() -> tuple[ModuleType, list[ModuleType]] | None:
    """Where the function is, and those that ask it; none in a vLLM that has another one."""
    try:
        utils = importlib.import_module(f"{_LAYERS}.utils")
        asking = [importlib.import_module(name) for name in _ASKING]
    except ImportError:
        return None
    is_known = hasattr(utils, "default_unquantized_gemm") and all(
        hasattr(module, _NAME)
        and list(inspect.signature(getattr(module, _NAME)).parameters) == ["linear_backend"]
        for module in asking)
    return (utils, asking) if is_known else None


def unregister() -> None:
    """Gives vLLM back what register() replaced."""
    if not _replaced:
        return
    from vllm import envs

    from . import serving

    for name, own in _replaced.items():
        setattr(importlib.import_module(name), _NAME, own)
    _replaced.clear()
    for variable in serving.VARIABLES:
        envs.environment_variables.pop(variable, None)
    serving.stop()


def _dispatcher(own: Callable[..., Any], utils: ModuleType) -> Callable[..., Any]:
    from . import serving

    def dispatch_unquantized_gemm(linear_backend: str = "auto") -> Callable[..., Any]:
        """In place of vLLM's. Where that chooses other kernels than torch's, they stay."""
        chosen = own(linear_backend)
        if chosen is utils.default_unquantized_gemm and serving.start("vLLM", _log):
            return serving.linear
        return chosen

    return dispatch_unquantized_gemm
